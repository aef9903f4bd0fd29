package practice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrNotRunning means that no cluster left running by Up lives in a folder.
var ErrNotRunning = errors.New("no practice cluster runs there")

// Running describes a cluster that outlives the program that started it.
type Running struct {
	Dir        string `json:"dir"`
	DataDir    string `json:"dataDir"`
	Kubeconfig string `json:"kubeconfig"`
	Version    string `json:"version"`
	PID        int    `json:"pid"`
	// Ended are components that should run and do not, each with how it ended.
	Ended []string `json:"ended,omitempty"`
	// Stopped: nothing runs, and the data waits for StartRunning.
	Stopped bool `json:"stopped,omitempty"`
}

// DefaultDir is where "make practice-up" keeps its cluster:
// k3sladder/cluster in the user's cache folder.
func DefaultDir() (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(cache), "cluster"), nil
}

func socketIn(dir string) string { return filepath.Join(dir, "control.sock") }

// Serve starts a cluster in opts.Dir and keeps it until ctx is done or Down is
// called. Progress and failures while starting go to the callers of Up, through
// log.
func Serve(ctx context.Context, opts Options) (err error) {
	c, err := New(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	_ = os.Remove(socketIn(opts.Dir))
	listener, err := net.Listen("unix", socketIn(opts.Dir))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{Handler: c.control(ctx, cancel)}
	stopped := context.AfterFunc(ctx, func() { _ = server.Shutdown(context.Background()) })
	defer stopped()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// control answers Status, UpgradeRunning, StopRunning, StartRunning and Down.
func (c *Cluster) control(ctx context.Context, down func()) http.Handler {
	mux := http.NewServeMux()
	status := func(w http.ResponseWriter) {
		_ = json.NewEncoder(w).Encode(Running{Dir: c.root, DataDir: c.DataDir(), Kubeconfig: c.Kubeconfig(), Version: c.Version(), PID: os.Getpid(), Ended: c.ended(), Stopped: c.stopped()})
	}
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { status(w) })
	post := func(path string, do func(version string) error) {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			if err := do(r.URL.Query().Get("version")); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			status(w)
		})
	}
	post("/upgrade", func(version string) error { return c.Upgrade(ctx, version) })
	post("/stop", func(string) error { return c.Stop(ctx) })
	post("/start", func(version string) error { return c.Restart(ctx, version) })
	mux.HandleFunc("POST /down", func(w http.ResponseWriter, _ *http.Request) {
		status(w)
		down()
	})
	return mux
}

func call(ctx context.Context, dir, method, path string) (*Running, error) {
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socketIn(dir))
		},
	}}
	request, err := http.NewRequestWithContext(ctx, method, "http://practice"+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	var dial *net.OpError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &dial) && dial.Op == "dial":
		return nil, fmt.Errorf("%w (%s)", ErrNotRunning, dir)
	case err != nil:
		return nil, fmt.Errorf("the practice cluster in %s does not answer: %w; its log is %s", dir, err, filepath.Join(dir, "practice.log"))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(strings.TrimSpace(string(body)))
	}
	running := &Running{}
	return running, json.Unmarshal(body, running)
}

// Status describes the cluster that runs in dir; ErrNotRunning if none does.
func Status(ctx context.Context, dir string) (*Running, error) {
	return call(ctx, dir, http.MethodGet, "/status")
}

// UpgradeRunning takes the cluster that runs in dir to version.
func UpgradeRunning(ctx context.Context, dir, version string) (*Running, error) {
	return call(ctx, dir, http.MethodPost, "/upgrade?version="+url.QueryEscape(version))
}

// StopRunning ends the components of the cluster that runs in dir, as
// "systemctl stop k3s" would; its data stays.
func StopRunning(ctx context.Context, dir string) (*Running, error) {
	return call(ctx, dir, http.MethodPost, "/stop")
}

// StartRunning starts them again, as version; empty means the version they had.
// An older one is for a datastore that was restored from that time.
func StartRunning(ctx context.Context, dir, version string) (*Running, error) {
	running, err := call(ctx, dir, http.MethodPost, "/start?version="+url.QueryEscape(version))
	if errors.Is(err, ErrNotRunning) {
		err = fmt.Errorf("%w, stopped or not; make practice-up begins one", err)
	}
	return running, err
}

// Down ends the cluster that runs in dir, if one does, and removes what it made
// there. ErrNotRunning if dir never held one.
func Down(ctx context.Context, dir string) error {
	running, err := call(ctx, dir, http.MethodPost, "/down")
	if err == nil {
		err = wait(ctx, "the cluster to end", nil, func(context.Context) error {
			if syscall.Kill(running.PID, 0) == nil {
				return fmt.Errorf("process %d still runs", running.PID)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return removeOwn(dir)
	}
	if !errors.Is(err, ErrNotRunning) {
		return err
	}
	// One that was killed, or never came up.
	if _, statErr := os.Stat(filepath.Join(dir, markerName)); statErr != nil {
		return err
	}
	lock, err := lockFile(dir)
	if err != nil {
		return err
	}
	return errors.Join(removeOwn(dir), lock.Close())
}

// Up starts a cluster in dir that outlives this program: it runs command, whose
// main must call Serve with the same dir, in a session of its own, and waits
// until the cluster is there. What command prints goes to progress, a line at a
// time. A cluster that already runs in dir is left as it is.
func Up(ctx context.Context, dir string, command []string, progress func(string)) (*Running, error) {
	if running, err := Status(ctx, dir); err == nil {
		return running, nil
	}
	if err := mine(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, diskError(err, dir)
	}
	log, err := os.Create(filepath.Join(dir, "practice.log"))
	if err != nil {
		return nil, diskError(err, dir)
	}
	defer log.Close()
	said, err := os.Open(log.Name())
	if err != nil {
		return nil, err
	}
	defer said.Close()
	daemon := exec.Command(command[0], command[1:]...)
	daemon.Stdout, daemon.Stderr = log, log
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := daemon.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- daemon.Wait() }()
	follow := &lines{each: progress}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		news, err := io.ReadAll(said)
		if err != nil {
			return nil, err
		}
		_, _ = io.Copy(follow, bytes.NewReader(news))
		if running, err := Status(ctx, dir); err == nil {
			return running, nil
		}
		select {
		case <-ctx.Done():
			_ = daemon.Process.Signal(syscall.SIGTERM)
			<-ended
			return nil, ctx.Err()
		case err := <-ended:
			// What it said last, and why.
			_, _ = io.Copy(follow, said)
			if _, statErr := os.Stat(filepath.Join(dir, markerName)); statErr != nil {
				_ = removeOwn(dir) // it did not even get the folder
			}
			return nil, fmt.Errorf("the cluster did not start (%w): %s", err, strings.TrimSpace(follow.tail()))
		case <-tick.C:
		}
	}
}

// WriteText writes what a shell can read and a person can paste.
func (r *Running) WriteText(w io.Writer) error {
	state := ""
	if r.Stopped {
		state = ", stopped: bin/practice start"
	}
	_, err := fmt.Fprintf(w, "export KUBECONFIG=%s\nexport K3S_DATA_DIR=%s\n# %s%s; it all lives in %s\n",
		shellWord(r.Kubeconfig), shellWord(r.DataDir), r.Version, state, r.Dir)
	return err
}

// shellWord makes s one word for a POSIX shell.
func shellWord(s string) string {
	if strings.ContainsAny(s, " \t'\"$`\\*?#&;|<>()") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// serialised gives progress one caller at a time.
func serialised(progress func(string)) func(string) {
	if progress == nil {
		return func(string) {}
	}
	var mu sync.Mutex
	return func(line string) {
		mu.Lock()
		defer mu.Unlock()
		progress(line)
	}
}
