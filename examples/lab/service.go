package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// service is what a k3s systemd unit was given when k3s was installed. The
// install script writes ExecStart and the environment file anew from the
// arguments and the environment of each run, so what only they hold is lost
// when the next run does not repeat it; config.yaml and drop-ins it leaves alone
// (https://docs.k3s.io/installation/configuration).
type service struct {
	args []string // after the k3s binary: "server" and its flags
	env  []string // NAME=value, as the process would see it
}

// keptVariables are the variables that the install script writes into the
// environment file.
var keptVariables = regexp.MustCompile(`^((K3S|CONTAINERD)_|(?i:(NO|HTTP|HTTPS)_PROXY))`)

// readService reads a unit as the install script writes it, and the
// environment file beside it. A machine without one has no such arguments.
func readService(path string) (service, error) {
	unit, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return service{}, nil
	}
	if err != nil {
		return service{}, fmt.Errorf("reading the running service's arguments: %w", err)
	}
	words, err := execStart(string(unit))
	if err != nil {
		return service{}, fmt.Errorf("%s: %w", path, err)
	}
	s := service{args: words[1:]}
	env, err := os.ReadFile(path + ".env")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return service{}, fmt.Errorf("reading the running service's environment: %w", err)
	}
	for line := range strings.Lines(string(env)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || !keptVariables.MatchString(name) {
			continue
		}
		words, err := splitWords(value)
		if err != nil {
			return service{}, fmt.Errorf("%s.env: %s: %w", path, name, err)
		}
		s.env = append(s.env, name+"="+strings.Join(words, " "))
	}
	return s, nil
}

// execStart gives the words of the unit's ExecStart, which runs k3s. Lines may
// end in a backslash, words may stand in quotes, an empty ExecStart takes back
// the ones before it, and comments count for nothing, also between continued
// lines (https://www.freedesktop.org/software/systemd/man/latest/systemd.syntax.html).
func execStart(unit string) ([]string, error) {
	var text strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(unit, "\r\n", "\n")) {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, ";") {
			continue
		}
		if continued, ok := strings.CutSuffix(line, "\\\n"); ok {
			text.WriteString(continued + " ")
			continue
		}
		text.WriteString(line)
	}
	var words []string
	for line := range strings.Lines(text.String()) {
		key, command, ok := strings.Cut(line, "=")
		if !ok || strings.TrimSpace(key) != "ExecStart" {
			continue
		}
		var err error
		if words, err = splitWords(strings.TrimSpace(command)); err != nil {
			return nil, err
		}
	}
	switch {
	case len(words) == 0:
		return nil, errors.New("no ExecStart line that runs something")
	case filepath.Base(words[0]) != "k3s" || len(words) < 2 || strings.HasPrefix(words[1], "-"):
		return nil, errors.New(`ExecStart is not "k3s server ..." as the install script writes it`)
	}
	return words, nil
}

// splitWords splits s at blanks outside of single or double quotes; outside of
// them a backslash takes the next character as it is.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	started, escaped := false, false
	for _, r := range s {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case quote == 0 && r == '\\':
			escaped, started = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, started = r, true
		case r == ' ' || r == '\t':
			if started {
				words = append(words, word.String())
				word.Reset()
				started = false
			}
		default:
			word.WriteRune(r)
			started = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a %c is not closed", quote)
	}
	if started {
		words = append(words, word.String())
	}
	return words, nil
}

// onlyHere names the flags that no config file keeps.
func (s service) onlyHere(config map[string]bool) []string {
	var lost []string
	for _, arg := range s.args {
		flag, _, _ := strings.Cut(arg, "=")
		if strings.HasPrefix(flag, "-") && !config[strings.TrimLeft(flag, "-")] {
			lost = append(lost, flag)
		}
	}
	return lost
}

// missing gives the variables of the environment file that environ does not
// set.
func (s service) missing(environ []string) []string {
	name := func(line string) string { n, _, _ := strings.Cut(line, "="); return n }
	var missing []string
	for _, line := range s.env {
		if !slices.ContainsFunc(environ, func(other string) bool { return name(other) == name(line) }) {
			missing = append(missing, line)
		}
	}
	return missing
}

// configKeys gives the keys that k3s's config file and the files in its .d
// folder set.
func configKeys(path string) (map[string]bool, error) {
	files, err := filepath.Glob(path + ".d/*.yaml")
	if err != nil {
		return nil, err
	}
	keys := map[string]bool{}
	for _, file := range append([]string{path}, files...) {
		content, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var values map[string]any
		if err := yaml.Unmarshal(content, &values); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for key := range values {
			keys[strings.TrimSuffix(key, "+")] = true // "key+" adds to a list
		}
	}
	return keys, nil
}
