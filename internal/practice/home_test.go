package practice

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFolderThatIsNotOursIsNeitherTakenNorEmptied(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	thesis := filepath.Join(dir, "thesis.txt")
	if err := os.WriteFile(thesis, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := claim(dir); err == nil || !strings.Contains(err.Error(), "thesis.txt") {
		t.Errorf("claimed: %v", err)
	}
	if err := Down(t.Context(), dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("taken down: %v", err)
	}
	if _, err := Up(t.Context(), dir, []string{"/bin/false"}, nil); err == nil || !strings.Contains(err.Error(), "thesis.txt") {
		t.Errorf("started in: %v", err)
	}
	if _, err := StartRunning(t.Context(), dir, ""); !errors.Is(err, ErrNotRunning) || !strings.Contains(err.Error(), "practice-up") {
		t.Errorf("started: %v", err)
	}
	// Even one that is ours may have got something else since.
	if err := (layout{dir}).remember(From); err != nil {
		t.Fatal(err)
	}
	if err := Down(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(thesis); err != nil || string(content) != "precious" {
		t.Errorf("the thesis: %q, %v", content, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestAFolderHasOneClusterAtATime(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(shortDir(t), "c")
	lock, last, err := claim(dir)
	if err != nil || last != "" {
		t.Fatal(last, err)
	}
	if _, _, err := claim(dir); !errors.Is(err, ErrBusy) {
		t.Errorf("claimed twice: %v", err)
	}
	if err := errors.Join((layout{dir}).remember(To), lock.Close()); err != nil {
		t.Fatal(err)
	}
	lock, last, err = claim(dir)
	if err != nil || last != To {
		t.Fatalf("claimed again: %q, %v", last, err)
	}
	lock.Close()
}

func TestADatastoreNeverGoesDown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		last, version string
		good          bool
	}{
		{"", From, true}, {From, From, true}, {From, To, true}, {To, To, true}, {To, From, false}, {"rubbish", From, false},
	} {
		if err := upwards(c.last, c.version); (err == nil) != c.good {
			t.Errorf("from %q to %q: %v", c.last, c.version, err)
		}
	}
	for _, version := range []string{"", "foo", "v1.36.0+k3s1", "v1.35.9+k3s1"} {
		if err := supported(version); err == nil {
			t.Errorf("%q is supported", version)
		}
	}
}

func TestPathsThatTheComponentsMisreadAreRefused(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"/tmp/a%41", "/tmp/a?b", "/tmp/a#b", "/tmp/" + strings.Repeat("long", 30)} {
		if _, _, err := claim(dir); err == nil || !strings.Contains(err.Error(), "choose") {
			t.Errorf("%s: %v", dir, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s was made", dir)
		}
	}
}

func TestUpSaysWhyItFailed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(shortDir(t), "c")
	_, err := Up(t.Context(), dir, []string{"/bin/sh", "-c", "echo port 1 is taken; exit 2"}, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "port 1 is taken") {
		t.Errorf("got %v", err)
	}
}

// shortDir is t.TempDir without the test's name in its path, which may be too
// long for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "k3sl-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
