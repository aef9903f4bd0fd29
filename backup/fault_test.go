package backup_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/k3sladder/k3sladder/backup"
)

// Whatever is wrong: the error says so, nothing is left at the target and
// nothing changes at the source.
func TestSaveOfWhatCannotBeSaved(t *testing.T) {
	t.Parallel()
	const token = "var/lib/rancher/k3s/server/token"
	overwrite := func(t *testing.T, path string, at int64, b []byte) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteAt(b, at)
		must(t, errors.Join(err, f.Close()))
	}
	for _, tc := range []struct {
		name    string
		prepare func(t *testing.T, s *server)
		want    error
		says    string
	}{
		{"missing token", func(t *testing.T, s *server) { must(t, os.Remove(s.token)) }, backup.ErrNoToken, "cannot be restored"},
		{"empty token", func(t *testing.T, s *server) { s.write(token, "\n") }, backup.ErrNoToken, "empty"},
		{"a token that cannot be read", func(t *testing.T, s *server) {
			must(t, os.Remove(s.token))
			must(t, os.Mkdir(s.token, 0o700))
		}, backup.ErrNoToken, "not a regular file"},
		{"a token that links to nothing", func(t *testing.T, s *server) {
			must(t, os.Remove(s.token))
			must(t, os.Symlink("nowhere", s.token))
		}, backup.ErrNoToken, ""},
		{"a token without end", func(t *testing.T, s *server) {
			must(t, os.Remove(s.token))
			must(t, os.Symlink("/dev/zero", s.token))
		}, backup.ErrNoToken, "not a regular file"},
		{"a token that is a pipe", func(t *testing.T, s *server) { pipe(t, s.token) }, backup.ErrNoToken, "not a regular file"},
		{"a database that is a pipe", func(t *testing.T, s *server) { pipe(t, s.db) }, nil, "not a regular file"},
		{"a log that is a pipe", func(t *testing.T, s *server) { pipe(t, s.db+"-wal") }, nil, "not a regular file"},
		{"an index that is a pipe", func(t *testing.T, s *server) { pipe(t, s.db+"-shm") }, nil, "not a regular file"},
		{"a journal that is a pipe", func(t *testing.T, s *server) { pipe(t, s.db+"-journal") }, nil, "not a regular file"},
		{"a database of zero bytes", func(t *testing.T, s *server) { must(t, os.Truncate(s.db, 0)) }, backup.ErrNotSQLite, "empty"},
		{"a file that is no database", func(t *testing.T, s *server) {
			must(t, os.WriteFile(s.db, []byte(strings.Repeat("hello", 4000)), 0o600))
		}, backup.ErrNotSQLite, "encrypted"},
		{"a file of a few bytes", func(t *testing.T, s *server) { must(t, os.WriteFile(s.db, []byte("SQLite"), 0o600)) }, backup.ErrNotSQLite, ""},
		{"nothing but a header", func(t *testing.T, s *server) { must(t, os.Truncate(s.db, 16)) }, backup.ErrCorrupt, ""},
		{"a truncated database", func(t *testing.T, s *server) { must(t, os.Truncate(s.db, 6*4096+100)) }, backup.ErrCorrupt, ""},
		{"a database that lost whole pages", func(t *testing.T, s *server) { must(t, os.Truncate(s.db, 5*4096)) }, backup.ErrCorrupt, ""},
		{"a database with an overwritten page", func(t *testing.T, s *server) { overwrite(t, s.db, 2*4096, make([]byte, 4096)) }, backup.ErrCorrupt, ""},
		{"a database with noise in its first page", func(t *testing.T, s *server) { overwrite(t, s.db, 100, []byte(strings.Repeat("\xff", 500))) }, backup.ErrCorrupt, ""},
		{"a database with a page size of no power of two", func(t *testing.T, s *server) { overwrite(t, s.db, 16, []byte{3, 1}) }, backup.ErrCorrupt, ""},
		{"a database that is no datastore", func(t *testing.T, s *server) { s.exec("DROP TABLE kine") }, backup.ErrNotKine, "no table kine"},
		{"a datastore of before kine", func(t *testing.T, s *server) {
			s.exec("DROP TABLE kine; CREATE TABLE key_value (name TEXT, value BLOB)")
		}, backup.ErrNotKine, "before 1.0"},
		{"a datastore that lacks columns", func(t *testing.T, s *server) { s.exec("ALTER TABLE kine DROP COLUMN old_value") }, backup.ErrNotKine, "lacks old_value"},
		{"a database in the middle of an exclusive transaction", func(t *testing.T, s *server) {
			w := startWriter(t, s.db)
			w.do("sql PRAGMA journal_mode=delete")
			w.do("sql BEGIN EXCLUSIVE")
			w.do("sql UPDATE kine SET lease = 1")
		}, backup.ErrBusy, "to release it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			tc.prepare(t, s)
			before := tree(t, s.host)
			root := t.TempDir()
			_, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: filepath.Join(root, "b"), LockTimeout: 300 * time.Millisecond})
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("%v, want %v (%s)", err, tc.want, tc.says)
			}
			tellsNothing(t, errorText(err))
			same(t, before, tree(t, s.host))
			isEmpty(t, root)
		})
	}
}

// pipe puts a named pipe, which blocks whoever reads it, in the place of a file.
func pipe(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		must(t, err)
	}
	must(t, syscall.Mkfifo(path, 0o600))
}

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) > 0 {
		t.Errorf("left in %s: %v", dir, entries)
	}
}

// Odd, but not wrong: the backup is made and verifies, and the source is as it was.
func TestSaveOfWhatIsOdd(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		prepare func(t *testing.T, s *server)
		check   func(t *testing.T, s *server, r *backup.Result)
	}{
		{name: "a linked token", prepare: func(t *testing.T, s *server) {
			must(t, os.Rename(s.token, filepath.Join(s.host, "secret")))
			must(t, os.Symlink(filepath.Join(s.host, "secret"), s.token))
		}},
		{name: "a linked database, in use", prepare: func(t *testing.T, s *server) {
			must(t, os.Rename(s.db, filepath.Join(s.host, "disk.db")))
			must(t, os.Symlink(filepath.Join(s.host, "disk.db"), s.db))
			startWriter(t, s.db).do("put /registry/configmaps/default/live in-the-log")
		}, check: func(t *testing.T, s *server, r *backup.Result) {
			if r.Manifest.Database.Revision != 24 {
				t.Errorf("revision %d", r.Manifest.Database.Revision)
			}
		}},
		{name: "a linked database after a power cut", prepare: func(t *testing.T, s *server) {
			must(t, os.Rename(s.db, filepath.Join(s.host, "disk.db")))
			must(t, os.Symlink(filepath.Join(s.host, "disk.db"), s.db))
			w := startWriter(t, s.db)
			w.do("put /registry/configmaps/default/live in-the-log")
			w.kill()
		}, check: func(t *testing.T, s *server, r *backup.Result) {
			if r.Manifest.Database.Revision != 24 {
				t.Errorf("revision %d", r.Manifest.Database.Revision)
			}
		}},
		{name: "a database in rollback mode", prepare: func(t *testing.T, s *server) { s.exec("PRAGMA journal_mode=delete") }},
		{name: "a database in rollback mode in use", prepare: func(t *testing.T, s *server) {
			s.exec("PRAGMA journal_mode=delete")
			w := startRollbackWriter(t, s.db)
			w.do("sql BEGIN IMMEDIATE")
			w.do("sql UPDATE kine SET lease = 1")
		}, check: func(t *testing.T, s *server, r *backup.Result) {
			if r.Manifest.Database.JournalMode != "delete" {
				t.Error(r.Manifest.Database.JournalMode)
			}
		}},
		{name: "a transaction cut off by a power cut in rollback mode", prepare: func(t *testing.T, s *server) {
			s.exec("PRAGMA journal_mode=delete")
			w := startRollbackWriter(t, s.db)
			w.do("sql PRAGMA cache_size=1")
			w.do("sql BEGIN IMMEDIATE")
			w.do("sql INSERT INTO kine(name, value) SELECT 'x' || value, randomblob(4000) FROM (WITH RECURSIVE c(value) AS (SELECT 1 UNION ALL SELECT value+1 FROM c WHERE value < 200) SELECT value FROM c)")
			w.kill()
			if st, err := os.Stat(s.db + "-journal"); err != nil || st.Size() == 0 {
				t.Fatal("no hot journal", err)
			}
		}, check: func(t *testing.T, s *server, r *backup.Result) {
			if r.Manifest.Database.Revision != 23 {
				t.Errorf("revision %d", r.Manifest.Database.Revision)
			}
		}},
		{name: "a long write transaction", prepare: func(t *testing.T, s *server) {
			w := startWriter(t, s.db)
			w.do("sql BEGIN IMMEDIATE")
			w.do("sql PRAGMA cache_size=1")
			w.do("sql INSERT INTO kine(name, value) SELECT 'x' || value, randomblob(4000) FROM (WITH RECURSIVE c(value) AS (SELECT 1 UNION ALL SELECT value+1 FROM c WHERE value < 200) SELECT value FROM c)")
		}, check: func(t *testing.T, s *server, r *backup.Result) {
			if r.Manifest.Database.Revision != 23 {
				t.Errorf("revision %d", r.Manifest.Database.Revision)
			}
		}},
		{name: "a log of uncommitted and torn frames after a power cut", prepare: func(t *testing.T, s *server) {
			w := startWriter(t, s.db)
			w.do("put /registry/configmaps/default/last committed")
			w.do("sql BEGIN IMMEDIATE")
			w.do("sql PRAGMA cache_size=1")
			w.do("sql INSERT INTO kine(name, value) SELECT 'x' || value, randomblob(4000) FROM (WITH RECURSIVE c(value) AS (SELECT 1 UNION ALL SELECT value+1 FROM c WHERE value < 200) SELECT value FROM c)")
			w.kill()
			st, err := os.Stat(s.db + "-wal")
			must(t, err)
			must(t, os.Truncate(s.db+"-wal", st.Size()-1000))
		}, check: func(t *testing.T, s *server, r *backup.Result) {
			if r.Manifest.Database.Revision != 24 {
				t.Errorf("revision %d", r.Manifest.Database.Revision)
			}
		}},
		{name: "pages of 65536 bytes", prepare: func(t *testing.T, s *server) {
			s.exec("PRAGMA journal_mode=delete")
			s.rollback("PRAGMA page_size=65536; VACUUM")
		}},
		{name: "pages of 512 bytes, in the log", prepare: func(t *testing.T, s *server) {
			s.exec("PRAGMA journal_mode=delete")
			s.rollback("PRAGMA page_size=512; VACUUM")
			w := startWriter(t, s.db)
			w.do("put /registry/configmaps/default/last in-the-log")
			w.kill()
		}},
		{name: "a folder nobody can write", prepare: func(t *testing.T, s *server) {
			must(t, os.Chmod(filepath.Dir(s.db), 0o500))
			t.Cleanup(func() { os.Chmod(filepath.Dir(s.db), 0o700) })
		}},
		{name: "this process has the database open", prepare: func(t *testing.T, s *server) {
			db := s.open()
			putRow(t, db, "/registry/configmaps/default/own", "in the log of this process")
		}, check: func(t *testing.T, s *server, r *backup.Result) {
			if r.Manifest.Database.Revision != 24 {
				t.Errorf("revision %d", r.Manifest.Database.Revision)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			tc.prepare(t, s)
			var before map[string]string
			if !strings.Contains(tc.name, "this process") { // reading the files would drop its locks
				before = tree(t, s.host)
			}
			dir := filepath.Join(t.TempDir(), "b")
			r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: dir, LockTimeout: time.Second})
			must(t, err)
			if before != nil {
				same(t, before, tree(t, s.host))
			}
			v, err := backup.Verify(t.Context(), dir, backup.VerifyOptions{Full: true})
			must(t, err)
			if !v.OK {
				t.Error(v)
			}
			if tc.check != nil {
				tc.check(t, s, r)
			}
		})
	}
}

func TestPathsWithCharactersThatMeanSomethingElsewhere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a?b=c", "a#b", "a%20b", "a b", "ü-ключ-鍵", "a'b\"c", "a&b", "-a", "a\nb"} {
		for _, use := range []string{"at rest", "in use", "in this process"} {
			t.Run(fmt.Sprintf("%q %s", name, use), func(t *testing.T) {
				t.Parallel()
				s := newServer(t)
				moved := filepath.Join(filepath.Dir(s.dataDir), name)
				must(t, os.Rename(s.dataDir, moved))
				db := filepath.Join(moved, "server/db/state.db")
				switch use {
				case "in use":
					startWriter(t, db).do("put /registry/configmaps/default/live in-the-log")
				case "in this process":
					putRow(t, openKine(t, db), "/registry/configmaps/default/live", "in the log")
				}
				dir := filepath.Join(t.TempDir(), name)
				_, err := backup.Save(t.Context(), moved, backup.Options{Out: dir, HostRoot: s.host})
				must(t, err)
				v, err := backup.Verify(t.Context(), dir, backup.VerifyOptions{})
				must(t, err)
				if !v.OK {
					t.Error(v)
				}
				target := filepath.Join(t.TempDir(), name)
				_, err = backup.Restore(t.Context(), dir, target, backup.RestoreOptions{HostRoot: t.TempDir()})
				must(t, err)
			})
		}
	}
}

func TestTwoSavesAtOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	startWriter(t, s.db).do("put /registry/configmaps/default/live in-the-log")
	root := t.TempDir()
	out := filepath.Join(root, "b")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { _, errs[i] = backup.Save(t.Context(), s.dataDir, backup.Options{Out: out}) })
	}
	wg.Wait()
	good := 0
	for _, err := range errs {
		if err == nil {
			good++
		} else if !errors.Is(err, backup.ErrExists) {
			t.Error(err)
		}
	}
	if good != 1 {
		t.Errorf("%d saves say that they made %s", good, out)
	}
	v, err := backup.Verify(t.Context(), out, backup.VerifyOptions{})
	must(t, err)
	if entries, _ := os.ReadDir(root); !v.OK || len(entries) != 1 {
		t.Error(v, entries)
	}
}

func TestTheSourceVanishesMidway(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.exec("INSERT INTO kine(name, value) VALUES ('/registry/big', randomblob(8000000))")
	root := t.TempDir()
	_, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: filepath.Join(root, "b"), Progress: func(p backup.Progress) {
		if p.Phase == backup.PhaseCopy {
			os.RemoveAll(s.dataDir)
		}
	}})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	isEmpty(t, root)
}

func TestACancelledSaveLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, phase := range []backup.Phase{backup.PhaseCopy, backup.PhaseCheck, backup.PhaseHash} {
		t.Run("during "+string(phase), func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			startWriter(t, s.db)
			root := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			_, err := backup.Save(ctx, s.dataDir, backup.Options{Out: filepath.Join(root, "b"), Progress: func(p backup.Progress) {
				if p.Phase == phase {
					cancel()
				}
			}})
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			isEmpty(t, root)
		})
	}
}

func TestATargetThatIsNotFree(t *testing.T) {
	t.Parallel()
	s, dir := saved(t, backup.Options{})
	before := tree(t, dir)
	_, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: dir})
	if !errors.Is(err, backup.ErrExists) {
		t.Error(err)
	}
	same(t, before, tree(t, dir))

	r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: dir, Force: true})
	must(t, err)
	if r.Manifest.Database.Revision != 24 {
		t.Error(r.Manifest.Database.Revision)
	}
	if entries, _ := os.ReadDir(filepath.Dir(dir)); len(entries) != 1 {
		t.Error(entries)
	}

	other := t.TempDir()
	must(t, os.WriteFile(filepath.Join(other, "mine"), nil, 0o600))
	if _, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: other, Force: true}); !errors.Is(err, backup.ErrExists) {
		t.Errorf("a folder of somebody else's was replaced: %v", err)
	}
	file := filepath.Join(other, "mine")
	if _, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: file, Force: true}); !errors.Is(err, backup.ErrExists) {
		t.Errorf("a file was replaced: %v", err)
	}
	empty := t.TempDir()
	if _, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: empty}); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
}
