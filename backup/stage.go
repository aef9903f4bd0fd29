package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func (t *restorer) stageAll(ctx context.Context, s *swap, stamp string) error {
	own := ownerOf(t.server)
	for _, it := range t.items {
		var err error
		if it.name == DatabaseName {
			err = t.stageDatabase(ctx, s, own, stamp)
		} else {
			err = t.stage(ctx, s, it, own)
		}
		if err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !exists(t.db) {
		return nil
	}
	return checkStopped(t.db)
}

func (t *restorer) checkSpace() error {
	need := t.v.manifest.bytes() + 1<<20
	free, err := freeBytes(filepath.Dir(t.db))
	if err == nil && free < need {
		err = fail("restore", filepath.Dir(t.db), ErrNoSpace, "%s are needed, %s are free", bytesText(need), bytesText(free))
	}
	return err
}

// sideSuffixes are the files beside a database that belong to it alone.
var sideSuffixes = []string{"-journal", "-wal", "-shm"}

// stageDatabase makes the new db folder, which changes places with the old one
// in one step. Where that cannot be (the folder is a mount point, a link, or on
// a file system that cannot exchange names) the files move one by one.
func (t *restorer) stageDatabase(ctx context.Context, s *swap, own owner, stamp string) error {
	folder := filepath.Dir(t.db)
	mode := os.FileMode(0o600)
	if st, err := os.Stat(t.db); err == nil {
		mode = st.Mode().Perm()
	}
	from := filepath.Join(t.r.Dir, DatabaseName)
	if t.exchangeable(s, folder) {
		staged := filepath.Join(s.work.path, filepath.Base(folder))
		st, err := os.Stat(folder)
		if err != nil {
			return err
		}
		if err := os.Mkdir(staged, 0o700); err != nil {
			return err
		}
		if err := os.Chmod(staged, st.Mode().Perm()); err != nil {
			return err
		}
		if err := own.give(staged); err != nil {
			return err
		}
		if err := t.copyDatabase(ctx, s, from, filepath.Join(staged, filepath.Base(t.db)), mode, own); err != nil {
			return err
		}
		if err := t.keepOthers(s, folder, staged); err != nil {
			return err
		}
		s.exchange(staged, folder)
		t.oldDB = filepath.Join(staged, filepath.Base(t.db))
		return nil
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return err
	}
	aside, err := s.aside(real, stamp)
	if err != nil {
		return err
	}
	name := filepath.Base(t.db)
	staged := filepath.Join(aside, name+".new")
	if err := t.copyDatabase(ctx, s, from, staged, mode, own); err != nil {
		return err
	}
	for _, suffix := range append(sideSuffixes, "") {
		if old := filepath.Join(real, name+suffix); exists(old) {
			s.move(old, filepath.Join(aside, name+suffix))
		}
	}
	s.move(staged, filepath.Join(real, name))
	t.oldDB = filepath.Join(aside, name)
	return nil
}

// copyDatabase makes the new database and sees to it that it is the one that was
// verified.
func (t *restorer) copyDatabase(ctx context.Context, s *swap, from, to string, mode os.FileMode, own owner) error {
	m := newMeter(t.opts.Progress, PhaseCopy)
	total := t.v.Database.Bytes
	var done int64
	if err := copyFile(ctx, from, to, func(n int64) {
		done += n
		m.at(done, total, done/max(t.v.Database.PageSize, 1))
	}); err != nil {
		return err
	}
	sum, _, err := hashFile(ctx, to, nil)
	if err != nil {
		return err
	}
	if f, _ := t.v.manifest.file(DatabaseName); sum != f.SHA256 {
		return fail("restore", from, fmt.Errorf("%w: it changed while it was copied", ErrVerify), "nothing was changed")
	}
	if err := os.Chmod(to, mode); err != nil {
		return err
	}
	if err := own.give(to); err != nil {
		return err
	}
	if err := syncFile(to); err != nil {
		return err
	}
	s.Database = t.db
	s.New, err = stateText(to)
	return err
}

func (t *restorer) exchangeable(s *swap, folder string) bool {
	st, err := os.Lstat(folder)
	if err != nil || !st.IsDir() || filepath.Dir(folder) != t.server {
		return false
	}
	return sameDevice(folder, t.server) && canExchange(s.work.path)
}

// keepOthers moves what else is in the db folder into the new one.
func (t *restorer) keepOthers(s *swap, folder, staged string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	name := filepath.Base(t.db)
	for _, e := range entries {
		suffix, ok := strings.CutPrefix(e.Name(), name)
		if ok && (suffix == "" || slices.Contains(sideSuffixes, suffix)) {
			continue
		}
		s.move(filepath.Join(folder, e.Name()), filepath.Join(staged, e.Name()))
	}
	return nil
}

// stage makes the new file or folder of an item in the work folder, with its
// files' own modes and times: k3s compares the times with those in the
// datastore and does not start on certificates newer than it.
func (t *restorer) stage(ctx context.Context, s *swap, it item, own owner) error {
	staged := filepath.Join(s.work.path, filepath.Base(it.target))
	files := t.files(it.name)
	if !it.folder {
		f, _ := t.v.manifest.file(it.name)
		files = []File{f}
	}
	for _, f := range files {
		to := staged + filepath.FromSlash(strings.TrimPrefix(f.Path, it.name))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := copyFile(ctx, filepath.Join(t.r.Dir, filepath.FromSlash(f.Path)), to, nil); err != nil {
			return err
		}
		if err := os.Chmod(to, f.mode()); err != nil {
			return err
		}
		if err := os.Chtimes(to, f.ModTime, f.ModTime); err != nil {
			return err
		}
	}
	if err := own.give(staged); err != nil {
		return err
	}
	switch _, err := os.Lstat(it.target); {
	case errors.Is(err, os.ErrNotExist):
		s.move(staged, it.target)
	case err != nil:
		return err
	case canExchange(s.work.path):
		s.exchange(staged, it.target)
	default:
		s.move(it.target, staged+".old")
		s.move(staged, it.target)
	}
	return nil
}
