package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// VerifyOptions change what [Verify] does.
type VerifyOptions struct {
	// Full runs SQLite's integrity_check, which compares every index with its
	// table, instead of quick_check. It takes several times as long.
	Full bool
	// Token is the file of another token to try instead of the backup's own,
	// e.g. that of the server the backup should be restored on.
	Token string
	// Progress is called now and then, never concurrently. May be nil.
	Progress func(Progress)
}

// Problem is one reason why a backup must not be relied on.
type Problem struct {
	Check  string `json:"check"` // manifest, files, database, kine, token
	Detail string `json:"detail"`
}

// Verification is the verdict on a backup.
type Verification struct {
	Dir         string        `json:"dir"`
	OK          bool          `json:"ok"` // there are no problems
	K3sVersion  string        `json:"k3s_version"`
	TokenSHA256 string        `json:"token_sha256"` // of the token tried
	Created     time.Time     `json:"created"`
	TokenCheck  TokenCheck    `json:"tokenCheck"`
	Database    Database      `json:"database"` // as found now
	Problems    []Problem     `json:"problems"`
	Warnings    []string      `json:"warnings,omitempty"`
	Extra       []string      `json:"extra,omitempty"` // files the manifest does not list
	Full        bool          `json:"full"`            // integrity_check, not quick_check
	Took        time.Duration `json:"took"`            // nanoseconds

	manifest *Manifest
}

// String is a short account for a person.
func (v *Verification) String() string {
	var b strings.Builder
	verdict := "good"
	if !v.OK {
		verdict = "NOT GOOD"
	}
	fmt.Fprintf(&b, "%s: %s, k3s %s, revision %d, %d keys, %d API objects, checked in %s\n",
		v.Dir, verdict, orUnknown(v.K3sVersion), v.Database.Revision, v.Database.Keys, v.Database.Objects, v.Took.Round(time.Millisecond))
	fmt.Fprintln(&b, v.TokenCheck)
	for _, p := range v.Problems {
		fmt.Fprintf(&b, "problem (%s): %s\n", p.Check, p.Detail)
	}
	for _, w := range v.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

func (v *Verification) problem(check, format string, args ...any) {
	v.Problems = append(v.Problems, Problem{check, fmt.Sprintf(format, args...)})
}

// Verify checks a backup folder without anything outside it: every file against
// the manifest's size and SHA-256, the database with SQLite's own check, kine's
// table and the order of its revisions, and whether the token opens the
// datastore. It changes nothing in the folder.
//
// A fault is not an error: it is in Problems, and OK is false. An error means
// that there is no verdict: the folder is no backup of this package
// ([ErrNotBackup]) or cannot be read.
func Verify(ctx context.Context, dir string, opts VerifyOptions) (*Verification, error) {
	start := time.Now()
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	v := &Verification{Dir: dir, K3sVersion: m.K3sVersion, Created: m.Created, Full: opts.Full,
		Problems: []Problem{}, manifest: m}
	if err := v.checkFiles(ctx, m, opts.Progress); err != nil {
		return nil, err
	}
	tokenPath := filepath.Join(dir, TokenName)
	if opts.Token != "" {
		tokenPath = opts.Token
	}
	token, err := readToken(tokenPath)
	if err != nil && opts.Token != "" {
		if _, statErr := os.Stat(opts.Token); errors.Is(statErr, os.ErrNotExist) {
			err = fail("read token", opts.Token, ErrNoToken, "there is no such file")
		}
		return nil, err
	}
	if err != nil {
		v.problem("token", "%v", err)
	} else {
		v.TokenSHA256 = sha256Hex(token)
		if opts.Token == "" && v.TokenSHA256 != m.TokenSHA256 {
			v.problem("token", "the token is not the one that was saved: its SHA-256 is %s, the manifest says %s", v.TokenSHA256, m.TokenSHA256)
		}
	}
	if err := v.checkDatabase(ctx, filepath.Join(dir, DatabaseName), token, opts); err != nil {
		return nil, err
	}
	v.OK = len(v.Problems) == 0
	v.Took = time.Since(start)
	return v, nil
}

func (v *Verification) checkFiles(ctx context.Context, m *Manifest, progress func(Progress)) error {
	listed := map[string]bool{ManifestName: true}
	for _, name := range []string{DatabaseName, TokenName} {
		if _, ok := m.file(name); !ok {
			v.problem("manifest", "it does not list %s", name)
		}
	}
	meter := newMeter(progress, PhaseHash)
	total := m.bytes()
	var done int64
	for _, f := range m.Files {
		listed[f.Path] = true
		path := filepath.Join(v.Dir, filepath.FromSlash(f.Path))
		if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
			v.problem("files", "%s is not a regular file", f.Path)
			continue
		}
		sum, size, err := hashFile(ctx, path, func(n int64) {
			done += n
			meter.at(done, total, 0)
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, os.ErrNotExist):
			v.problem("files", "%s is missing", f.Path)
		case err != nil:
			return fail("read", path, err, "")
		case size != f.Size:
			v.problem("files", "%s has %d bytes, %d were saved", f.Path, size, f.Size)
		case sum != f.SHA256:
			v.problem("files", "%s was changed: its SHA-256 is %s, the manifest says %s", f.Path, sum, f.SHA256)
		}
	}
	return filepath.WalkDir(v.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(v.Dir, path)
		if err != nil {
			return err
		}
		if name := filepath.ToSlash(rel); !listed[name] {
			v.Extra = append(v.Extra, name)
			v.Warnings = append(v.Warnings, name+" is not part of the backup; it was not checked and will not be restored")
		}
		return nil
	})
}

// checkDatabase gives an error only when ctx is done; whatever SQLite says is a
// problem of the backup.
func (v *Verification) checkDatabase(ctx context.Context, path string, token []byte, opts VerifyOptions) error {
	v.TokenCheck = TokenCheck{Opens: OpensUndecided, Reason: "the database could not be read"}
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return nil // reported as missing already
	} else {
		v.Database.Bytes = st.Size()
	}
	f, err := openRegular(path)
	if err != nil {
		return fail("read", path, err, "")
	}
	defer f.Close()
	if err := checkHeader(f); err != nil {
		v.problem("database", "%v", err)
		return nil
	}
	meter := newMeter(opts.Progress, PhaseCheck)
	defer meter.at(0, 0, 0)
	check, err := v.readDatabase(ctx, path, token, opts.Full)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		v.problem(check, "%v", classify(path, err))
	}
	return nil
}

// readDatabase gives the first thing that kept it from reading on, and which
// check that belongs to.
func (v *Verification) readDatabase(ctx context.Context, path string, token []byte, full bool) (check string, err error) {
	db, err := openCopy(path)
	if err != nil {
		return "database", err
	}
	defer db.Close()
	damage, err := checkIntegrity(ctx, db, full)
	if err != nil {
		return "database", err
	}
	for _, line := range damage {
		v.problem("database", "SQLite finds damage: %s", line)
	}
	if err := v.Database.readFile(ctx, db); err != nil {
		return "database", err
	}
	if err := checkSchema(ctx, db); err != nil {
		return "kine", err
	}
	revisions, err := checkRevisions(ctx, db)
	if err != nil {
		return "kine", err
	}
	for _, line := range revisions {
		v.problem("kine", "%s", line)
	}
	if err := v.Database.readKine(ctx, db); err != nil {
		return "kine", err
	}
	if v.Database.Objects == 0 {
		v.problem("kine", "there is no API object below /registry/: the datastore of a cluster has some from its first start")
	}
	if token == nil {
		v.TokenCheck.Reason = "there is no token"
		return "", nil
	}
	if v.TokenCheck, err = checkToken(ctx, db, token); err != nil {
		return "token", err
	}
	switch v.TokenCheck.Opens {
	case OpensYes:
	case OpensNoRecord:
		v.Warnings = append(v.Warnings, "no bootstrap record: "+v.TokenCheck.Reason)
	default:
		v.problem("token", "%s", v.TokenCheck)
	}
	if v.TokenCheck.Warning != "" {
		v.Warnings = append(v.Warnings, v.TokenCheck.Warning)
	}
	return "", nil
}

// readFile fills in what SQLite says about the file itself.
func (d *Database) readFile(ctx context.Context, db querier) error {
	for _, p := range []struct {
		name string
		to   any
	}{{"page_size", &d.PageSize}, {"page_count", &d.Pages}, {"freelist_count", &d.FreePages}, {"journal_mode", &d.JournalMode}} {
		if err := db.QueryRowContext(ctx, "PRAGMA "+p.name).Scan(p.to); err != nil {
			return err
		}
	}
	return nil
}
