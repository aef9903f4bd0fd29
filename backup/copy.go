package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"modernc.org/sqlite"
)

// stepPages is how much is copied between two looks at the context. All steps
// run inside one read transaction, so a commit of another process restarts
// nothing.
const stepPages = 2048

// errInUse: a process opened the database while it was being copied as one at
// rest.
var errInUse = errors.New("a process opened the database during the copy")

// copyDatabase writes the database src, as it is at one moment, to dst, which
// must not exist. The copy is in rollback-journal mode and has no side files.
// Nothing about the source changes, not even the presence of -wal and -shm.
//
// A database in use is read through SQLite, in one read transaction: in WAL
// mode no writer waits for it. A database at rest is not opened with SQLite at
// all, which would have to make or change side files: its files are copied, and
// SQLite recovers the copy.
func copyDatabase(ctx context.Context, src, dst string, wait time.Duration, m *meter) (Database, error) {
	for try := 0; ; try++ {
		h, err := whoHolds(src)
		if err != nil {
			return Database{}, err
		}
		var d Database
		if h.held {
			d, err = copyLive(ctx, src, dst, wait, m)
			if errors.Is(err, ErrBusy) {
				err = fail("read", src, ErrBusy, "waited %s; it is held by %s", wait, h)
			}
		} else {
			d, err = copyAtRest(ctx, src, dst, m)
		}
		if errors.Is(err, errInUse) && try < 5 {
			if err := removeDatabase(dst); err != nil {
				return Database{}, err
			}
			continue
		}
		return d, err
	}
}

// copyLive copies through SQLite's backup interface while one read transaction
// keeps the moment.
func copyLive(ctx context.Context, src, dst string, wait time.Duration, m *meter) (d Database, err error) {
	if st, err := os.Stat(src + "-wal"); err == nil {
		d.WALBytes = st.Size()
	}
	db, err := openDB(src, "mode=ro", "readonly_shm=1", "_pragma=query_only(1)")
	if err != nil {
		return d, err
	}
	defer db.Close()
	conn, err := openConn(ctx, db, src, wait)
	if err != nil {
		return d, err
	}
	defer conn.Close()
	begin := func() error {
		if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
			return err
		}
		var n int
		err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n)
		if err != nil {
			conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		}
		return err
	}
	if err := retryBusy(ctx, wait, begin); err != nil {
		return d, classify(src, err)
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	if err := d.readFile(ctx, conn); err != nil {
		return d, classify(src, err)
	}
	// The target is thrown away when anything fails, so it needs no journal;
	// its only fsync comes later, when the source's readers are gone.
	target, err := dsn(dst, "_pragma=journal_mode(off)", "_pragma=synchronous(off)", "_pragma=locking_mode(exclusive)")
	if err != nil {
		return d, err
	}
	err = conn.Raw(func(driverConn any) error {
		b, err := driverConn.(interface {
			NewBackup(string) (*sqlite.Backup, error)
		}).NewBackup(target)
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if err = ctx.Err(); err != nil {
				break
			}
			more, err = b.Step(stepPages)
			if pages := int64(b.PageCount()); pages > 0 {
				done := pages - int64(b.Remaining())
				m.at(done*d.PageSize, pages*d.PageSize, done)
			}
		}
		return errors.Join(err, b.Finish())
	})
	if err != nil {
		return d, classify(src, err)
	}
	return d, leaveWAL(dst)
}

// leaveWAL marks a database file whose log is empty as one in rollback mode: it
// can then be read from read-only media and gets no side files by being looked
// at. kine sets WAL mode whenever it starts. Bytes 18 and 19 are the file
// format's write and read version (https://www.sqlite.org/fileformat.html#file_format_version_numbers).
func leaveWAL(path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Chmod(0o600); err != nil {
		return err
	}
	_, err = f.WriteAt([]byte{1, 1}, 18)
	return err
}

// copyAtRest copies the files of a database that nobody has open, under the
// shared lock that keeps other processes from removing its log, and lets SQLite
// replay log or journal into the copy.
func copyAtRest(ctx context.Context, src, dst string, m *meter) (d Database, err error) {
	if err := checkHeader(src); err != nil {
		return d, err
	}
	lock, err := os.Open(src)
	if err != nil {
		return d, err
	}
	defer lock.Close()
	if h, err := readLock(lock); err != nil {
		return d, err
	} else if h.held {
		return d, errInUse
	}
	before, err := sizes(src)
	if err != nil {
		return d, err
	}
	d.WALBytes = before["-wal"].size
	var total, done int64
	for _, f := range before {
		total += f.size
	}
	for suffix := range before {
		err := copyFile(ctx, src+suffix, dst+suffix, func(n int64) {
			done += n
			m.at(min(done, total-1), total, 0)
		})
		if err != nil {
			return d, err
		}
	}
	after, err := sizes(src)
	if err != nil {
		return d, err
	}
	if h, err := othersHold(lock); err != nil {
		return d, err
	} else if h.held || fmt.Sprint(before) != fmt.Sprint(after) {
		return d, errInUse
	}

	db, err := openDB(dst, "_pragma=synchronous(off)", "_pragma=locking_mode(exclusive)")
	if err != nil {
		return d, err
	}
	defer db.Close()
	conn, err := openConn(ctx, db, src, 0)
	if err != nil {
		return d, err
	}
	defer conn.Close()
	if err := d.readFile(ctx, conn); err != nil {
		return d, classify(src, err)
	}
	var mode string
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode=delete").Scan(&mode); err != nil {
		return d, classify(src, err)
	}
	if mode != "delete" {
		return d, fmt.Errorf("the copy of %s stays in journal mode %s", src, mode)
	}
	m.at(total, total, d.Pages)
	return d, nil
}

type fileState struct {
	size  int64
	mtime time.Time
	inode any
}

// sizes describes the database's files that hold data: itself, its log or its
// journal. The -shm is an index of the log and is made anew from it.
func sizes(src string) (map[string]fileState, error) {
	found := map[string]fileState{}
	for _, suffix := range []string{"", "-wal", "-journal"} {
		st, err := os.Stat(src + suffix)
		if errors.Is(err, os.ErrNotExist) && suffix != "" {
			continue
		}
		if err != nil {
			return nil, err
		}
		found[suffix] = fileState{st.Size(), st.ModTime(), inode(st)}
	}
	return found, nil
}

func removeDatabase(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// openConn opens the connection itself, which is where SQLite first reads the
// file.
func openConn(ctx context.Context, db *sql.DB, path string, wait time.Duration) (*sql.Conn, error) {
	var conn *sql.Conn
	err := retryBusy(ctx, wait, func() (err error) {
		conn, err = db.Conn(ctx)
		return err
	})
	return conn, classify(path, err)
}
