package backup

import (
	"bufio"
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// settings are the service's variables or its flags without dashes, by name.
type settings map[string]setting

type setting struct{ value, from string } // and the file that said so

// service is how k3s is started.
type service struct {
	env      settings
	args     settings
	envFiles []string // named by the unit, not yet read
}

// unitDirs are systemd's, the first one weighs most
// (https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html).
var unitDirs = []string{"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system"}

// readService reads the first unit that there is, its drop-ins by name, and the
// environment's files; and OpenRC's script.
func (h *host) readService() (*service, error) {
	s := &service{env: settings{}, args: settings{}}
	dropIns := map[string]string{}
	unit := ""
	for _, dir := range slices.Backward(unitDirs) {
		dir = filepath.Join(h.root, dir)
		if path := filepath.Join(dir, "k3s.service"); exists(path) {
			unit = path
		}
		for _, path := range glob(filepath.Join(dir, "k3s.service.d/*.conf")) {
			dropIns[filepath.Base(path)] = path
		}
	}
	files := []string{filepath.Join(h.root, initScript)}
	if unit != "" {
		files = append(files, unit)
	}
	for _, name := range slices.Sorted(maps.Keys(dropIns)) {
		files = append(files, dropIns[name])
	}
	for _, path := range files {
		if target, err := filepath.EvalSymlinks(path); err == nil && target == os.DevNull {
			continue // masked
		}
		b, err := h.read(path)
		if err != nil {
			return nil, err
		}
		s.unit(b, path)
	}
	for _, name := range append(slices.Clone(envFiles), s.envFiles...) {
		for _, path := range glob(filepath.Join(h.root, name)) {
			b, err := h.read(path)
			if err != nil {
				return nil, err
			}
			for k, v := range parseEnv(b) {
				s.env[k] = setting{v, path}
			}
		}
	}
	return s, nil
}

// unit takes a unit, a drop-in or an init script in. An empty setting takes back
// the ones before it, which is how a drop-in replaces the unit's
// (https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#Environment=,
// https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html#ExecStart=).
func (s *service) unit(b []byte, path string) {
	for line := range strings.Lines(joinContinued(string(b))) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "Environment":
			if value == "" {
				clear(s.env)
			}
			for _, word := range words(value) {
				if k, v, ok := strings.Cut(word, "="); ok {
					s.env[k] = setting{v, path}
				}
			}
		case "EnvironmentFile":
			if value == "" {
				s.envFiles = nil
				continue
			}
			// %N is the unit's name, %n with its suffix; a dash: it may be missing.
			name := strings.NewReplacer("%N", "k3s", "%p", "k3s", "%n", "k3s.service").Replace(strings.TrimPrefix(value, "-"))
			s.envFiles = append(s.envFiles, unquote(name))
		case "ExecStart":
			if value == "" {
				clear(s.args)
			}
			s.flags(value, path)
		case "command_args":
			s.flags(unquote(value), path)
		}
	}
}

// flags reads k3s's flags out of a command, as the install script writes it.
func (s *service) flags(command, path string) {
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
		s.args[name] = setting{value, path}
	}
}

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
