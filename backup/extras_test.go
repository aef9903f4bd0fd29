package backup_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/k3sladder/k3sladder/backup"
)

func TestSaveTakesWhatANewMachineNeeds(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	want := []string{
		"state.db", "token",
		"server/agent-token", "server/cred/passwd", "server/tls/server-ca.crt", "server/tls/etcd/server-ca.key",
		"host/etc/rancher/node/password",
		"host/etc/rancher/k3s/config.yaml", "host/etc/rancher/k3s/config.yaml.d/10-more.yaml", "host/etc/rancher/k3s/registries.yaml",
		"host/etc/systemd/system/k3s.service", "host/etc/systemd/system/k3s.service.env", "host/etc/systemd/system/k3s.service.d/10.conf",
	}
	for _, name := range want[2:] {
		name = strings.TrimPrefix(name, "host/")
		if strings.HasPrefix(name, "server/") {
			name = "var/lib/rancher/k3s/" + name
		}
		s.write(name, "# "+name+"\n")
	}
	must(t, os.Chmod(filepath.Join(s.dataDir, "server/tls/server-ca.crt"), 0o644))
	must(t, os.Symlink("server-ca.crt", filepath.Join(s.dataDir, "server/tls/link.crt")))
	must(t, os.Symlink("nowhere", filepath.Join(s.dataDir, "server/tls/broken.crt")))
	want = append(want, "server/tls/link.crt")
	dir := filepath.Join(t.TempDir(), "b")
	r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: dir})
	must(t, err)
	var got []string
	for _, f := range r.Manifest.Files {
		got = append(got, f.Path)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		must(t, err)
		st, err := d.Info()
		must(t, err)
		if mode := st.Mode().Perm(); mode != 0o600 && (!d.IsDir() || mode != 0o700) {
			t.Errorf("%s is %v", path, st.Mode())
		}
		return nil
	}))

	target := filepath.Join(t.TempDir(), "var/lib/rancher/k3s")
	restored, err := backup.Restore(t.Context(), dir, target, backup.RestoreOptions{})
	must(t, err)
	if len(restored.Host) != 7 {
		t.Errorf("files of the machine: %v", restored.Host)
	}
	st, err := os.Stat(filepath.Join(target, "server/tls/server-ca.crt"))
	must(t, err)
	if st.Mode().Perm() != 0o644 {
		t.Errorf("the certificate got mode %v back", st.Mode())
	}

	minimal := filepath.Join(t.TempDir(), "b")
	r, err = backup.Save(t.Context(), s.dataDir, backup.Options{Out: minimal, Minimal: true})
	must(t, err)
	if len(r.Manifest.Files) != 2 {
		t.Error(r.Manifest.Files)
	}
	entries, err := os.ReadDir(minimal)
	must(t, err)
	if len(entries) != 3 {
		t.Error(entries)
	}
}

func TestTheMachinesFilesStayOutWhenTheyAreOfAnotherDataDirectory(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.write("etc/rancher/k3s/config.yaml", "data-dir: /srv/k3s\n")
	r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: filepath.Join(t.TempDir(), "b")})
	must(t, err)
	for _, f := range r.Manifest.Files {
		if strings.HasPrefix(f.Path, "host/") {
			t.Error(f.Path)
		}
	}
	if !strings.Contains(strings.Join(r.Manifest.Warnings, "\n"), "another data directory") {
		t.Error(r.Manifest.Warnings)
	}
}

func TestTheVersionOfTheDatastore(t *testing.T) {
	t.Parallel()
	binary := func(version string) string {
		return "#!/bin/sh\necho 'k3s version " + version + " (abcdef12)'\necho go version go1.24\n"
	}
	for _, tc := range []struct {
		name, given, binary   string
		nodes                 map[string]string // name and version of servers
		agents                map[string]string
		version, from, warned string
	}{
		{name: "of the only server", nodes: map[string]string{"a": "v1.34.4+k3s1"}, agents: map[string]string{"b": "v1.33.1+k3s1"}, version: "v1.34.4+k3s1", from: "kubelet"},
		{name: "that is given", given: "v1.34.5+k3s1", nodes: map[string]string{"a": "v1.34.4+k3s1"}, version: "v1.34.5+k3s1", from: "given"},
		{name: "of servers that agree", nodes: map[string]string{"a": "v1.34.4+k3s1", "b": "v1.34.4+k3s1"}, version: "v1.34.4+k3s1", from: "kubelet"},
		{name: "of servers that differ is unknown", nodes: map[string]string{"a": "v1.34.4+k3s1", "b": "v1.33.4+k3s1"}, warned: "unknown"},
		{name: "of the binary", binary: "v1.34.2+k3s1", version: "v1.34.2+k3s1", from: "k3s --version"},
		{name: "with a newer binary in place already", nodes: map[string]string{"a": "v1.34.4+k3s1"}, binary: "v1.35.1+k3s1", version: "v1.34.4+k3s1", from: "kubelet", warned: "an upgrade has begun"},
		{name: "that nobody knows", warned: "unknown"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.exec("DELETE FROM kine WHERE name LIKE '/registry/minions/%'")
			for name, version := range tc.nodes {
				s.put("/registry/minions/"+name, nodeValue(name, version, true))
			}
			for name, version := range tc.agents {
				s.put("/registry/minions/"+name, nodeValue(name, version, false))
			}
			if tc.binary != "" {
				s.write("usr/local/bin/k3s", binary(tc.binary))
				must(t, os.Chmod(filepath.Join(s.host, "usr/local/bin/k3s"), 0o700))
			}
			r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: filepath.Join(t.TempDir(), "b"), K3sVersion: tc.given})
			must(t, err)
			m := r.Manifest
			if m.K3sVersion != tc.version || !strings.Contains(m.K3sVersionFrom, tc.from) || !strings.Contains(strings.Join(m.Warnings, "\n"), tc.warned) {
				t.Errorf("%q from %q, warnings %q", m.K3sVersion, m.K3sVersionFrom, m.Warnings)
			}
		})
	}
}

// The lab reads these two keys; other tools read the rest.
func TestTheManifestsKeys(t *testing.T) {
	t.Parallel()
	_, dir := saved(t, backup.Options{})
	b, err := os.ReadFile(filepath.Join(dir, "backup.json"))
	must(t, err)
	var m map[string]any
	must(t, json.Unmarshal(b, &m))
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	want := []string{"created", "dataDir", "database", "datastore", "files", "formatVersion", "k3sVersionFrom", "k3s_version", "minimal", "node", "tokenCheck", "token_sha256"}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Error(diff)
	}
	if m["k3s_version"] != "v1.34.4+k3s1" || m["formatVersion"] != 1.0 {
		t.Error(m)
	}
	if created, err := time.Parse(time.RFC3339, m["created"].(string)); err != nil || time.Since(created) > time.Hour {
		t.Error(m["created"], err)
	}
}

func TestSaveWarnsOfALogOrACompactionThatDoesNotKeepUp(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	w := startWriter(t, s.db)
	w.do("sql PRAGMA wal_autocheckpoint=0")
	w.do("sql CREATE TABLE pad (b BLOB)")
	for range 20 {
		w.do("sql INSERT INTO pad VALUES (randomblob(4000000))")
		w.do("sql DELETE FROM pad")
	}
	w.do("sql INSERT INTO kine(id, name, created, deleted, create_revision, prev_revision) SELECT value + 100, '/registry/leases/a', 0, 0, 50, value + 99 FROM (WITH RECURSIVE c(value) AS (SELECT 1 UNION ALL SELECT value+1 FROM c WHERE value < 120000) SELECT value FROM c)")
	r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: filepath.Join(t.TempDir(), "b")})
	must(t, err)
	warnings := strings.Join(r.Manifest.Warnings, "\n")
	for _, want := range []string{"far larger than the database", "compaction seems to have stalled"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("%q is not in %q", want, warnings)
		}
	}
}
