package backup_test

import (
	"os"
	"slices"
	"testing"
)

// exampleT lends the tests' fixtures to the examples.
type exampleT struct {
	testing.TB
	cleanups []func()
}

func (t *exampleT) Helper()          {}
func (t *exampleT) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }
func (t *exampleT) Fatal(args ...any) {
	panic(args)
}

func (t *exampleT) TempDir() string {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (t *exampleT) done() {
	for _, f := range slices.Backward(t.cleanups) {
		f()
	}
}
