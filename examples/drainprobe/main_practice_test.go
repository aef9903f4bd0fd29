//go:build practice

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/k3sladder/k3sladder/internal/practice"
)

// TestInterruptedBinaryGivesTheNodeBack drains the lab's workload with the
// built binary, and interrupts it in mid-drain, by SIGINT and by SIGTERM.
func TestInterruptedBinaryGivesTheNodeBack(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "drainprobe")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cluster := practice.Start(t, practice.Options{})
	client := cluster.Client()
	node := onlyNode(t, client)
	web(t, client)
	kubeconfig := "--kubeconfig=" + cluster.Kubeconfig()

	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := exec.Command(binary, "attempt", node, kubeconfig, "--timeout=60s")
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		text, sent := "", time.Time{}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			text += lines.Text() + "\n"
			if sent.IsZero() && strings.Contains(lines.Text(), "will retry after") {
				sent = time.Now()
				if err := cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
			}
		}
		err = cmd.Wait()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(errs.String(), "interrupted") {
			t.Errorf("%v: %v, stderr %q\n%s", signal, err, errs.String(), text)
		}
		if !strings.Contains(text, "node/"+node+" uncordoned") {
			t.Errorf("%v: no line says that the node was given back:\n%s", signal, text)
		}
		if strings.Contains(text, "decision=") {
			t.Errorf("%v: a decision follows from a drain that was broken off:\n%s", signal, text)
		}
		schedulable(t, client, node)
		ready(t, client, 2)
	}

	// Left alone, it times out, and the forecast had said so.
	cmd := exec.Command(binary, "forecast", node, kubeconfig, "--timeout=7s", "-o", "json")
	out, err := cmd.Output()
	var f struct{ Verdict string }
	if jsonErr := json.Unmarshal(out, &f); jsonErr != nil || f.Verdict != "blocked" || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("forecast: %v %v %s", err, jsonErr, out)
	}
	cmd = exec.Command(binary, "attempt", node, kubeconfig, "--timeout=7s", "--wait-ready=1m", "-o", "json")
	out, err = cmd.Output()
	var a struct {
		Drained, Restored, Recovered bool
		Decision                     struct{ Action string }
	}
	if jsonErr := json.Unmarshal(out, &a); jsonErr != nil || a.Drained || !a.Restored || !a.Recovered || a.Decision.Action != "upgrade-without-drain" || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("attempt: %v %v %s", err, jsonErr, out)
	}
	schedulable(t, client, node)
}

func onlyNode(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 {
		t.Fatalf("%d nodes, %v", len(nodes.Items), err)
	}
	return nodes.Items[0].Name
}

func schedulable(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	n, err := client.CoreV1().Nodes().Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n.Spec.Unschedulable || len(n.Spec.Taints) > 0 {
		t.Errorf("node %s: unschedulable %v, taints %v", name, n.Spec.Unschedulable, n.Spec.Taints)
	}
}

// web is the lab's workload: two replicas under minAvailable 1.
func web(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	ctx, labels, one := t.Context(), map[string]string{"app": "web"}, intstr.FromInt32(1)
	s := &metav1.LabelSelector{MatchLabels: labels}
	if _, err := client.PolicyV1().PodDisruptionBudgets("default").Create(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: s}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.AppsV1().Deployments("default").Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Selector: s, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "pause"}}}}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ready(t, client, 2)
}

func ready(t *testing.T, client kubernetes.Interface, want int32) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		d, err := client.AppsV1().Deployments("default").Get(context.Background(), "web", metav1.GetOptions{})
		if err == nil && d.Status.ReadyReplicas == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("web is not ready: %v", err)
		}
	}
}
