package backup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// killed gives a server folder in which a restore was killed after so many of
// its renames, in the order: database, token.
func killed(t *testing.T, elsewhere bool, renames int) (server, db string) {
	t.Helper()
	server = t.TempDir()
	put := func(path, content string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	db = filepath.Join(server, "db/state.db")
	put(db, "old")
	put(filepath.Join(server, "token"), "old")
	s, err := newSwap(server, "stamp")
	if err != nil {
		t.Fatal(err)
	}
	staged := filepath.Join(s.work.path, "db/state.db")
	if elsewhere {
		aside, err := s.aside(filepath.Dir(db), "stamp")
		if err != nil {
			t.Fatal(err)
		}
		staged = filepath.Join(aside, "state.db.new")
		put(staged, "new")
		s.move(db, filepath.Join(aside, "state.db"))
		s.move(staged, db)
	} else {
		put(staged, "new")
		s.exchange(filepath.Dir(staged), filepath.Dir(db))
	}
	put(filepath.Join(s.work.path, "token"), "new")
	s.exchange(filepath.Join(s.work.path, "token"), filepath.Join(server, "token"))
	s.Database = db
	if s.New, err = stateText(staged); err != nil {
		t.Fatal(err)
	}
	all := s.Ops
	for i := range all {
		if all[i].Inode, err = inodeText(all[i].A); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.writeJournal(); err != nil {
		t.Fatal(err)
	}
	for _, o := range all[:renames] {
		if err := o.do(); err != nil {
			t.Fatal(err)
		}
	}
	s.work.f.Close()
	return server, db
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAKilledRestoreWhoseDatabaseK3sHasOpenedIsFinished(t *testing.T) {
	t.Parallel()
	for _, elsewhere := range []bool{false, true} {
		renames := 1
		if elsewhere {
			renames = 2
		}
		server, db := killed(t, elsewhere, renames)
		if err := os.WriteFile(db+"-wal", []byte("written since"), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := recoverKilled(server, filepath.Dir(db), false)
		if err != nil || len(r.Finished) != 1 || len(r.Undone) != 0 {
			t.Errorf("%+v, %v", r, err)
		}
		if content(t, db) != "new" || content(t, db+"-wal") != "written since" || content(t, filepath.Join(server, "token")) != "new" {
			t.Error("what was written since is lost, or the token did not follow")
		}
		old, err := filepath.Glob(filepath.Join(server, "*/before-restore-*/state.db"))
		if !elsewhere {
			old, err = filepath.Glob(filepath.Join(server, "before-restore-*/db/state.db"))
		}
		if err != nil || len(old) != 1 || content(t, old[0]) != "old" {
			t.Errorf("the old database is at %v, %v", old, err)
		}
	}
}

func TestAKilledRestoreIsTakenBackWhenNobodyOpenedItsDatabase(t *testing.T) {
	t.Parallel()
	server, db := killed(t, false, 2)
	r, err := recoverKilled(server, filepath.Dir(db), true)
	if err != nil || len(r.Undone) != 1 || content(t, db) != "new" {
		t.Errorf("dry run: %+v, %v", r, err)
	}
	r, err = recoverKilled(server, filepath.Dir(db), false)
	if err != nil || len(r.Undone) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if content(t, db) != "old" || content(t, filepath.Join(server, "token")) != "old" {
		t.Error("not the old pair")
	}
}

func TestAKilledRestoreStaysAsItIsWhileK3sRuns(t *testing.T) {
	t.Parallel()
	server, db := killed(t, false, 1)
	f, err := os.Open(db)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = recoverKilled(server, filepath.Dir(db), false)
	if !errors.Is(err, ErrRunning) || content(t, db) != "new" {
		t.Error(err)
	}
}

// Between two renames of the way without exchange there is no database; a k3s
// that is started then makes an empty one, which is not for us to throw away.
func TestADatabaseThatAppearedMeanwhileIsNotOverwritten(t *testing.T) {
	t.Parallel()
	server, db := killed(t, true, 1)
	if err := os.WriteFile(db, []byte("made since"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := recoverKilled(server, filepath.Dir(db), false)
	if !errors.Is(err, os.ErrExist) || content(t, db) != "made since" {
		t.Error(err)
	}
	old, err := filepath.Glob(filepath.Join(server, "db/.restore-work-*/state.db"))
	if err != nil || len(old) != 1 || content(t, old[0]) != "old" {
		t.Errorf("the old database is at %v, %v", old, err)
	}
	if err := os.Rename(db, db+".since"); err != nil {
		t.Fatal(err)
	}
	if _, err := recoverKilled(server, filepath.Dir(db), false); err != nil || content(t, db) != "old" {
		t.Error(err)
	}
}

func TestANewBackupIsNeverTheOldestForRetention(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, created := range map[string]time.Time{"k3s-20300101T000000Z": time.Now().AddDate(5, 0, 0), "k3s-20260101T000000Z": time.Now()} {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		m := Manifest{FormatVersion: FormatVersion, Created: created}
		if err := m.write(filepath.Join(dir, ManifestName)); err != nil {
			t.Fatal(err)
		}
	}
	just := filepath.Join(root, "k3s-20260101T000000Z")
	if _, err := prune(t.Context(), root, 1, just); err != nil || !exists(just) {
		t.Errorf("a clock that was set back costs the newest backup: %v", err)
	}
}
