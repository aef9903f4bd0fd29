package practice

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/k3sladder/k3sladder/internal/bootstrap"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Options for New and Start. The zero value is a cluster at From with one
// server node, in a temporary folder that Close removes.
type Options struct {
	// Version of the control plane and the nodes, From or To; empty means From.
	Version string
	// Dir is the folder the cluster lives in; it is made if it is not there,
	// and what an earlier cluster left in it is started again. Close leaves it.
	// Empty means a new temporary folder, which Close removes and which goes
	// with this process even when that is killed.
	Dir string
	// Port of the API server on 127.0.0.1; 0 means a free one.
	Port int
	// Nodes are made when the cluster holds none; nil means one server node
	// (DefaultNode).
	Nodes []Node
	// NoNodes makes no node at all.
	NoNodes bool
	// Progress gets a short line whenever something long moves on; nil means
	// nobody listens. Calls come one at a time.
	Progress func(string)
}

// A Cluster is a running practice cluster. Its methods may be called from
// several goroutines.
type Cluster struct {
	layout
	options   Options
	temporary bool
	pki       *pki
	socket    string
	lock      *os.File // on the folder, while this cluster is not closed

	mu         sync.Mutex
	version    string
	port       int
	binaries   map[string]string
	kine, kwok *process
	apiserver  *process
	controller *process
	scheduler  *process
	config     *rest.Config
	client     kubernetes.Interface
	heartbeats func() // stops them
}

// readyTimeout bounds each wait for a component: a start takes a few seconds
// on two idle cores, many times that on busy ones.
const readyTimeout = 3 * time.Minute

// advertised is the address that the API server writes into the endpoints of
// Service kubernetes, where loopback is refused. Nothing answers there: it is
// one of those kept for documentation (RFC 5737).
const advertised = "192.0.2.1"

// New starts a cluster and waits until it takes Pods. The caller must Close
// it; the cluster also ends with this process.
func New(ctx context.Context, opts Options) (*Cluster, error) {
	opts.Progress = serialised(opts.Progress)
	if opts.Version == "" {
		opts.Version = From
	}
	if err := supported(opts.Version); err != nil {
		return nil, err
	}
	c := &Cluster{options: opts, version: opts.Version}
	binaries, err := build(ctx, []string{opts.Version}, opts.Progress)
	if err != nil {
		return nil, err
	}
	c.binaries = binaries
	if err := c.prepare(); err != nil {
		return nil, errors.Join(err, c.remove())
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// prepare takes the folder and lays it out.
func (c *Cluster) prepare() error {
	root := c.options.Dir
	if root == "" {
		made, err := os.MkdirTemp("", "k3sladder-practice-")
		if err != nil {
			return fmt.Errorf("no temporary folder (TMPDIR): %w", diskError(err, os.TempDir()))
		}
		root, c.temporary = made, true
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	c.layout = layout{root}
	lock, last, err := claim(root)
	if err != nil {
		return err
	}
	c.lock = lock
	if err := upwards(last, c.version); err != nil {
		return fmt.Errorf("%w (rehearse it with practice stop and practice start); take the cluster down to start anew", err)
	}
	if c.pki, err = loadPKI(c.tls()); err != nil {
		return err
	}
	c.socket = filepath.Join(root, "kine.sock")
	return errors.Join(c.create(c.pki.server.pem), c.writeStages(), c.remember(c.version))
}

// start starts every component on what the folder holds.
func (c *Cluster) start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.startKine(ctx); err != nil {
		return err
	}
	if err := c.startControlPlane(ctx); err != nil {
		return err
	}
	if err := c.startKwok(); err != nil {
		return err
	}
	c.heartbeats = startHeartbeats(c.client)
	return c.ensureNodes(ctx)
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig() }

// DataDir is what a k3s server calls its data directory.
func (c *Cluster) DataDir() string { return c.data() }

// Version is what the control plane runs now, such as "v1.34.4+k3s1".
func (c *Cluster) Version() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Config is a connection as the cluster's administrator; a copy.
func (c *Cluster) Config() *rest.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	return rest.CopyConfig(c.config)
}

// Client is a client as the cluster's administrator.
func (c *Cluster) Client() kubernetes.Interface {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

// storeBootstrap stores k3s's bootstrap record, sealed with the token, unless
// it is there.
func (c *Cluster) storeBootstrap(ctx context.Context) error {
	token, err := os.ReadFile(c.token())
	if err != nil {
		return err
	}
	password, err := bootstrap.Password(string(token))
	if err != nil {
		return fmt.Errorf("%s: %w", c.token(), err)
	}
	return c.putBootstrap(ctx, password)
}

// wait calls ready until it gives nil, a process ends, ctx is done or
// readyTimeout has passed.
func wait(ctx context.Context, what string, processes []*process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not within %s", readyTimeout))
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		for _, p := range processes {
			if ended := p.running(); ended != nil {
				return ended
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w (last answer: %v)", what, context.Cause(ctx), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
