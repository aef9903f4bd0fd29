package drainprobe

import (
	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/kubectl/pkg/drain"
)

// kubectl is the body of `kubectl drain`: the same calls, the same lines.
// https://github.com/kubernetes/kubectl/blob/v0.35.10/pkg/cmd/drain/drain.go
func (r *run) kubectl() error {
	node := r.result.Node
	h := &drain.Helper{
		Ctx: r.ctx, Client: observed{r.client, r},
		Force: r.opts.Force, GracePeriodSeconds: r.opts.graceSeconds(),
		IgnoreAllDaemonSets: r.opts.IgnoreDaemonSets, DeleteEmptyDirData: r.opts.DeleteEmptyDirData,
		Timeout: r.opts.Timeout, PodSelector: r.opts.PodSelector, ChunkSize: 500,
		DisableEviction:                 r.opts.DisableEviction,
		SkipWaitForDeleteTimeoutSeconds: int(r.opts.SkipWaitForDeleteTimeout.Seconds()),
		EvictErrorRetryDelay:            r.opts.retryDelay(),
		Out:                             writer{r}, ErrOut: writer{r},
		OnPodDeletionOrEvictionStarted: func(p *corev1.Pod, _ bool) {
			if r.ctx.Err() == nil { // else drain wakes from its retry delay only to give up
				r.event(EventEvicting, p, "")
			}
		},
		OnPodDeletionOrEvictionFinished: r.podFinished,
	}
	err := r.evictAll(h)
	if err == nil {
		r.print("node/%s drained\n", node)
		return nil
	}
	r.print("error: unable to drain node %q due to error: %s, continuing command...\n", node, err)
	r.print("There are pending nodes to be drained:\n %s\n", node)
	if many, ok := err.(utilerrors.Aggregate); ok {
		for _, e := range many.Errors() {
			r.print("%v\n", e)
		}
	} else {
		r.print("error: %v\n", err)
	}
	return err
}

func (r *run) evictAll(h *drain.Helper) error {
	list, errs := h.GetPodsForDeletion(r.result.Node)
	if errs != nil {
		return utilerrors.NewAggregate(errs)
	}
	if w := list.Warnings(); w != "" {
		r.print("Warning: %s\n", w)
	}
	pods := list.Pods()
	r.target(pods)
	// Without an answer to its first request, discovery, drain asks no Pod.
	if err := r.rideOut(r.ctx, func() error { return h.DeleteOrEvictPods(pods) }); err != nil {
		left, errs := h.GetPodsForDeletion(r.result.Node)
		if left != nil && len(left.Pods()) > 0 {
			r.print("There are pending pods in node %q when an error occurred: %v\n", r.result.Node, err)
			for _, p := range left.Pods() {
				r.print("pod/%s\n", p.Name)
			}
		}
		if errs != nil {
			r.print("Following errors occurred while getting the list of pods to delete:\n%s", utilerrors.NewAggregate(errs))
		}
		return err
	}
	return nil
}

// target notes the Pods that have to go and how ready their workloads are.
func (r *run) target(pods []corev1.Pod) {
	ready, _ := readyPods(r.ctx, r.client, namespacesOf(pods))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.targets = pods
	seen := map[string]bool{}
	for i := range pods {
		ref := refOf(&pods[i])
		r.fate[pods[i].UID] = &podFate{ref: ref}
		if key := ref.WorkloadKey(); !seen[key] {
			seen[key] = true
			r.result.Workloads = append(r.result.Workloads, Workload{Name: key, ReadyBefore: ready[key], ReadyAtEnd: -1, ReadyAfter: -1})
		}
	}
}

func (r *run) podFinished(pod *corev1.Pod, evicted bool, err error) {
	verb := map[bool]string{true: "evicted", false: "deleted"}[evicted]
	if err != nil {
		verb = map[bool]string{true: "eviction failed", false: "deletion failed"}[evicted]
	}
	r.print("pod/%s %s\n", pod.Name, verb)
	r.mu.Lock()
	if f := r.fate[pod.UID]; f != nil {
		if err == nil {
			f.gone = true
		} else {
			f.answer = err.Error()
		}
	}
	r.mu.Unlock()
	if err == nil {
		r.event(EventEvicted, pod, "")
	}
}
