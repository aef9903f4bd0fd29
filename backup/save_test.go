package backup_test

import (
	"os"
	"path/filepath"
	"testing"

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
