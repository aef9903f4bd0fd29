package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// DefaultDataDir is where k3s keeps its data (https://docs.k3s.io/cli/server).
const DefaultDataDir = "/var/lib/rancher/k3s"

// host is what the machine's files outside the data directory say about k3s.
type host struct {
	root  string            // of the machine's file system, "/" or where it is mounted
	files []string          // those that exist, absolute, root included
	flags map[string]string // k3s's flags without dashes, by name
	from  map[string]string // the file that set each
	own   bool              // the files are known to be about this data directory
}

// Where k3s and its install script keep what they need again
// (https://docs.k3s.io/installation/configuration, https://get.k3s.io).
const (
	configFile   = "/etc/rancher/k3s/config.yaml"
	nodePassword = "/etc/rancher/node/password"
)

var (
	initScript = "/etc/init.d/k3s"
	// The agent's unit is read to recognise an agent.
	agentFiles = []string{"/etc/systemd/system/k3s-agent.service"}
	envFiles   = []string{
		"/etc/systemd/system/k3s.service.env",
		"/usr/local/lib/systemd/system/k3s.service.env",
		"/etc/rancher/k3s/k3s.env",
		"/etc/default/k3s",
		"/etc/sysconfig/k3s",
	}
)

// hostRoot guesses where the file system is mounted that dataDir belongs to.
func hostRoot(dataDir string) string {
	if root, ok := strings.CutSuffix(filepath.Clean(dataDir), DefaultDataDir); ok && root != "" {
		return root
	}
	return "/"
}

// readHost reads the configuration in k3s's order of precedence, last wins:
// config.yaml, the files of config.yaml.d by name, the environment (what the
// unit sets, then its files), the arguments of the service.
//
// config names k3s's configuration file instead of the usual place; then the
// files are taken to be about dataDir whatever else is on the machine. A
// config.yaml in dataDir itself counts too, with the lowest precedence.
func readHost(root, config, dataDir string) (*host, error) {
	h := &host{root: root, flags: map[string]string{}, from: map[string]string{}}
	service, err := h.readService()
	if err != nil {
		return nil, err
	}
	main := configFile
	if config != "" {
		h.own = true
	}
	for _, from := range []settings{service.env, service.args} {
		for _, key := range []string{"K3S_CONFIG_FILE", "config"} {
			if v := from[key].value; v != "" {
				main = v
			}
		}
	}
	mainPath := filepath.Join(root, main)
	if config != "" {
		mainPath = config
	}
	ownPath := filepath.Join(dataDir, "config.yaml")
	if !exists(mainPath) && exists(ownPath) {
		h.own = true
	}
	for _, path := range []string{ownPath, mainPath} {
		for _, path := range append([]string{path}, glob(path+".d/*.yaml")...) {
			if err := h.readConfig(path); err != nil {
				return nil, err
			}
		}
	}
	for k, v := range service.env {
		if flag, ok := strings.CutPrefix(k, "K3S_"); ok && v.value != "" {
			flag = strings.ToLower(strings.ReplaceAll(flag, "_", "-"))
			if flag == "url" {
				flag = "server"
			}
			h.set(flag, v.value, v.from)
		}
	}
	for k, v := range service.args {
		h.set(k, v.value, v.from)
	}
	for _, name := range []string{nodePassword, "/etc/rancher/k3s/registries.yaml"} {
		h.note(filepath.Join(root, name))
	}
	slices.Sort(h.files)
	return h, nil
}

func (h *host) set(flag, value, path string) { h.flags[flag], h.from[flag] = value, path }

func (h *host) readConfig(path string) error {
	b, err := h.read(path)
	if err != nil {
		return err
	}
	values, err := parseConfig(b)
	if err != nil {
		return fail("read", path, err, "k3s cannot read it either")
	}
	for k, v := range values {
		h.set(k, v, path)
	}
	return nil
}

func (h *host) note(path string) {
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && !slices.Contains(h.files, path) {
		h.files = append(h.files, path)
	}
}

// read gives a file's content, nothing when it is absent, and remembers it.
func (h *host) read(path string) ([]byte, error) {
	b, err := readBounded(path, 1<<20)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fail("read", path, err, "it may say that k3s uses another datastore; run as root")
	}
	h.note(path)
	return b, nil
}

// glob gives the files that match the last element of pattern. Unlike
// filepath.Glob it takes the folder literally.
func glob(pattern string) []string {
	dir, last := filepath.Split(pattern)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var paths []string
	for _, e := range entries {
		if ok, _ := filepath.Match(last, e.Name()); ok {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(paths)
	return paths
}

// belongsTo says whether these files are about the k3s that uses dataDir.
func (h *host) belongsTo(dataDir string) bool {
	if h.own {
		return true
	}
	if named := h.flags["data-dir"]; named != "" {
		return samePath(filepath.Join(h.root, named), dataDir)
	}
	standard := filepath.Join(h.root, DefaultDataDir)
	if samePath(standard, dataDir) {
		return true
	}
	_, err := os.Stat(filepath.Join(standard, "server"))
	return err != nil // the standard place is not in use, so nothing else claims them
}

func samePath(a, b string) bool {
	if ra, err := filepath.EvalSymlinks(a); err == nil {
		a = ra
	}
	if rb, err := filepath.EvalSymlinks(b); err == nil {
		b = rb
	}
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}

// parseConfig reads k3s's YAML: flags without dashes; a key with + appends to
// a list, which none of the flags read here is.
func parseConfig(b []byte) (map[string]string, error) {
	var raw map[string]any
	if err := yaml.Unmarshal(b, &raw); err != nil {
		// The parser's message may quote a value.
		return nil, errors.New("not a YAML mapping")
	}
	values := map[string]string{}
	for k, v := range raw {
		switch v := v.(type) {
		case string:
			values[strings.TrimSuffix(k, "+")] = v
		case bool, int, float64:
			values[strings.TrimSuffix(k, "+")] = fmt.Sprint(v)
		}
	}
	return values, nil
}
