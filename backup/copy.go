package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

var (
	// errTryAgain: a lock was taken for a moment, or something changed meanwhile.
	errTryAgain = errors.New("it was locked or changed")
	// errNoWAL: the database is not in WAL mode, or its log is not shared.
	errNoWAL = errors.New("no write-ahead log in use")
	// errYield: a checkpoint that keeps the writer out waits for this reader.
	errYield = errors.New("a checkpoint waits for the copy")
)

// copied is what copyDatabase knows of its copy. sum, its SHA-256, is empty when
// it was not made on the way.
type copied struct {
	Database
	sum string
}

// copyDatabase writes the database src, as it is at one moment, to dst, which
// must not exist. The copy is in rollback-journal mode and has no side files.
// Nothing about the source changes, not even the presence of -wal and -shm.
func copyDatabase(ctx context.Context, src, dst string, wait time.Duration, m *meter) (copied, error) {
	deadline := time.Now().Add(wait)
	for pause, yields := 2*time.Millisecond, 0; ; pause = min(2*pause, 100*time.Millisecond) {
		h, err := whoHolds(src)
		if err != nil {
			return copied{}, err
		}
		logSize := int64(0)
		if st, err := os.Stat(src + "-wal"); err == nil {
			logSize = st.Size()
		}
		c, err := copyOnce(ctx, src, dst, h, yields < maxYields, time.Until(deadline), m)
		c.WALBytes = logSize
		if errors.Is(err, errYield) {
			yields++
			pause = 250 * time.Millisecond // SQLite looks again after 100 ms at most
		} else if !errors.Is(err, errTryAgain) {
			if errors.Is(err, ErrBusy) {
				err = busy(src, h, wait)
			}
			return c, err
		} else if time.Now().After(deadline) {
			return c, busy(src, h, wait)
		}
		if err := removeDatabase(dst); err != nil {
			return c, err
		}
		select {
		case <-ctx.Done():
			return c, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func busy(src string, h holder, wait time.Duration) error {
	return fail("read", src, ErrBusy, "waited %s for %s to release it; end its transaction, or wait longer", max(wait, 0), h)
}

// copyOnce chooses how the database is read. In use by another process, in WAL
// mode: its pages and those of its log, under a reader's locks. In use in
// another mode, or by this very process: through SQLite. In use by nobody:
// SQLite would have to make or change side files to open it, so its files are
// read as they are.
func copyOnce(ctx context.Context, src, dst string, h holder, mayYield bool, wait time.Duration, m *meter) (copied, error) {
	if h.self {
		return copyThroughSQLite(ctx, src, dst, wait, m)
	}
	if h.held {
		c, err := copyLive(ctx, src, dst, mayYield, m)
		if errors.Is(err, errNoWAL) {
			return copyThroughSQLite(ctx, src, dst, wait, m)
		}
		return c, err
	}
	return copyAtRest(ctx, src, dst, m)
}

// maxYields bounds how often a copy begins again to let a checkpoint pass. kine
// makes one every five minutes, so the second try is nearly always alone.
const maxYields = 3

// patience is how long a checkpoint may keep the writer out before the copy
// takes it to be waiting for the copy.
const patience = 500 * time.Millisecond

// copyLive copies a database in WAL mode that other processes use. No writer
// waits for it: what is committed meanwhile goes to the log and is not copied.
// A checkpoint of the modes FULL, RESTART and TRUNCATE keeps writers out while
// it waits for readers, and kine makes one after each compaction
// (https://www.sqlite.org/pragma.html#pragma_wal_checkpoint); the copy gives way
// to it and begins again.
func copyLive(ctx context.Context, src, dst string, mayYield bool, m *meter) (copied, error) {
	moment, err := openMoment(src)
	if err != nil {
		return copied{}, err
	}
	defer moment.close()
	var looked, since time.Time
	stop := func() error {
		now := time.Now()
		if !mayYield || now.Sub(looked) < patience/10 {
			return nil
		}
		looked = now
		switch {
		case !moment.checkpointing():
			since = time.Time{}
		case since.IsZero():
			since = now
		case now.Sub(since) > patience:
			return errYield
		}
		return nil
	}
	return copyImage(ctx, moment.db, moment.log, moment.least, dst, m, stop)
}

// copyImage copies the file with its log on top, which must hold at least so
// many committed frames.
func copyImage(ctx context.Context, db, log *os.File, least int, dst string, m *meter, stop func() error) (c copied, err error) {
	if err := checkHeader(db); err != nil {
		return c, err
	}
	img, err := openImage(db, log)
	if err != nil {
		return c, err
	}
	if img.wal.commit < least {
		return c, errTryAgain
	}
	c.PageSize, c.Pages, c.FreePages, c.JournalMode = int64(img.pageSize), int64(img.pages), int64(img.free), img.mode
	out, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := reserve(out, img.size()); err != nil {
		return c, err
	}
	c.sum, err = img.writeTo(ctx, out, m, stop)
	return c, err
}

// copyAtRest copies a database that nobody has open, under the shared lock that
// keeps other processes from writing the file in rollback mode or removing its
// log. If one opens it meanwhile, the copy begins again.
func copyAtRest(ctx context.Context, src, dst string, m *meter) (c copied, err error) {
	db, err := openRegular(src)
	if err != nil {
		return c, err
	}
	defer db.Close()
	if h, err := readLock(db); err != nil {
		return c, err
	} else if h.held {
		return c, errTryAgain
	}
	before, err := sizes(src)
	if err != nil {
		return c, err
	}
	if before["-journal"].size > 0 {
		c, err = copyAndRecover(ctx, src, dst, before, m)
	} else {
		var log *os.File
		if _, ok := before["-wal"]; ok {
			if log, err = openRegular(src + "-wal"); err != nil {
				return c, err
			}
			defer log.Close()
		}
		c, err = copyImage(ctx, db, log, 0, dst, m, func() error { return nil })
	}
	if err != nil {
		return c, err
	}
	after, err := sizes(src)
	if err != nil {
		return c, err
	}
	if h, err := othersHold(db); err != nil {
		return c, err
	} else if h.held || fmt.Sprint(before) != fmt.Sprint(after) {
		return c, errTryAgain
	}
	return c, nil
}

// copyAndRecover copies the files and has SQLite roll back, in the copy, the
// transaction that the journal is of.
func copyAndRecover(ctx context.Context, src, dst string, files map[string]fileState, m *meter) (c copied, err error) {
	var total, done int64
	for _, f := range files {
		total += f.size
	}
	for suffix := range files {
		err := copyFile(ctx, src+suffix, dst+suffix, func(n int64) {
			done += n
			m.at(min(done, total-1), total, 0)
			_ = m.pace(ctx, done) // copyFile looks at ctx itself
		})
		if err != nil {
			return c, err
		}
	}
	db, err := openDB(dst, "_pragma=synchronous(off)", "_pragma=locking_mode(exclusive)")
	if err != nil {
		return c, err
	}
	defer db.Close()
	conn, err := openConn(ctx, db, src, 0)
	if err != nil {
		return c, err
	}
	defer conn.Close()
	if err := c.readFile(ctx, conn); err != nil {
		return c, classify(src, err)
	}
	var mode string
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode=delete").Scan(&mode); err != nil {
		return c, classify(src, err)
	}
	if mode != "delete" {
		return c, fmt.Errorf("the copy of %s stays in journal mode %s", src, mode)
	}
	m.at(total, total, c.Pages)
	return c, nil
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
		if !st.Mode().IsRegular() {
			return nil, &os.PathError{Op: "read", Path: src + suffix, Err: errNotRegular}
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
