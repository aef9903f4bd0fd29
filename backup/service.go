package backup

import (
	"bufio"
	"bytes"
	"strings"
)

// parseEnv reads lines of NAME=value, with or without export and quotes.
func parseEnv(b []byte) map[string]string {
	values := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		line = strings.TrimPrefix(line, "export ")
		k, v, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		values[strings.TrimSpace(k)] = unquote(strings.TrimSpace(v))
	}
	return values
}

// parseEnvironmentLines reads the Environment= lines of a systemd unit.
func parseEnvironmentLines(b []byte) map[string]string {
	values := map[string]string{}
	for _, line := range strings.Split(joinContinued(string(b)), "\n") {
		assignments, ok := strings.CutPrefix(strings.TrimSpace(line), "Environment=")
		if !ok {
			continue
		}
		for _, word := range words(assignments) {
			if k, v, ok := strings.Cut(word, "="); ok {
				values[k] = v
			}
		}
	}
	return values
}

// parseArgs reads k3s's flags out of a unit's ExecStart or an init script's
// command_args, as the install script writes them. An empty ExecStart takes
// back the ones before it; reset says that there is one, which a drop-in needs
// to replace the unit's
// (https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html).
func parseArgs(b []byte) (values map[string]string, reset bool) {
	values = map[string]string{}
	for _, line := range strings.Split(joinContinued(string(b)), "\n") {
		line = strings.TrimSpace(line)
		command, ok := strings.CutPrefix(line, "ExecStart=")
		if !ok {
			if command, ok = strings.CutPrefix(line, "command_args="); !ok {
				continue
			}
			command = unquote(command)
		} else if strings.TrimSpace(command) == "" {
			clear(values)
			reset = true
			continue
		}
		list := words(command)
		for i := 0; i < len(list); i++ {
			flag := strings.TrimLeft(list[i], "-")
			if flag == list[i] || flag == "" {
				continue
			}
			name, value, ok := strings.Cut(flag, "=")
			if !ok {
				value = "true"
				if i+1 < len(list) && !strings.HasPrefix(list[i+1], "-") {
					value = list[i+1]
					i++
				}
			}
			switch name {
			case "":
				continue
			case "d":
				name = "data-dir"
			case "c":
				name = "config"
			case "t":
				name = "token"
			case "s":
				name = "server"
			}
			values[name] = value
		}
	}
	return values, reset
}

func joinContinued(s string) string { return strings.ReplaceAll(s, "\\\n", " ") }

// words splits a command line at blanks outside quotes and takes the quotes off.
func words(s string) []string {
	var list []string
	var word strings.Builder
	var quote rune
	inWord := false
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				list = append(list, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		list = append(list, word.String())
	}
	return list
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}
