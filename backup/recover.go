package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Recovery says what became of restores that were killed.
type Recovery struct {
	Undone   []string `json:"undone,omitempty"`   // taken back, by work folder
	Finished []string `json:"finished,omitempty"` // k3s has worked on the new database already, so the rest followed
}

// recoverKilled finds the work folders of restores that died in server, and
// takes them back, or brings them to their end when the new database was opened
// since. What lies in db, the folder of the database, without belonging to one
// of those died before its journal was written.
func recoverKilled(server, db string, dryRun bool) (Recovery, error) {
	var r Recovery
	works, err := workFolders(server)
	if err != nil {
		return r, err
	}
	for _, path := range works {
		f, err := os.Open(path)
		if err != nil {
			return r, err
		}
		if err := lockDir(f); err != nil {
			f.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return r, fail("restore", path, ErrRunning, "another restore is at work in this data directory")
			}
			return r, err
		}
		finished, err := recoverWork(&workDir{path, f}, dryRun)
		f.Close()
		if err != nil {
			return r, err
		}
		if finished {
			r.Finished = append(r.Finished, path)
		} else {
			r.Undone = append(r.Undone, path)
		}
	}
	if dryRun {
		return r, nil
	}
	// A linked database has its work folder where the link leads.
	if real, err := filepath.EvalSymlinks(filepath.Join(db, "state.db")); err == nil && filepath.Dir(real) != db {
		if err := removeOrphans(filepath.Dir(real)); err != nil {
			return r, err
		}
	}
	return r, removeOrphans(db)
}

func removeOrphans(dir string) error {
	orphans, err := workFolders(dir)
	for _, path := range orphans {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

func workFolders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var paths []string
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), workPrefix) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, err
}

func recoverWork(w *workDir, dryRun bool) (finished bool, err error) {
	b, err := os.ReadFile(filepath.Join(w.path, journalName))
	if errors.Is(err, os.ErrNotExist) { // died before its first rename
		if dryRun {
			return false, nil
		}
		return false, os.RemoveAll(w.path)
	}
	if err != nil {
		return false, err
	}
	stamp := time.Now().UTC().Format(datedFormat)
	s := &swap{work: w, final: freeName(filepath.Dir(w.path), stamp)}
	if err := json.Unmarshal(b, s); err != nil {
		return false, fmt.Errorf("%s: %w", filepath.Join(w.path, journalName), err)
	}
	if exists(s.Database) {
		if err := checkStopped(s.Database); err != nil {
			return false, err
		}
	}
	finished = s.touched()
	switch {
	case dryRun:
		return finished, nil
	case finished:
		return true, s.finish()
	}
	return false, s.undo()
}

// touched says whether somebody has opened the new database in its place.
func (s *swap) touched() bool {
	now, err := stateText(s.Database)
	if err != nil {
		return false
	}
	inPlace, _, _ := strings.Cut(now, " ")
	asMade, _, _ := strings.Cut(s.New, " ")
	return inPlace == asMade && (now != s.New || exists(s.Database+"-wal"))
}

// finish does the renames that are left, and commits.
func (s *swap) finish() error {
	for _, o := range s.Ops {
		happened, err := o.happened()
		if err == nil && !happened {
			err = o.do()
		}
		if err != nil {
			return err
		}
	}
	if err := s.syncParents(); err != nil {
		return err
	}
	_, err := s.commit()
	return err
}

// stateText is the inode of a file, a blank, its size and time.
func stateText(path string) (string, error) {
	id, err := inodeText(path)
	if err != nil {
		return "", err
	}
	st, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d/%d", strings.ReplaceAll(id, " ", "/"), st.Size(), st.ModTime().UnixNano()), nil
}
