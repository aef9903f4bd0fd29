package drainprobe

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// preemptedNodes bounds how many nodes are tried for preemption in a large
// cluster; the scheduler bounds it too.
const preemptedNodes = 100

// candidate is a node where a Pod would fit if these victims went.
type candidate struct {
	node       int
	victims    []int
	violations int
}

// preempt lets a Pod push less important ones off a node, as the scheduler
// does. https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
func (r *simulation) preempt(id int, c *class) bool {
	p := r.pod(id)
	if policy := p.obj.Spec.PreemptionPolicy; policy != nil && *policy == corev1.PreemptNever {
		return false
	}
	if r.openPlacement(p, c) != "" {
		return false
	}
	s := r.spotFor(c, p)
	var best *candidate
	tried := 0
	for i := range r.m.nodes {
		if _, removable := r.rejects(s, i); !removable {
			continue
		}
		if got := r.victims(id, s, i); got != nil {
			if best == nil || r.lessHarm(got, best) {
				best = got
			}
			if tried++; tried == preemptedNodes {
				break
			}
		}
	}
	if best == nil {
		return false
	}
	for _, v := range best.victims {
		if why := r.m.outstays(v); why != "" && !r.shake(why) {
			return false
		}
	}
	for _, v := range best.victims {
		r.end(v, ending{})
	}
	r.preempts = true
	r.settleOn(id, best.node)
	return true
}

// outstays says why a preempted Pod may keep its room for longer than the
// drain waits, "" if nothing speaks for it.
func (m *model) outstays(id int) string {
	if id >= len(m.pods) {
		return ""
	}
	p := &m.pods[id]
	grace := graceOf(p.obj)
	name := "preempted " + refOf(p.obj).String()
	switch {
	case slices.ContainsFunc(p.obj.Finalizers, func(f string) bool { return !ownFinalizer(f) }):
		return name + " keeps its room until its finalizer is removed"
	case p.node >= 0 && !m.nodes[p.node].ready:
		return name + " is on a node that is not Ready and may keep its room"
	case m.opts.Timeout > 0 && grace > m.opts.Timeout && grace > usualGrace:
		return fmt.Sprintf("%s may keep its room for its grace period of %v", name, grace)
	}
	return ""
}

// victims finds the fewest and least important Pods whose end makes room.
func (r *simulation) victims(id int, s spot, node int) *candidate {
	p := r.pod(id)
	var lower []int
	r.on(node, func(v int) {
		if r.pod(v).priority < p.priority && !r.is(v, terminating) {
			lower = append(lower, v)
		}
	})
	if len(lower) == 0 {
		return nil
	}
	hide := func(v int) {
		r.flags[v] |= gone
		r.charge(node, r.pod(v).requests, -1)
	}
	show := func(v int) {
		r.flags[v] &^= gone
		r.charge(node, r.pod(v).requests, +1)
	}
	fits := func() bool {
		if len(s.domains)+len(s.neighbours.far)+len(s.neighbours.avoided) > 0 {
			s = r.spotFor(s.c, p)
		}
		why, _ := r.rejects(s, node)
		return why == ""
	}
	for _, v := range lower {
		hide(v)
	}
	if !fits() {
		for _, v := range lower {
			show(v)
		}
		return nil
	}
	// Spare the most important first, those that a budget protects before all.
	byImportance(lower, r.pod)
	violating := r.violating(lower)
	slices.SortStableFunc(lower, func(a, b int) int {
		switch {
		case violating[a] == violating[b]:
			return 0
		case violating[a]:
			return -1
		}
		return 1
	})
	got := &candidate{node: node}
	for _, v := range lower {
		show(v)
		if fits() {
			continue
		}
		hide(v)
		got.victims = append(got.victims, v)
		if violating[v] {
			got.violations++
		}
	}
	for _, v := range got.victims {
		show(v)
	}
	if len(got.victims) == 0 {
		return nil
	}
	byImportance(got.victims, r.pod)
	return got
}

// violating marks the victims that a budget does not allow.
func (r *simulation) violating(victims []int) map[int]bool {
	left := make(map[int]int, len(r.balances))
	for i := range r.balances {
		left[i] = r.balances[i].allowed
	}
	out := map[int]bool{}
	for _, v := range victims {
		for _, i := range r.covering(r.pod(v)) {
			if left[i]--; left[i] < 0 {
				out[v] = true
			}
		}
	}
	return out
}

// lessHarm orders candidates as the scheduler does: fewest budgets broken,
// then the least important victim on top, then the smallest sum, then the
// fewest.
func (r *simulation) lessHarm(a, b *candidate) bool {
	if a.violations != b.violations {
		return a.violations < b.violations
	}
	if x, y := r.pod(a.victims[0]).priority, r.pod(b.victims[0]).priority; x != y {
		return x < y
	}
	sum := func(c *candidate) (n int64) {
		for _, v := range c.victims {
			n += int64(r.pod(v).priority) + 1<<31
		}
		return n
	}
	if x, y := sum(a), sum(b); x != y {
		return x < y
	}
	return len(a.victims) < len(b.victims)
}
