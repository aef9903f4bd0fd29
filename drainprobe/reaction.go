package drainprobe

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// jobBackoff is how long a Job takes to replace an evicted Pod: the back-off of
// 10 s doubles with each failure, and the controller's own rounds come on top
// (30 s were observed for the second).
// https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-backoff-failure-policy
const jobBackoff = 25 * time.Second

// react does what a controller does when one of its Pods is told to end.
func (r *simulation) react(id, ownerID int) {
	o := r.m.owners[ownerID]
	n := r.activeOf(ownerID) - 1
	r.active[ownerID] = n
	if r.m.vanishing(r.pod(id).obj.Namespace) {
		return
	}
	switch o.kind {
	case ownerReplica:
		if n < o.replicas {
			r.make(id)
		}
	case ownerStateful:
		if !slices.Contains(r.orphans, ownerID) {
			r.orphans = append(r.orphans, ownerID)
		}
	case ownerJob:
		r.reactJob(id, ownerID)
	case ownerUnknown:
		if r.shake(fmt.Sprintf("%s is of a kind whose answer to an eviction is not known here", o.name)) {
			r.make(id)
		}
	}
}

// reactJob replaces the Pod after the Job's back-off, or ends the Job.
func (r *simulation) reactJob(id, ownerID int) {
	o := r.m.owners[ownerID]
	evicted := 0
	for _, p := range o.pods {
		if p < len(r.flags) && r.is(p, terminating) && !r.m.pods[p].terminating {
			evicted++
		}
	}
	if o.jobLimit >= 0 && o.jobFailed+evicted > o.jobLimit {
		if o.policy && !r.shake(fmt.Sprintf("%s may give up after %d failed Pods, which its podFailurePolicy decides", o.name, o.jobLimit)) {
			return
		}
		// The Job has failed; its controller deletes the other Pods.
		for _, p := range r.podsOf(ownerID) {
			if !r.is(p, terminating|gone|finished) {
				r.end(p, ending{})
			}
		}
		return
	}
	if o.otherRev && !r.shake(o.name+" counts failures by index, which is not followed here") {
		return
	}
	if r.active[ownerID] < o.replicas {
		r.make(id)
		r.elapsed.ready = max(r.elapsed.ready, jobBackoff)
	}
}

// shake notes an open question and answers it as this run is told to.
func (r *simulation) shake(question string) bool {
	r.shaky[question] = true
	return r.v.hopeful
}

func (r *simulation) activeOf(ownerID int) int {
	if n, ok := r.active[ownerID]; ok {
		return n
	}
	n := 0
	for _, id := range r.m.owners[ownerID].pods {
		if p := &r.m.pods[id]; !p.terminating && !p.finished {
			n++
		}
	}
	return n
}

// podsOf lists all Pods of an owner, made ones included.
func (r *simulation) podsOf(ownerID int) []int {
	ids := slices.Clone(r.m.owners[ownerID].pods)
	for i := range r.made {
		if r.made[i].owner == ownerID {
			ids = append(ids, len(r.m.pods)+i)
		}
	}
	return ids
}

// make adds the Pod that a controller makes in place of another.
func (r *simulation) make(old int) {
	p := *r.pod(old)
	p.class = r.m.classOf(r.pod(old))
	p.node, p.ready, p.finished, p.pending, p.terminating = -1, false, false, true, false
	id := len(r.flags)
	r.made = append(r.made, p)
	r.flags = append(r.flags, phasePending)
	r.where = append(r.where, -1)
	r.madeFor[id] = old
	r.queue = append(r.queue, id)
	r.active[p.owner]++
	r.touch(&p)
}

// makeStateful makes the Pods that StatefulSets are short of: only once the
// old one is gone, and where the set is ordered only while all before it are
// ready. https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#pod-management-policies
func (r *simulation) makeStateful() bool {
	again := false
	for _, ownerID := range r.orphans {
		o := r.m.owners[ownerID]
		now := map[int]int{}
		for _, id := range r.podsOf(ownerID) {
			if n := ordinalOf(r.pod(id).obj.Name); n >= 0 && !r.is(id, gone) {
				now[n] = id
			}
		}
		last := map[int]int{}
		for _, id := range r.podsOf(ownerID) {
			last[ordinalOf(r.pod(id).obj.Name)] = id
		}
		for n := o.first; n < o.first+o.replicas; n++ {
			id, there := now[n]
			if !there {
				old, ok := last[n]
				if !ok {
					break // never seen: no template to go by
				}
				r.make(old)
				again = true
				if o.ordered {
					break
				}
				continue
			}
			if o.ordered && (!r.is(id, isReady) || r.is(id, terminating)) {
				break
			}
		}
	}
	return again
}

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

// ending is how a Pod ends once it is told to.
type ending struct {
	// never is why it does not, for as long as the drain waits.
	never string
	// open is why it may not.
	open                string
	least, likely, most time.Duration
}

// overdue is how long after its grace period a Pod may still be on its way
// out: the kubelet kills, unmounts and reports.
const overdue = time.Minute

// ending of a Pod on the node to drain. The grace period is a right, not a
// need: most processes end at once. A period longer than the default was
// asked for by somebody who thought it would be used.
func (m *model) ending(id int) ending {
	p := &m.pods[id]
	limit := m.opts.Timeout
	skip := m.opts.SkipWaitForDeleteTimeout
	node := &m.nodes[m.drained]
	var e ending

	grace := time.Duration(corev1.DefaultTerminationGracePeriodSeconds) * time.Second
	if s := p.obj.Spec.TerminationGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	if g := m.opts.GracePeriod; g != nil && *g >= 0 {
		grace = g.Truncate(time.Second)
	}
	left := grace // until deletionTimestamp
	if p.terminating {
		left = p.obj.DeletionTimestamp.Sub(m.world.Taken)
		if m.opts.GracePeriod != nil && *m.opts.GracePeriod >= 0 {
			left = min(left, grace)
		}
	}
	finalizers := slices.DeleteFunc(slices.Clone(p.obj.Finalizers), ownFinalizer)
	dead := node.unreachable() && !node.outOfService()
	immediate := p.finished || grace == 0 && !p.terminating || grace == 0 && m.opts.GracePeriod != nil

	switch {
	case dead && !immediate:
		e.never = "the kubelet of its node does not answer, so nothing ends it"
	case p.terminating && left < 0 && len(finalizers) > 0:
		e.never = fmt.Sprintf("has been ending since %s, held by finalizer %s", p.obj.DeletionTimestamp.UTC().Format(time.TimeOnly), finalizers[0])
	case p.terminating && left < -overdue:
		e.never = "should have ended at " + p.obj.DeletionTimestamp.UTC().Format(time.TimeOnly) + " and has not"
	case p.terminating && left < -3*time.Second:
		e.open = refOf(p.obj).String() + " is past its grace period and still there"
	case len(finalizers) > 0:
		e.open = fmt.Sprintf("%s stays until finalizer %s is removed by whoever set it", refOf(p.obj), finalizers[0])
	}
	// Drain stops waiting for a Pod this long after its deletion was due.
	if e.never != "" || e.open != "" {
		if skip >= time.Second {
			until := max(left, 0) + skip + 2*time.Second
			if limit == 0 || until <= limit {
				return ending{least: until, likely: until, most: until + 2*time.Second}
			}
			e.open = ""
			if e.never == "" {
				e.open = refOf(p.obj).String() + " may outlast the timeout"
			}
		}
		return e
	}
	if immediate {
		return ending{likely: time.Second, most: 2 * time.Second}
	}
	if p.pending {
		return ending{likely: time.Second, most: max(left, 0) + 2*time.Second}
	}
	e.least = min(preStop(p.obj), max(left, 0))
	e.likely = max(e.least, min(2*time.Second, max(left, 0)))
	e.most = max(left, 0) + 2*time.Second
	const usual = corev1.DefaultTerminationGracePeriodSeconds * time.Second
	switch {
	case limit > 0 && e.least > limit:
		e.never = fmt.Sprintf("its preStop hook takes %v, longer than the timeout %v", e.least, limit)
	case limit > 0 && p.terminating && left > limit:
		e.open = fmt.Sprintf("%s has been told to end and may use the %v it has left, longer than the timeout %v", refOf(p.obj), left.Round(time.Second), limit)
	case limit > 0 && left > limit && left > usual:
		e.open = fmt.Sprintf("%s may use its grace period of %v, longer than the timeout %v", refOf(p.obj), left, limit)
	}
	return e
}

// ownFinalizer is removed by Kubernetes itself.
func ownFinalizer(f string) bool {
	return f == "batch.kubernetes.io/job-tracking" || f == "foregroundDeletion" || f == "orphan"
}

// preStop is the longest sleep that a container's preStop hook spells out.
func preStop(p *corev1.Pod) time.Duration {
	longest := time.Duration(0)
	for i := range p.Spec.Containers {
		l := p.Spec.Containers[i].Lifecycle
		if l == nil || l.PreStop == nil || l.PreStop.Sleep == nil {
			continue
		}
		longest = max(longest, time.Duration(l.PreStop.Sleep.Seconds)*time.Second)
	}
	return longest
}

// unreachable: the control plane has not heard of the kubelet for a while.
func (n *modelNode) unreachable() bool {
	for _, c := range n.node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown
		}
	}
	return false
}

// outOfService: Pods of the node are removed without its kubelet.
// https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#non-graceful-node-shutdown
func (n *modelNode) outOfService() bool {
	return hasTaint(n.taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
}
