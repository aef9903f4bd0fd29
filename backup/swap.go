package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// swap puts new files in the place of old ones so that a process killed at any
// instruction leaves what can be undone. Everything new is made beforehand in a
// work folder in the same file system; then only renames follow, each of which
// happened or did not; and before the first of them a journal says which. What
// was replaced ends up in the work folder, whose renaming to its final name is
// the commit.
type swap struct {
	work  *workDir
	final string // name of the folder after the commit
	Ops   []op   `json:"ops"`
	// Asides are further folders, in the file systems of their parents, that
	// take what is replaced there.
	Asides []aside `json:"asides,omitempty"`
	// Database is where the new database goes, New what it is before anybody
	// opens it there.
	Database string `json:"database"`
	New      string `json:"new"`
}

// op is one rename: A and B change places, or A moves to B where nothing is.
type op struct {
	Kind  string `json:"kind"`
	A     string `json:"a"`
	B     string `json:"b"`
	Inode string `json:"inode"` // of A before, which tells whether it happened
}

// aside is a folder that gets its final name just before the commit.
type aside struct {
	Work  string `json:"work"`
	Final string `json:"final"`
}

const (
	opExchange = "exchange"
	opMove     = "move"

	journalName = "journal.json"
	asidePrefix = "before-restore-"
	workPrefix  = ".restore-work-"
)

func newSwap(server, stamp string) (*swap, error) {
	work, err := makeWorkDir(server, workPrefix)
	if err != nil {
		return nil, err
	}
	return &swap{work: work, final: freeName(server, stamp)}, nil
}

// aside makes one more folder in parent and gives its name until the commit.
func (s *swap) aside(parent, stamp string) (string, error) {
	work, err := os.MkdirTemp(parent, workPrefix+"*")
	if err != nil {
		return "", err
	}
	s.Asides = append(s.Asides, aside{work, freeName(parent, stamp)})
	return work, nil
}

func freeName(parent, stamp string) string {
	name := filepath.Join(parent, asidePrefix+stamp)
	for n := 2; exists(name); n++ {
		name = filepath.Join(parent, fmt.Sprintf("%s%s-%d", asidePrefix, stamp, n))
	}
	return name
}

// discard removes all that was made, before the first rename.
func (s *swap) discard() error {
	var errs []error
	for _, a := range s.Asides {
		errs = append(errs, os.RemoveAll(a.Work))
	}
	return errors.Join(append(errs, s.work.remove())...)
}

// exchange plans that staged and target change places; move plans a rename.
func (s *swap) exchange(staged, target string) {
	s.Ops = append(s.Ops, op{Kind: opExchange, A: staged, B: target})
}
func (s *swap) move(from, to string) { s.Ops = append(s.Ops, op{Kind: opMove, A: from, B: to}) }

// run writes the journal and does the renames; on an error it undoes them.
func (s *swap) run() error {
	for i := range s.Ops {
		id, err := inodeText(s.Ops[i].A)
		if err != nil {
			return errors.Join(err, s.discard())
		}
		s.Ops[i].Inode = id
	}
	if err := s.writeJournal(); err != nil {
		return errors.Join(err, s.discard())
	}
	for _, o := range s.Ops {
		if err := o.do(); err != nil {
			return errors.Join(err, s.undo())
		}
	}
	if err := s.syncParents(); err != nil {
		return errors.Join(err, s.undo())
	}
	return nil
}

func (s *swap) writeJournal() error {
	if err := syncTree(s.work.path); err != nil {
		return err
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(filepath.Join(s.work.path, journalName), append(b, '\n'))
}

func (s *swap) syncParents() error {
	seen := map[string]bool{}
	for _, o := range s.Ops {
		for _, dir := range []string{filepath.Dir(o.A), filepath.Dir(o.B)} {
			if !seen[dir] {
				seen[dir] = true
				if err := syncDir(dir); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// commit makes the replacement final and gives the folders with what was
// replaced; those in which nothing is are removed.
func (s *swap) commit() ([]string, error) {
	defer s.work.f.Close()
	for _, a := range s.Asides {
		if err := os.Rename(a.Work, a.Final); err != nil {
			return nil, errors.Join(err, s.undo())
		}
		if err := syncDir(filepath.Dir(a.Final)); err != nil {
			return nil, errors.Join(err, s.undo())
		}
	}
	if err := os.Rename(s.work.path, s.final); err != nil {
		return nil, errors.Join(err, s.undo())
	}
	os.Remove(filepath.Join(s.final, journalName))
	os.Remove(filepath.Join(s.final, "db")) // unless there is something in it
	var kept []string
	for _, path := range append([]string{s.final}, finals(s.Asides)...) {
		if os.Remove(path) != nil {
			kept = append(kept, path)
		}
	}
	return kept, syncDir(filepath.Dir(s.final))
}

func finals(list []aside) []string {
	var paths []string
	for _, a := range list {
		paths = append(paths, a.Final)
	}
	return paths
}

// undo takes back, last first, the renames that happened, and removes what is
// new. When that fails the folders stay: the old files may be in them.
func (s *swap) undo() error {
	for _, a := range s.Asides {
		if !exists(a.Work) && exists(a.Final) {
			if err := os.Rename(a.Final, a.Work); err != nil {
				return err
			}
		}
	}
	for i := len(s.Ops) - 1; i >= 0; i-- {
		if err := s.Ops[i].undo(); err != nil {
			return fmt.Errorf("undo the restore: %w; the old files are in %s", err, s.work.path)
		}
	}
	if err := s.syncParents(); err != nil {
		return err
	}
	return s.discard()
}

func (o op) do() error {
	if o.Kind == opExchange {
		return exchange(o.A, o.B)
	}
	if exists(o.B) {
		return &os.LinkError{Op: "move", Old: o.A, New: o.B, Err: os.ErrExist}
	}
	return os.Rename(o.A, o.B)
}

// happened says whether A is no longer what it was.
func (o op) happened() (bool, error) {
	id, err := inodeText(o.A)
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	return id != o.Inode, err
}

// undo does nothing when the rename did not happen.
func (o op) undo() error {
	happened, err := o.happened()
	if err != nil || !happened {
		return err
	}
	if o.Kind == opExchange {
		return exchange(o.A, o.B)
	}
	return op{Kind: opMove, A: o.B, B: o.A}.do()
}

func inodeText(path string) (string, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(inode(st)), nil
}

// writeWhole writes a file that is there whole or not at all.
func writeWhole(path string, b []byte) error {
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	if err := syncFile(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// canExchange says whether the file system of dir can exchange names.
func canExchange(dir string) bool {
	a, b := filepath.Join(dir, "exchange-a"), filepath.Join(dir, "exchange-b")
	if os.Mkdir(a, 0o700) != nil || os.Mkdir(b, 0o700) != nil {
		return false
	}
	err := exchange(a, b)
	return errors.Join(err, os.Remove(a), os.Remove(b)) == nil
}
