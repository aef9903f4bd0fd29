package backup

import (
	"encoding/binary"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A reader of a live database in WAL mode holds three shared locks, as SQLite's
// own readers do (https://www.sqlite.org/walformat.html#locks):
//
//   - on the database file, so that a process that closes it does not fold the
//     log into it and delete the log;
//   - on the -shm's dead man's switch, so that a process that opens it takes the
//     -shm for one in use;
//   - on a read mark, so that no writer starts the log anew and no checkpoint
//     writes pages into the database file that are newer than the mark.
//
// While they are held (mark 0 aside, see chooseMark), the pages of the file that a checkpoint may change are
// all among the frames of the log, and committed frames do not change. The file
// with all committed frames on top is therefore one moment, however long it is
// read.
//
// The locks belong to the open file, not to the process (OFD), so nothing else
// in the process can drop them. Nothing is written to the -shm: the mark is one
// that is there.
type moment struct {
	db  *os.File
	log *os.File // nil when the file has all of it
	shm *os.File
	// least is the committed frame up to which the log must reach.
	least int
}

// Offsets in the -shm (https://www.sqlite.org/walformat.html#the_wal_index_file_format).
const (
	shmHeader     = 48 // twice, the second copy follows the first
	shmMaxFrame   = 16
	shmSalt       = 32
	shmBackfilled = 96
	shmReadMarks  = 100
	shmSize       = 136
	lockWrite     = 120
	lockCkpt      = 121
	lockRead0     = 123
	lockDMS       = 128
	readMarks     = 5
	markUnused    = 0xffffffff
)

// openMoment takes the locks. It gives errTryAgain when another process has one
// of them exclusively, and errNoWAL when the database is not in WAL mode.
func openMoment(path string) (_ *moment, err error) {
	m := &moment{}
	defer func() {
		if err != nil {
			m.close()
		}
	}()
	for _, f := range []struct {
		path string
		to   **os.File
	}{{path, &m.db}, {path + "-wal", &m.log}, {path + "-shm", &m.shm}} {
		*f.to, err = openRegular(f.path)
		if errors.Is(err, os.ErrNotExist) && f.to != &m.db {
			return nil, errNoWAL
		}
		if err != nil {
			return nil, err
		}
	}
	if err := shared(m.db, sharedStart, sharedLen); err != nil {
		return nil, err
	}
	if err := shared(m.shm, lockDMS, 1); err != nil {
		return nil, err
	}
	before, err := m.index()
	if err != nil {
		return nil, err
	}
	slot, mark, ok := chooseMark(before)
	if !ok {
		return nil, errTryAgain
	}
	if err := shared(m.shm, lockRead0+int64(slot), 1); err != nil {
		return nil, err
	}
	// The mark, and the log's generation in the header, may have changed before
	// the lock was there.
	after, err := m.index()
	if err != nil {
		return nil, err
	}
	if string(before[:shmHeader]) != string(after[:shmHeader]) || slot > 0 && readMark(after, slot) != mark {
		return nil, errTryAgain
	}
	// A k3s that was restarted a moment ago may have made the log anew, after it
	// was opened here.
	if !leadsTo(path, m.db) || !leadsTo(path+"-wal", m.log) || !leadsTo(path+"-shm", m.shm) {
		return nil, errTryAgain
	}
	if slot == 0 {
		m.log.Close()
		m.log = nil
		return m, nil
	}
	salt := make([]byte, 8)
	if _, err := m.log.ReadAt(salt, walSalt); err != nil || string(salt) != string(after[shmSalt:shmSalt+8]) {
		return nil, errors.Join(errTryAgain, err)
	}
	m.least = int(binary.NativeEndian.Uint32(after[shmMaxFrame:]))
	return m, nil
}

// chooseMark gives the read mark to lock. Mark 0 is for a file that has all of
// the log already: no checkpoint writes the file while it is locked, and the log
// does not matter, so it may even start anew.
func chooseMark(index []byte) (slot int, mark uint32, ok bool) {
	newest := binary.NativeEndian.Uint32(index[shmMaxFrame:])
	if binary.NativeEndian.Uint32(index[shmBackfilled:]) == newest {
		return 0, 0, true
	}
	for i := 1; i < readMarks; i++ {
		if m := readMark(index, i); m != markUnused && m <= newest && (!ok || m >= mark) {
			slot, mark, ok = i, m, true
		}
	}
	return slot, mark, ok
}

func readMark(index []byte, slot int) uint32 {
	return binary.NativeEndian.Uint32(index[shmReadMarks+4*slot:])
}

// index reads the head of the -shm; its header is whole when both copies agree.
func (m *moment) index() ([]byte, error) {
	b := make([]byte, shmSize)
	if _, err := m.shm.ReadAt(b, 0); errors.Is(err, io.EOF) {
		return nil, errTryAgain
	} else if err != nil {
		return nil, err
	}
	const isInit = 12
	if string(b[:shmHeader]) != string(b[shmHeader:2*shmHeader]) || b[isInit] == 0 {
		return nil, errTryAgain
	}
	return b, nil
}

// shared takes a read lock without waiting.
func shared(f *os.File, start, length int64) error {
	lock := unix.Flock_t{Type: unix.F_RDLCK, Start: start, Len: length}
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return errTryAgain
	}
	return err
}

// checkpointing says whether another process is in a checkpoint that also keeps
// writers out; if it lasts, it waits for a reader.
func (m *moment) checkpointing() bool {
	for _, at := range []int64{lockWrite, lockCkpt} {
		h, err := probeFile(m.shm, at, 1)
		if err != nil || !h.held {
			return false
		}
	}
	return true
}

// close ends the moment.
func (m *moment) close() {
	for _, f := range []*os.File{m.shm, m.log, m.db} {
		if f != nil {
			f.Close()
		}
	}
}

// startWriteback has the kernel begin to write what was just written, so that
// the fsync at the end, and other processes' until then, have little to wait
// for. It is advice: errors do not matter.
func startWriteback(f *os.File, at, length int64) {
	_ = unix.SyncFileRange(int(f.Fd()), at, length, unix.SYNC_FILE_RANGE_WRITE)
}

// reserve takes the space for a file at once: a full disk is known before the
// copy begins, and the file system need not find blocks while other processes
// wait for its journal. Where it cannot, the copy does without.
func reserve(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	if isFull(err) {
		return &os.PathError{Op: "reserve", Path: f.Name(), Err: err}
	}
	return nil
}
