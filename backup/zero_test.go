package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/backup"
)

func TestAnEmptyPathIsNeverTheFolderTheProgramRunsIn(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "server", "db"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	ctx := t.Context()
	for name, f := range map[string]func() error{
		"Save": func() error {
			_, err := backup.Save(ctx, "", backup.Options{Out: filepath.Join(dir, "out")})
			return err
		},
		"Detect":       func() error { _, err := backup.Detect(ctx, "", backup.DetectOptions{}); return err },
		"Restore from": func() error { _, err := backup.Restore(ctx, "", dir, backup.RestoreOptions{}); return err },
		"Restore to":   func() error { _, err := backup.Restore(ctx, dir, "", backup.RestoreOptions{}); return err },
		"Undo":         func() error { _, err := backup.Undo(ctx, ""); return err },
		"Prune":        func() error { _, err := backup.Prune(ctx, "", 1); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "the path of a folder is empty") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, f := range map[string]func() error{
		"Verify":       func() error { _, err := backup.Verify(ctx, "", backup.VerifyOptions{}); return err },
		"List":         func() error { _, err := backup.List(ctx, ""); return err },
		"ReadManifest": func() error { _, err := backup.ReadManifest(""); return err },
	} {
		if err := f(); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestACancelledContextEndsBeforeAnythingIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, f := range map[string]func() error{
		"Save": func() error {
			_, err := backup.Save(ctx, dir, backup.Options{Out: filepath.Join(dir, "out")})
			return err
		},
		"Detect": func() error { _, err := backup.Detect(ctx, dir, backup.DetectOptions{}); return err },
		"Undo":   func() error { _, err := backup.Undo(ctx, dir); return err },
	} {
		if err := f(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheZeroResultsAreNotGood(t *testing.T) {
	t.Parallel()
	if (&backup.Result{}).OK() {
		t.Error("nothing was saved, and is OK")
	}
}
