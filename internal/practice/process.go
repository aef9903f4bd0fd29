package practice

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is one running component.
type process struct {
	name  string
	log   string
	cmd   *exec.Cmd
	stdin io.Closer // closed, by us or by our death: the lifeline
	done  chan struct{}
	err   error // valid once done is closed
}

// command is what a process runs.
type command struct {
	name   string // also its log's
	binary string
	dir    string // working folder; empty means this process's
	env    []string
	args   []string
}

// startProcess runs command, with its output appended to logs/name.log.
func startProcess(logs string, command command) (*process, error) {
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return nil, diskError(err, logs)
	}
	p := &process{name: command.name, log: filepath.Join(logs, command.name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, diskError(err, logs)
	}
	defer log.Close()
	p.cmd = exec.Command(command.binary, command.args...)
	p.cmd.Dir = command.dir
	p.cmd.Env = append(os.Environ(), command.env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// A group of its own: Ctrl-C in the terminal is for the parent, which
	// stops the components in order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", command.name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// running is nil while the process runs, and otherwise says how it ended and
// what it last wrote.
func (p *process) running() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended (%v); the end of %s:\n%s", p.name, p.cmd.ProcessState, p.log, p.tail())
	default:
		return nil
	}
}

func (p *process) tail() string {
	content, _ := os.ReadFile(p.log)
	all := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(all[max(0, len(all)-8):], "\n")
}

// stop ends the process: SIGTERM, and SIGKILL when it has not gone after
// grace.
func (p *process) stop(grace time.Duration) error {
	if p == nil {
		return nil
	}
	defer p.stdin.Close()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}
