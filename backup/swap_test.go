package backup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// A restore is killed after each of its renames, and once before and after: the
// next one finds the old files where they were, every time.
func TestSwapIsTakenBackFromEveryRename(t *testing.T) {
	t.Parallel()
	write := func(path, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := func() (server string, s *swap) {
		server = t.TempDir()
		write(filepath.Join(server, "db/state.db"), "old")
		write(filepath.Join(server, "db/state.db-wal"), "old log")
		write(filepath.Join(server, "db/other/file"), "other")
		write(filepath.Join(server, "disk/state.db"), "old")
		write(filepath.Join(server, "disk/state.db-wal"), "old log")
		write(filepath.Join(server, "token"), "old")
		s, err := newSwap(server, "stamp")
		if err != nil {
			t.Fatal(err)
		}
		work := s.work.path
		write(filepath.Join(work, "db/state.db"), "new")
		write(filepath.Join(work, "token"), "new")
		write(filepath.Join(work, "agent-token"), "new")
		s.move(filepath.Join(server, "db/other"), filepath.Join(work, "db/other"))
		s.exchange(filepath.Join(work, "db"), filepath.Join(server, "db"))
		aside, err := s.aside(filepath.Join(server, "disk"), "stamp")
		if err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(aside, "state.db.new"), "new")
		for _, name := range []string{"state.db-wal", "state.db"} {
			s.move(filepath.Join(server, "disk", name), filepath.Join(aside, name))
		}
		s.move(filepath.Join(aside, "state.db.new"), filepath.Join(server, "disk/state.db"))
		s.exchange(filepath.Join(work, "token"), filepath.Join(server, "token"))
		s.move(filepath.Join(work, "agent-token"), filepath.Join(server, "agent-token"))
		return server, s
	}
	server, s := build()
	if err := s.discard(); err != nil {
		t.Fatal(err)
	}
	want := names(t, server)
	total := len(s.Ops)

	for done := -1; done <= total+1; done++ {
		server, s := build()
		if done >= 0 { // the journal is written
			for i := range s.Ops {
				s.Ops[i].Inode, _ = inodeText(s.Ops[i].A)
			}
			b, _ := json.Marshal(s)
			write(filepath.Join(s.work.path, journalName), string(b))
		}
		for i := range min(max(done, 0), total) {
			if err := s.Ops[i].do(); err != nil {
				t.Fatal(err)
			}
		}
		if done == total+1 { // killed between the renames of the commit
			if err := os.Rename(s.Asides[0].Work, s.Asides[0].Final); err != nil {
				t.Fatal(err)
			}
		}
		s.work.f.Close() // as the kernel does for a killed process
		r, err := recoverKilled(server, filepath.Join(server, "disk"), false)
		if err != nil || len(r.Undone) != 1 {
			t.Errorf("killed after %d of %d renames: %+v, %v", done, total, r, err)
		}
		if got := names(t, server); got != want {
			t.Errorf("killed after %d of %d renames:\n%s\nwant\n%s", done, total, got, want)
		}
	}
}

// names is every file under dir with its content.
func names(t *testing.T, dir string) string {
	t.Helper()
	var all string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all += rel + "=" + string(b) + "\n"
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestASecondRestoreWaitsForNobody(t *testing.T) {
	t.Parallel()
	server := t.TempDir()
	s, err := newSwap(server, "stamp")
	if err != nil {
		t.Fatal(err)
	}
	defer s.discard()
	if _, err := recoverKilled(server, server, false); err == nil {
		t.Error("took back a restore that is at work")
	}
}
