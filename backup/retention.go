package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Entry is one backup in a root folder.
type Entry struct {
	Dir        string    `json:"dir"`
	Created    time.Time `json:"created"`
	K3sVersion string    `json:"k3s_version"`
	Node       string    `json:"node"`
	Bytes      int64     `json:"bytes"` // of all files
	Revision   int64     `json:"revision"`
	Opens      Opens     `json:"tokenOpens"`
	Problem    string    `json:"problem,omitempty"` // why it cannot be read as a backup
}

// List gives the backups in root, oldest first: every folder in it that holds a
// manifest. It reads the manifests only; see [Verify].
func List(ctx context.Context, root string) ([]Entry, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	list := []Entry{}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		dir := filepath.Join(root, e.Name())
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || !exists(filepath.Join(dir, ManifestName)) {
			continue
		}
		m, err := ReadManifest(dir)
		if err != nil {
			list = append(list, Entry{Dir: dir, Problem: err.Error()})
			continue
		}
		list = append(list, Entry{Dir: dir, Created: m.Created, K3sVersion: m.K3sVersion, Node: m.Node,
			Bytes: m.bytes(), Revision: m.Database.Revision, Opens: m.TokenCheck.Opens})
	}
	slices.SortStableFunc(list, func(a, b Entry) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.Dir, b.Dir)
	})
	return list, nil
}

// datedName is what findPlace and put call a backup in a root.
var datedName = regexp.MustCompile(`^k3s-\d{8}T\d{6}Z(-\d+)?$`)

// Prune removes the older backups in root until keep of them are left, and
// gives the removed folders. Only folders count, and only folders are removed,
// that have a dated name of this package and hold nothing but a backup that
// verifies: a backup with a fault, another program's folder and a folder with a
// file more stay, whatever their age.
func Prune(ctx context.Context, root string, keep int) ([]string, error) {
	return prune(ctx, root, keep, "")
}

// prune takes just, a backup made a moment ago, to be verified already.
func prune(ctx context.Context, root string, keep int, just string) ([]string, error) {
	if keep < 1 {
		return nil, fmt.Errorf("keep %d backups: at least one must stay", keep)
	}
	if root == "" {
		return nil, errNoFolder
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	list, err := List(ctx, root)
	if err != nil {
		return nil, err
	}
	var removed []string
	if just != "" {
		keep-- // whatever the clock says about its age
	}
	for _, e := range slices.Backward(list) {
		if e.Dir == just || e.Problem != "" || !datedName.MatchString(filepath.Base(e.Dir)) {
			continue
		}
		v, err := Verify(ctx, e.Dir, VerifyOptions{})
		if ctx.Err() != nil {
			return removed, ctx.Err()
		}
		if err != nil || !v.OK || len(v.Extra) > 0 {
			continue
		}
		if keep > 0 {
			keep--
			continue
		}
		if err := discard(e.Dir); err != nil {
			return removed, err
		}
		removed = append(removed, e.Dir)
	}
	slices.Reverse(removed)
	return removed, nil
}

// discard removes a backup in a way that leaves no half of it under its name.
func discard(dir string) error {
	w, err := newWorkDir(filepath.Dir(dir), datedPrefix[:len(datedPrefix)-1])
	if err != nil {
		return err
	}
	err = os.Rename(dir, filepath.Join(w.path, filepath.Base(dir)))
	return errors.Join(err, w.remove())
}
