//go:build practice

package drainprobe

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/k3sladder/k3sladder/internal/practice"
)

var (
	recordOwn = flag.Bool("record", false, "write testdata/own anew from what happens")
	only      = flag.String("only", "", "run only scenarios whose name contains this")
	from      = flag.Int("from", 1, "run only own scenarios from this number on")
	parallel  = flag.Int("cells", 6, "how many small clusters run at once")
	seedCount = flag.Int("seeds", envInt("DRAINPROBE_SEEDS", 20), "how many random clusters; also DRAINPROBE_SEEDS")
	firstSeed = flag.Int("seed", 1, "the first random cluster")
	release   = flag.String("kubernetes", practice.From, "version of the practice cluster")
	everyCase = flag.Bool("every", os.Getenv("DRAINPROBE_ALL") != "", "every recorded scenario; also DRAINPROBE_ALL=1")
)

func envInt(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return def
}

// stage is a practice cluster on which cells play.
type stage struct {
	client kubernetes.Interface
	dyn    dynamic.Interface
}

func newStage(t *testing.T) *stage {
	t.Helper()
	c := practice.Start(t, practice.Options{NoNodes: true, Version: *release})
	cfg := rest.CopyConfig(c.Config())
	cfg.QPS, cfg.Burst = 500, 1000
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &stage{client, dyn}
}

var gvrs = map[string]schema.GroupVersionResource{
	"Node": {Version: "v1", Resource: "nodes"}, "Namespace": {Version: "v1", Resource: "namespaces"}, "Pod": {Version: "v1", Resource: "pods"},
	"PodDisruptionBudget": {Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
	"Deployment":          {Group: "apps", Version: "v1", Resource: "deployments"}, "ReplicaSet": {Group: "apps", Version: "v1", Resource: "replicasets"},
	"StatefulSet": {Group: "apps", Version: "v1", Resource: "statefulsets"}, "DaemonSet": {Group: "apps", Version: "v1", Resource: "daemonsets"},
	"Job": {Group: "batch", Version: "v1", Resource: "jobs"}, "ReplicationController": {Version: "v1", Resource: "replicationcontrollers"},
	"PriorityClass": {Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}, "StorageClass": {Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"},
	"PersistentVolume": {Version: "v1", Resource: "persistentvolumes"}, "PersistentVolumeClaim": {Version: "v1", Resource: "persistentvolumeclaims"},
	"ResourceQuota": {Version: "v1", Resource: "resourcequotas"}, "LimitRange": {Version: "v1", Resource: "limitranges"},
	"RuntimeClass": {Group: "node.k8s.io", Version: "v1", Resource: "runtimeclasses"},
}

var clusterWide = []string{"Node", "Namespace", "PriorityClass", "StorageClass", "PersistentVolume", "RuntimeClass"}

func (s *stage) resource(kind, ns string) dynamic.ResourceInterface {
	if slices.Contains(clusterWide, kind) {
		return s.dyn.Resource(gvrs[kind])
	}
	return s.dyn.Resource(gvrs[kind]).Namespace(ns)
}

// create makes the objects, cluster-wide ones first.
func (s *stage) create(ctx context.Context, c *cell) error {
	for _, first := range []bool{true, false} {
		for _, o := range c.objects {
			kind := o.GetObjectKind().GroupVersionKind().Kind
			if slices.Contains(clusterWide, kind) != first {
				continue
			}
			m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			if err != nil {
				return err
			}
			u := &unstructured.Unstructured{Object: m}
			unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
			err = poll(ctx, 30*time.Second, func() (bool, error) {
				_, err := s.resource(kind, u.GetNamespace()).Create(ctx, u, metav1.CreateOptions{})
				if apierrors.IsForbidden(err) { // the default service account is not there yet
					return false, nil
				}
				return err == nil, err
			})
			if err != nil {
				return fmt.Errorf("create %s %s: %w", kind, u.GetName(), err)
			}
		}
		// Pods that come before all nodes are Ready gather on the first.
		if first {
			if err := s.settle(ctx, c, 500*time.Millisecond); err != nil {
				return fmt.Errorf("nodes: %w", err)
			}
		}
	}
	return nil
}

func poll(ctx context.Context, limit time.Duration, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not done within %v", limit)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// settle waits until nothing in the cell moves.
func (s *stage) settle(ctx context.Context, c *cell, still time.Duration) error {
	last, since := "", time.Now()
	return poll(ctx, 90*time.Second, func() (bool, error) {
		sig, err := s.signature(ctx, c)
		if err != nil {
			return false, err
		}
		if sig == "" || sig != last {
			last, since = sig, time.Now()
			return false, nil
		}
		return time.Since(since) >= still, nil
	})
}

// signature is what has to stand still, "" while something is under way.
func (s *stage) signature(ctx context.Context, c *cell) (string, error) {
	var b strings.Builder
	ns := c.space()
	nodes, err := s.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: cellKey + "=" + c.id})
	if err != nil {
		return "", err
	}
	for i := range nodes.Items {
		n := &nodes.Items[i]
		down := n.Annotations["drain.test/not-ready"] != ""
		if nodeReady(n) == down || n.Spec.Unschedulable != hasTaint(n.Spec.Taints, cordonTaint) {
			return "", nil
		}
		for _, t := range n.Spec.Taints {
			if !down && strings.HasPrefix(t.Key, "node.kubernetes.io/not-ready") {
				return "", nil
			}
			fmt.Fprint(&b, n.Name, t.Key, t.Effect)
		}
	}
	pods, err := s.client.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		scheduled := p.Spec.NodeName != ""
		if scheduled && p.Status.Phase == corev1.PodPending && p.Annotations["drain.test/behave"] != "stay-pending" {
			return "", nil
		}
		if !scheduled && len(p.Status.Conditions) == 0 {
			return "", nil
		}
		fmt.Fprint(&b, p.UID, p.Status.Phase, podReady(p), p.Spec.NodeName, p.DeletionTimestamp != nil)
	}
	budgets, err := s.client.PolicyV1().PodDisruptionBudgets(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for i := range budgets.Items {
		p := &budgets.Items[i]
		if p.Status.ObservedGeneration != p.Generation && p.Status.Conditions == nil {
			return "", nil
		}
		fmt.Fprint(&b, p.Name, p.Status.DisruptionsAllowed, p.Status.CurrentHealthy, p.Status.DesiredHealthy, p.Status.ExpectedPods)
	}
	return b.String() + " ", nil
}

// controllersDone says whether every controller of the cell has its Pods.
func (s *stage) controllersDone(ctx context.Context, ns string) (bool, error) {
	deployments, err := s.client.AppsV1().Deployments(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, d := range deployments.Items {
		if d.Status.ObservedGeneration != d.Generation || d.Status.Replicas != *d.Spec.Replicas {
			return false, nil
		}
	}
	sets, err := s.client.AppsV1().ReplicaSets(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, d := range sets.Items {
		if d.Status.Replicas != *d.Spec.Replicas {
			return false, nil
		}
	}
	jobs, err := s.client.BatchV1().Jobs(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, j := range jobs.Items {
		if j.Status.StartTime == nil {
			return false, nil
		}
	}
	daemons, err := s.client.AppsV1().DaemonSets(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, d := range daemons.Items {
		if d.Status.ObservedGeneration != d.Generation || d.Status.CurrentNumberScheduled != d.Status.DesiredNumberScheduled {
			return false, nil
		}
	}
	stateful, err := s.client.AppsV1().StatefulSets(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, d := range stateful.Items {
		if d.Status.ObservedGeneration != d.Generation || d.Status.Replicas == 0 && *d.Spec.Replicas > 0 {
			return false, nil
		}
	}
	return true, nil
}

// step does one set-up step, in kubectl's words.
func (s *stage) step(ctx context.Context, c *cell, step string) error {
	for _, n := range []string{"a", "b", "c", "d"} {
		step = strings.ReplaceAll(step, "{"+n+"}", c.nodeName(n))
	}
	w := strings.Fields(step)
	switch {
	case w[0] == "sleep":
		n, err := strconv.Atoi(w[1])
		time.Sleep(time.Duration(n) * time.Second) // a step of a record
		return err
	case w[0] == "cordon" || w[0] == "uncordon":
		_, err := s.client.CoreV1().Nodes().Patch(ctx, w[1], types.MergePatchType, []byte(fmt.Sprintf(`{"spec":{"unschedulable":%v}}`, w[0] == "cordon")), metav1.PatchOptions{})
		return err
	case w[0] == "annotate":
		k, v, _ := strings.Cut(w[3], "=")
		_, err := s.client.CoreV1().Nodes().Patch(ctx, w[2], types.MergePatchType, []byte(fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, k, v)), metav1.PatchOptions{})
		return err
	case w[0] == "report": // what the kubelet says of its node
		_, err := s.client.CoreV1().Nodes().Patch(ctx, w[1], types.StrategicMergePatchType, []byte(fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q}]}}`, w[2])), metav1.PatchOptions{}, "status")
		return err
	case w[0] == "patch":
		_, err := s.resource(w[1], c.space()).Patch(ctx, w[2], types.MergePatchType, []byte(strings.Join(w[3:], " ")), metav1.PatchOptions{})
		return err
	case w[0] == "create":
		o := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(strings.Join(w[3:], " ")), o); err != nil {
			return err
		}
		_, err := s.resource(w[1], c.space()).Create(ctx, o, metav1.CreateOptions{})
		return err
	case w[0] == "adopt": // Pods of an app, by a controller of a kind of its own
		owner, err := s.client.CoreV1().ConfigMaps(c.space()).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		patch := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":%q,"controller":true}]}}`, owner.UID)
		return s.patchPods(ctx, c, w[1], patch)
	case w[0] == "ungate":
		return s.patchPods(ctx, c, w[1], `{"spec":{"schedulingGates":null}}`)
	case w[0] == "delete" && w[1] == "pod":
		return s.client.CoreV1().Pods(c.space()).Delete(ctx, w[2], metav1.DeleteOptions{})
	}
	return fmt.Errorf("unknown step %q", step)
}

// patchPods patches every Pod of an app.
func (s *stage) patchPods(ctx context.Context, c *cell, app, patch string) error {
	pods, err := s.client.CoreV1().Pods(c.space()).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		if _, err := s.client.CoreV1().Pods(c.space()).Patch(ctx, pods.Items[i].Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// state lists the cell's objects as a recorded state holds them.
func (s *stage) state(ctx context.Context, c *cell) ([]byte, error) {
	var out []runtime.Object
	for _, kind := range []string{"Node", "Namespace", "Pod", "PodDisruptionBudget", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job", "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "PriorityClass", "ResourceQuota", "LimitRange"} {
		opts := metav1.ListOptions{}
		if kind == "Node" {
			opts.LabelSelector = cellKey + "=" + c.id
		}
		list, err := s.resource(kind, c.space()).List(ctx, opts)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			u := &list.Items[i]
			if slices.Contains([]string{"PersistentVolume", "StorageClass", "PriorityClass"}, kind) && !strings.HasPrefix(u.GetName(), c.id+"-") || kind == "Namespace" && u.GetName() != c.space() {
				continue
			}
			u.SetManagedFields(nil)
			out = append(out, u)
		}
	}
	// An empty list says that there are none.
	out = append(out, &admissionv1.MutatingWebhookConfigurationList{TypeMeta: meta("admissionregistration.k8s.io/v1", "MutatingWebhookConfigurationList"), Items: []admissionv1.MutatingWebhookConfiguration{}})
	return listJSON(out)
}

// cleanup removes the cell, whatever holds its Pods.
func (s *stage) cleanup(c *cell) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	ns, background, now := c.space(), metav1.DeletePropagationBackground, int64(0)
	for _, kind := range []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController", "PodDisruptionBudget"} {
		_ = s.resource(kind, ns).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
	}
	err := poll(ctx, time.Minute, func() (bool, error) {
		pods, err := s.client.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if len(p.Finalizers) > 0 {
				_, _ = s.client.CoreV1().Pods(ns).Patch(ctx, p.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			}
			_ = s.client.CoreV1().Pods(ns).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		}
		return len(pods.Items) == 0, nil
	})
	for _, o := range c.objects {
		u, convErr := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if kind := o.GetObjectKind().GroupVersionKind().Kind; convErr == nil && slices.Contains(clusterWide, kind) {
			_ = s.resource(kind, "").Delete(ctx, (&unstructured.Unstructured{Object: u}).GetName(), metav1.DeleteOptions{})
		}
	}
	return err
}

// played is what happened to one cell.
type played struct {
	forecast *Forecasted
	attempt  *Attempted
	observed seen
	state    []byte
	took     time.Duration
}

// play creates a cell, forecasts the drain of a node, drains it, and removes
// the cell.
func (s *stage) play(ctx context.Context, c *cell, node string, setup []string, opts Options) (p *played, err error) {
	begin := time.Now()
	c.isolate()
	defer func() {
		if e := s.cleanup(c); err == nil && e != nil {
			err = fmt.Errorf("cleanup: %w", e)
		}
	}()
	if err := s.create(ctx, c); err != nil {
		return nil, err
	}
	rest := func(still time.Duration) error {
		if err := poll(ctx, 60*time.Second, func() (bool, error) { return s.controllersDone(ctx, c.space()) }); err != nil {
			return fmt.Errorf("controllers: %w", err)
		}
		return s.settle(ctx, c, still)
	}
	if err := rest(1200 * time.Millisecond); err != nil {
		return nil, err
	}
	for _, step := range setup {
		if err := s.step(ctx, c, step); err != nil {
			return nil, err
		}
	}
	if len(setup) > 0 {
		if err := s.settle(ctx, c, 1200*time.Millisecond); err != nil {
			return nil, err
		}
	}
	p = &played{}
	if p.state, err = s.state(ctx, c); err != nil {
		return nil, err
	}
	if p.forecast, err = Forecast(ctx, s.client, node, opts); err != nil {
		return nil, err
	}
	before, err := s.client.CoreV1().Pods(c.space()).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return nil, err
	}
	p.attempt, err = Attempt(ctx, s.client, node, opts)
	if err != nil {
		return p, err
	}
	p.observed = p.attempt.asSeen(before.Items)
	p.took = time.Since(begin)
	return p, nil
}

// asSeen turns an attempt into a record.
func (a *Attempted) asSeen(before []corev1.Pod) seen {
	count := func(keys []string) []ownerPods {
		n := map[string]int{}
		for _, k := range keys {
			n[k]++
		}
		out := []ownerPods{}
		for k, v := range n {
			out = append(out, ownerPods{k, v})
		}
		slices.SortFunc(out, func(a, b ownerPods) int { return strings.Compare(a.Owner, b.Owner) })
		return out
	}
	var evicted, ending, left, pending []string
	for _, p := range a.Evicted {
		evicted = append(evicted, p.WorkloadKey())
	}
	for _, p := range a.Pending {
		if p.Terminating {
			ending = append(ending, p.WorkloadKey())
		} else {
			left = append(left, p.WorkloadKey())
		}
	}
	if len(a.Evicted)+len(a.Pending) == 0 && !a.Drained { // a filter stopped it
		for i := range before {
			left = append(left, refOf(&before[i]).WorkloadKey())
		}
	}
	for i := range before { // passed over, and still on their way out
		if ref := refOf(&before[i]); before[i].DeletionTimestamp != nil && !slices.ContainsFunc(a.Pending, func(p PendingPod) bool { return p.UID == ref.UID }) &&
			!slices.ContainsFunc(a.Evicted, func(p PodRef) bool { return p.UID == ref.UID }) {
			ending = append(ending, ref.WorkloadKey())
		}
	}
	for _, p := range a.Unplaced {
		pending = append(pending, p.WorkloadKey())
	}
	return seen{Finished: a.Drained, Seconds: a.Seconds, Evicted: count(evicted), Terminating: count(ending), Left: count(left), Pending: count(pending)}
}

// inParallel runs jobs, a few at a time.
func inParallel(n int, jobs []func()) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, n)
	for _, job := range jobs {
		wg.Add(1)
		slots <- struct{}{}
		go func() {
			defer wg.Done()
			defer func() { <-slots }()
			job()
		}()
	}
	wg.Wait()
}

func writeRecord(t *testing.T, dir string, s scenario, state []byte) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"scenario.json": append(b, '\n'), "state.json": state} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func mustDynamic(t *testing.T, cfg *rest.Config) dynamic.Interface {
	t.Helper()
	d, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
