package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// syncDir makes the names in dir last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// syncTree makes every file and folder under dir last.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() && !d.Type().IsRegular() {
			return nil
		}
		return syncFile(path)
	})
}

// openRegular opens a file for reading. Anything but a regular file is an error:
// a pipe would keep its reader waiting for ever.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &os.PathError{Op: "read", Path: path, Err: errNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

var errNotRegular = errors.New("not a regular file")

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// copyFile copies a regular file in constant memory and keeps its time. The
// copy is 0600 and must not exist yet.
func copyFile(ctx context.Context, from, to string, done func(n int64)) (err error) {
	in, err := openRegular(from)
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(out, in, 4<<20)
		if done != nil {
			done(n)
		}
		if err == io.EOF {
			return os.Chtimes(to, st.ModTime(), st.ModTime())
		}
		if err != nil {
			return err
		}
	}
}

// hashFile is the SHA-256 of a file in hex, and its size.
func hashFile(ctx context.Context, path string, done func(n int64)) (string, int64, error) {
	f, err := openRegular(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	buf := make([]byte, 1<<20)
	var size int64
	for {
		if err := ctx.Err(); err != nil {
			return "", 0, err
		}
		n, err := f.Read(buf)
		h.Write(buf[:n])
		size += int64(n)
		if done != nil {
			done(int64(n))
		}
		if err == io.EOF {
			return hex.EncodeToString(h.Sum(nil)), size, nil
		}
		if err != nil {
			return "", 0, err
		}
	}
}

// workDir is a folder beside the place of a result, in which the result is
// made. It is locked for as long as its maker lives, so that the next one can
// tell what a killed process left behind.
type workDir struct {
	path string
	f    *os.File
}

// newWorkDir makes the folder .<base>.partial-* in parent, after removing those
// that nobody works in any more.
func newWorkDir(parent, base string) (*workDir, error) {
	pattern := "." + base + ".partial-"
	if err := removeAbandoned(parent, pattern); err != nil {
		return nil, err
	}
	return makeWorkDir(parent, pattern)
}

func makeWorkDir(parent, pattern string) (*workDir, error) {
	for range 10 {
		path, err := os.MkdirTemp(parent, pattern+"*")
		if err != nil {
			return nil, err
		}
		f, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // taken for abandoned before it was locked
		}
		if err != nil {
			os.Remove(path)
			return nil, err
		}
		if err := lockDir(f); err == nil && sameFile(f, path) {
			return &workDir{path, f}, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("could not get a work folder in %s", parent)
}

func removeAbandoned(parent, pattern string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || len(e.Name()) <= len(pattern) || e.Name()[:len(pattern)] != pattern {
			continue
		}
		path := filepath.Join(parent, e.Name())
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		if lockDir(f) == nil && sameFile(f, path) {
			err = os.RemoveAll(path)
		}
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(path)
	return err == nil && os.SameFile(a, b)
}

// leadsTo says whether path, followed through links, still is the open file.
func leadsTo(path string, f *os.File) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// remove removes the folder with all in it; after a rename there is nothing
// left to remove.
func (w *workDir) remove() error {
	err := os.RemoveAll(w.path)
	return errors.Join(err, w.f.Close())
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
