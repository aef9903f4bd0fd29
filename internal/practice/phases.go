package practice

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Upgrade stops the control plane, starts version's on the same database and
// moves the nodes' kubelets to it.
func (c *Cluster) Upgrade(ctx context.Context, version string) error {
	if err := errors.Join(supported(version), upwards(c.Version(), version)); err != nil {
		return err
	}
	if c.stopped() {
		return fmt.Errorf("the practice cluster is stopped; start it first (bin/practice start), or at once at the new version: bin/practice start --version %s", version)
	}
	binaries, err := build(ctx, []string{version}, c.options.Progress)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.stopControlPlane(); err != nil {
		return err
	}
	c.version, c.binaries = version, binaries
	if err := c.remember(version); err != nil {
		return err
	}
	if err := c.startControlPlane(ctx); err != nil {
		return err
	}
	return c.ensureNodes(ctx)
}

// Stop ends every process; the data stays.
func (c *Cluster) Stop(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stop()
}

// Restart starts a stopped cluster again on the same data, as version; empty
// means the version it had. An older version is for a datastore that was
// restored from that time.
func (c *Cluster) Restart(ctx context.Context, version string) error {
	c.mu.Lock()
	if version == "" {
		version = c.version
	}
	c.mu.Unlock()
	if err := supported(version); err != nil {
		return err
	}
	binaries, err := build(ctx, []string{version}, c.options.Progress)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.version, c.binaries = version, binaries
	err = errors.Join(c.stop(), c.remember(version))
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return c.start(ctx)
}

// StopAPIServer ends the API server alone, at once, as a crash would.
func (c *Cluster) StopAPIServer(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.apiserver.stop(0)
	c.apiserver = nil
	return err
}

// StartAPIServer starts the API server that StopAPIServer ended, on the same
// port.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.startAPIServer(ctx)
}

// Close ends every process and removes the folder if it is a temporary one.
func (c *Cluster) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.stop(), c.remove())
}

// remove gives the folder up.
func (c *Cluster) remove() error {
	var err error
	if c.temporary {
		err = os.RemoveAll(c.root)
	}
	if c.lock != nil {
		err = errors.Join(err, c.lock.Close())
		c.lock = nil
	}
	return err
}

// stop ends the components, the datastore last.
func (c *Cluster) stop() error {
	if c.heartbeats != nil {
		c.heartbeats()
		c.heartbeats = nil
	}
	err := errors.Join(c.kwok.stop(time.Second), c.stopControlPlane(), c.kine.stop(10*time.Second))
	c.kwok, c.kine = nil, nil
	return err
}

// stopped reports whether every component was stopped.
func (c *Cluster) stopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kine == nil && c.apiserver == nil && c.controller == nil && c.scheduler == nil && c.kwok == nil
}

// ended lists the components that were not stopped and have ended all the same.
func (c *Cluster) ended() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for _, p := range []*process{c.kine, c.apiserver, c.controller, c.scheduler, c.kwok} {
		if p != nil && p.running() != nil {
			list = append(list, fmt.Sprintf("%s ended (%v), see %s", p.name, p.cmd.ProcessState, p.log))
		}
	}
	return list
}

func (c *Cluster) stopControlPlane() error {
	// Clients first; an API server that waits for its watchers to leave would
	// take a minute.
	err := errors.Join(c.scheduler.stop(time.Second), c.controller.stop(time.Second), c.apiserver.stop(3*time.Second))
	c.scheduler, c.controller, c.apiserver = nil, nil, nil
	return err
}
