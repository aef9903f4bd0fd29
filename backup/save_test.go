package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/k3sladder/k3sladder/backup"
)

func TestSaveOfAServerAtRestVerifies(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	before := tree(t, s.dataDir)
	out := filepath.Join(t.TempDir(), "b")
	r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: out})
	must(t, err)
	same(t, before, tree(t, s.dataDir))
	if !r.OK() || r.Manifest.K3sVersion != "v1.34.4+k3s1" || r.Manifest.Node != "one" {
		t.Errorf("%+v", r.Manifest)
	}
	v, err := backup.Verify(t.Context(), out, backup.VerifyOptions{Full: true})
	must(t, err)
	if !v.OK || v.TokenCheck.Opens != backup.OpensYes {
		t.Error(v)
	}
	t.Log(r, v)
	for _, name := range []string{"state.db", "token", "backup.json", "server/tls/server-ca.crt"} {
		st, err := os.Stat(filepath.Join(out, name))
		must(t, err)
		if st.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v", name, st.Mode())
		}
	}
}

func TestSaveOfAServerInUse(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	w := startWriter(t, s.db)
	w.do("put /registry/configmaps/default/live in-the-log-only")
	before := tree(t, s.dataDir)
	out := filepath.Join(t.TempDir(), "b")
	r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: out})
	must(t, err)
	same(t, before, tree(t, s.dataDir))
	if r.Manifest.Database.Revision != 24 {
		t.Errorf("revision %d", r.Manifest.Database.Revision)
	}
	w.do("put /registry/configmaps/default/live still-writable")
	t.Log(r)
}

func TestSaveAfterAPowerCutReplaysTheLogIntoTheCopyOnly(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	w := startWriter(t, s.db)
	w.do("put /registry/configmaps/default/live in-the-log-only")
	w.kill()
	before := tree(t, s.dataDir)
	out := filepath.Join(t.TempDir(), "b")
	r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: out})
	must(t, err)
	same(t, before, tree(t, s.dataDir))
	if r.Manifest.Database.Revision != 24 {
		t.Errorf("revision %d", r.Manifest.Database.Revision)
	}
	t.Log(r)
}

func TestSaveRefusesWhatCannotBeMeant(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	out := t.TempDir()
	nowhere, linked := filepath.Join(out, "nowhere"), filepath.Join(out, "linked")
	must(t, os.Symlink(filepath.Join(out, "absent"), nowhere))
	must(t, os.Symlink(filepath.Join(s.dataDir, "server"), linked))
	for _, tc := range []struct {
		name string
		opts backup.Options
		says string
	}{
		{"a version that is none", backup.Options{Out: filepath.Join(out, "b"), K3sVersion: "latest; reboot"}, "no version of k3s"},
		{"a folder among the certificates", backup.Options{Out: filepath.Join(s.dataDir, "server/tls/b")}, "among the files of k3s"},
		{"a root beside the database", backup.Options{Root: filepath.Join(s.dataDir, "server/db/new/root")}, "among the files of k3s"},
		{"the server's folder itself", backup.Options{Out: filepath.Join(s.dataDir, "server"), Force: true}, ""},
		{"a folder among them by way of a link", backup.Options{Out: filepath.Join(linked, "db/b")}, "among the files of k3s"},
		{"a link that leads nowhere, with force", backup.Options{Out: nowhere, Force: true}, "symbolic link"},
		{"a link that leads nowhere", backup.Options{Out: nowhere}, "symbolic link"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := tree(t, s.host)
			_, err := backup.Save(t.Context(), s.dataDir, tc.opts)
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %s", err, tc.says)
			}
			same(t, before, tree(t, s.host))
			if _, err := os.Lstat(nowhere); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMaxRateHoldsTheCopyBack(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.exec("CREATE TABLE filler AS SELECT randomblob(3000000) AS b")
	r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: filepath.Join(t.TempDir(), "b"), MaxRate: 10_000_000})
	must(t, err)
	// The last piece of 512 KiB goes out as soon as those before it may be done.
	if least := time.Duration(r.Manifest.Database.Bytes-512<<10) * time.Second / 10_000_000; r.CopyTook < least {
		t.Errorf("%d bytes in %s, not before %s", r.Manifest.Database.Bytes, r.CopyTook, least)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := backup.Save(ctx, s.dataDir, backup.Options{Out: filepath.Join(t.TempDir(), "b"), MaxRate: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestSaveJudgesItsOptionsBeforeTheServer(t *testing.T) {
	t.Parallel()
	for _, opts := range []backup.Options{{}, {Out: "a", Root: "b"}, {Out: "a", Keep: 3}, {Root: "b", Keep: -1}} {
		if _, err := backup.Save(t.Context(), filepath.Join(t.TempDir(), "absent"), opts); err == nil || !strings.HasPrefix(err.Error(), "save: ") {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}
