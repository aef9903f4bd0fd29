package drainprobe

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// becomeReady turns placed Pods ready where nothing stands against it.
func (r *simulation) becomeReady() bool {
	again := false
	for i := range r.made {
		id := len(r.m.pods) + i
		if r.placedReady(id) {
			again = true
		}
	}
	for _, id := range r.m.pending {
		if r.placedReady(id) {
			again = true
		}
	}
	return again
}

func (r *simulation) placedReady(id int) bool {
	n := r.at(id)
	if n == -1 || r.is(id, isReady|gone|terminating) || !r.is(id, phasePending) {
		return false
	}
	p := r.pod(id)
	if n >= 0 && !r.m.nodes[n].ready {
		return false
	}
	if r.mountedElsewhere(id) {
		return false
	}
	if why := r.m.unhealthy(p); why != "" && !r.shake(why) {
		return false
	}
	r.flags[id] = r.flags[id]&^phasePending | isReady
	r.workload(p).now++
	if r.pod(id).owner >= 0 {
		r.elapsed.ready = max(r.elapsed.ready, r.m.readyAfter(p))
	}
	r.touch(p)
	return true
}

// unhealthy says why a new Pod of this workload may not become ready: others
// of its revision run and are not.
func (m *model) unhealthy(p *modelPod) string {
	if p.owner < 0 {
		return ""
	}
	o := m.owners[p.owner]
	if o.otherRev && o.kind == ownerStateful {
		return o.name + " comes back from another revision of its template, which has not been seen ready"
	}
	rev := revisionKey(p.obj)
	good := 0
	for _, id := range o.pods {
		q := &m.pods[id]
		if q.terminating || q.finished || q.node < 0 || revisionKey(q.obj) != rev {
			continue
		}
		switch {
		case q.ready:
			good++
		case m.nodes[q.node].ready:
			return o.name + " has Pods that run without being ready, so a new one may not become ready"
		}
	}
	if good == 0 {
		return o.name + " has no ready Pod to judge by, so a new one may not become ready"
	}
	return ""
}

// readyAfter is how long Pods of this workload took from their node to Ready.
func (m *model) readyAfter(p *modelPod) time.Duration {
	const usual = 2 * time.Second
	longest := time.Duration(0)
	for _, id := range m.owners[p.owner].pods {
		scheduled, ready := time.Time{}, time.Time{}
		for _, c := range m.pods[id].obj.Status.Conditions {
			switch {
			case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue:
				scheduled = c.LastTransitionTime.Time
			case c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue:
				ready = c.LastTransitionTime.Time
			}
		}
		// A Pod that lost readiness long after its start says nothing.
		if d := ready.Sub(scheduled); !scheduled.IsZero() && d > longest && d < 10*time.Minute {
			longest = d
		}
	}
	if longest == 0 {
		return usual
	}
	return longest
}

// mountedElsewhere: a volume that only one node can mount is still in use on
// another.
func (r *simulation) mountedElsewhere(id int) bool {
	p := r.pod(id)
	single := r.m.classOf(p).needs.single()
	if len(single) == 0 {
		return false
	}
	for _, other := range r.claimants(p.obj.Namespace) {
		if other == id || r.is(other, gone|finished) || r.at(other) < 0 || r.at(other) == r.at(id) {
			continue
		}
		for _, pv := range r.m.classOf(r.pod(other)).needs.bound {
			if slices.Contains(single, pv) {
				return true
			}
		}
	}
	return false
}

// claimants lists the Pods of a namespace that use volume claims.
func (r *simulation) claimants(namespace string) []int {
	var out []int
	r.eachMatching(namespace, everything, func(id int) {
		for _, v := range r.pod(id).obj.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				out = append(out, id)
				return
			}
		}
	})
	return out
}

// giveUpOnNodes is what the control plane does minutes after another node went
// away: it deletes the node's Pods, and their controllers make new ones. A
// drain that waits that long may find its budgets met again. It is reported as
// an open question: the node may come back first.
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions
func (r *simulation) giveUpOnNodes() bool {
	if r.gaveUp {
		return false
	}
	r.gaveUp = true
	moved := false
	for i := range r.m.nodes {
		n := &r.m.nodes[i]
		if i == r.m.drained || n.ready {
			continue
		}
		for _, id := range r.m.byNode[i] {
			wait, ok := n.evictsAfter(r.pod(id).obj.Spec.Tolerations, r.m.world.Taken)
			if !ok || r.is(id, terminating|gone|finished) || r.m.opts.Timeout > 0 && wait > r.m.opts.Timeout {
				continue
			}
			if !r.shake("node " + n.node.Name + " is not Ready: its Pods are replaced elsewhere once the control plane gives it up, which may be during the drain") {
				return false
			}
			r.end(id, ending{never: "on a node that is away"})
			moved = true
		}
	}
	return moved && r.settle()
}

// evictsAfter is how long a Pod stays on a node with NoExecute taints; false
// when it may stay for good.
func (n *modelNode) evictsAfter(tolerations []corev1.Toleration, now time.Time) (time.Duration, bool) {
	for i := range n.taints {
		t := &n.taints[i]
		if t.Effect != corev1.TaintEffectNoExecute || t.Key != corev1.TaintNodeUnreachable && t.Key != corev1.TaintNodeNotReady {
			continue
		}
		wait := time.Duration(0)
		for k := range tolerations {
			if tolerations[k].ToleratesTaint(klog.Background(), t, true) {
				if tolerations[k].TolerationSeconds == nil {
					return 0, false
				}
				wait = time.Duration(*tolerations[k].TolerationSeconds) * time.Second
			}
		}
		if t.TimeAdded != nil {
			wait -= now.Sub(t.TimeAdded.Time)
		}
		return max(0, wait), true
	}
	return 0, false
}
