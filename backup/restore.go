package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/k3sladder/k3sladder/internal/bootstrap"
)

// RestoreOptions change what [Restore] does. The zero value restores after all
// checks, on the machine it runs on.
type RestoreOptions struct {
	// DryRun checks everything and says what would be done.
	DryRun bool
	// ReplaceToken restores although the data directory has another token; that
	// one is set aside.
	ReplaceToken bool
	// AllowNewer restores although the backup is of a newer Kubernetes minor
	// than the installed k3s. Install the newer one before the start.
	AllowNewer bool
	// Installed is the version of k3s that will run on the data directory.
	// Empty: what "k3s --version" says.
	Installed string
	// HostRoot and Config are as in [DetectOptions].
	HostRoot, Config string
	// Full is as in [VerifyOptions].
	Full bool
	// Progress is called now and then, never concurrently. May be nil.
	Progress func(Progress)
}

// RestoreResult says what [Restore] did, or would do.
type RestoreResult struct {
	Dir      string   `json:"dir"`
	DataDir  string   `json:"dataDir"`
	DryRun   bool     `json:"dryRun"`
	Replaced []string `json:"replaced"`        // files and folders that are new now
	Aside    []string `json:"aside,omitempty"` // where what was there before is now
	Recovery
	Host     []string      `json:"host,omitempty"` // files of the machine in the backup, which are not restored
	Commands []string      `json:"commands"`       // to start the right k3s
	Warnings []string      `json:"warnings,omitempty"`
	Verified *Verification `json:"verified"`
	Took     time.Duration `json:"took"` // nanoseconds
}

// String is a short account for a person, with the commands to run next.
func (r *RestoreResult) String() string {
	var b strings.Builder
	did, aside := "restored", "what was there is in"
	if r.DryRun {
		did, aside = "would restore", "what is there would go to"
	}
	for _, u := range r.Undone {
		fmt.Fprintf(&b, "a killed restore (%s) was found and taken back first\n", u)
	}
	for _, f := range r.Finished {
		fmt.Fprintf(&b, "a killed restore (%s) was found and finished first: its database had been opened\n", f)
	}
	fmt.Fprintf(&b, "%s %s to %s: %s\n", did, r.Dir, r.DataDir, strings.Join(r.Replaced, ", "))
	for _, a := range r.Aside {
		fmt.Fprintf(&b, "%s %s\n", aside, a)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, h := range r.Host {
		fmt.Fprintf(&b, "not restored, compare with the machine's own: %s\n", h)
	}
	fmt.Fprintln(&b, "next:")
	for _, c := range r.Commands {
		fmt.Fprintf(&b, "  %s\n", c)
	}
	return b.String()
}

// Restore puts the backup in dir in the place of the datastore of the k3s server
// in dataDir, which must be stopped. It verifies the backup first and refuses
// one with a fault ([ErrVerify], [ErrOtherToken]); it refuses while a process
// has the database open ([ErrRunning]), when the backup is of a newer minor than
// the installed k3s ([ErrNewer]) and when the data directory or its
// configuration has another token ([ErrOtherToken]), unless told.
//
// The database, with its log, is replaced in one step where the file system
// can; the token, certificates and credentials are replaced only where they
// differ. What was there goes to a dated folder before-restore-* in dataDir's
// server folder; nothing is deleted. A restore that fails or is cancelled takes
// itself back; one that was killed is taken back by the next one, or by [Undo].
//
// Files of the machine outside the data directory are not restored; the result
// lists those in the backup.
func Restore(ctx context.Context, dir, dataDir string, opts RestoreOptions) (*RestoreResult, error) {
	start := time.Now()
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if dataDir, err = filepath.Abs(dataDir); err != nil {
		return nil, err
	}
	v, err := Verify(ctx, dir, VerifyOptions{Full: opts.Full, Progress: opts.Progress})
	if err != nil {
		return nil, err
	}
	if !v.OK {
		return nil, refuse(v)
	}
	r := &RestoreResult{Dir: dir, DataDir: dataDir, DryRun: opts.DryRun, Replaced: []string{}, Verified: v, Warnings: v.Warnings}
	server := filepath.Join(dataDir, "server")
	if r.Recovery, err = recoverKilled(server, filepath.Join(server, "db"), opts.DryRun); err != nil {
		return nil, err
	}
	det, err := Detect(ctx, dataDir, DetectOptions{HostRoot: opts.HostRoot, Config: opts.Config})
	if err != nil {
		return nil, err
	}
	t := &restorer{opts: opts, v: v, det: det, r: r, server: server, db: filepath.Join(server, "db", "state.db")}
	if err := t.checkTarget(ctx); err != nil {
		return nil, err
	}
	if err := t.plan(ctx); err != nil {
		return nil, err
	}
	t.finish()
	if !opts.DryRun {
		if err := t.restore(ctx, start); err != nil {
			return nil, err
		}
	}
	r.Took = time.Since(start)
	return r, nil
}

// Undo takes back restores into dataDir that were killed. One whose database has
// been opened since is brought to its end instead: taking it back would lose
// what was written. Without any it does nothing; [ErrRunning] says that k3s runs.
func Undo(ctx context.Context, dataDir string) (*Recovery, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	server := filepath.Join(dataDir, "server")
	r, err := recoverKilled(server, filepath.Join(server, "db"), false)
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// refuse says why a backup with problems is not restored.
func refuse(v *Verification) error {
	kind := ErrVerify
	for _, p := range v.Problems {
		if p.Check == "token" && v.TokenCheck.Opens == OpensNo {
			kind = fmt.Errorf("%w: %w", ErrVerify, ErrOtherToken)
		}
	}
	p := v.Problems[0]
	return fail("restore", v.Dir, fmt.Errorf("%w (%s): %s", kind, p.Check, p.Detail), "nothing was changed")
}

type restorer struct {
	opts   RestoreOptions
	v      *Verification
	det    *Detection
	r      *RestoreResult
	server string // server folder of the data directory
	db     string // database file to write
	items  []item
	oldDB  string // where the old database is between the renames and the commit
}

// item is something to replace: a file or a folder of the backup and its place.
type item struct {
	name   string // in the backup
	target string
	folder bool
}

func (t *restorer) checkTarget(ctx context.Context) error {
	switch t.det.Kind {
	case KindEtcd, KindExternal:
		return &UnsupportedError{t.det}
	case KindSQLite:
		t.db = t.det.Path
	}
	if exists(t.db) {
		if err := checkStopped(t.db); err != nil {
			return err
		}
	}
	installed := t.opts.Installed
	if installed == "" {
		installed = installedVersion(ctx, t.det.host.root)
	}
	t.opts.Installed = installed
	saved := t.v.K3sVersion
	newer, decided := newerMinor(saved, installed)
	switch {
	case !decided:
		t.warn(fmt.Sprintf("not compared: the backup is of k3s %s, the installed one is %s; start the version that the backup is of", orUnknown(saved), orUnknown(installed)))
	case newer && !t.opts.AllowNewer:
		return fail("restore", t.r.Dir, fmt.Errorf("%w: %s, installed is %s", ErrNewer, saved, installed), "Kubernetes cannot read a newer minor's data; install %s first, or allow it", saved)
	}
	return t.checkTokens()
}

// checkStopped gives an error when a process has the database open.
func checkStopped(db string) error {
	h, err := whoHolds(db)
	if err != nil {
		return fail("look for locks on", db, err, "run as root")
	}
	if h.held {
		return fail("restore", db, ErrRunning, "%s holds a lock on it; stop k3s first (systemctl stop k3s)", h)
	}
	if pid := openBy(db); pid != 0 {
		return fail("restore", db, ErrRunning, "%s has the file open; stop k3s first (systemctl stop k3s)", holder{held: true, pid: pid})
	}
	return nil
}

// checkTokens compares the backup's token with the one on disk and the one in
// the configuration, which k3s takes before the one on disk.
func (t *restorer) checkTokens() error {
	saved, err := readToken(filepath.Join(t.r.Dir, TokenName))
	if err != nil {
		return err
	}
	password, err := bootstrap.Password(string(saved))
	if err != nil {
		return fail("read token", filepath.Join(t.r.Dir, TokenName), err, "")
	}
	compare := func(where string, other []byte) error {
		p, err := bootstrap.Password(string(other))
		if err == nil && p == password {
			return nil
		}
		if !t.opts.ReplaceToken {
			return fail("restore", t.r.Dir, fmt.Errorf("%w: %s is not the backup's", ErrOtherToken, where), "with it k3s would not start on the restored datastore; allow the backup's token to replace it if that is meant")
		}
		return nil
	}
	path := filepath.Join(t.server, "token")
	if onDisk, err := readToken(path); err == nil {
		if err := compare("the token "+path, onDisk); err != nil {
			return err
		}
	}
	if !t.det.host.belongsTo(t.det.DataDir) {
		return nil
	}
	flags, from := t.det.host.flags, t.det.host.from
	if configured := flags["token"]; configured != "" {
		where := "the token in " + from["token"]
		if err := compare(where, []byte(configured)); err != nil {
			return err
		}
		if p, _ := bootstrap.Password(configured); p != password {
			t.warn(where + " is another one and k3s takes it before the file: change it before the start")
		}
	}
	if file := flags["token-file"]; file != "" {
		if b, err := readToken(filepath.Join(t.det.host.root, file)); err == nil {
			return compare("the token "+file, b)
		}
	}
	return nil
}

// plan decides what is replaced: the database always, the rest where it differs.
func (t *restorer) plan(ctx context.Context) error {
	t.items = []item{{name: DatabaseName, target: t.db}}
	for _, name := range []string{TokenName, "server/agent-token", "server/tls", "server/cred"} {
		it := item{name: name, target: filepath.Join(t.server, path.Base(name))}
		_, isFile := t.v.manifest.file(name)
		files := t.files(name)
		it.folder = !isFile && len(files) > 0
		if !isFile && !it.folder {
			continue
		}
		equal, err := t.unchanged(ctx, it, files)
		if err != nil {
			return err
		}
		if !equal {
			t.items = append(t.items, it)
		}
	}
	for _, it := range t.items {
		t.r.Replaced = append(t.r.Replaced, it.target)
	}
	for _, f := range t.files(hostFolder) {
		t.r.Host = append(t.r.Host, filepath.Join(t.r.Dir, filepath.FromSlash(f.Path)))
	}
	return nil
}

// files are those of the backup below the folder name.
func (t *restorer) files(name string) []File {
	var list []File
	for _, f := range t.v.manifest.Files {
		if strings.HasPrefix(f.Path, name+"/") {
			list = append(list, f)
		}
	}
	return list
}

func (t *restorer) unchanged(ctx context.Context, it item, files []File) (bool, error) {
	if f, ok := t.v.manifest.file(it.name); ok {
		files = []File{f}
	}
	for _, f := range files {
		target := it.target + strings.TrimPrefix(f.Path, it.name)
		sum, _, err := hashFile(ctx, target, nil)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil || sum != f.SHA256 {
			return false, nil
		}
	}
	return true, nil
}

func (t *restorer) warn(w string) { t.r.Warnings = append(t.r.Warnings, w) }

// finish names the next steps.
func (t *restorer) finish() {
	saved := t.v.K3sVersion
	if saved == "" {
		t.r.Commands = []string{"# install the k3s that wrote this datastore: the backup does not know its version", "systemctl start k3s"}
		return
	}
	if t.opts.Installed != saved {
		tag := strings.ReplaceAll(saved, "+", "%2B")
		t.r.Commands = append(t.r.Commands,
			"# the installer rewrites the service: give it the arguments and variables the service has now",
			fmt.Sprintf("curl -sfL https://raw.githubusercontent.com/k3s-io/k3s/%s/install.sh | INSTALL_K3S_VERSION=%s INSTALL_K3S_SKIP_START=true sh -", tag, saved))
	}
	t.r.Commands = append(t.r.Commands, "systemctl start k3s", "k3s --version   # must say "+saved)
}

func (t *restorer) restore(ctx context.Context, now time.Time) (err error) {
	defer func() {
		if isFull(err) && !errors.Is(err, ErrNoSpace) {
			err = fail("restore", t.server, ErrNoSpace, "nothing was changed")
		}
	}()
	for _, folder := range []string{t.server, filepath.Dir(t.db)} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return fail("restore", folder, err, "")
		}
	}
	if err := removeOrphans(filepath.Dir(t.db)); err != nil {
		return err
	}
	if err := t.checkSpace(); err != nil {
		return err
	}
	stamp := now.UTC().Format(datedFormat)
	s, err := newSwap(t.server, stamp)
	if err != nil {
		return fail("restore", t.server, err, "")
	}
	if err := t.stageAll(ctx, s, stamp); err != nil {
		return errors.Join(err, s.discard())
	}
	if err := s.run(); err != nil {
		return err
	}
	// k3s may have been started since the last look; then it has the old files.
	if exists(t.oldDB) {
		if h, err := whoHolds(t.oldDB); err != nil || h.held {
			err = errors.Join(err, fail("restore", t.db, ErrRunning, "%s has just opened it; stop k3s first", h))
			return errors.Join(err, s.undo())
		}
	}
	t.r.Aside, err = s.commit()
	return err
}

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
