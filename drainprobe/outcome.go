package drainprobe

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// inspectTime bounds the look around after the drain.
const inspectTime = 15 * time.Second

// inspect reads what the drain left behind, before the node is given back.
func (r *run) inspect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	r.mu.Lock()
	targets := r.targets
	r.mu.Unlock()
	left := map[types.UID]*corev1.Pod{}
	onNode, err := r.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", r.result.Node).String()})
	known := err == nil
	if known {
		for i := range onNode.Items {
			left[onNode.Items[i].UID] = &onNode.Items[i]
		}
	}
	r.mu.Lock()
	r.result.Evicted, r.result.Pending = []PodRef{}, []PendingPod{}
	for i := range targets {
		f := r.fate[targets[i].UID]
		now := left[targets[i].UID]
		switch {
		case f.gone || known && now == nil:
			r.result.Evicted = append(r.result.Evicted, f.ref)
		default:
			p := PendingPod{PodRef: f.ref, Terminating: f.accepted || now != nil && now.DeletionTimestamp != nil}
			p.Reason = pendingReason(f, p.Terminating, now)
			r.result.Pending = append(r.result.Pending, p)
		}
	}
	r.mu.Unlock()
	pods, err := listPods(ctx, r.client, namespacesOf(targets))
	if err != nil {
		return
	}
	ready := countReady(pods)
	r.mu.Lock()
	defer r.mu.Unlock()
	mine := map[string]bool{}
	for i := range r.result.Workloads {
		w := &r.result.Workloads[i]
		w.ReadyAtEnd, mine[w.Name] = ready[w.Name], true
	}
	r.result.Unplaced = []PodRef{}
	for i := range pods {
		if ref := refOf(&pods[i]); pods[i].Spec.NodeName == "" && pods[i].DeletionTimestamp == nil && mine[ref.WorkloadKey()] {
			r.result.Unplaced = append(r.result.Unplaced, ref)
		}
	}
}

func pendingReason(f *podFate, terminating bool, now *corev1.Pod) string {
	switch {
	case terminating && now != nil && len(now.Finalizers) > 0:
		return "terminating, held by finalizer " + strings.Join(now.Finalizers, ", ")
	case terminating:
		return "terminating, has not ended yet"
	case strings.Contains(f.answer, "client rate limiter"):
		// client-go repeats an answer with Retry-After by itself until the
		// context ends, and reports only that.
		return "the API server kept asking to try again later: its budget's status is behind (a budget whose sync fails stays so), or the server is overloaded"
	case f.answer != "":
		return f.answer
	}
	return "not evicted"
}

// inspectLate is inspect when the caller's context is over.
func (r *run) inspectLate() { r.inspect(context.Background()) }

// settle waits for drain's goroutines, which may sleep through one more retry
// delay, and writes the line of the node's release.
func (r *run) settle(outcome releaseOutcome) {
	if r.done != nil {
		select {
		case <-r.done:
		case <-time.After(r.opts.retryDelay() + hardStop):
		}
	}
	switch outcome {
	case releaseUncordon:
		r.print("node/%s uncordoned\n", r.result.Node)
	case releaseUnchanged:
		r.print("node/%s stays cordoned, as before\n", r.result.Node)
	case releaseNodeGone:
		r.print("node/%s is gone\n", r.result.Node)
	}
	r.result.Restored = outcome == releaseUncordon || outcome == releaseUnchanged
	if r.result.Restored {
		r.event(EventRestored, nil, "")
	}
	r.deliver()
}

// waitReady waits until every workload has its ready Pods again.
func (r *run) waitReady() {
	ctx, cancel := context.WithTimeout(r.caller, r.opts.WaitReady)
	defer cancel()
	tick := time.NewTicker(min(time.Second, r.opts.WaitReady/4+time.Millisecond))
	defer tick.Stop()
	for {
		missing, ok := r.missing(ctx)
		if ok && len(missing) == 0 {
			r.result.Recovered = true
			r.event(EventReady, nil, "")
			r.deliver()
			return
		}
		r.event(EventWaiting, nil, strings.Join(missing, ", "))
		r.deliver()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// missing names the workloads that are short of ready Pods.
func (r *run) missing(ctx context.Context) (short []string, ok bool) {
	ready, err := readyPods(ctx, r.client, namespacesOf(r.targets))
	if err != nil {
		return []string{"no answer: " + err.Error()}, false
	}
	for i := range r.result.Workloads {
		w := &r.result.Workloads[i]
		w.ReadyAfter = ready[w.Name]
		if w.ReadyAfter < w.ReadyBefore && comesBack(w.Name) && !r.deleted(ctx, w.Name) {
			short = append(short, fmt.Sprintf("%s %d of %d ready", w.Name, w.ReadyAfter, w.ReadyBefore))
		}
	}
	return short, true
}

// deleted says whether a workload's controller has gone meanwhile, so that
// nobody makes its Pods anew. Who may not look waits for them.
func (r *run) deleted(ctx context.Context, workload string) bool {
	namespace, owner, _ := strings.Cut(workload, "/")
	kind, name, _ := strings.Cut(owner, "/")
	var err error
	switch kind {
	case "Deployment":
		_, err = r.client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	case "ReplicaSet":
		_, err = r.client.AppsV1().ReplicaSets(namespace).Get(ctx, name, metav1.GetOptions{})
	case "StatefulSet":
		_, err = r.client.AppsV1().StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
	}
	return apierrors.IsNotFound(err)
}

// comesBack says whether something makes the Pods of a workload anew, always:
// nobody does for a bare Pod, and a Job may be done without.
func comesBack(workload string) bool {
	parts := strings.SplitN(workload, "/", 3)
	return len(parts) == 3 && parts[1] != "Pod" && parts[1] != "Job"
}

func (r *run) finish() *Attempted {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Output = r.output.String()
	return r.result
}

func namespacesOf(pods []corev1.Pod) []string {
	var out []string
	for i := range pods {
		if !slices.Contains(out, pods[i].Namespace) {
			out = append(out, pods[i].Namespace)
		}
	}
	slices.Sort(out)
	return out
}

func listPods(ctx context.Context, client kubernetes.Interface, namespaces []string) ([]corev1.Pod, error) {
	var pods []corev1.Pod
	for _, ns := range namespaces {
		list, err := client.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
		if apierrors.IsForbidden(err) {
			return nil, &AccessError{Verb: "list", Resource: "pods", Namespace: ns, Err: err}
		}
		if err != nil {
			return nil, fmt.Errorf("list pods in %s: %w", ns, err)
		}
		pods = append(pods, list.Items...)
	}
	return pods, nil
}

func readyPods(ctx context.Context, client kubernetes.Interface, namespaces []string) (map[string]int, error) {
	pods, err := listPods(ctx, client, namespaces)
	return countReady(pods), err
}

// countReady counts ready Pods that are not on their way out, by workload.
func countReady(pods []corev1.Pod) map[string]int {
	n := map[string]int{}
	for i := range pods {
		if p := &pods[i]; p.DeletionTimestamp == nil && podReady(p) {
			n[refOf(p).WorkloadKey()]++
		}
	}
	return n
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// String is the result in a few lines.
func (a *Attempted) String() string {
	var b strings.Builder
	_ = a.WriteText(&b)
	return b.String()
}

// WriteText writes what happened, for a person; not Output, which was for one
// already.
func (a *Attempted) WriteText(w io.Writer) error {
	var b strings.Builder
	if a.Drained {
		fmt.Fprintf(&b, "drained: node %s in %.1f s\n", a.Node, a.Seconds)
	} else {
		fmt.Fprintf(&b, "not drained: node %s, after %.1f s: %s\n", a.Node, a.Seconds, a.Reason)
	}
	fmt.Fprintf(&b, "evicted: %d\n", len(a.Evicted))
	for _, p := range a.Pending {
		fmt.Fprintf(&b, "still there: %s (%s): %s\n", p.PodRef, orBare(p.Owner), p.Reason)
	}
	for _, p := range a.Unplaced {
		fmt.Fprintf(&b, "made instead, without a node: %s (%s)\n", p, orBare(p.Owner))
	}
	for _, wl := range a.Workloads {
		switch {
		case wl.ReadyAtEnd >= 0 && wl.ReadyAtEnd < wl.ReadyBefore:
			fmt.Fprintf(&b, "readiness: %s from %d to %d", wl.Name, wl.ReadyBefore, wl.ReadyAtEnd)
			if wl.ReadyAfter >= 0 {
				fmt.Fprintf(&b, ", now %d", wl.ReadyAfter)
			}
			b.WriteString("\n")
		}
	}
	switch {
	case !a.Restored:
		b.WriteString("node: NOT given back\n")
	case a.WasCordoned:
		b.WriteString("node: cordoned, as before\n")
	default:
		b.WriteString("node: schedulable, as before\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func orBare(owner string) string {
	if owner == "" {
		return "no controller"
	}
	return owner
}
