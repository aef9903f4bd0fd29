package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
)

// folder is where the lab's files go. A file appears whole or not at all.
type folder struct {
	dir   string
	force bool
}

func (f folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// errThere is a file that would be overwritten.
var errThere = errors.New("is already there")

// free is nil when none of names exists or all of them may be overwritten.
func (f folder) free(names ...string) error {
	if f.force {
		return nil
	}
	for _, name := range names {
		if _, err := os.Lstat(f.path(name)); err == nil {
			return fmt.Errorf("%s %w; --force writes it anew, another --dir keeps it", f.path(name), errThere)
		} else if !errors.Is(err, os.ErrNotExist) {
			return f.explain(err)
		}
	}
	return nil
}

// take proves that files can be made before anything else is done, and makes
// the folder this process's until release, which takes a folder away again that
// was made for nothing.
func (f folder) take() (release func(), err error) {
	if f.dir == "" {
		return nil, errors.New("--dir is empty; name a folder for the lab's files")
	}
	_, missing := os.Lstat(f.dir)
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return nil, f.explain(err)
	}
	if err := f.probe(); err != nil {
		return nil, err
	}
	lock, err := os.Open(f.dir)
	if err != nil {
		return nil, f.explain(err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another lab works in %s: %w; wait for it or choose another --dir", f.dir, err), lock.Close())
	}
	return func() {
		if missing != nil {
			_ = os.Remove(f.dir) // fails unless it is empty
		}
		lock.Close()
	}, nil
}

func (f folder) probe() error {
	probe, err := os.CreateTemp(f.dir, ".probe-")
	if err != nil {
		return f.explain(err)
	}
	_, err = probe.Write(make([]byte, 4096))
	return f.explain(errors.Join(err, probe.Close(), os.Remove(probe.Name())))
}

func (f folder) write(name string, content []byte) error {
	return f.explain(renameio.WriteFile(f.path(name), content, 0o644))
}

func (f folder) writeJSON(name string, record any) error {
	content, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	return f.write(name, append(content, '\n'))
}

// again is the command that repeats a step in this folder: without --dir it
// would work in another one.
func (f folder) again(step string) string {
	return fmt.Sprintf("lab step %s --force --dir %s", step, f.dir)
}

// explain adds what to do about a file system that takes nothing.
func (f folder) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("the file system of %s is full: %w; free space there or choose another --dir", f.dir, err)
	case errors.Is(err, syscall.EROFS), errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%s cannot be written: %w; choose another --dir", f.dir, err)
	default:
		return err
	}
}

// read fills record from one of the lab's JSON files; writer names the step
// that makes it.
func (f folder) read(name, writer string, record any) error {
	content, err := os.ReadFile(f.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is not there; it must be written first: lab step %s --dir %s", f.path(name), writer, f.dir)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, record); err != nil {
		return fmt.Errorf("%s is damaged: %w; move it away and repeat: lab step %s --dir %s", f.path(name), err, writer, f.dir)
	}
	return nil
}
