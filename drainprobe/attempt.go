package drainprobe

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Attempted is what a real drain did. Everything in it was observed.
type Attempted struct {
	Node string `json:"node"`
	// Drained is true when kubectl drain would have ended with status 0.
	Drained bool `json:"drained"`
	// Reason is why it did not, in one line.
	Reason string `json:"reason,omitempty"`
	// WasCordoned: the node took no Pods before either, and still takes none.
	WasCordoned bool `json:"wasCordoned"`
	// Restored: unschedulable and taints are as they were before. False only
	// together with a *RestoreError, or when the node itself is gone.
	Restored bool `json:"restored"`
	// Evicted Pods are gone from the node, Pending ones are still on it.
	Evicted []PodRef     `json:"evicted"`
	Pending []PendingPod `json:"pending"`
	// Unplaced are Pods made in place of evicted ones that had no node when
	// the drain ended.
	Unplaced []PodRef `json:"unplaced"`
	// Workloads are those that lost Pods or would have.
	Workloads []Workload `json:"workloads"`
	// OtherNodes is the number of other nodes that were Ready and took Pods,
	// -1 when the nodes could not be listed.
	OtherNodes int `json:"otherNodes"`
	// Recovered is true when Options.WaitReady was set and every workload had
	// as many ready Pods as before within that time; but for those that nobody
	// makes anew: bare Pods, Jobs, and workloads deleted meanwhile.
	Recovered bool `json:"recovered"`
	// Output is the whole output, stdout and stderr as they came, of the same
	// `kubectl drain`, and of the `kubectl uncordon` after it.
	Output  string    `json:"output"`
	Started time.Time `json:"started"`
	// Seconds is how long the drain took, without giving the node back.
	Seconds float64 `json:"seconds"`
}

// PendingPod is a Pod that the drain left on the node, and why.
type PendingPod struct {
	PodRef
	// Terminating: the eviction was accepted, but the Pod had not ended.
	Terminating bool   `json:"terminating"`
	Reason      string `json:"reason"`
}

// Workload counts the ready Pods of one controller, on all nodes.
type Workload struct {
	// Name is namespace/Kind/name.
	Name string `json:"name"`
	// ReadyBefore, ReadyAtEnd and ReadyAfter are counted before the drain,
	// when it ended, and after Options.WaitReady (-1: not counted).
	ReadyBefore int `json:"readyBefore"`
	ReadyAtEnd  int `json:"readyAtEnd"`
	ReadyAfter  int `json:"readyAfter"`
}

// Attempt drains the node for real, through k8s.io/kubectl/pkg/drain, and gives
// it back: afterwards spec.unschedulable and the taints are as they were, on
// every way out: drained, timed out, ctx cancelled, API server lost for a
// while, a panic in a callback. A node that was cordoned stays cordoned. The
// evicted Pods do not come back to where they were; whoever owns them makes
// new ones.
//
// A drain that does not finish is a result, not an error. Errors are: ErrNoNode
// for a missing node, *BusyError when another attempt holds the node,
// ErrInterrupted when ctx ended first, *AccessError for a missing permission,
// and *RestoreError when the node could not be given back. The result is not
// nil once the drain has begun, whatever the error.
//
// While the API server does not answer, the attempt waits for it inside
// Options.Timeout instead of failing as kubectl would.
//
// The attempt marks the node with the annotation AttemptAnnotation while it
// runs, so that two of them cannot mistake each other's cordon for the user's.
func Attempt(ctx context.Context, client kubernetes.Interface, node string, opts Options) (*Attempted, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	if client == nil {
		return nil, errNoClient
	}
	r := newRun(ctx, client, node, opts)
	defer r.stop()

	others, err := otherNodes(ctx, client, node)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	r.result.OtherNodes = others

	// From here to release nothing may return early: even a patch that
	// reported an error can have cordoned the node.
	released := false
	defer func() {
		if !released { // a callback panicked or ended the goroutine
			r.stop()
			_, _ = r.claim.release()
		}
	}()
	err = r.claim.take(ctx)
	if err == nil {
		r.result.WasCordoned = r.claim.wasCordoned
		err = r.drain()
		if ctx.Err() == nil {
			r.inspect(ctx)
		}
	}
	r.stop()
	outcome, restoreErr := r.claim.release()
	released = true
	if !r.claim.began {
		return nil, errors.Join(err, restoreErr)
	}
	r.settle(outcome)
	if ctx.Err() != nil {
		r.inspectLate()
	} else if opts.WaitReady > 0 {
		r.waitReady()
	}
	return r.finish(), errors.Join(err, restoreErr)
}

// otherNodes counts the nodes besides this one that could take Pods, and fails
// when this one does not exist. Without the right to list nodes it is -1.
func otherNodes(ctx context.Context, client kubernetes.Interface, name string) (int, error) {
	if name == "" {
		return 0, fmt.Errorf("%w: no name was given", ErrNoNode)
	}
	if _, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err != nil {
		return 0, nodeError(name, err)
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		if apierrors.IsForbidden(err) {
			return -1, nil
		}
		return 0, fmt.Errorf("list nodes: %w", err)
	}
	n := 0
	for i := range list.Items {
		if o := &list.Items[i]; o.Name != name && !o.Spec.Unschedulable && nodeReady(o) {
			n++
		}
	}
	return n, nil
}

func nodeError(name string, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %q; kubectl get nodes lists those there are", ErrNoNode, name)
	case apierrors.IsForbidden(err):
		return &AccessError{Verb: "get", Resource: "nodes", Err: err}
	}
	return fmt.Errorf("get node %s: %w", name, err)
}

func nodeReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
