package drainprobe

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// drain evicts in rounds: every Pod left asks once, then everything the
// evictions set off comes to rest, then kubectl's retry delay is over and they
// ask again. It ends when all have gone or nothing moves any more.
func (r *simulation) drain() outcome {
	order := slices.Clone(r.m.targets)
	if r.rnd != nil {
		r.rnd.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	out := outcome{run: r}
	for len(order) > 0 {
		var again []int
		accepted, moved := 0, false
		for _, id := range order {
			switch l := r.evict(id); {
			case l == nil:
				accepted++
			case l.why != "":
				out.left = append(out.left, *l) // refused for good
			default:
				again = append(again, id)
			}
		}
		moved = r.settle()
		r.elapsed.round(r, accepted, len(again))
		if order = again; accepted == 0 && !moved && !r.giveUpOnNodes() {
			break
		}
	}
	for _, id := range order {
		out.left = append(out.left, r.refusedPod(id))
	}
	for _, id := range r.m.targets {
		if why, ok := r.stuck[id]; ok {
			out.left = append(out.left, leftPod{id: id, why: why, budget: -1})
		}
	}
	return out
}

// evict asks for one eviction. Nil: accepted. A leftPod with a reason: refused
// for good, kubectl does not ask again. Without: refused this time.
func (r *simulation) evict(id int) *leftPod {
	p := r.pod(id)
	if !r.m.opts.DisableEviction && !ignoresBudgets(p.obj.Status.Phase, p.terminating) && !r.m.vanishing(p.obj.Namespace) {
		covering := r.covering(p)
		if len(covering) > 1 {
			return &leftPod{id: id, budget: covering[0], after: r.balances[covering[0]], why: "two budgets cover it (" + r.m.budgets[covering[0]].name() + ", " +
				r.m.budgets[covering[1]].name() + "), which the eviction API answers with an error that drain does not retry"}
		}
		if len(covering) == 1 {
			i := covering[0]
			b := r.m.budgets[i]
			if b.open != "" {
				r.shaky[b.open] = true
				if !r.v.hopeful {
					return &leftPod{id: id}
				}
			}
			if b.stale && r.is(id, isReady) {
				r.shaky["the status of budget "+b.name()+" is behind its spec: the API server refuses until the disruption controller has caught up"] = true
				if !r.v.hopeful {
					return &leftPod{id: id}
				}
			}
			ok, spends := permits(b.pdb, r.balances[i], r.is(id, isReady))
			if !ok {
				return &leftPod{id: id}
			}
			if spends {
				r.balances[i].allowed--
			} else {
				r.elapsed.unready = true
			}
		}
	}
	r.end(id, r.m.ending(id))
	return nil
}

// vanishing: the namespace is being deleted. Its Pods go whatever budgets say,
// and nothing new can be made in it.
func (m *model) vanishing(namespace string) bool {
	ns := m.namespaces[namespace]
	return ns != nil && ns.DeletionTimestamp != nil
}

func (r *simulation) covering(p *modelPod) []int {
	var out []int
	for i, b := range r.m.budgets {
		if b.pdb.Namespace == p.obj.Namespace && b.selector.Matches(labels.Set(p.obj.Labels)) {
			out = append(out, i)
		}
	}
	return out
}

func (r *simulation) refusedPod(id int) leftPod {
	l := leftPod{id: id, budget: -1, why: "not evicted"}
	if c := r.covering(r.pod(id)); len(c) > 0 {
		l.budget, l.after = c[0], r.balances[c[0]]
		l.why = refusedBy(r.m.budgets[c[0]], r.started[c[0]], l.after, r.is(id, isReady))
	}
	return l
}

// end makes a Pod end as its fate says, and its controller react.
func (r *simulation) end(id int, e ending) {
	p := r.pod(id)
	wasActive := !r.is(id, terminating|finished|gone)
	r.unready(id)
	r.flags[id] = r.flags[id]&^isReady | terminating
	r.touch(p)
	if e.never != "" {
		r.stuck[id] = e.never
	} else {
		if e.open != "" {
			r.shaky[e.open] = true
		}
		r.remove(id)
	}
	r.elapsed.ending(e)
	if p.owner >= 0 && wasActive {
		r.react(id, p.owner)
	}
}

// remove takes an ended Pod off its node.
func (r *simulation) remove(id int) {
	if r.is(id, gone) {
		return
	}
	if n := r.at(id); n >= 0 && !r.is(id, finished) {
		r.charge(n, r.pod(id).requests, -1)
	}
	if !r.is(id, finished) {
		r.spend(r.pod(id).obj, -1)
	}
	r.flags[id] |= gone
	r.touch(r.pod(id))
}

// unready counts one ready Pod less for the Pod's workload.
func (r *simulation) unready(id int) {
	if r.is(id, isReady) {
		w := r.workload(r.pod(id))
		w.now--
		w.least = min(w.least, w.now)
	}
}
