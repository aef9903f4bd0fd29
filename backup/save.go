package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// DefaultLockTimeout is how long [Save] waits for another process's lock.
const DefaultLockTimeout = 30 * time.Second

// Options change what [Save] does. Either Out or Root is needed.
type Options struct {
	// Out is the backup folder to make. Its parent is made if need be. It must
	// not exist, or be an empty folder; see Force.
	Out string
	// Root is a folder in which a dated backup folder is made, instead of Out.
	Root string
	// Keep is how many verified backups stay in Root, this one included; older
	// ones are removed after a good save. 0 keeps all. See [Prune].
	Keep int
	// Minimal leaves out everything but the database and the token.
	Minimal bool
	// Force replaces a backup that is at Out already. Anything else there is
	// never replaced.
	Force bool
	// K3sVersion is the version that wrote the datastore, such as v1.34.4+k3s1.
	// Empty: what the Node objects in the datastore say, else what
	// "k3s --version" says, else unknown.
	K3sVersion string
	// Node is the node's name. Empty: the host's name if the datastore has a
	// Node of that name, else the name of its only server.
	Node string
	// HostRoot and Config are as in [DetectOptions].
	HostRoot, Config string
	// LockTimeout is how long to wait for another process's lock on the
	// database. 0: [DefaultLockTimeout]; negative: do not wait.
	LockTimeout time.Duration
	// MaxRate limits how fast the database is copied, in bytes a second. A copy
	// at full speed keeps the disk busy, and the commits of k3s, each of which
	// waits for the disk, then take longer for as long as it lasts. 0: no limit.
	MaxRate int64
	// Progress is called now and then, never concurrently. May be nil.
	Progress func(Progress)
}

// Result says what [Save] made.
type Result struct {
	Dir      string   `json:"dir"`
	Manifest Manifest `json:"manifest"`
	Pruned   []string `json:"pruned,omitempty"` // folders that Keep removed
	// CopyTook is how long the source was read, Took the whole save;
	// nanoseconds.
	CopyTook time.Duration `json:"copyTook"`
	Took     time.Duration `json:"took"`
}

// OK says whether the backup can be relied on: the token opens the datastore,
// or the datastore has no bootstrap record because k3s did not make it.
func (r *Result) OK() bool { return r.Manifest.TokenCheck.usable() }

func (c TokenCheck) usable() bool { return c.Opens == OpensYes || c.Opens == OpensNoRecord }

// String is a short account for a person.
func (r *Result) String() string {
	m := r.Manifest
	var b strings.Builder
	fmt.Fprintf(&b, "saved %s: %s of k3s %s, revision %d, %d keys, %d files, in %s\n",
		r.Dir, bytesText(m.Database.Bytes), orUnknown(m.K3sVersion), m.Database.Revision, m.Database.Keys, len(m.Files), r.Took.Round(time.Millisecond))
	fmt.Fprintln(&b, m.TokenCheck)
	for _, w := range m.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, p := range r.Pruned {
		fmt.Fprintf(&b, "removed %s\n", p)
	}
	return b.String()
}

// Save copies the SQLite datastore of the k3s server that keeps its data in
// dataDir, with the token that opens it, into a new folder. k3s may run: the
// copy is one moment of the database, read in one transaction for which no
// writer waits. Nothing changes in dataDir.
//
// The folder appears whole under its name or not at all; its files are 0600,
// itself 0700. The database is checked by SQLite after the copy, and a damaged
// one is an error ([ErrCorrupt]).
//
// A token that does not open the datastore is not an error: the backup is made
// and [Result.OK] is false. Errors are [UnsupportedError], and those of this
// package that errors.Is finds: [ErrExists], [ErrNoToken], [ErrNotSQLite],
// [ErrCorrupt], [ErrNotKine], [ErrBusy], [ErrNoSpace], and the context's.
func Save(ctx context.Context, dataDir string, opts Options) (*Result, error) {
	start := time.Now()
	if err := checkVersion(opts.K3sVersion); err != nil {
		return nil, fail("save", dataDir, err, "leave the version out and it is read from the datastore")
	}
	place, err := findPlace(opts, start)
	if err != nil {
		return nil, err
	}
	det, err := Detect(ctx, dataDir, DetectOptions{HostRoot: opts.HostRoot, Config: opts.Config})
	if err != nil {
		return nil, err
	}
	if det.Kind != KindSQLite {
		return nil, &UnsupportedError{det}
	}
	token, err := readToken(filepath.Join(det.DataDir, "server", "token"))
	if err != nil {
		return nil, err
	}
	if err := place.makeParent(filepath.Join(det.DataDir, "server")); err != nil {
		return nil, err
	}
	// SQLite keeps log and journal beside the file that a link leads to.
	source, err := filepath.EvalSymlinks(det.Path)
	if err != nil {
		return nil, fail("read", det.Path, err, "")
	}
	s := &saver{opts: opts, det: det, source: source, token: token, start: start}
	if err := s.checkSpace(place.parent); err != nil {
		return nil, err
	}
	work, err := newWorkDir(place.parent, place.pattern)
	if err != nil {
		return nil, fail("save", place.parent, err, "")
	}
	defer work.remove()
	if err := s.fill(ctx, work.path); err != nil {
		if isFull(err) && !errors.Is(err, ErrNoSpace) {
			err = fail("save", place.parent, ErrNoSpace, "nothing was left there")
		}
		return nil, err
	}
	if err := place.put(work.path); err != nil {
		return nil, err
	}
	r := &Result{Dir: place.path, Manifest: s.m, CopyTook: s.copyTook}
	if opts.Root != "" && opts.Keep > 0 && r.OK() {
		if r.Pruned, err = prune(ctx, opts.Root, opts.Keep, place.path); err != nil {
			return nil, fail("remove old backups from", opts.Root, err, "the new one is good: %s", place.path)
		}
	}
	r.Took = time.Since(start)
	return r, nil
}

type saver struct {
	opts     Options
	det      *Detection
	source   string // the database file, links followed
	token    []byte
	start    time.Time
	m        Manifest
	copyTook time.Duration
}

// checkSpace fails before a byte is written when the copy cannot fit. A log is
// counted whole: replaying it may add as much to the database.
func (s *saver) checkSpace(parent string) error {
	var need int64
	files, err := sizes(s.source)
	if err != nil {
		return err
	}
	for _, f := range files {
		need += f.size
	}
	need += need/50 + 1<<20
	free, err := freeBytes(parent)
	if err != nil {
		return err
	}
	if free < need {
		return fail("save", parent, ErrNoSpace, "the copy needs up to %s, %s are free", bytesText(need), bytesText(free))
	}
	return nil
}

// fill makes the backup in dir.
func (s *saver) fill(ctx context.Context, dir string) error {
	wait := s.opts.LockTimeout
	if wait == 0 {
		wait = DefaultLockTimeout
	}
	copyStart := time.Now()
	dst := filepath.Join(dir, DatabaseName)
	meter := newMeter(s.opts.Progress, PhaseCopy)
	meter.limit = s.opts.MaxRate
	database, err := copyDatabase(ctx, s.source, dst, wait, meter)
	if err != nil {
		return err
	}
	s.copyTook = time.Since(copyStart)
	s.m = Manifest{
		FormatVersion: FormatVersion,
		K3sVersion:    s.opts.K3sVersion,
		TokenSHA256:   sha256Hex(s.token),
		Created:       s.start.UTC().Truncate(time.Second),
		DataDir:       s.det.DataDir,
		Datastore:     s.det.Path,
		Minimal:       s.opts.Minimal,
		Database:      database.Database,
		Warnings:      s.det.Warnings,
	}
	if err := s.addToken(dir); err != nil {
		return err
	}
	if !s.opts.Minimal {
		if err := s.addExtras(ctx, dir); err != nil {
			return err
		}
	}
	// The disk is busy with the copy while the processor checks it.
	synced := make(chan error, 1)
	go func() { synced <- syncTree(dir) }()
	err = s.inspect(ctx, dst)
	if err == nil {
		err = s.hash(ctx, dir, database.sum)
	}
	if err := errors.Join(err, <-synced); err != nil {
		return err
	}
	manifest := filepath.Join(dir, ManifestName)
	if err := s.m.write(manifest); err != nil {
		return err
	}
	if err := syncFile(manifest); err != nil {
		return err
	}
	return syncDir(dir)
}

func (s *saver) addToken(dir string) error {
	from := filepath.Join(s.det.DataDir, "server", "token")
	st, err := os.Stat(from)
	if err != nil {
		return err
	}
	to := filepath.Join(dir, TokenName)
	if err := os.WriteFile(to, s.token, 0o600); err != nil {
		return err
	}
	if err := os.Chtimes(to, st.ModTime(), st.ModTime()); err != nil {
		return err
	}
	db, err := os.Stat(s.det.Path)
	if err != nil {
		return err
	}
	s.m.Files = []File{
		{Path: DatabaseName, From: s.det.Path, Mode: modeText(db), ModTime: db.ModTime().UTC()},
		{Path: TokenName, From: from, Mode: modeText(st), ModTime: st.ModTime().UTC()},
	}
	return nil
}

func bytesText(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.0f GiB", float64(n)/(1<<30))
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

func orUnknown(s string) string {
	if s == "" {
		return "(version unknown)"
	}
	return s
}

func modeText(st os.FileInfo) string { return fmt.Sprintf("%04o", st.Mode().Perm()) }
