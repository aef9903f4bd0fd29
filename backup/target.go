package backup

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/k3sladder/k3sladder/internal/bootstrap"
)

func (t *restorer) checkTarget(ctx context.Context) error {
	switch t.det.Kind {
	case KindEtcd, KindExternal:
		return &UnsupportedError{t.det}
	case KindSQLite:
		t.db = t.det.Path
	}
	if st, err := os.Lstat(t.db); err == nil && st.Mode()&os.ModeSymlink != 0 {
		// SQLite keeps log and journal beside the file that the link leads to.
		if t.db, err = filepath.EvalSymlinks(t.db); err != nil {
			return fail("restore", t.det.Path, err, "the link leads nowhere; mount what it leads to, or remove it")
		}
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
		t.warn(fmt.Sprintf("the installed k3s (%s) was not compared with the backup's (%s); start the version that the backup is of", cmp.Or(installed, "unknown"), cmp.Or(saved, "unknown")))
	case newer && !t.opts.AllowNewer:
		return fail("restore", t.r.Dir, fmt.Errorf("%w: %s, installed is %s", ErrNewer, saved, installed), "Kubernetes cannot read a newer minor's data; install %s first, or allow it (AllowNewer, --allow-newer)", saved)
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
			return fail("restore", t.r.Dir, fmt.Errorf("%w: %s is not the backup's", ErrOtherToken, where), "with it k3s would not start on the restored datastore; to have the backup's token instead: ReplaceToken, --replace-token")
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
