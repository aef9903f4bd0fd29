package drainprobe

import (
	"fmt"
	"slices"
	"time"
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
