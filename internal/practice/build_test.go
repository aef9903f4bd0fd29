package practice

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeGo puts a script in place of the Go toolchain: PATH holds nothing else.
func fakeGo(t *testing.T, script string) (calls func() []string) {
	t.Helper()
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	content := "#!/bin/sh\necho \"$1\" >> " + log + "\n" + script
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return func() []string {
		content, _ := os.ReadFile(log)
		return strings.Fields(string(content))
	}
}

// goodGo answers as the toolchain does, and "builds" an empty file.
const goodGo = `
case "$1" in
env) echo go1.26.8 ;;
list) echo fmt; echo os ;;
build) echo fmt >&2; echo os >&2; : > binary.tmp ;;
esac
`

func TestBuildSaysThatGoIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Build(t.Context(), nil, nil)
	if !errors.Is(err, ErrNoGo) || !strings.Contains(err.Error(), "https://go.dev/dl") {
		t.Errorf("got %v", err)
	}
}

func TestBuildSaysThatTheDiskIsFull(t *testing.T) {
	fakeGo(t, goodGo+`[ "$1" != build ] || { echo "write x.a: no space left on device" >&2; exit 1; }`)
	err := Build(t.Context(), nil, nil)
	if !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), "GOCACHE") {
		t.Errorf("got %v", err)
	}
}

func TestBuildShowsWhatTheToolchainSaid(t *testing.T) {
	fakeGo(t, goodGo+`[ "$1" != list ] || { echo "kine.example: no such module" >&2; exit 1; }`)
	err := Build(t.Context(), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "building kine") || !strings.Contains(err.Error(), "no such module") {
		t.Errorf("got %v", err)
	}
}

func TestBuildHappensOnce(t *testing.T) {
	calls := fakeGo(t, goodGo)
	var said []string
	for range 2 {
		if err := Build(t.Context(), []string{From}, func(line string) { said = append(said, line) }); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"env", "list", "build", "list", "build", "list", "build", "env"}
	if got := calls(); !slices.Equal(got, want) {
		t.Errorf("the toolchain was called for %v, want %v", got, want)
	}
	if len(said) == 0 || !strings.Contains(said[0], "building kine (1 of 3)") {
		t.Errorf("progress: %q", said)
	}
	cache, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(cache + "/*/build-*"); len(left) > 0 {
		t.Errorf("builds left %v", left)
	}
}

func TestBuildLaterIsWaitedForAsOftenAsOneLikes(t *testing.T) {
	fakeGo(t, goodGo+`[ "$1" != build ] || echo "no such file" >&2; [ "$1" != build ] || exit 1`)
	wait := BuildLater(t.Context(), []string{To})
	for range 2 {
		if err := wait(func(string) {}); err == nil || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("got %v", err)
		}
	}
}

func TestBuildEndsWithItsContext(t *testing.T) {
	fakeGo(t, goodGo+`[ "$1" != build ] || exec /bin/sleep 60`)
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	err := Build(ctx, nil, func(line string) {
		if strings.Contains(line, "fetching") {
			time.AfterFunc(100*time.Millisecond, cancel)
		}
	})
	if !errors.Is(err, context.Canceled) || time.Since(began) > 30*time.Second {
		t.Errorf("ended after %s with %v", time.Since(began), err)
	}
}

func TestEveryComponentIsBuiltFromItsOwnModule(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	for _, c := range []component{kine, kwok, kube(From), kube(To)} {
		files, err := c.files()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"go.mod", "go.sum", "main.go", "lifeline.go"} {
			if len(files[name]) == 0 {
				t.Errorf("%s has no %s", c.name, name)
			}
		}
		key, err := c.key("go1.26")
		if err != nil {
			t.Fatal(err)
		}
		other, err := c.key("go1.27")
		if err != nil || key == other || keys[key] {
			t.Errorf("%s: key %s, with another toolchain %s (%v)", c.name, key, other, err)
		}
		keys[key] = true
	}
}

func TestLinesArriveWholeAndTheLastOnesStay(t *testing.T) {
	t.Parallel()
	var got []string
	l := &lines{each: func(s string) { got = append(got, s) }}
	for _, piece := range []string{"one\ntw", "o\n", "", "three", "\nfour"} {
		if n, err := l.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if !slices.Equal(got, []string{"one", "two", "three"}) || l.tail() != "one\ntwo\nthree\nfour" {
		t.Errorf("got %q, tail %q", got, l.tail())
	}
}
