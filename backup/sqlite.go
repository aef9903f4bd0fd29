package backup

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// dsn is the URI of a database file, whatever characters its path holds.
func dsn(path string, params ...string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	u := url.URL{Scheme: "file", Path: abs}
	s := u.String()
	for i, p := range params {
		if i == 0 {
			s += "?"
		} else {
			s += "&"
		}
		s += p
	}
	return s, nil
}

// openDB opens one connection on a database file.
func openDB(path string, params ...string) (*sql.DB, error) {
	uri, err := dsn(path, params...)
	if err != nil {
		return nil, err
	}
	connector, err := sqlite.NewConnector(uri)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

// openCopy opens a database file that nobody else writes, such as the one in a
// backup, without any side file and without changing it.
func openCopy(path string) (*sql.DB, error) {
	return openDB(path, "mode=ro", "immutable=1")
}

// code is SQLite's primary result code in err, or 0.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// classify gives SQLite's errors the kinds this package promises.
func classify(path string, err error) error {
	if err == nil {
		return nil
	}
	switch code(err) {
	case sqlite3.SQLITE_NOTADB:
		return fail("read", path, ErrNotSQLite, "the file was overwritten, or is encrypted")
	case sqlite3.SQLITE_CORRUPT:
		return fail("read", path, ErrCorrupt, "go back to an earlier backup; what can still be read comes out of the sqlite3 shell's .recover")
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fail("read", path, ErrBusy, "find the process with fuser and end its transaction, or wait longer")
	case sqlite3.SQLITE_FULL:
		return fail("write", path, ErrNoSpace, "")
	}
	if isFull(err) {
		return fail("write", path, ErrNoSpace, "")
	}
	return err
}

// checkHeader says early and clearly what SQLite would say late: that the file
// is empty, or no database at all.
func checkHeader(f *os.File) error {
	head := make([]byte, len(magic))
	n, err := f.ReadAt(head, 0)
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return fail("read", f.Name(), ErrNotSQLite, "the file is empty")
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case string(head[:n]) != magic:
		return fail("read", f.Name(), ErrNotSQLite, "the file was overwritten, or is encrypted")
	}
	return nil
}

const magic = "SQLite format 3\x00" // https://www.sqlite.org/fileformat.html

// retryBusy tries again while SQLite says that another process has a lock,
// until limit has passed or ctx is done.
func retryBusy(ctx context.Context, limit time.Duration, try func() error) error {
	deadline := time.Now().Add(limit)
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		err := try()
		if c := code(err); c != sqlite3.SQLITE_BUSY && c != sqlite3.SQLITE_LOCKED || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}
