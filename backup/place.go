package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// place is where a result goes: it is made in a work folder beside it and
// renamed there.
type place struct {
	path    string // of the result; in dated form until put finds a free name
	parent  string
	pattern string // the name of the work folders of this place
	dated   bool
	force   bool
}

// datedPrefix and datedFormat make the names of backups in a root, sorted by
// time; times are UTC.
const (
	datedPrefix = "k3s-"
	datedFormat = "20060102T150405Z"
)

func findPlace(opts Options, now time.Time) (*place, error) {
	p := &place{force: opts.Force}
	switch {
	case opts.Keep < 0 || opts.Keep > 0 && opts.Root == "":
		return nil, errors.New("save: Keep goes with Root, and is not negative")
	case opts.Out != "" && opts.Root != "":
		return nil, errors.New("save: give Out or Root, not both")
	case opts.Out != "":
		path, err := filepath.Abs(opts.Out)
		if err != nil {
			return nil, err
		}
		p.path, p.parent, p.pattern = path, filepath.Dir(path), filepath.Base(path)
		if err := p.checkFree(); err != nil {
			return nil, err
		}
	case opts.Root != "":
		root, err := filepath.Abs(opts.Root)
		if err != nil {
			return nil, err
		}
		p.path, p.parent, p.pattern, p.dated = filepath.Join(root, datedPrefix+now.UTC().Format(datedFormat)), root, datedPrefix[:len(datedPrefix)-1], true
	default:
		return nil, errors.New("save: neither Out nor Root is given")
	}
	return p, nil
}

// makeParent makes the folder that the result goes into, which must be outside
// of server: what lies there is a part of k3s, or of the backup itself.
func (p *place) makeParent(server string) error {
	rel, err := filepath.Rel(realPath(server), realPath(p.path))
	if err == nil && filepath.IsLocal(rel) {
		return fail("save", p.path, errors.New("it is among the files of k3s"), "choose a folder outside %s, on another disk if there is one", server)
	}
	if err := os.MkdirAll(p.parent, 0o700); err != nil {
		return fail("save", p.parent, err, "")
	}
	return nil
}

// realPath follows the links in what exists of a path.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(realPath(parent), filepath.Base(path))
}

// checkFree finds out early what put would find out late.
func (p *place) checkFree() error {
	if st, err := os.Lstat(p.path); err == nil && st.Mode()&os.ModeSymlink != 0 {
		return fail("save", p.path, ErrExists, "it is a symbolic link; name the folder itself")
	}
	entries, err := os.ReadDir(p.path)
	switch {
	case errors.Is(err, os.ErrNotExist), err == nil && len(entries) == 0:
		return nil
	case err != nil && exists(p.path):
		return fail("save", p.path, ErrExists, "it is not a folder; choose another name")
	case err != nil:
		return fail("save", p.path, err, "")
	case !p.force:
		return fail("save", p.path, ErrExists, "choose another name, or replace it (Force, --force)")
	}
	if _, err := ReadManifest(p.path); err != nil {
		return fail("save", p.path, ErrExists, "it is not a backup, so it is not replaced")
	}
	return nil
}

// put renames the finished work folder to its place, and makes that last.
func (p *place) put(work string) error {
	path := p.path
	for n := 2; ; n++ {
		// Not os.Rename, which refuses to replace an empty folder.
		err := syscall.Rename(work, path)
		if err == nil {
			break
		}
		if !isTaken(err) {
			return fail("save", path, err, "")
		}
		switch {
		case p.dated:
			path = fmt.Sprintf("%s-%d", p.path, n)
			continue
		case !p.force:
			return fail("save", path, ErrExists, "another save was faster")
		}
		if err := p.checkFree(); err != nil {
			return err
		}
		if err := replace(work, path); err != nil {
			return fail("save", path, err, "")
		}
		break
	}
	p.path = path
	return syncDir(p.parent)
}

// replace puts the finished work folder in the place of an older backup. The
// two change places in one step, so that there is a whole backup under the name
// at any time; the work folder, now the old backup, is removed by its owner. A
// file system that cannot do this keeps the old one as *.old until the new one
// is in place.
func replace(work, path string) error {
	err := exchange(work, path)
	if err == nil {
		return nil
	}
	if !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	old := path + ".old"
	if err := os.Rename(path, old); err != nil {
		return err
	}
	if err := os.Rename(work, path); err != nil {
		return errors.Join(err, os.Rename(old, path))
	}
	return os.RemoveAll(old)
}

// isTaken says whether a rename failed because something is there.
func isTaken(err error) bool {
	return errors.Is(err, os.ErrExist) || errors.Is(err, syscall.ENOTDIR)
}
