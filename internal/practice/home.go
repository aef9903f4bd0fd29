package practice

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/k3sladder/k3sladder/skew"
)

// ErrBusy means that a cluster runs in a folder already.
var ErrBusy = errors.New("a practice cluster runs there already")

// markerName is the file that makes a folder a practice cluster's: nothing else
// is started in, and nothing else is removed.
const markerName = "practice-cluster.json"

type marker struct {
	Version string `json:"version"` // that last ran on the datastore
}

// ownEntries are what a cluster makes in its folder.
var ownEntries = []string{"var", "etc", "logs", "stages", "kine.sock", "control.sock", "practice.log", markerName}

// mine is nil for a folder that a cluster may use: an empty one, or one that a
// cluster used before.
func mine(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == markerName {
			return nil
		}
	}
	for _, e := range entries {
		if e.Name() != "practice.log" { // Up has just made it
			return fmt.Errorf("%s holds %s and is no practice cluster's folder; choose an empty or a new one", dir, e.Name())
		}
	}
	return nil
}

// claim makes dir this process's until the returned file is closed, and gives
// the version that last ran there.
func claim(dir string) (lock *os.File, last string, err error) {
	if strings.ContainsAny(dir, "%?#") {
		return nil, "", fmt.Errorf("the path %s holds one of %%, ? and #, which the components read as parts of a URL; choose another folder", dir)
	}
	if len(filepath.Join(dir, "kine.sock")) > 100 { // a socket's path holds little more
		return nil, "", fmt.Errorf("the path %s is too long for a socket; choose a folder with a shorter one (temporary ones: TMPDIR)", dir)
	}
	if err := mine(dir); err != nil {
		return nil, "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", diskError(err, dir)
	}
	if lock, err = lockFile(dir); err != nil {
		return nil, "", err
	}
	var m marker
	content, err := os.ReadFile(filepath.Join(dir, markerName))
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, "", errors.Join(err, lock.Close())
	default:
		if err := json.Unmarshal(content, &m); err != nil {
			return nil, "", errors.Join(fmt.Errorf("%s: %w", filepath.Join(dir, markerName), err), lock.Close())
		}
	}
	return lock, m.Version, nil
}

// lockFile takes the lock on a file or folder, which ends with the returned
// file or with the process; ErrBusy when someone has it.
func lockFile(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrBusy
		}
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return file, nil
}

// remember writes down which version runs on the datastore.
func (l layout) remember(version string) error {
	content, err := json.Marshal(marker{version})
	if err != nil {
		return err
	}
	return diskError(os.WriteFile(filepath.Join(l.root, markerName), content, 0o600), l.root)
}

// removeOwn removes what a cluster made in dir, and dir if nothing else is in
// it.
func removeOwn(dir string) error {
	var errs []error
	for _, name := range ownEntries {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, name)))
	}
	if left, err := os.ReadDir(dir); err == nil && len(left) == 0 {
		errs = append(errs, os.Remove(dir))
	}
	return errors.Join(errs...)
}

// supported is nil for the versions that a practice cluster can run.
func supported(version string) error {
	if version != From && version != To {
		return fmt.Errorf("no practice cluster at %q: there are %s and %s", version, From, To)
	}
	return nil
}

// upwards is nil unless the datastore has been at a newer version: Kubernetes
// has no downgrade.
func upwards(last, version string) error {
	if last == "" {
		return nil
	}
	from, err := skew.Parse(last)
	if err != nil {
		return err
	}
	to, err := skew.Parse(version)
	if err != nil {
		return err
	}
	if _, err := skew.CheckUpgrade(from, to); err != nil {
		return fmt.Errorf("the cluster's datastore is at %s: %w", last, err)
	}
	return nil
}
