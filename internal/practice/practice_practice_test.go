//go:build practice

package practice_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/k3sladder/k3sladder/internal/practice"
)

// TestMain lets this binary play the parent that is killed.
func TestMain(m *testing.M) {
	if os.Getenv("PRACTICE_PARENT") != "" {
		parent()
		return
	}
	os.Exit(m.Run())
}

// parent starts a cluster, prints its root and the API server's address, and
// waits to be killed.
func parent() {
	c, err := practice.New(context.Background(), practice.Options{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("ready", strings.TrimSuffix(c.DataDir(), "/var/lib/rancher/k3s"), strings.TrimPrefix(c.Config().Host, "https://"))
	select {}
}

func TestUpgradeStopAndSecondStartKeepTheCluster(t *testing.T) {
	t.Parallel()
	c := practice.Start(t, practice.Options{})
	ctx := t.Context()

	deployment := deploy(t, c.Client(), "web", 2)
	node := onlyNode(t, c.Client())
	expectVersions(t, c, practice.From)

	if err := c.Upgrade(ctx, practice.To); err != nil {
		t.Fatal(err)
	}
	expectVersions(t, c, practice.To)
	expectUIDs := func(when string) {
		t.Helper()
		again, err := c.Client().AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
		if err != nil || again.UID != deployment.UID {
			t.Errorf("%s: Deployment web has UID %q (%v), want %q", when, again.UID, err, deployment.UID)
		}
		if n := onlyNode(t, c.Client()); n.UID != node.UID {
			t.Errorf("%s: the node has UID %q, want %q", when, n.UID, node.UID)
		}
	}
	expectUIDs("after the upgrade")

	host := c.Config().Host
	if err := c.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(host, "https://")); err == nil {
		conn.Close()
		t.Error("the API server still listens after Stop")
	}
	if err := c.Restart(ctx, ""); err != nil {
		t.Fatal(err)
	}
	expectVersions(t, c, practice.To)
	expectUIDs("after the second start")
	if c.Config().Host != host {
		t.Errorf("the second start listens on %s, kubeconfigs say %s", c.Config().Host, host)
	}

	if err := c.StopAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client().Discovery().ServerVersion(); err == nil {
		t.Error("the API server answers after StopAPIServer")
	}
	if err := c.StartAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	expectUIDs("after the API server came back")
}

func TestItLooksLikeAK3sServer(t *testing.T) {
	t.Parallel()
	c := practice.Start(t, practice.Options{})
	read := func(name string) string {
		t.Helper()
		content, err := os.ReadFile(filepath.Join(c.DataDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	ca := read("server/tls/server-ca.crt")
	token := strings.TrimSpace(read("server/token"))
	if want := fmt.Sprintf("K10%x::server:", sha256.Sum256([]byte(ca))); !strings.HasPrefix(token, want) || len(token) != len(want)+32 {
		t.Errorf("the token does not begin with the hash of the CA certificate, or has no 32 digit password")
	}
	if got := read("config.yaml"); !strings.Contains(got, "disable:\n  - traefik\n") {
		t.Errorf("config.yaml is %q", got)
	}
	if got := read("k3s.yaml"); strings.Contains(got, "insecure-skip-tls-verify") || !strings.Contains(got, "certificate-authority-data") {
		t.Error("k3s.yaml does not verify the server")
	}
	if got := read("server/db/state.db"); !strings.HasPrefix(got, "SQLite format 3\x00") {
		t.Error("state.db is not SQLite")
	}
	if info, err := os.Stat(filepath.Join(c.DataDir(), "server/token")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("token: %v, %v", info, err)
	}
	// The admission plugin ServiceAccount gives every Pod the default account.
	deploy(t, c.Client(), "web", 1)
	pods, err := c.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 1 || pods.Items[0].Spec.ServiceAccountName != "default" {
		t.Errorf("Pods %v, %v", pods, err)
	}
}

func TestTwoClustersSideBySideAndNodesAsAskedFor(t *testing.T) {
	t.Parallel()
	small := practice.Node{
		Name: "small", Labels: map[string]string{"zone": "a"},
		Taints:   []corev1.Taint{{Key: "only", Value: "batch", Effect: corev1.TaintEffectNoSchedule}},
		Capacity: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi"), "pods": resource.MustParse("10")},
	}
	one := practice.Start(t, practice.Options{Nodes: []practice.Node{small, practice.DefaultNode()}})
	two := practice.Start(t, practice.Options{Version: practice.To})
	expectVersions(t, two, practice.To)
	if err := one.AddNode(t.Context(), practice.Node{Name: "late"}); err != nil {
		t.Fatal(err)
	}
	nodes, err := one.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 3 {
		t.Fatalf("nodes %v, %v", nodes, err)
	}
	n, err := one.Client().CoreV1().Nodes().Get(t.Context(), "small", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n.Labels["zone"] != "a" || len(n.Spec.Taints) != 1 || n.Spec.Taints[0].Key != "only" || n.Status.Allocatable.Cpu().String() != "1" {
		t.Errorf("node small: labels %v, taints %v, allocatable %v", n.Labels, n.Spec.Taints, n.Status.Allocatable)
	}
	if onlyNode(t, two.Client()).Name != practice.DefaultNode().Name {
		t.Error("the second cluster does not hold its own node alone")
	}
}

func TestAnOccupiedPortIsNamed(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	_, err = practice.New(t.Context(), practice.Options{Port: port})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("port %d on 127.0.0.1", port)) {
		t.Errorf("got %v", err)
	}
}

func TestACancelledStartLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("changed my mind")
	_, err := practice.New(ctx, practice.Options{Dir: filepath.Join(dir, "c"), Progress: func(line string) {
		if strings.Contains(line, "kube-controller-manager") {
			cancel(reason)
		}
	}})
	if err == nil {
		t.Fatal("a cancelled start succeeded")
	}
	expectNoProcess(t, dir)
}

// A parent that is killed can clean nothing up: its children must end by
// themselves and take the folder along.
func TestEveryProcessEndsWithAKilledParent(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "PRACTICE_PARENT=1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	fields := strings.Fields(line)
	if err != nil || len(fields) != 3 || fields[0] != "ready" {
		t.Fatalf("the parent said %q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	expectNoProcess(t, fields[1])
	eventually(t, "the folder to go", func() error {
		if _, err := os.Stat(fields[1]); err == nil {
			return errors.New("still there")
		}
		return nil
	})
	if conn, err := net.Dial("tcp", fields[2]); err == nil {
		conn.Close()
		t.Error("the API server still listens")
	}
}

// expectNoProcess waits until no process has dir on its command line.
func expectNoProcess(t *testing.T, dir string) {
	t.Helper()
	eventually(t, "every process to end", func() error {
		found, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return err
		}
		for _, path := range found {
			if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), dir) {
				return fmt.Errorf("%s runs: %.200s", path, strings.ReplaceAll(string(content), "\x00", " "))
			}
		}
		return nil
	})
}

func eventually(t *testing.T, what string, ready func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := ready()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func expectVersions(t *testing.T, c *practice.Cluster, want string) {
	t.Helper()
	server, err := c.Client().Discovery().ServerVersion()
	if err != nil || server.GitVersion != want || c.Version() != want {
		t.Errorf("the API server is at %v (%v), the cluster at %s, want %s", server, err, c.Version(), want)
	}
	if got := onlyNode(t, c.Client()).Status.NodeInfo.KubeletVersion; got != want {
		t.Errorf("the kubelet is at %s, want %s", got, want)
	}
}

func onlyNode(t *testing.T, client kubernetes.Interface) corev1.Node {
	t.Helper()
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 {
		t.Fatalf("nodes: %v, %v", nodes, err)
	}
	return nodes.Items[0]
}

// deploy makes a Deployment and waits until its Pods are ready.
func deploy(t *testing.T, client kubernetes.Interface, name string, replicas int32) *appsv1.Deployment {
	t.Helper()
	labels := map[string]string{"app": name}
	made, err := client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "pause"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "Deployment "+name, func() error {
		d, err := client.AppsV1().Deployments("default").Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && d.Status.ReadyReplicas != replicas {
			err = fmt.Errorf("%d of %d ready", d.Status.ReadyReplicas, replicas)
		}
		return err
	})
	return made
}
