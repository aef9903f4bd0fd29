package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const unit = `[Unit]
Description=Lightweight Kubernetes

[Service]
EnvironmentFile=-/etc/systemd/system/k3s.service.env
ExecStartPre=-/sbin/modprobe overlay
ExecStart=/usr/local/bin/k3s \
    server \
	'--disable' \
	'traefik' \
	'--node-label=role=a b' \
	'--write-kubeconfig-mode' \
	'644' \
	'--tls-san=it'\''s' \

`

func TestReadServiceAsTheInstallScriptWritesIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "k3s.service")
	// The shell that the script runs under writes quoted values.
	env := "K3S_TOKEN='se cret'\nK3S_DATASTORE_ENDPOINT='it'\"'\"'s'\nhttps_proxy='http://proxy:3128'\nPATH='/usr/bin'\n\n"
	write(t, path, unit)
	write(t, path+".env", env)
	got, err := readService(path)
	if err != nil {
		t.Fatal(err)
	}
	want := service{
		args: []string{"server", "--disable", "traefik", "--node-label=role=a b", "--write-kubeconfig-mode", "644", "--tls-san=it's"},
		env:  []string{"K3S_TOKEN=se cret", "K3S_DATASTORE_ENDPOINT=it's", "https_proxy=http://proxy:3128"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(service{})); diff != "" {
		t.Error(diff)
	}

	config := filepath.Join(t.TempDir(), "config.yaml")
	write(t, config, "disable: [traefik]\n")
	if err := os.Mkdir(config+".d", 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, config+".d/10-mode.yaml", "write-kubeconfig-mode+: 644\n")
	keys, err := configKeys(config)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"--node-label", "--tls-san"}, got.onlyHere(keys)); diff != "" {
		t.Errorf("arguments that only the unit keeps: %s", diff)
	}
	missing := got.missing([]string{"K3S_TOKEN=other", "HOME=/root"})
	if diff := cmp.Diff([]string{"K3S_DATASTORE_ENDPOINT=it's", "https_proxy=http://proxy:3128"}, missing); diff != "" {
		t.Errorf("variables that the environment does not set: %s", diff)
	}
	if diff := cmp.Diff([]string{"K3S_DATASTORE_ENDPOINT", "https_proxy"}, names(missing)); diff != "" {
		t.Errorf("names: %s", diff)
	}
}

func TestReadServiceFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ unit, env, want string }{
		"no ExecStart":            {"[Service]\n", "", "k3s.service: no ExecStart line that runs something"},
		"an empty ExecStart":      {"ExecStart=\n", "", "k3s.service: no ExecStart line that runs something"},
		"a shell around k3s":      {"ExecStart=/bin/sh -c 'exec k3s server --x'\n", "", `k3s.service: ExecStart is not "k3s server ..." as the install script writes it`},
		"an open quote":           {"ExecStart=/k3s 'server\n", "", "k3s.service: a ' is not closed"},
		"an open quote in values": {"ExecStart=/k3s server\n", "K3S_X='a\n", "k3s.service.env: K3S_X: a ' is not closed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "k3s.service")
			write(t, path, c.unit)
			write(t, path+".env", c.env)
			_, err := readService(path)
			if want := filepath.Dir(path) + "/" + c.want; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
	got, err := readService(filepath.Join(t.TempDir(), "none"))
	if err != nil || len(got.args)+len(got.env) != 0 {
		t.Errorf("a machine without the unit: %v, %v", got, err)
	}
}

func TestExecStartInEveryLegalForm(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]string{
		"blanks around the equals sign": "ExecStart = /usr/local/bin/k3s server --x\n",
		"a reset before it":             "ExecStart=/usr/local/bin/k3s agent\nExecStart=\nExecStart=/usr/local/bin/k3s server --x\n",
		"a comment between lines":       "ExecStart=/usr/local/bin/k3s \\\n# note\n  server \\\n; another \\\n  --x\n",
		"lines that end in CRLF":        "[Service]\r\nExecStart=/usr/local/bin/k3s \\\r\n    server \\\r\n    --x\r\n",
	} {
		got, err := execStart(unit)
		if diff := cmp.Diff([]string{"/usr/local/bin/k3s", "server", "--x"}, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func FuzzExecStart(f *testing.F) {
	f.Add(unit)
	f.Add("ExecStart=")
	f.Fuzz(func(t *testing.T, unit string) {
		if words, err := execStart(unit); err == nil && len(words) == 0 {
			t.Error("no word and no error")
		}
	})
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, string(content))
}
