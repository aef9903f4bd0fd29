package backup

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"time"

	"modernc.org/sqlite"
)

// stepPages is how much is copied between two looks at the context. All steps
// run inside one read transaction, so a commit of another process restarts
// nothing.
const stepPages = 2048

// copyThroughSQLite copies through SQLite's backup interface, while one read
// transaction keeps the moment.
func copyThroughSQLite(ctx context.Context, src, dst string, wait time.Duration, m *meter) (c copied, err error) {
	db, err := openDB(src, "mode=ro", "readonly_shm=1", "_pragma=query_only(1)")
	if err != nil {
		return c, err
	}
	defer db.Close()
	conn, err := openConn(ctx, db, src, wait)
	if err != nil {
		return c, err
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
		return c, classify(src, err)
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	if err := c.readFile(ctx, conn); err != nil {
		return c, classify(src, err)
	}
	// The target is thrown away when anything fails, so it needs no journal;
	// its only fsync comes later, when the source's readers are gone.
	target, err := dsn(dst, "_pragma=journal_mode(off)", "_pragma=synchronous(off)", "_pragma=locking_mode(exclusive)")
	if err != nil {
		return c, err
	}
	err = conn.Raw(func(driverConn any) error {
		b, err := driverConn.(interface {
			NewBackup(string) (*sqlite.Backup, error)
		}).NewBackup(target)
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			more, err = b.Step(stepPages)
			if pages := int64(b.PageCount()); pages > 0 {
				done := pages - int64(b.Remaining())
				m.at(done*c.PageSize, pages*c.PageSize, done)
				err = errors.Join(err, m.pace(ctx, done*c.PageSize))
			}
		}
		return errors.Join(err, b.Finish())
	})
	if err != nil {
		return c, classify(src, err)
	}
	return c, leaveWAL(dst)
}

// leaveWAL marks a database file whose log is empty as one in rollback mode: it
// can then be read from read-only media and gets no side files by being looked
// at. kine sets WAL mode whenever it starts. Bytes 18 and 19 are the file
// format's write and read version
// (https://www.sqlite.org/fileformat.html#file_format_version_numbers).
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
