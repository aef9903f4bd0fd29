package practice

import (
	"context"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/k3sladder/k3sladder/internal/bootstrap"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
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

func (c *Cluster) startKine(ctx context.Context) error {
	c.options.Progress("starting kine on SQLite")
	_ = os.Remove(c.socket)
	var env []string
	if c.temporary {
		env = []string{"K3SLADDER_REMOVE=" + c.root}
	}
	// A percent sign, question mark or hash in the path would be read as part
	// of the URL, so kine runs in the database's folder.
	endpoint := "sqlite://./" + filepath.Base(c.database()) + "?_journal_mode=WAL&_busy_timeout=30000&_synchronous=NORMAL&_txlock=immediate"
	var err error
	c.kine, err = startProcess(c.logs(), command{
		name: "kine", binary: c.binaries[kine.name], dir: filepath.Dir(c.database()), env: env,
		args: []string{"--listen-address", "unix://" + c.socket, "--endpoint", endpoint, "--metrics-bind-address", "0"},
	})
	if err != nil {
		return err
	}
	return wait(ctx, "kine to listen", []*process{c.kine}, func(context.Context) error {
		conn, err := net.Dial("unix", c.socket)
		if err == nil {
			conn.Close()
		}
		return err
	})
}

// startControlPlane starts the three Kubernetes components of c.version on the
// running kine, and makes sure of the bootstrap record.
func (c *Cluster) startControlPlane(ctx context.Context) error {
	if err := c.startAPIServer(ctx); err != nil {
		return err
	}
	c.options.Progress("starting kube-controller-manager and kube-scheduler " + c.version)
	kubeconfig := func(name string) string { return filepath.Join(c.cred(), name+".kubeconfig") }
	var err error
	c.controller, err = c.startKube("kube-controller-manager",
		"--kubeconfig="+kubeconfig("controller"), "--authentication-kubeconfig="+kubeconfig("controller"),
		"--authorization-kubeconfig="+kubeconfig("controller"),
		"--service-account-private-key-file="+c.pki.path("service.key"), "--root-ca-file="+c.pki.path("server-ca.crt"),
		"--use-service-account-credentials=true", "--leader-elect=false", "--secure-port=0",
		"--allocate-node-cidrs=true", "--cluster-cidr=10.42.0.0/16", "--kube-api-qps=200", "--kube-api-burst=400")
	if err != nil {
		return err
	}
	c.scheduler, err = c.startKube("kube-scheduler",
		"--kubeconfig="+kubeconfig("scheduler"), "--authentication-kubeconfig="+kubeconfig("scheduler"),
		"--authorization-kubeconfig="+kubeconfig("scheduler"),
		"--leader-elect=false", "--secure-port=0", "--kube-api-qps=200", "--kube-api-burst=400")
	if err != nil {
		return err
	}
	return c.storeBootstrap(ctx)
}

// startKube starts one of the programs that the Kubernetes binary holds.
func (c *Cluster) startKube(name string, flags ...string) (*process, error) {
	return startProcess(c.logs(), command{
		name: name, binary: c.binaries[kube(c.version).name], args: append([]string{name}, flags...),
	})
}

// startAPIServer keeps the port of an earlier start, so that kubeconfigs stay
// true; a free port that someone else took in between is tried again.
func (c *Cluster) startAPIServer(ctx context.Context) error {
	c.options.Progress("starting kube-apiserver " + c.version)
	fixed := c.port
	if fixed == 0 {
		fixed = c.options.Port
	}
	for attempt := 1; ; attempt++ {
		port, err := pickPort(fixed)
		if err != nil {
			return err
		}
		err = c.tryAPIServer(ctx, port)
		if err == nil {
			c.port = port
			return nil
		}
		if c.apiserver == nil {
			return err
		}
		stopErr := c.apiserver.stop(time.Second)
		if fixed != 0 || attempt == 3 || stopErr != nil || !strings.Contains(c.apiserver.tail(), "address already in use") {
			return errors.Join(err, stopErr)
		}
	}
}

// pickPort gives port if nothing listens on it, or a free one for 0.
func pickPort(port int) (int, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return 0, fmt.Errorf("port %d on 127.0.0.1 cannot be used: %w; stop what listens there or choose another port", port, err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func (c *Cluster) tryAPIServer(ctx context.Context, port int) error {
	url := fmt.Sprintf("https://127.0.0.1:%d", port)
	if err := c.writeKubeconfigs(url); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig())
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 200, 400
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	c.config = config
	c.apiserver, err = c.startKube("kube-apiserver",
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--advertise-address="+advertised,
		"--etcd-servers=unix://"+c.socket, "--allow-privileged=true", "--anonymous-auth=false",
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--profiling=false",
		"--service-cluster-ip-range=10.43.0.0/16", "--shutdown-send-retry-after=false",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+c.pki.path("service.key"), "--service-account-signing-key-file="+c.pki.path("service.key"),
		"--client-ca-file="+c.pki.path("client-ca.crt"),
		"--tls-cert-file="+c.pki.path("serving-kube-apiserver.crt"), "--tls-private-key-file="+c.pki.path("serving-kube-apiserver.key"))
	if err != nil {
		return err
	}
	return wait(ctx, "kube-apiserver to be ready", []*process{c.kine, c.apiserver}, func(ctx context.Context) error {
		return c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// writeKubeconfigs writes the administrator's kubeconfig and the components'
// own, and the API server's certificate.
func (c *Cluster) writeKubeconfigs(url string) error {
	return diskError(errors.Join(
		c.pki.serving(),
		c.pki.kubeconfig(c.kubeconfig(), url, pkix.Name{CommonName: "system:admin", Organization: []string{"system:masters"}}),
		c.pki.kubeconfig(filepath.Join(c.cred(), "controller.kubeconfig"), url, pkix.Name{CommonName: "system:kube-controller-manager"}),
		c.pki.kubeconfig(filepath.Join(c.cred(), "scheduler.kubeconfig"), url, pkix.Name{CommonName: "system:kube-scheduler"}),
		c.pki.kubeconfig(filepath.Join(c.cred(), "kwok.kubeconfig"), url, pkix.Name{CommonName: "kwok", Organization: []string{"system:masters"}}),
	), c.root)
}

func (c *Cluster) startKwok() error {
	c.options.Progress("starting kwok, which stands in for the kubelets")
	args := []string{
		"--kubeconfig=" + filepath.Join(c.cred(), "kwok.kubeconfig"),
		"--manage-nodes-with-annotation-selector=" + kwokAnnotation + "=fake",
		// Heartbeats are this process's, so that a node can lose them.
		"--node-lease-duration-seconds=0", "--cidr=10.42.0.0/16", "--node-ip=127.0.0.1",
	}
	for _, stage := range stageNames() {
		args = append(args, "--config="+filepath.Join(c.stages(), stage))
	}
	var err error
	c.kwok, err = startProcess(c.logs(), command{name: "kwok", binary: c.binaries[kwok.name], args: args})
	return err
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

// Upgrade stops the control plane, starts version's on the same database and
// moves the nodes' kubelets to it.
func (c *Cluster) Upgrade(ctx context.Context, version string) error {
	if err := errors.Join(supported(version), upwards(c.Version(), version)); err != nil {
		return err
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

func (c *Cluster) stopControlPlane() error {
	// Clients first; an API server that waits for its watchers to leave would
	// take a minute.
	err := errors.Join(c.scheduler.stop(time.Second), c.controller.stop(time.Second), c.apiserver.stop(3*time.Second))
	c.scheduler, c.controller, c.apiserver = nil, nil, nil
	return err
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
