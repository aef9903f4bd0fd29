package drainprobe

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// hardStop is how much longer than its timeout a drain may hang in a request.
const hardStop = 5 * time.Second

// run is one attempt under way.
type run struct {
	caller   context.Context
	ctx      context.Context // of the drain: ends with stop
	stop     context.CancelFunc
	deadline time.Time // zero without a timeout
	client   kubernetes.Interface
	opts     Options
	claim    *claim
	result   *Attempted
	started  time.Time

	// What drain's goroutines and the attempt's own one share. The feed is
	// emptied on the attempt's goroutine, which alone calls back.
	mu      sync.Mutex
	output  strings.Builder
	feed    []func()
	wake    chan struct{}
	targets []corev1.Pod
	fate    map[types.UID]*podFate
	away    bool
	done    chan struct{} // closed when drain's goroutines have ended
}

// podFate is what is known of one Pod that the drain wants gone.
type podFate struct {
	ref      PodRef
	accepted bool
	gone     bool
	answer   string // the last refusal or failure
}

func newRun(ctx context.Context, client kubernetes.Interface, node string, opts Options) *run {
	r := &run{
		caller: ctx, client: client, opts: opts,
		claim:  newClaim(client, node, opts),
		wake:   make(chan struct{}, 1),
		fate:   map[types.UID]*podFate{},
		result: &Attempted{Node: node, Evicted: []PodRef{}, Pending: []PendingPod{}, Unplaced: []PodRef{}, Workloads: []Workload{}},
	}
	r.started = time.Now()
	r.result.Started = r.started.UTC()
	if opts.Timeout > 0 {
		r.deadline = r.started.Add(opts.Timeout)
		r.ctx, r.stop = context.WithDeadline(ctx, r.deadline.Add(hardStop))
	} else {
		r.ctx, r.stop = context.WithCancel(ctx)
	}
	return r
}

// drain does what `kubectl drain` does after it found the node, prints
// included, on a goroutine of its own, and delivers the callbacks meanwhile.
func (r *run) drain() error {
	node := r.result.Node
	if r.claim.wasCordoned {
		r.print("node/%s already cordoned\n", node)
	} else {
		r.print("node/%s cordoned\n", node)
		r.event(EventCordoned, nil, "")
	}
	done := make(chan error, 1)
	r.done = make(chan struct{})
	go func() {
		defer close(r.done)
		done <- r.kubectl()
	}()
	var err error
	for running := true; running; {
		select {
		case <-r.wake:
		case <-r.caller.Done():
			// Drain's own goroutines sleep through their retry delay before
			// they notice. The node must not wait for that.
			running = false
			err = interrupted(r.caller, nil)
		case e := <-done:
			running = false
			r.result.Drained = e == nil
			if e != nil {
				r.result.Reason = firstLine(e.Error())
			}
			if e != nil {
				err = interrupted(r.caller, nil)
			}
		}
		r.deliver()
	}
	r.result.Seconds = time.Since(r.started).Seconds()
	if r.result.Drained {
		r.event(EventDrained, nil, "")
	} else {
		if err != nil {
			r.result.Reason = err.Error()
		}
		r.event(EventNotDrained, nil, r.result.Reason)
	}
	r.deliver()
	return err
}

// answered notes what the API server said to an eviction or a deletion.
func (r *run) answered(namespace, name string, err error) {
	var pod *corev1.Pod
	r.mu.Lock()
	for i := range r.targets {
		if p := &r.targets[i]; p.Namespace == namespace && p.Name == name {
			pod = p
			f := r.fate[p.UID]
			f.accepted = f.accepted || err == nil
			if err != nil && !apierrors.IsNotFound(err) {
				f.answer = refusal(err)
			}
		}
	}
	r.mu.Unlock()
	switch {
	case pod == nil || apierrors.IsNotFound(err):
	case err == nil:
		r.event(EventAccepted, pod, "")
	default:
		r.event(EventRefused, pod, refusal(err))
	}
}

// server notes that the API server went away or came back.
func (r *run) server(there bool, err error) {
	r.mu.Lock()
	changed := r.away == there
	r.away = !there
	r.mu.Unlock()
	switch {
	case !changed:
	case there:
		r.event(EventServerBack, nil, "the API server answers again")
	default:
		r.event(EventServerLost, nil, err.Error())
	}
}

type writer struct{ r *run }

func (w writer) Write(p []byte) (int, error) {
	w.r.print("%s", p)
	return len(p), nil
}

func (r *run) print(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.mu.Lock()
	r.output.WriteString(text)
	r.mu.Unlock()
	if call := r.opts.OnOutput; call != nil {
		r.later(func() { call(text) })
	}
}

func (r *run) event(t EventType, pod *corev1.Pod, message string) {
	call := r.opts.OnEvent
	if call == nil {
		return
	}
	e := Event{Time: time.Now().UTC(), Type: t, Message: message}
	if pod != nil {
		ref := refOf(pod)
		e.Pod = &ref
	}
	r.mu.Lock()
	e.Total = len(r.fate)
	for _, f := range r.fate {
		if f.gone {
			e.Gone++
		}
	}
	r.mu.Unlock()
	r.later(func() { call(e) })
}

func (r *run) later(call func()) {
	r.mu.Lock()
	r.feed = append(r.feed, call)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// deliver makes the calls that are due. It runs on the attempt's goroutine, so
// that a callback that panics unwinds through the defer that frees the node.
func (r *run) deliver() {
	for {
		r.mu.Lock()
		if len(r.feed) == 0 {
			r.mu.Unlock()
			return
		}
		call := r.feed[0]
		r.feed = r.feed[1:]
		r.mu.Unlock()
		call()
	}
}

func refOf(p *corev1.Pod) PodRef {
	return PodRef{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Owner: ownerOf(p)}
}

// ownerOf is Kind/name of the controller. The ReplicaSet of a Deployment is
// named after it and the hash that its Pods carry as a label:
// https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#pod-template-hash-label
func ownerOf(p *corev1.Pod) string {
	ref := metav1.GetControllerOf(p)
	if ref == nil {
		return ""
	}
	if hash := p.Labels["pod-template-hash"]; ref.Kind == "ReplicaSet" && hash != "" {
		if name, ok := strings.CutSuffix(ref.Name, "-"+hash); ok {
			return "Deployment/" + name
		}
	}
	return ref.Kind + "/" + ref.Name
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
