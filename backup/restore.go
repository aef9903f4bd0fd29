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
	if err := checkVersion(opts.Installed); err != nil {
		return nil, fail("restore", dataDir, err, "leave the installed version out and k3s is asked")
	}
	if dir == "" || dataDir == "" {
		return nil, errNoFolder
	}
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
	r := &RestoreResult{Dir: dir, DataDir: dataDir, DryRun: opts.DryRun, Replaced: []string{}, Verified: v, Warnings: slices.Clone(v.Warnings)}
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
	if dataDir == "" {
		return nil, errNoFolder
	}
	server := filepath.Join(dataDir, "server")
	if _, err := os.Stat(server); err != nil {
		return nil, fail("undo", server, err, "give the data directory of the k3s server that was restored")
	}
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
	if root := t.det.host.root; root != "/" {
		t.r.Commands = append(t.r.Commands, "# not here, but on the machine whose file system lies in "+root+" (for a practice cluster: bin/practice start)")
	}
	saved := t.v.K3sVersion
	if saved == "" {
		t.r.Commands = append(t.r.Commands, "# install the k3s that wrote this datastore: the backup does not know its version", "systemctl start k3s")
		return
	}
	if t.opts.Installed != saved {
		install := fmt.Sprintf("curl -sfL https://raw.githubusercontent.com/k3s-io/k3s/%s/install.sh | INSTALL_K3S_VERSION=%s INSTALL_K3S_SKIP_START=true sh -",
			strings.ReplaceAll(saved, "+", "%2B"), saved)
		const unit = "host/etc/systemd/system/k3s.service"
		if _, ok := t.v.manifest.file(unit); ok {
			t.r.Commands = append(t.r.Commands,
				"# the installer rewrites the service, so the backup's is put back (look at it first on another machine)", install,
				fmt.Sprintf("cp -r '%s'* /etc/systemd/system/ && systemctl daemon-reload", filepath.Join(t.r.Dir, filepath.FromSlash(unit))))
		} else {
			t.r.Commands = append(t.r.Commands,
				"# the installer rewrites the service: give it the arguments and variables the service has now", install)
		}
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
