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
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

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
