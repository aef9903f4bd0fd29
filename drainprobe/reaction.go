package drainprobe

import (
	"fmt"
	"slices"
	"time"
)

// jobBackoff is what a Job waits after so many failures since its last success:
// 10 s, doubled with each, at most 10 min. An evicted Pod is a failure.
// https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-backoff-failure-policy
func jobBackoff(failures int) time.Duration {
	d := 10 * time.Second
	for range failures - 1 {
		if d *= 2; d >= 10*time.Minute {
			return 10 * time.Minute
		}
	}
	return d
}

// jobsLinger makes evicted Pods of a Job that keeps other ready Pods stay until
// its back-off has passed: from 1.32 on the Job controller's status update is
// refused until then, and with it the removal of its finalizer. Patches of mid
// 2026 mend that, so it counts as likely, not as certain.
// https://github.com/kubernetes/kubernetes/issues/139428
func (r *simulation) jobsLinger() {
	for ownerID, evicted := range r.jobsHit {
		o := r.m.owners[ownerID]
		// The controller looks once a second, and then the Pod has to end.
		wait := jobBackoff(o.jobFailed+evicted) + 3*time.Second
		r.elapsed.ready = max(r.elapsed.ready, wait)
		if o.jobLimit >= 0 && o.jobFailed+evicted > o.jobLimit {
			continue
		}
		if slices.ContainsFunc(o.pods, func(id int) bool { return r.is(id, isReady) && !r.is(id, terminating|gone) }) {
			r.elapsed.endLikely, r.elapsed.endMost = max(r.elapsed.endLikely, wait), max(r.elapsed.endMost, wait)
			if r.elapsed.lingering == "" || o.name < r.elapsed.lingering {
				r.elapsed.lingering = o.name
			}
		}
	}
}

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
			r.makeOrWait(id)
		}
	case ownerStateful:
		if !slices.Contains(r.orphans, ownerID) {
			r.orphans = append(r.orphans, ownerID)
		}
	case ownerJob:
		r.reactJob(id, ownerID)
	case ownerUnknown:
		if r.shake(fmt.Sprintf("%s is of a kind whose answer to an eviction is not known here", o.name)) {
			r.makeOrWait(id)
		}
	}
}

// reactJob replaces the Pod after the Job's back-off, or ends the Job.
func (r *simulation) reactJob(id, ownerID int) {
	o := r.m.owners[ownerID]
	r.jobsHit[ownerID]++
	evicted := r.jobsHit[ownerID]
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
		r.makeOrWait(id)
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

// make adds the Pod that a controller makes in place of another, unless the API
// server refuses it.
func (r *simulation) make(old int) bool {
	p := *r.pod(old)
	p.class = r.m.classOf(r.pod(old))
	p.node, p.ready, p.finished, p.pending, p.terminating = -1, false, false, true, false
	if n := r.m.newbornOf(old); n != nil {
		if !n.certain {
			r.shaky[r.m.workloadName(&p)+" has Pods that differ from its template, so a new one may be like them or like it"] = true
		}
		if n.certain || r.v.template {
			p.obj, p.class, p.requests, p.ports = n.pod, n.class, r.m.names.requestsOf(n.pod), hostPorts(n.pod)
		}
	}
	if why := r.refusal(p.obj); why != "" {
		r.refused[old] = why
		return false
	}
	delete(r.refused, old)
	r.spend(p.obj, +1)
	id := len(r.flags)
	r.made = append(r.made, p)
	r.flags = append(r.flags, phasePending)
	r.where = append(r.where, -1)
	r.madeFor[id] = old
	r.active[p.owner]++
	if n, named := r.m.namedNode(&p); named {
		if n >= 0 {
			r.settleOn(id, n)
		}
	} else {
		r.queue = append(r.queue, id)
	}
	r.touch(&p)
	return true
}

// namedNode is the node that a template names itself, past the scheduler and
// its cordons.
func (m *model) namedNode(p *modelPod) (node int, named bool) {
	if p.owner < 0 || m.owners[p.owner].template == nil {
		return -1, false
	}
	name := m.owners[p.owner].template.Spec.NodeName
	if i, ok := m.byName[name]; ok {
		return i, true
	}
	return -1, name != ""
}

// makeOrWait makes a Pod now, or as soon as the API server lets it.
func (r *simulation) makeOrWait(old int) {
	if !r.make(old) {
		r.unmade = append(r.unmade, old)
	}
}

// makeRefused tries again what was refused, as controllers do.
func (r *simulation) makeRefused() bool {
	again := false
	r.unmade = slices.DeleteFunc(r.unmade, func(old int) bool {
		o := r.pod(old).owner
		done := r.active[o] >= r.m.owners[o].replicas || r.make(old)
		again = again || done
		return done
	})
	return again
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
				made := r.make(old)
				again = again || made
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
