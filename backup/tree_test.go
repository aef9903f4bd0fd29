package backup_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree describes everything under dir, byte for byte.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		found[rel] = fmt.Sprint(st.Mode())
		if !d.Type().IsRegular() {
			return nil
		}
		b, err := os.ReadFile(path)
		found[rel] += fmt.Sprintf(" %d bytes %x", len(b), sha256.Sum256(b))
		return err
	}))
	return found
}

func same(t testing.TB, before, after map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("changed (-before +after):\n%s", diff)
	}
}
