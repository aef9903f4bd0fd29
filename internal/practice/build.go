package practice

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrNoGo means that the Go toolchain, which builds the components, is not in
// PATH.
var ErrNoGo = errors.New("the practice cluster is built with the Go toolchain, and there is no \"go\" in PATH: install Go 1.26 or newer from https://go.dev/dl")

// ErrDiskFull means that a file system filled up.
var ErrDiskFull = errors.New("no space left on the device")

// Build makes the binaries that clusters at versions need, so that a later New
// or Upgrade does not have to. What was built before is taken from the cache.
func Build(ctx context.Context, versions []string, progress func(string)) error {
	_, err := build(ctx, versions, progress)
	return err
}

// BuildLater is Build with what is left of the processor, for versions that are
// needed later. The returned function waits for it, as often as it is called;
// its progress gets what happens meanwhile.
func BuildLater(ctx context.Context, versions []string) (wait func(progress func(string)) error) {
	var listener atomic.Pointer[func(string)]
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		_, err = buildAt(ctx, backgroundNice, versions, func(line string) {
			if f := listener.Load(); f != nil {
				(*f)(line)
			}
		})
	}()
	return func(progress func(string)) error {
		listener.Store(&progress)
		<-done
		return err
	}
}

// backgroundNice is how much builds that nobody waits for step back.
const backgroundNice = 10

// build gives the path of each component's binary by name.
func build(ctx context.Context, versions []string, progress func(string)) (map[string]string, error) {
	return buildAt(ctx, 0, versions, progress)
}

func buildAt(ctx context.Context, nice int, versions []string, progress func(string)) (map[string]string, error) {
	progress = serialised(progress)
	goTool, err := exec.LookPath("go")
	if err != nil {
		return nil, ErrNoGo
	}
	goVersion, err := exec.CommandContext(ctx, goTool, "env", "GOVERSION").Output()
	if err != nil {
		return nil, fmt.Errorf("asking %s for its version: %w", goTool, err)
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	components := []component{kine, kwok}
	for _, version := range versions {
		components = append(components, kube(version))
	}
	binaries := make(map[string]string, len(components))
	for i, c := range components {
		key, err := c.key(strings.TrimSpace(string(goVersion)))
		if err != nil {
			return nil, err
		}
		b := builder{component: c, nice: nice, goTool: goTool, dir: filepath.Join(cache, c.name+"-"+key), progress: func(s string) {
			progress(fmt.Sprintf("building %s (%d of %d): %s", c.name, i+1, len(components), s))
		}}
		if binaries[c.name], err = b.binary(ctx); err != nil {
			return nil, fmt.Errorf("building %s: %w", c.name, err)
		}
	}
	return binaries, nil
}

// cacheDir is where built components are kept: k3sladder/practice in the
// user's cache folder ($XDG_CACHE_HOME, else ~/.cache, on Linux).
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to keep built binaries in: %w; set HOME or XDG_CACHE_HOME", err)
	}
	return filepath.Join(base, "k3sladder", "practice"), nil
}

// gcflags leave out debugging information and inlining: a third of the time and
// of the cache that compiling takes. The Makefile builds the lab with the same
// flags, also without cgo, and the components' modules name the versions that
// the lab's module does wherever they can, since Go's cache then gives to each
// what another one had compiled.
const gcflags = "-gcflags=all=-dwarf=false -l"

type builder struct {
	component
	nice     int
	goTool   string
	dir      string
	progress func(string)
}

// binary gives the built file, building it first if nobody has. Two processes
// that want the same one build it once.
func (b builder) binary(ctx context.Context) (string, error) {
	path := filepath.Join(b.dir, b.name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return "", diskError(err, b.dir)
	}
	lock, err := b.lock(ctx)
	if err != nil {
		return "", diskError(err, b.dir)
	}
	defer lock.Close()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	// What a killed build left is nobody's: this process holds the lock.
	stale, _ := filepath.Glob(filepath.Join(b.dir, "build-*"))
	for _, dir := range stale {
		if err := os.RemoveAll(dir); err != nil {
			return "", err
		}
	}
	return path, b.build(ctx, path)
}

// lock waits for its turn among the processes that build this component.
func (b builder) lock(ctx context.Context) (*os.File, error) {
	for {
		lock, err := lockFile(b.dir)
		if !errors.Is(err, ErrBusy) {
			return lock, err
		}
		b.progress("another process builds it")
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func (b builder) build(ctx context.Context, path string) error {
	work, err := os.MkdirTemp(b.dir, "build-")
	if err != nil {
		return diskError(err, b.dir)
	}
	defer os.RemoveAll(work)
	files, err := b.files()
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(work, name), content, 0o644); err != nil {
			return diskError(err, b.dir)
		}
	}
	started := time.Now()
	b.progress("fetching its modules")
	packages, err := b.run(ctx, work, nil, "list", "-deps", ".")
	if err != nil {
		return err
	}
	total := bytes.Count(packages, []byte("\n"))
	var compiled atomic.Int64
	report := func() {
		b.progress(fmt.Sprintf("%d of at most %d packages compiled, %s", compiled.Load(), total, time.Since(started).Round(time.Second)))
	}
	stop := every(5*time.Second, report)
	defer stop()
	// -v names each package once it is compiled; what Go's own cache holds is
	// not named, hence "at most".
	_, err = b.run(ctx, work, func(string) { compiled.Add(1) },
		"build", "-v", gcflags, "-ldflags", "-s -w"+b.ldflags, "-o", "binary.tmp", ".")
	if err != nil {
		return err
	}
	stop()
	if err := os.Rename(filepath.Join(work, "binary.tmp"), path); err != nil {
		return err
	}
	b.progress(fmt.Sprintf("done in %s", time.Since(started).Round(time.Second)))
	return nil
}

// run runs the Go tool in the module's folder; line gets each line of its
// standard error.
func (b builder) run(ctx context.Context, dir string, line func(string), args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, b.goTool, args...)
	cmd.Dir = dir
	// The checkout that this may run in must not bear on the module: no
	// workspace, no vendoring, no cgo (kine then takes the pure Go SQLite).
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false", "GOTMPDIR="+dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	stderr := &lines{each: line}
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	err := cmd.Start()
	if err == nil {
		// Its compilers inherit it. That it could not be set is no failure.
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, cmd.Process.Pid, b.nice)
		err = cmd.Wait()
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if strings.Contains(stderr.tail(), "no space left on device") {
			return nil, fmt.Errorf("%w: a first build needs about 6 GB in Go's caches (see: go env GOCACHE GOMODCACHE); free some, or point them elsewhere", ErrDiskFull)
		}
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.tail())
	}
	return stdout.Bytes(), nil
}

// lines hands on complete lines and remembers the last ones.
type lines struct {
	each    func(string)
	partial []byte
	last    []string
}

func (l *lines) Write(p []byte) (int, error) {
	scanner := bufio.NewReader(io.MultiReader(bytes.NewReader(l.partial), bytes.NewReader(p)))
	for {
		text, err := scanner.ReadString('\n')
		if err != nil {
			l.partial = []byte(text)
			return len(p), nil
		}
		text = strings.TrimRight(text, "\n")
		if l.each != nil {
			l.each(text)
		}
		l.last = append(l.last, text)
		if len(l.last) > 20 {
			l.last = l.last[1:]
		}
	}
}

func (l *lines) tail() string { return strings.Join(append(l.last, string(l.partial)), "\n") }

// every calls f each interval until the returned function is called.
func every(interval time.Duration, f func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				f()
			}
		}
	}()
	return func() { cancel(); <-done }
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
