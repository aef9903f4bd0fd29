package backup_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/k3sladder/k3sladder/backup"
)

// saved is a server with a backup of it, and with one object written since.
func saved(t testing.TB, opts backup.Options) (s *server, dir string) {
	t.Helper()
	s = newServer(t)
	opts.Out = filepath.Join(t.TempDir(), "b")
	_, err := backup.Save(context.Background(), s.dataDir, opts)
	must(t, err)
	s.put("/registry/configmaps/default/later", "written after the backup")
	return s, opts.Out
}

// rows are the names and values in a database file, read without changing it.
func rows(t testing.TB, path string) map[string]string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&immutable=1")
	must(t, err)
	defer db.Close()
	r, err := db.Query("SELECT name, value FROM kine WHERE id IN (SELECT max(id) FROM kine GROUP BY name)")
	must(t, err)
	defer r.Close()
	found := map[string]string{}
	for r.Next() {
		var name, value string
		must(t, r.Scan(&name, &value))
		found[name] = value
	}
	must(t, r.Err())
	return found
}

func TestRestoreBringsBackExactlyTheBackup(t *testing.T) {
	t.Parallel()
	s, dir := saved(t, backup.Options{})
	old := rows(t, s.db)
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		must(t, os.WriteFile(s.db+suffix, []byte("stale"), 0o600))
	}
	s.write("var/lib/rancher/k3s/server/db/other", "not SQLite's")
	r, err := backup.Restore(t.Context(), dir, s.dataDir, backup.RestoreOptions{})
	must(t, err)
	if diff := cmp.Diff(rows(t, filepath.Join(dir, "state.db")), rows(t, s.db)); diff != "" {
		t.Error(diff)
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if _, err := os.Stat(s.db + suffix); err == nil {
			t.Errorf("state.db%s is still there", suffix)
		}
	}
	if _, err := os.Stat(filepath.Join(s.dataDir, "server/db/other")); err != nil {
		t.Error(err)
	}
	if len(r.Aside) != 1 {
		t.Fatal(r.Aside)
	}
	if diff := cmp.Diff(old, rows(t, filepath.Join(r.Aside[0], "db/state.db"))); diff != "" {
		t.Error(diff)
	}
	if b, _ := os.ReadFile(filepath.Join(r.Aside[0], "db/state.db-wal")); string(b) != "stale" {
		t.Errorf("the old log is %q", b)
	}
	if diff := cmp.Diff([]string{s.db}, r.Replaced); diff != "" {
		t.Error(diff)
	}
	if commands := strings.Join(r.Commands, "\n"); !strings.HasPrefix(commands, "# not here, but on the machine whose file system lies in "+s.host) ||
		!strings.Contains(commands, "INSTALL_K3S_VERSION=v1.34.4+k3s1") {
		t.Error(r.Commands)
	}
	s.put("/registry/configmaps/default/after", "kine can go on")
}

func TestRestoreOnAnEmptyMachineTakesTokenAndCertificatesAlong(t *testing.T) {
	t.Parallel()
	s, dir := saved(t, backup.Options{})
	dataDir := filepath.Join(t.TempDir(), "var/lib/rancher/k3s")
	r, err := backup.Restore(t.Context(), dir, dataDir, backup.RestoreOptions{})
	must(t, err)
	if len(r.Aside) != 0 {
		t.Error(r.Aside)
	}
	for _, name := range []string{"token", "tls/server-ca.crt", "cred/passwd"} {
		want, err := os.ReadFile(filepath.Join(s.dataDir, "server", name))
		must(t, err)
		got, err := os.ReadFile(filepath.Join(dataDir, "server", name))
		must(t, err)
		if string(want) != string(got) {
			t.Errorf("%s is %q", name, got)
		}
		a, _ := os.Stat(filepath.Join(s.dataDir, "server", name))
		b, _ := os.Stat(filepath.Join(dataDir, "server", name))
		if !a.ModTime().Equal(b.ModTime()) {
			t.Errorf("%s got the time %v instead of %v: k3s refuses certificates newer than the datastore", name, b.ModTime(), a.ModTime())
		}
	}
	entries, err := os.ReadDir(filepath.Join(dataDir, "server"))
	must(t, err)
	if len(entries) != 4 {
		t.Errorf("left over: %v", entries)
	}
}

// The installer writes the service anew and forgets what it was installed with.
func TestRestoreSaysHowToPutTheServiceBack(t *testing.T) {
	t.Parallel()
	s, _ := saved(t, backup.Options{})
	for _, withService := range []bool{false, true} {
		if withService {
			s.write("etc/systemd/system/k3s.service", "[Service]\nExecStart=/usr/local/bin/k3s server --disable traefik\n")
		}
		dir := filepath.Join(t.TempDir(), "b")
		_, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: dir})
		must(t, err)
		r, err := backup.Restore(t.Context(), dir, s.dataDir, backup.RestoreOptions{DryRun: true})
		must(t, err)
		commands := strings.Join(r.Commands, "\n")
		put := "cp -r '" + dir + "/host/etc/systemd/system/k3s.service'* /etc/systemd/system/ && systemctl daemon-reload\nsystemctl start k3s"
		if strings.Contains(commands, put) != withService {
			t.Errorf("a backup with the service: %v; restore says\n%s", withService, commands)
		}
	}
}

func TestRestoreWithTheDatabaseFolderElsewhere(t *testing.T) {
	t.Parallel()
	s, dir := saved(t, backup.Options{})
	disk := filepath.Join(t.TempDir(), "disk")
	must(t, os.Rename(filepath.Dir(s.db), disk))
	must(t, os.Symlink(disk, filepath.Dir(s.db)))
	old := rows(t, s.db)
	must(t, os.WriteFile(s.db+"-wal", []byte("stale"), 0o600))
	r, err := backup.Restore(t.Context(), dir, s.dataDir, backup.RestoreOptions{})
	must(t, err)
	if diff := cmp.Diff(rows(t, filepath.Join(dir, "state.db")), rows(t, s.db)); diff != "" {
		t.Error(diff)
	}
	if len(r.Aside) != 1 || filepath.Dir(r.Aside[0]) != disk {
		t.Fatal(r.Aside)
	}
	if diff := cmp.Diff(old, rows(t, filepath.Join(r.Aside[0], "state.db"))); diff != "" {
		t.Error(diff)
	}
}

// A database that was moved to another disk stays there, log and all.
func TestRestoreFollowsALinkedDatabase(t *testing.T) {
	t.Parallel()
	s, dir := saved(t, backup.Options{})
	disk := filepath.Join(s.host, "disk")
	must(t, os.Mkdir(disk, 0o700))
	must(t, os.Rename(s.db, filepath.Join(disk, "moved.db")))
	must(t, os.Symlink(filepath.Join(disk, "moved.db"), s.db))
	must(t, os.WriteFile(filepath.Join(disk, "moved.db-wal"), []byte("stale"), 0o600))
	old := rows(t, filepath.Join(disk, "moved.db"))
	r, err := backup.Restore(t.Context(), dir, s.dataDir, backup.RestoreOptions{})
	must(t, err)
	if to, err := os.Readlink(s.db); err != nil || to != filepath.Join(disk, "moved.db") {
		t.Error(to, err)
	}
	if diff := cmp.Diff(rows(t, filepath.Join(dir, "state.db")), rows(t, filepath.Join(disk, "moved.db"))); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(disk, "moved.db-wal")); err == nil {
		t.Error("the old log is still there")
	}
	aside := ""
	for _, a := range r.Aside {
		if filepath.Dir(a) == disk {
			aside = filepath.Join(a, "moved.db")
		}
	}
	if diff := cmp.Diff(old, rows(t, aside)); diff != "" {
		t.Error(r.Aside, diff)
	}

	must(t, os.RemoveAll(disk))
	if _, err := backup.Restore(t.Context(), dir, s.dataDir, backup.RestoreOptions{}); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Error(err)
	}
}

func TestUndoNeedsADataDirectory(t *testing.T) {
	t.Parallel()
	if _, err := backup.Undo(t.Context(), filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "data directory") {
		t.Error(err)
	}
}

// The version of a manifest goes into a command line that people run as root.
func TestAManifestWhoseVersionIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	s, dir := saved(t, backup.Options{K3sVersion: "v1.34.4+k3s1"})
	manifest := filepath.Join(dir, "backup.json")
	b, err := os.ReadFile(manifest)
	must(t, err)
	must(t, os.WriteFile(manifest, []byte(strings.ReplaceAll(string(b), "v1.34.4+k3s1", "v1.34.4+k3s1; reboot")), 0o600))
	for _, err := range []error{
		errorOf(backup.Verify(t.Context(), dir, backup.VerifyOptions{})),
		errorOf(backup.Restore(t.Context(), dir, s.dataDir, backup.RestoreOptions{})),
	} {
		if !errors.Is(err, backup.ErrNotBackup) || !strings.Contains(err.Error(), "no version") {
			t.Error(err)
		}
	}
	must(t, os.WriteFile(manifest, b, 0o600))
	if _, err := backup.Restore(t.Context(), dir, s.dataDir, backup.RestoreOptions{Installed: "latest"}); err == nil || !strings.Contains(err.Error(), "no version") {
		t.Error(err)
	}
}

func errorOf[T any](_ T, err error) error { return err }

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	const other = "K10" + caHash + "::server:another-password"
	for _, tc := range []struct {
		name    string
		prepare func(t *testing.T, s *server, dir string)
		opts    backup.RestoreOptions
		want    error
		says    string
		allow   *backup.RestoreOptions // with which it goes on
	}{
		{
			name:    "while another process has the database open",
			prepare: func(t *testing.T, s *server, _ string) { startWriter(t, s.db) },
			want:    backup.ErrRunning, says: "holds a lock on it; stop k3s first",
		},
		{
			name: "while a process has the file open without a lock",
			prepare: func(t *testing.T, s *server, _ string) {
				f, err := os.Open(s.db)
				must(t, err)
				t.Cleanup(func() { f.Close() })
			},
			want: backup.ErrRunning, says: "has the file open",
		},
		{
			name: "a backup of a newer minor than the installed k3s",
			opts: backup.RestoreOptions{Installed: "v1.33.9+k3s1"},
			want: backup.ErrNewer, says: "v1.34.4+k3s1, installed is v1.33.9+k3s1",
			allow: &backup.RestoreOptions{Installed: "v1.33.9+k3s1", AllowNewer: true},
		},
		{
			name:    "a server with another token",
			prepare: func(t *testing.T, s *server, _ string) { s.write("var/lib/rancher/k3s/server/token", other) },
			want:    backup.ErrOtherToken, says: "is not the backup's",
			allow: &backup.RestoreOptions{ReplaceToken: true},
		},
		{
			name: "a server whose service sets another token",
			prepare: func(t *testing.T, s *server, _ string) {
				s.write("etc/systemd/system/k3s.service.env", "K3S_TOKEN='another-password'\n")
			},
			want: backup.ErrOtherToken, says: "k3s.service.env is not the backup's",
			allow: &backup.RestoreOptions{ReplaceToken: true},
		},
		{
			name: "another cluster's token in the backup",
			prepare: func(t *testing.T, s *server, dir string) {
				must(t, os.WriteFile(filepath.Join(dir, "token"), []byte(other), 0o600))
			},
			want: backup.ErrVerify,
		},
		{
			name: "a backup that was changed",
			prepare: func(t *testing.T, s *server, dir string) {
				b, err := os.ReadFile(filepath.Join(dir, "state.db"))
				must(t, err)
				b[len(b)-100] ^= 0xff
				must(t, os.WriteFile(filepath.Join(dir, "state.db"), b, 0o600))
			},
			want: backup.ErrVerify, says: "was changed",
		},
		{
			name: "a folder that is no backup",
			prepare: func(t *testing.T, _ *server, dir string) {
				must(t, os.Remove(filepath.Join(dir, "backup.json")))
			},
			want: backup.ErrNotBackup,
		},
		{
			name: "a server with embedded etcd",
			prepare: func(t *testing.T, s *server, _ string) {
				must(t, os.MkdirAll(filepath.Join(s.dataDir, "server/db/etcd/member/wal"), 0o700))
			},
			want: new(backup.UnsupportedError), says: "etcd-snapshot",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, dir := saved(t, backup.Options{})
			if tc.prepare != nil {
				tc.prepare(t, s, dir)
			}
			before := tree(t, s.dataDir)
			_, err := backup.Restore(t.Context(), dir, s.dataDir, tc.opts)
			var unsupported *backup.UnsupportedError
			if !errors.Is(err, tc.want) && !errors.As(err, &unsupported) {
				t.Fatalf("%v, want %v", err, tc.want)
			}
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q does not say %q", err, tc.says)
			}
			same(t, before, tree(t, s.dataDir))
			if tc.allow == nil {
				return
			}
			r, err := backup.Restore(t.Context(), dir, s.dataDir, *tc.allow)
			must(t, err)
			if diff := cmp.Diff(rows(t, filepath.Join(dir, "state.db")), rows(t, s.db)); diff != "" {
				t.Error(diff)
			}
			t.Log(r)
		})
	}
}

func TestRestoreOfAPairFromAnotherClusterIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.write("var/lib/rancher/k3s/server/token", "K10"+caHash+"::server:another-password")
	dir := filepath.Join(t.TempDir(), "b")
	r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: dir})
	must(t, err)
	if r.OK() || r.Manifest.TokenCheck.Opens != backup.OpensNo {
		t.Error(r.Manifest.TokenCheck)
	}
	v, err := backup.Verify(t.Context(), dir, backup.VerifyOptions{})
	must(t, err)
	if v.OK || v.TokenCheck.String() != "token opens datastore: no (other token)" {
		t.Error(v)
	}
	_, err = backup.Restore(t.Context(), dir, t.TempDir(), backup.RestoreOptions{ReplaceToken: true})
	if !errors.Is(err, backup.ErrOtherToken) || !errors.Is(err, backup.ErrVerify) {
		t.Error(err)
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	s, dir := saved(t, backup.Options{})
	s.write("var/lib/rancher/k3s/server/tls/server-ca.crt", "rotated")
	before := tree(t, s.host)
	r, err := backup.Restore(t.Context(), dir, s.dataDir, backup.RestoreOptions{DryRun: true})
	must(t, err)
	same(t, before, tree(t, s.host))
	want := []string{s.db, filepath.Join(s.dataDir, "server/tls")}
	if diff := cmp.Diff(want, r.Replaced); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(r.String(), "would restore") {
		t.Error(r)
	}
}

func TestACancelledRestoreTakesItselfBack(t *testing.T) {
	t.Parallel()
	s, dir := saved(t, backup.Options{})
	before := tree(t, s.host)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := backup.Restore(ctx, dir, s.dataDir, backup.RestoreOptions{Progress: func(p backup.Progress) {
		if p.Phase == backup.PhaseCopy {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	same(t, before, tree(t, s.host))
}

func TestRestoreReplacesCertificatesThatDiffer(t *testing.T) {
	t.Parallel()
	s, dir := saved(t, backup.Options{})
	s.write("var/lib/rancher/k3s/server/tls/server-ca.crt", "rotated")
	r, err := backup.Restore(t.Context(), dir, s.dataDir, backup.RestoreOptions{})
	must(t, err)
	b, err := os.ReadFile(filepath.Join(s.dataDir, "server/tls/server-ca.crt"))
	must(t, err)
	if string(b) != "certificate\n" {
		t.Errorf("%q", b)
	}
	b, err = os.ReadFile(filepath.Join(r.Aside[0], "tls/server-ca.crt"))
	must(t, err)
	if string(b) != "rotated" {
		t.Errorf("%q", b)
	}
}

func TestUndoCleansUpWhereALinkedDatabaseIs(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	disk := filepath.Join(s.host, "disk")
	orphan := filepath.Join(disk, ".restore-work-123")
	must(t, os.MkdirAll(orphan, 0o700))
	must(t, os.WriteFile(filepath.Join(orphan, "moved.db.new"), []byte("half a database"), 0o600))
	must(t, os.Rename(s.db, filepath.Join(disk, "moved.db")))
	must(t, os.Symlink(filepath.Join(disk, "moved.db"), s.db))
	_, err := backup.Undo(t.Context(), s.dataDir)
	must(t, err)
	if _, err := os.Stat(orphan); !errors.Is(err, os.ErrNotExist) {
		t.Error("left behind:", err)
	}
	if _, err := os.Stat(s.db); err != nil {
		t.Error(err)
	}
}
