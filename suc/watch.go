package suc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// WatchOptions say when [Watch] gives up.
type WatchOptions struct {
	// OnEvent is called for every event, one after the other.
	OnEvent func(Event)
	// OnProgress is called with the state of all nodes after every change.
	OnProgress func([]NodeProgress)
	// Settle is how long a node may take to report the version after its Job
	// ended, and the controller to react at all. Zero: 2 minutes.
	Settle time.Duration
	// StuckAfter is how long a Pod may stay unscheduled or without its image.
	// Zero: 5 minutes.
	StuckAfter time.Duration
	// LostAfter is how long the API server may be away; it restarts when its
	// own node is upgraded. Zero: 10 minutes.
	LostAfter time.Duration
	// LogLines of a failed container. Zero: 20.
	LogLines int64
}

// Watch follows a Plan until every selected node reports the version and is
// Ready, a Job has failed, or nothing will happen any more. It reads and never
// writes. A connection that breaks is taken up again.
//
// A node counts as done by what its kubelet reports, not by its Job: the
// upgrade script ends well without a restart when the binary is there already,
// and a Pod can fail although its node moved. For Plans whose version no
// kubelet reports, operating system Plans for instance, the Job counts.
//
// The error is the context's, or says why the cluster or the Plan could not be
// read, as that of [GetPlan] does.
func Watch(ctx context.Context, c Clients, namespace, name string, opts WatchOptions) (*WatchResult, error) {
	if c.Kube == nil || c.Dynamic == nil {
		return nil, errNoClient
	}
	opts.Settle = orDuration(opts.Settle, 2*time.Minute)
	opts.StuckAfter = orDuration(opts.StuckAfter, 5*time.Minute)
	opts.LostAfter = orDuration(opts.LostAfter, 10*time.Minute)
	if opts.LogLines == 0 {
		opts.LogLines = 20
	}
	if _, err := GetPlan(ctx, c.Dynamic, namespace, name); err != nil {
		if apierrors.IsNotFound(err) && !errors.Is(err, ErrNoCRD) {
			return nil, fmt.Errorf("there is no Plan %s in namespace %s: %w", name, namespace, err)
		}
		return nil, fmt.Errorf("reading the Plan: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &watcher{clients: c, namespace: namespace, name: name, opts: opts, changed: make(chan struct{}, 1), trouble: make(chan error, 16)}
	w.follow(ctx)
	return w.run(ctx)
}

func orDuration(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// watcher keeps local copies of what the Plan touches and looks at them
// together whenever one changes.
type watcher struct {
	clients                  Clients
	namespace, name          string
	opts                     WatchOptions
	plans, jobs, pods, nodes cache.SharedIndexInformer
	changed                  chan struct{}
	trouble                  chan error
}

func (w *watcher) follow(ctx context.Context) {
	mine := labels.Set{LabelPlan: w.name}.String()
	plan := fields.OneTermEqualSelector("metadata.name", w.name).String()
	kube, plans := w.clients.Kube, w.clients.Dynamic.Resource(Resource).Namespace(w.namespace)
	w.plans = w.informer(w.clients.Dynamic, &unstructured.Unstructured{}, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		o.FieldSelector = plan
		return plans.List(ctx, o)
	}, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.FieldSelector = plan
		return plans.Watch(ctx, o)
	})
	w.jobs = w.informer(kube, &batchv1.Job{}, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		o.LabelSelector = mine
		return kube.BatchV1().Jobs(w.namespace).List(ctx, o)
	}, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.LabelSelector = mine
		return kube.BatchV1().Jobs(w.namespace).Watch(ctx, o)
	})
	w.pods = w.informer(kube, &corev1.Pod{}, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		o.LabelSelector = mine
		return kube.CoreV1().Pods(w.namespace).List(ctx, o)
	}, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.LabelSelector = mine
		return kube.CoreV1().Pods(w.namespace).Watch(ctx, o)
	})
	w.nodes = w.informer(kube, &corev1.Node{}, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return kube.CoreV1().Nodes().List(ctx, o)
	}, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return kube.CoreV1().Nodes().Watch(ctx, o)
	})
	for _, i := range w.informers() {
		go i.RunWithContext(ctx)
	}
}

func (w *watcher) informers() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{w.plans, w.jobs, w.pods, w.nodes}
}

func (w *watcher) informer(client any, kind runtime.Object, list cache.ListWithContextFunc, watch cache.WatchFuncWithContext) cache.SharedIndexInformer {
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{ListWithContextFunc: list, WatchFuncWithContext: watch}, client)
	i := cache.NewSharedIndexInformer(lw, kind, 0, cache.Indexers{})
	// Both can fail only on an informer that runs already.
	_ = i.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
		select {
		case w.trouble <- err:
		default: // enough of them are waiting to be read
		}
	})
	poke := func() {
		select {
		case w.changed <- struct{}{}:
		default: // a look is due already
		}
	}
	_, _ = i.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { poke() }, UpdateFunc: func(any, any) { poke() }, DeleteFunc: func(any) { poke() },
	})
	return i
}

func (w *watcher) synced() bool {
	for _, i := range w.informers() {
		if !i.HasSynced() {
			return false
		}
	}
	return true
}

func (w *watcher) run(ctx context.Context) (*WatchResult, error) {
	state := newWatchState(w.opts)
	// Time alone can decide too: that a Pod waits too long, for instance.
	tick := time.NewTicker(min(w.opts.Settle, w.opts.StuckAfter, w.opts.LostAfter, 4*time.Second) / 4)
	defer tick.Stop()
	var lost time.Time
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case err := <-w.trouble:
			if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) {
				return nil, fmt.Errorf("following Plan %s/%s: %w", w.namespace, w.name, err)
			}
			continue // the watches are taken up again by themselves
		case <-w.changed:
		case <-tick.C:
			// A watch that cannot reconnect says nothing, so the API server is
			// asked.
			away := w.away(ctx)
			switch {
			case away == nil && !lost.IsZero():
				lost = time.Time{}
				w.emit(ctx, Event{Type: EventBack})
			case away != nil && lost.IsZero():
				lost = time.Now()
				w.emit(ctx, Event{Type: EventLost, Message: away.Error()})
			case away != nil && time.Since(lost) > w.opts.LostAfter:
				return nil, fmt.Errorf("following Plan %s/%s: the API server has been away for %s: %w", w.namespace, w.name, w.opts.LostAfter, away)
			}
		}
		if !lost.IsZero() {
			continue // what is known is old
		}
		if !w.synced() {
			continue
		}
		seen, err := w.look(ctx)
		if err != nil {
			return nil, err
		}
		events, result := state.observe(seen)
		for _, e := range events {
			w.emit(ctx, e)
		}
		if w.opts.OnProgress != nil {
			w.opts.OnProgress(state.progress(seen))
		}
		if result != nil {
			return result, nil
		}
	}
}

// away says why the API server does not answer; nil when it does, also when it
// refuses.
func (w *watcher) away(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := w.clients.Dynamic.Resource(Resource).Namespace(w.namespace).Get(ctx, w.name, metav1.GetOptions{})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return nil
	}
	return err
}

// look takes the local copies together.
func (w *watcher) look(ctx context.Context) (*seen, error) {
	s := &seen{now: time.Now()}
	for _, o := range w.plans.GetStore().List() {
		u, ok := o.(*unstructured.Unstructured)
		if !ok || u.GetName() != w.name {
			continue
		}
		p := &Plan{}
		if err := convert(u.Object, p); err != nil {
			s.undecodable = w.name
			continue
		}
		s.plan = p
	}
	for _, o := range w.jobs.GetStore().List() {
		s.jobs = append(s.jobs, o.(*batchv1.Job))
	}
	for _, o := range w.pods.GetStore().List() {
		s.pods = append(s.pods, o.(*corev1.Pod))
	}
	for _, o := range w.nodes.GetStore().List() {
		s.nodes = append(s.nodes, o.(*corev1.Node))
	}
	// A controller that does not react may have been stopped by another Plan.
	if s.plan != nil && len(s.plan.Status.Conditions) == 0 {
		list, err := w.clients.Dynamic.Resource(Resource).Namespace(w.namespace).List(ctx, metav1.ListOptions{})
		if err == nil {
			for i := range list.Items {
				if convert(list.Items[i].Object, &Plan{}) != nil {
					s.undecodable = list.Items[i].GetName()
				}
			}
		}
	}
	if s.plan == nil && s.undecodable == "" {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("plan %s/%s was deleted", w.namespace, w.name)
	}
	return s, nil
}

// emit completes an event and hands it on.
func (w *watcher) emit(ctx context.Context, e Event) {
	if w.opts.OnEvent == nil {
		return
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	if pod, container, ok := strings.Cut(e.Container, "/"); ok {
		e.Container = container
		e.Log = w.tail(ctx, pod, container)
	}
	w.opts.OnEvent(e)
}

// tail reads the last lines of a container; that they cannot be had is said in
// their place.
func (w *watcher) tail(ctx context.Context, pod, container string) []string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	limit := int64(64 << 10)
	b, err := w.clients.Kube.CoreV1().Pods(w.namespace).GetLogs(pod, &corev1.PodLogOptions{
		Container: container, TailLines: &w.opts.LogLines, LimitBytes: &limit,
	}).DoRaw(ctx)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return []string{"(its log cannot be read: " + err.Error() + ")"}
	}
	text := strings.TrimRight(string(b), "\n")
	if text == "" {
		return []string{"(its log is empty)"}
	}
	return strings.Split(text, "\n")
}
