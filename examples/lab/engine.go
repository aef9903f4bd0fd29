package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/internal/practice"
	"github.com/k3sladder/k3sladder/skew"
)

// practiceEngine upgrades the practice cluster of this process, once the
// binaries for it are built.
type practiceEngine struct {
	cluster *practice.Cluster
	built   func(progress func(string)) error
}

func (e practiceEngine) offline() bool { return true }

func (e practiceEngine) can(_ context.Context, to skew.Version) error {
	if to.String() != practice.To {
		return fmt.Errorf("a practice cluster goes from %s to %s", practice.From, practice.To)
	}
	return nil
}

func (e practiceEngine) how(to skew.Version) string {
	return "the control plane's binaries exchanged on the same database, as the k3s binary of " + to.String() + " would"
}

func (e practiceEngine) upgrade(ctx context.Context, _, to skew.Version, live *live) error {
	if err := e.built(func(line string) { live.say("%s", line) }); err != nil {
		return err
	}
	live.say("stopping the old control plane, starting %s on the same database", to)
	return e.cluster.Upgrade(ctx, to.String())
}

// keptEngine upgrades a practice cluster that outlives this process.
type keptEngine struct {
	dir   string
	built func(progress func(string)) error
}

func (e keptEngine) offline() bool { return true }

func (e keptEngine) can(ctx context.Context, to skew.Version) error {
	if _, err := exec.LookPath("go"); err != nil {
		return practice.ErrNoGo
	}
	return practiceEngine{}.can(ctx, to)
}

func (e keptEngine) how(to skew.Version) string { return practiceEngine{}.how(to) }

func (e keptEngine) upgrade(ctx context.Context, _, to skew.Version, live *live) error {
	if err := e.built(func(line string) { live.say("%s", line) }); err != nil {
		return err
	}
	live.say("stopping the old control plane, starting %s on the same database", to)
	_, err := practice.UpgradeRunning(ctx, e.dir, to.String())
	return err
}

// installEngine upgrades k3s on this machine as its documentation says: with
// the install script of exactly the version to install
// (https://docs.k3s.io/upgrades/manual).
type installEngine struct {
	script  string // URL or file; empty: the target version's own
	service string // the systemd unit that the script rewrites
	config  string // the config file that it leaves alone
	log     string // where the script's output goes
}

func (e installEngine) offline() bool { return false }

func (e installEngine) how(to skew.Version) string {
	return "install script with INSTALL_K3S_VERSION=" + to.String()
}

func (e installEngine) can(ctx context.Context, to skew.Version) error {
	_, err := e.fetch(ctx, to)
	return err
}

// source is where the install script for a version is.
func (e installEngine) source(to skew.Version) string {
	if e.script != "" {
		return e.script
	}
	return channels.InstallScriptURL(to)
}

func (e installEngine) fetch(ctx context.Context, to skew.Version) ([]byte, error) {
	script, err := fetch(ctx, e.source(to))
	if err != nil {
		return nil, fmt.Errorf("%w; --install-script takes a mirror's URL or a file", err)
	}
	if !strings.HasPrefix(string(script), "#!") {
		return nil, fmt.Errorf("%s is no script: it does not begin with #!; --install-script takes a mirror's URL or a file", e.source(to))
	}
	return script, nil
}

func (e installEngine) upgrade(ctx context.Context, _, to skew.Version, live *live) error {
	live.say("fetching %s", e.source(to))
	script, err := e.fetch(ctx, to)
	if err != nil {
		return err
	}
	args, env, err := e.handOn(live)
	if err != nil {
		return err
	}
	return e.runScript(ctx, script, args, append(env, "INSTALL_K3S_VERSION="+to.String()), live)
}

// handOn gives what the running service was installed with, so that this run
// of the install script writes it again, after saying what would be lost.
func (e installEngine) handOn(live *live) (args, env []string, err error) {
	// Whoever sets INSTALL_K3S_EXEC decides about the arguments.
	if _, decided := os.LookupEnv("INSTALL_K3S_EXEC"); decided {
		live.note("INSTALL_K3S_EXEC is set, so the running service's arguments are not handed on")
		return nil, os.Environ(), nil
	}
	running, err := readService(e.service)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; put its arguments into %s and set INSTALL_K3S_EXEC=server", err, e.config)
	}
	config, err := configKeys(e.config)
	if err != nil {
		return nil, nil, err
	}
	// Flags and variables are named without their values: a token may be among
	// them.
	if lost := running.onlyHere(config); len(lost) > 0 {
		live.note("warning: only %s has these arguments, no config file keeps them: %s", e.service, strings.Join(lost, " "))
		live.note("The install script would forget them, so they are handed on to this run. Put them into %s, so that no later run loses them.", e.config)
	}
	missing := running.missing(os.Environ())
	if len(missing) > 0 {
		live.note("warning: only %s.env sets %s; handed on too.", e.service, strings.Join(names(missing), " "))
	}
	return running.args, append(os.Environ(), missing...), nil
}

// names leaves the values out.
func names(variables []string) []string {
	var out []string
	for _, v := range variables {
		name, _, _ := strings.Cut(v, "=")
		out = append(out, name)
	}
	return out
}

// runScript runs the install script in a process group of its own: Ctrl-C is
// for the lab, which gives the script time to end.
func (e installEngine) runScript(ctx context.Context, script []byte, args, env []string, live *live) error {
	file, err := os.CreateTemp("", "k3sladder-install-*.sh")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(script)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	log, err := os.OpenFile(e.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{file.Name()}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	live.say("running the install script; its output goes to %s", e.log)
	interrupted := context.AfterFunc(ctx, func() {
		live.note("interrupted: the install script has %s to end", cmd.WaitDelay)
	})
	defer interrupted()
	if err := cmd.Run(); err != nil {
		// What it started must not go on behind our back.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		// Its output may hold secrets, so it stays in the file.
		return fmt.Errorf("the install script: %w; what it said is in %s", err, e.log)
	}
	return nil
}

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// tokenSHA256 is the SHA-256 of the server token's file, as hex digits.
func tokenSHA256(dataDir string) (string, error) {
	content, err := os.ReadFile(filepath.Join(dataDir, "server", "token"))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(content)), nil
}
