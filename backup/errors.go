package backup

import (
	"errors"
	"fmt"
)

// What can be wrong, for errors.Is. The error itself names the file and says
// what to do.
var (
	// ErrExists: something is already under the name of the result.
	ErrExists = errors.New("already exists")
	// ErrNoToken: the server token is missing, empty or unreadable. A datastore
	// without its token cannot be restored.
	ErrNoToken = errors.New("no server token")
	// ErrOtherToken: the token is not the one that opens the datastore.
	ErrOtherToken = errors.New("another token")
	// ErrNotSQLite: the file is not an SQLite database (or is encrypted).
	ErrNotSQLite = errors.New("not an SQLite database")
	// ErrCorrupt: SQLite finds the database malformed.
	ErrCorrupt = errors.New("the database is damaged")
	// ErrNotKine: an SQLite database, but not a Kubernetes datastore of kine.
	ErrNotKine = errors.New("not a kine datastore")
	// ErrBusy: another process kept the database locked for too long.
	ErrBusy = errors.New("the database is locked by another process")
	// ErrRunning: k3s (or another program) has the datastore open.
	ErrRunning = errors.New("the datastore is in use")
	// ErrNoSpace: the target's file system is too full.
	ErrNoSpace = errors.New("not enough free space")
	// ErrNotBackup: the folder is not a backup this package can judge.
	ErrNotBackup = errors.New("not a backup of this program")
	// ErrVerify: the backup has a fault and must not be restored.
	ErrVerify = errors.New("the backup does not verify")
	// ErrNewer: the backup is of a newer Kubernetes minor than the installed k3s.
	ErrNewer = errors.New("the backup is of a newer k3s")
)

// errNoFolder: an empty path is a setting that is missing, and never the folder
// that the program happens to run in.
var errNoFolder = errors.New("the path of a folder is empty")

// Error is a failure of one step on one path, with what to do about it.
type Error struct {
	Op   string // what was tried, e.g. "save", "read token"
	Path string // on what
	Err  error  // why it failed
	Hint string // what to do next, or empty
}

// Error names the step, the path, the cause and what to do next.
func (e *Error) Error() string {
	s := e.Op
	if e.Path != "" {
		s += " " + e.Path
	}
	s += ": " + e.Err.Error()
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

func fail(op, path string, err error, hint string, args ...any) error {
	if len(args) > 0 {
		hint = fmt.Sprintf(hint, args...)
	}
	return &Error{Op: op, Path: path, Err: err, Hint: hint}
}
