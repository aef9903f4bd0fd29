package backup_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/k3sladder/k3sladder/backup"
)

func TestKeepRemovesOldVerifiedBackupsOnly(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	root := t.TempDir()
	var dirs []string
	for range 5 {
		r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Root: root})
		must(t, err)
		dirs = append(dirs, r.Dir)
	}
	// What looks old but is not this program's, or not good, or not only a backup.
	must(t, os.Mkdir(filepath.Join(root, "k3s-20200101T000000Z"), 0o700))
	must(t, os.Rename(dirs[0], filepath.Join(root, "precious")))
	must(t, os.WriteFile(filepath.Join(dirs[1], "token"), []byte("changed"), 0o600))
	must(t, os.WriteFile(filepath.Join(dirs[2], "note.txt"), []byte("mine"), 0o600))

	r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Root: root, Keep: 2})
	must(t, err)
	if diff := cmp.Diff([]string{dirs[3]}, r.Pruned); diff != "" {
		t.Error(diff)
	}
	for _, dir := range []string{dirs[1], dirs[2], dirs[4], r.Dir, filepath.Join(root, "precious"), filepath.Join(root, "k3s-20200101T000000Z")} {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(dirs[3]); err == nil {
		t.Error("the oldest good backup is still there")
	}
	list, err := backup.List(t.Context(), root)
	must(t, err)
	if len(list) != 5 {
		t.Errorf("%+v", list)
	}
	for _, e := range list {
		if e.Problem != "" || e.K3sVersion != "v1.34.4+k3s1" || e.Bytes == 0 {
			t.Errorf("%+v", e)
		}
	}
}

func TestABackupWithAnotherTokenRemovesNothing(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	root := t.TempDir()
	for range 2 {
		_, err := backup.Save(t.Context(), s.dataDir, backup.Options{Root: root})
		must(t, err)
	}
	s.write("var/lib/rancher/k3s/server/token", "another")
	r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Root: root, Keep: 1})
	must(t, err)
	if r.OK() || len(r.Pruned) != 0 {
		t.Errorf("%v removed %v", r.OK(), r.Pruned)
	}
	removed, err := backup.Prune(context.Background(), root, 1)
	must(t, err)
	if len(removed) != 1 || removed[0] == r.Dir {
		t.Errorf("removed %v", removed)
	}
}

func TestPruneNeedsSomethingToKeep(t *testing.T) {
	t.Parallel()
	if _, err := backup.Prune(t.Context(), t.TempDir(), 0); err == nil {
		t.Error("agreed to remove everything")
	}
}
