package backup

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Byte ranges that SQLite locks: in the database file from PENDING_BYTE to the
// end of the shared range (https://www.sqlite.org/src/file/src/os.h), in the
// -shm file the eight locks of the WAL index and the dead man's switch
// (https://www.sqlite.org/walformat.html#locks).
const (
	dbLockStart, dbLockLen   = 0x40000000, 512
	shmLockStart, shmLockLen = 120, 9
	sharedStart, sharedLen   = 0x40000002, 510
)

// holder says who has a database open, as far as file locks tell: every
// connection in WAL mode holds one for as long as it lives.
type holder struct {
	held bool
	self bool // a connection of this very process
	pid  int  // 0 when the kernel does not tell
}

func (h holder) String() string {
	switch {
	case !h.held:
		return "nobody"
	case h.self:
		return "this process"
	case h.pid <= 0:
		return "another process"
	}
	if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", h.pid)); err == nil {
		return fmt.Sprintf("process %d (%s)", h.pid, strings.TrimSpace(string(comm)))
	}
	return fmt.Sprintf("process %d", h.pid)
}

// whoHolds looks for locks on the database and its -shm. It opens neither when
// this process holds locks on them itself: POSIX drops all locks a process has
// on a file as soon as it closes any descriptor of it.
func whoHolds(dbPath string) (holder, error) {
	own, err := ownLocks()
	if err != nil {
		return holder{}, err
	}
	for _, f := range []struct {
		path       string
		start, len int64
	}{{dbPath, dbLockStart, dbLockLen}, {dbPath + "-shm", shmLockStart, shmLockLen}} {
		st, err := os.Stat(f.path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return holder{}, err
		}
		if own[st.Sys().(*syscall.Stat_t).Ino] {
			return holder{held: true, self: true, pid: os.Getpid()}, nil
		}
		h, err := probe(f.path, f.start, f.len)
		if err != nil || h.held {
			return h, err
		}
	}
	return holder{}, nil
}

// probe asks the kernel whether a write lock on the range would have to wait.
func probe(path string, start, length int64) (holder, error) {
	f, err := openRegular(path)
	if err != nil {
		return holder{}, err
	}
	defer f.Close()
	return probeFile(f, start, length)
}

func probeFile(f *os.File, start, length int64) (holder, error) {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: start, Len: length}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock); err != nil {
		return holder{}, &os.PathError{Op: "query locks of", Path: f.Name(), Err: err}
	}
	if lock.Type == unix.F_UNLCK {
		return holder{}, nil
	}
	return holder{held: true, pid: int(lock.Pid)}, nil
}

// ownLocks are the inodes this process holds locks on.
func ownLocks() (map[uint64]bool, error) {
	f, err := os.Open("/proc/locks")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // no /proc: no other way to know, see the package's notes
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	own := map[uint64]bool{}
	me := strconv.Itoa(os.Getpid())
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// 1: POSIX  ADVISORY  READ 1234 fe:00:131 128 128
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[4] != me {
			continue
		}
		parts := strings.Split(fields[5], ":")
		if ino, err := strconv.ParseUint(parts[len(parts)-1], 10, 64); err == nil {
			own[ino] = true
		}
	}
	return own, lines.Err()
}

// readLock takes the shared lock a reading SQLite connection takes, so that no
// other process can begin to write the database file in rollback mode, or
// remove its log, until f is closed. It says who else has the database open.
func readLock(f *os.File) (holder, error) {
	lock := unix.Flock_t{Type: unix.F_RDLCK, Start: sharedStart, Len: sharedLen}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock); err != nil {
		return holder{held: true}, nil
	}
	return othersHold(f)
}

// othersHold is whoHolds for a file with a lock of our own.
func othersHold(f *os.File) (holder, error) {
	h, err := probeFile(f, dbLockStart, dbLockLen)
	if err != nil || h.held {
		return h, err
	}
	h, err = probe(f.Name()+"-shm", shmLockStart, shmLockLen)
	if errors.Is(err, os.ErrNotExist) {
		return holder{}, nil
	}
	return h, err
}

// freeBytes is what an unprivileged user can still write beside path.
func freeBytes(path string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// lockDir takes an exclusive lock on an open folder, or says that another has it.
func lockDir(d *os.File) error {
	return unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

func inode(st os.FileInfo) any {
	s := st.Sys().(*syscall.Stat_t)
	return [2]uint64{uint64(s.Dev), s.Ino}
}

// exchange makes two names change places in one step.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}
