//go:build practice

package suc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/k3sladder/k3sladder/internal/practice"
	"github.com/k3sladder/k3sladder/skew"
)

// controller writes what the real one writes, in its order: status, a paused
// Job, status.applying, the Job let go, the node's label.
type controller struct {
	t *testing.T
	Clients
	plan *Plan
}

func (c *controller) status(applying []string, conditions ...Condition) {
	c.t.Helper()
	c.plan.Status = PlanStatus{Conditions: conditions, LatestVersion: munge(c.plan.Spec.Version), LatestHash: Hash(c.plan, c.plan.Spec.Version, nil), Applying: applying}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&c.plan.Status)
	if err != nil {
		c.t.Fatal(err)
	}
	plans := c.Dynamic.Resource(Resource).Namespace(c.plan.Namespace)
	o, err := plans.Get(c.t.Context(), c.plan.Name, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	o.Object["status"] = m
	if _, err := plans.UpdateStatus(c.t.Context(), o, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func good(complete Condition) []Condition {
	return []Condition{{Type: ConditionValidated, Status: "True", Reason: "PlanIsValid"}, {Type: ConditionResolved, Status: "True", Reason: "Version"}, complete}
}

func (c *controller) job(node string) *batchv1.Job {
	c.t.Helper()
	zero, one := int32(0), int32(1)
	l := map[string]string{
		LabelController: "system-upgrade-controller", LabelNode: node, LabelPlan: c.plan.Name,
		LabelVersion: c.plan.Status.LatestVersion, LabelPlanPrefix + c.plan.Name: c.plan.Status.LatestHash,
	}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: JobName(c.plan.Name, node, c.plan.Status.LatestHash), Namespace: c.plan.Namespace, Labels: l},
		Spec: batchv1.JobSpec{
			Parallelism: &zero, Completions: &one, BackoffLimit: &zero,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: l},
				Spec: corev1.PodSpec{
					RestartPolicy:  corev1.RestartPolicyNever,
					NodeSelector:   map[string]string{corev1.LabelHostname: node},
					InitContainers: []corev1.Container{{Name: "cordon", Image: KubectlImage}},
					Containers:     []corev1.Container{{Name: "upgrade", Image: "rancher/k3s-upgrade:v1.35.8-k3s1"}},
					Tolerations:    []corev1.Toleration{{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists}},
				},
			},
		},
	}
	jobs := c.Kube.BatchV1().Jobs(c.plan.Namespace)
	job, err := jobs.Create(c.t.Context(), job, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.status([]string{node}, good(Condition{Type: ConditionComplete, Status: "False", Reason: "SyncJob"})...)
	c.eventually("letting the Job go", func() error {
		live, err := jobs.Get(c.t.Context(), job.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		live.Spec.Parallelism = &one
		_, err = jobs.Update(c.t.Context(), live, metav1.UpdateOptions{})
		return err
	})
	return job
}

// eventually tries until f gives no error.
func (c *controller) eventually(what string, f func() error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			c.t.Fatalf("%s: %v", what, err)
		case <-tick.C:
		}
	}
}

// pod ends the Job's Pod as a kubelet would: cordon well, upgrade with status.
func (c *controller) pod(job *batchv1.Job, status int32) {
	c.t.Helper()
	c.eventually("the Job's Pod", func() error {
		pods, err := c.Kube.CoreV1().Pods(job.Namespace).List(c.t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job.Name})
		if err != nil {
			return err
		}
		if len(pods.Items) == 0 || pods.Items[0].Spec.NodeName == "" {
			return fmt.Errorf("not there yet")
		}
		p := &pods.Items[0]
		ended := func(name string, code int32) []corev1.ContainerStatus {
			reason := "Completed"
			if code != 0 {
				reason = "Error"
			}
			return []corev1.ContainerStatus{{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}}}
		}
		p.Status.InitContainerStatuses, p.Status.ContainerStatuses = ended("cordon", 0), ended("upgrade", status)
		p.Status.Phase = corev1.PodSucceeded
		if status != 0 {
			p.Status.Phase = corev1.PodFailed
		}
		_, err = c.Kube.CoreV1().Pods(job.Namespace).UpdateStatus(c.t.Context(), p, metav1.UpdateOptions{})
		return err
	})
	c.eventually("the Job's end", func() error {
		j, err := c.Kube.BatchV1().Jobs(job.Namespace).Get(c.t.Context(), job.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, cond := range j.Status.Conditions {
			if cond.Status == corev1.ConditionTrue && (cond.Type == batchv1.JobComplete || cond.Type == batchv1.JobFailed) {
				return nil
			}
		}
		return fmt.Errorf("it runs")
	})
}

// node changes a node; status goes its own way.
func (c *controller) node(name string, change func(*corev1.Node)) {
	c.t.Helper()
	c.eventually("node "+name, func() error {
		n, err := c.Kube.CoreV1().Nodes().Get(c.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(n)
		if n, err = c.Kube.CoreV1().Nodes().Update(c.t.Context(), n, metav1.UpdateOptions{}); err != nil {
			return err
		}
		change(n)
		_, err = c.Kube.CoreV1().Nodes().UpdateStatus(c.t.Context(), n, metav1.UpdateOptions{})
		return err
	})
}

// Watch follows Plans on a real API server while the test writes what the
// controller writes, with the API server away in the middle.
//
// The order was checked against the real controller: v0.20.1, built from its
// source, ran against such a cluster with two servers while Pods were ended and
// nodes moved by hand. Watch gave validated, resolved, then job-started, cordoned
// and upgraded for one server and the other, node-done for each when its
// version was written three seconds later, and complete; for a Plan whose Pods
// were failed (backoff limit 0) the failed container, the failed Job, and the
// node left cordoned with the commands that put it back.
func TestWatchOnARealAPIServer(t *testing.T) {
	cl := practice.Start(t, practice.Options{Nodes: []practice.Node{
		{Name: "srv-1", Labels: map[string]string{ControlPlaneLabel: "true"}}, {Name: "srv-2", Labels: map[string]string{ControlPlaneLabel: "true"}},
	}})
	d, err := dynamic.NewForConfig(cl.Config())
	if err != nil {
		t.Fatal(err)
	}
	clients := Clients{Kube: cl.Client(), Dynamic: d}
	plan := ServerPlan(skew.MustParse("v1.35.8+k3s1"), Options{})
	other := ServerPlan(skew.MustParse("v1.35.8+k3s1"), Options{Name: "fails"})
	if _, err := Apply(t.Context(), d, ApplyOptions{CRD: CRD(), Plans: []*Plan{plan, other}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Watch(t.Context(), clients, "system-upgrade", "nobody", WatchOptions{}); err == nil || !strings.Contains(err.Error(), "no Plan nobody") {
		t.Errorf("a Plan that is not there gives %v", err)
	}

	var mu sync.Mutex
	watching := func(name string) (wait func() (*WatchResult, []string, error), seen func(string) error) {
		var events []string
		done := make(chan struct{})
		var result *WatchResult
		var err error
		go func() {
			defer close(done)
			result, err = Watch(t.Context(), clients, "system-upgrade", name, WatchOptions{Settle: 3 * time.Second, OnEvent: func(e Event) {
				mu.Lock()
				defer mu.Unlock()
				events = append(events, strings.TrimRight(fmt.Sprintf("%s %s %s", e.Type, e.Node, e.Container), " "))
				t.Log(e)
			}})
		}()
		return func() (*WatchResult, []string, error) { <-done; return result, events, err }, func(want string) error {
			mu.Lock()
			defer mu.Unlock()
			if !slices.Contains(events, want) {
				return fmt.Errorf("no event %s among %v", want, events)
			}
			return nil
		}
	}

	t.Run("to the end, over a restart of the API server", func(t *testing.T) {
		c := &controller{t, clients, plan}
		wait, seen := watching("k3s-server")
		c.status(nil, good(Condition{Type: ConditionComplete, Status: "False", Reason: "Resolved"})...)
		for i, name := range []string{"srv-1", "srv-2"} {
			job := c.job(name)
			c.node(name, func(n *corev1.Node) { n.Spec.Unschedulable = true })
			c.pod(job, 0)
			c.eventually("the event", func() error { return seen("upgraded " + name) })
			if i == 0 {
				if err := cl.StopAPIServer(t.Context()); err != nil {
					t.Fatal(err)
				}
				c.eventually("the event", func() error { return seen("connection-lost") })
				if err := cl.StartAPIServer(t.Context()); err != nil {
					t.Fatal(err)
				}
				c.eventually("the event", func() error { return seen("connection-back") })
			}
			c.node(name, func(n *corev1.Node) {
				n.Spec.Unschedulable = false
				n.Labels[LabelPlanPrefix+"k3s-server"] = c.plan.Status.LatestHash
				n.Status.NodeInfo.KubeletVersion = "v1.35.8+k3s1"
			})
			c.eventually("the event", func() error { return seen("node-done " + name) })
		}
		c.status(nil, good(Condition{Type: ConditionComplete, Status: "True", Reason: "Complete"})...)
		result, events, err := wait()
		if err != nil || result.Outcome != Done || len(result.LeftCordoned) > 0 {
			t.Fatalf("%+v, %v", result, err)
		}
		events = slices.DeleteFunc(events, func(e string) bool { return strings.HasPrefix(e, "connection") })
		want := []string{
			"validated", "resolved", "job-started srv-1", "cordoned srv-1", "upgraded srv-1", "node-done srv-1",
			"job-started srv-2", "cordoned srv-2", "upgraded srv-2", "node-done srv-2", "complete",
		}
		if !slices.Equal(events, want) {
			t.Errorf("got  %v\nwant %v", events, want)
		}
	})
	t.Run("a failed Job leaves its node cordoned", func(t *testing.T) {
		for _, n := range []string{"srv-1", "srv-2"} {
			(&controller{t, clients, other}).node(n, func(n *corev1.Node) { n.Status.NodeInfo.KubeletVersion = "v1.34.4+k3s1" })
		}
		c := &controller{t, clients, other}
		c.status(nil, good(Condition{Type: ConditionComplete, Status: "False", Reason: "Resolved"})...)
		wait, seen := watching("fails")
		c.eventually("the event", func() error { return seen("resolved") })
		job := c.job("srv-1")
		c.node("srv-1", func(n *corev1.Node) { n.Spec.Unschedulable = true })
		c.pod(job, 1)
		c.status([]string{"srv-1"}, good(Condition{Type: ConditionComplete, Status: "False", Reason: "JobFailed", Message: "Job failed"})...)
		result, _, err := wait()
		if err != nil || result.Outcome != Failed || !slices.Equal(result.LeftCordoned, []string{"srv-1"}) || result.Commands[0] != "kubectl uncordon srv-1" {
			t.Fatalf("%+v, %v", result, err)
		}
	})
	t.Run("a Plan that is deleted", func(t *testing.T) {
		wait, _ := watching("k3s-server")
		if err := d.Resource(Resource).Namespace("system-upgrade").Delete(t.Context(), "k3s-server", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if result, _, err := wait(); err == nil && result.Outcome != Done {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("a Plan that nobody can decode", func(t *testing.T) {
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": APIVersion, "kind": Kind, "metadata": map[string]any{"name": "poison", "namespace": "system-upgrade"},
			"spec": map[string]any{"upgrade": map[string]any{"image": "a"}, "postCompleteDelay": "60"},
		}}
		if _, err := d.Resource(Resource).Namespace("system-upgrade").Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := GetPlan(t.Context(), d, "system-upgrade", "poison"); err == nil || !strings.Contains(err.Error(), "cannot be decoded") {
			t.Error(err)
		}
		fresh := ServerPlan(skew.MustParse("v1.35.8+k3s1"), Options{Name: "fresh"})
		if _, err := Apply(t.Context(), d, ApplyOptions{Plans: []*Plan{fresh}}); err != nil {
			t.Fatal(err)
		}
		wait, _ := watching("fresh")
		result, _, err := wait()
		if err != nil || result.Outcome != Stuck || !strings.Contains(result.Because, "poison") {
			t.Errorf("%+v, %v", result, err)
		}
	})
}
