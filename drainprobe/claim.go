package drainprobe

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// AttemptAnnotation is on a node while an attempt holds it. Its value is JSON:
// who, since when, until when, and whether the node was cordoned before. It is
// written in the same patch as the cordon and removed in the same patch as the
// uncordon.
const AttemptAnnotation = "drainprobe.k3sladder.github.io/attempt"

// endlessAttempt is how long an attempt without a timeout counts as alive.
const endlessAttempt = 24 * time.Hour

type claimNote struct {
	ID            string    `json:"id"`
	Since         time.Time `json:"since"`
	Until         time.Time `json:"until"`
	Unschedulable bool      `json:"unschedulable"`
}

// claim is one attempt's hold on a node: taken once, released once.
type claim struct {
	client kubernetes.Interface
	node   string
	opts   Options
	note   claimNote

	began       bool // a patch was sent; the node may be cordoned
	taken       bool // the API server confirmed it
	uid         types.UID
	wasCordoned bool
	wasTainted  bool // with the taint that a cordon brings
}

func newClaim(client kubernetes.Interface, node string, opts Options) *claim {
	return &claim{client: client, node: node, opts: opts, note: claimNote{ID: rand.Text()}}
}

// take marks and cordons the node in one patch that fails when somebody else
// wrote the node in between, and then looks again.
func (c *claim) take(ctx context.Context) error {
	for {
		node, err := c.client.CoreV1().Nodes().Get(ctx, c.node, metav1.GetOptions{})
		if err != nil {
			return interrupted(ctx, nodeError(c.node, err))
		}
		now := time.Now().UTC().Truncate(time.Second)
		if other, ok := noteOn(node); ok && other.ID != c.note.ID && now.Before(other.Until) {
			return &BusyError{Node: c.node, Since: other.Since, Until: other.Until}
		}
		c.uid, c.wasCordoned, c.wasTainted = node.UID, node.Spec.Unschedulable, slices.ContainsFunc(node.Spec.Taints, cordonTaint)
		length := c.opts.Timeout
		if length == 0 {
			length = endlessAttempt
		}
		c.note.Since, c.note.Unschedulable = now, c.wasCordoned
		c.note.Until = now.Add(length + c.opts.restoreTimeout() + time.Minute)
		text, err := json.Marshal(c.note)
		if err != nil {
			return err
		}
		c.began = true
		err = c.patch(ctx, node, map[string]any{AttemptAnnotation: string(text)}, map[string]any{"unschedulable": true})
		switch {
		case err == nil:
			c.taken = true
			return nil
		case apierrors.IsConflict(err):
			c.began = false
			continue
		case apierrors.IsForbidden(err):
			c.began = false
			return &AccessError{Verb: "patch", Resource: "nodes", Err: err}
		case apierrors.IsNotFound(err):
			c.began = false
			return nodeError(c.node, err)
		}
		return interrupted(ctx, fmt.Errorf("cordon node %s: %w", c.node, err))
	}
}

// How a release ended.
type releaseOutcome int

const (
	releaseNothing   releaseOutcome = iota // there was nothing of ours to undo
	releaseUncordon                        // we had cordoned it, now it is not
	releaseUnchanged                       // it was cordoned before and is
	releaseNodeGone
)

// release gives the node back, in its own time: the caller's context may be
// over already. It repeats what fails until Options.RestoreTimeout has passed.
func (c *claim) release() (releaseOutcome, error) {
	if !c.began {
		return releaseNothing, nil
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), c.opts.restoreTimeout())
	defer cancel()
	pause := 100 * time.Millisecond
	for {
		outcome, done, err := c.tryRelease(ctx)
		if done {
			return outcome, nil
		}
		if err == nil {
			pause = 100 * time.Millisecond // progress; look again
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = errors.New("the taint of the cordon keeps coming back")
			}
			command := "kubectl uncordon " + c.node
			if c.wasCordoned {
				command = "kubectl annotate node " + c.node + " " + AttemptAnnotation + "-"
			}
			return releaseNothing, &RestoreError{Node: c.node, Command: command, Tried: time.Since(start), Err: err}
		case <-time.After(pause):
			pause = min(2*pause, 2*time.Second)
		}
	}
}

// tryRelease does one round: read, undo what is ours, and say whether the node
// was found clean. A request that hangs does not use up the whole time.
func (c *claim) tryRelease(ctx context.Context) (outcome releaseOutcome, done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	node, err := c.client.CoreV1().Nodes().Get(ctx, c.node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return releaseNodeGone, true, nil
	}
	if err != nil {
		return releaseNothing, false, err
	}
	if node.UID != c.uid {
		return releaseNodeGone, true, nil // another node of the same name
	}
	note, marked := noteOn(node)
	ours := marked && note.ID == c.note.ID
	if !ours && (marked || !c.taken) {
		return releaseNothing, true, nil // never cordoned by us, or another attempt's by now
	}
	outcome = releaseUnchanged
	if !c.wasCordoned {
		outcome = releaseUncordon
	}
	spec := map[string]any{}
	if !c.wasCordoned && node.Spec.Unschedulable {
		spec["unschedulable"] = nil
	}
	// The node lifecycle controller removes the cordon's taint by itself, but
	// later, and only while it runs.
	if !c.wasCordoned && !c.wasTainted && slices.ContainsFunc(node.Spec.Taints, cordonTaint) {
		spec["taints"] = slices.DeleteFunc(slices.Clone(node.Spec.Taints), cordonTaint)
	}
	if !ours && len(spec) == 0 {
		return outcome, true, nil
	}
	annotations := map[string]any{}
	if ours {
		annotations[AttemptAnnotation] = nil
	}
	return outcome, false, c.patch(ctx, node, annotations, spec)
}

// patch changes exactly these fields of exactly this state of the node.
func (c *claim) patch(ctx context.Context, node *corev1.Node, annotations, spec map[string]any) error {
	meta := map[string]any{"resourceVersion": node.ResourceVersion}
	if len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	body := map[string]any{"metadata": meta}
	if len(spec) > 0 {
		body["spec"] = spec
	}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	_, err = c.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: "drainprobe"})
	return err
}

func noteOn(node *corev1.Node) (claimNote, bool) {
	var n claimNote
	text, ok := node.Annotations[AttemptAnnotation]
	if !ok || json.Unmarshal([]byte(text), &n) != nil || n.ID == "" {
		return claimNote{}, false
	}
	return n, true
}

func cordonTaint(t corev1.Taint) bool {
	return t.Key == corev1.TaintNodeUnschedulable && t.Effect == corev1.TaintEffectNoSchedule
}

// interrupted says that ctx was the reason for err when it is over.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(ctx))
	}
	return err
}
