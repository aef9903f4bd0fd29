package drainprobe

import (
	"fmt"
	"sort"
	"strings"
)

// describe writes a judgement out.
func (j *judgement) describe() *Forecasted {
	f := &Forecasted{Node: j.node, Verdict: j.verdict, Reasons: j.reasons, Pods: []PodForecast{}, Services: []ServiceForecast{},
		Unblock: []Fix{}, Hints: []Hint{}, Gaps: j.world.Gaps, heldByFlags: j.flags}
	if f.Reasons == nil {
		f.Reasons = []string{}
	}
	if f.Gaps == nil {
		f.Gaps = []Gap{}
	}
	if j.noNode {
		f.Missing = true
		return f
	}
	for i := range j.model.nodes {
		if n := &j.model.nodes[i]; i != j.model.drained && n.ready && !n.cordoned {
			f.OtherNodes++
		}
	}
	j.describePods(f)
	j.describeServices(f)
	if r := j.shown.run; r != nil && j.verdict != VerdictBlocked {
		f.Time = Estimate{r.elapsed.least.Seconds(), r.elapsed.likely.Seconds(), r.elapsed.most.Seconds()}
	}
	f.Hints = j.hints()
	if j.verdict == VerdictDrains {
		f.Reasons = j.finishes(f)
	}
	return f
}

func (j *judgement) describePods(f *Forecasted) {
	left := map[int]leftPod{}
	for _, l := range j.shown.left {
		left[l.id] = l
	}
	madeFor := map[int]int{}
	if r := j.shown.run; r != nil {
		for id, old := range r.madeFor {
			for { // a replacement that was replaced itself
				up, again := r.madeFor[old]
				if !again {
					break
				}
				old = up
			}
			madeFor[old] = max(madeFor[old], id)
		}
	}
	target := map[int]bool{}
	for _, id := range j.model.targets {
		target[id] = true
	}
	for _, id := range j.model.byNode[j.model.drained] {
		p := j.model.pods[id].obj
		pf := PodForecast{PodRef: refOf(p)}
		if o := j.model.pods[id].owner; o >= 0 {
			_, pf.Owner, _ = strings.Cut(j.model.owners[o].name, "/")
		}
		l, stays := left[id]
		switch {
		case j.flags:
			pf.Fate, pf.Reason = FateHeld, "a filter stops the drain first"
		case !target[id]:
			pf.Fate, pf.Reason = FateSkipped, j.filter.skipped[p]
		case stays && j.shown.run.stuck[id] != "":
			pf.Fate, pf.Reason = FateStuck, l.why
		case stays && j.verdict == VerdictUndecided:
			pf.Fate, pf.Reason = FateOpen, l.why
		case stays:
			pf.Fate, pf.Reason = FateBlocked, l.why
		default:
			pf.Fate = FateEvicted
			if e := j.model.ending(id); e.open != "" {
				pf.Fate, pf.Reason = FateOpen, e.open
			}
		}
		if stays && l.budget >= 0 {
			pf.Budget = j.model.budgetState(l.budget, l.after)
		}
		if target[id] && (!stays || pf.Fate == FateStuck) {
			pf.Replacement = j.replacement(id, madeFor)
		}
		f.Pods = append(f.Pods, pf)
	}
}

func (m *model) budgetState(i int, b balance) *BudgetState {
	return &BudgetState{Name: m.budgets[i].name(), Allowed: b.allowed, Needed: b.desired, Current: b.healthy, Expected: b.expected}
}

// replacement says where the Pod in place of an evicted one ended up.
func (j *judgement) replacement(id int, madeFor map[int]int) *Replacement {
	r := j.shown.run
	made, ok := madeFor[id]
	if !ok {
		if j.model.pods[id].finished {
			return nil
		}
		if why := r.refused[id]; why != "" {
			return &Replacement{State: "refused", Rejected: []Rejection{{Reason: why, Nodes: []string{}}}}
		}
		return &Replacement{State: "none"}
	}
	n := r.at(made)
	switch {
	case n == somewhere:
		return &Replacement{State: "ready", Node: ""}
	case n >= 0 && r.is(made, isReady):
		return &Replacement{State: "ready", Node: j.model.nodes[n].node.Name}
	case n >= 0:
		return &Replacement{State: "unready", Node: j.model.nodes[n].node.Name}
	}
	return &Replacement{State: "pending", Rejected: r.rejections(made)}
}

// rejections groups the nodes by why they do not take a Pod.
func (r *simulation) rejections(id int) []Rejection {
	p := r.pod(id)
	s := r.spotFor(r.m.classOf(p), p)
	index := map[string]int{}
	var out []Rejection
	for i := range r.m.nodes {
		why, _ := r.rejects(s, i)
		if why == "" {
			why = "suits, but was taken first"
		}
		k, ok := index[why]
		if !ok {
			k = len(out)
			index[why] = k
			out = append(out, Rejection{Reason: why})
		}
		if out[k].Count++; len(out[k].Nodes) < 5 {
			out[k].Nodes = append(out[k].Nodes, r.m.nodes[i].node.Name)
		}
	}
	return out
}

func (j *judgement) describeServices(f *Forecasted) {
	if j.shown.run == nil {
		return
	}
	for name, w := range j.shown.run.lost {
		if w.least < w.before {
			f.Services = append(f.Services, ServiceForecast{Name: name, Before: w.before, Lowest: w.least, AtEnd: w.now})
		}
	}
	sort.Slice(f.Services, func(a, b int) bool { return f.Services[a].Name < f.Services[b].Name })
}

// finishes is the reason of a drain that finishes.
func (j *judgement) finishes(f *Forecasted) []string {
	n := 0
	after := map[string]int{}
	for _, p := range f.Pods {
		if p.Fate != FateEvicted {
			continue
		}
		n++
		switch r := p.Replacement; {
		case r == nil || r.State == "none":
			after["not replaced"]++
		case r.State != "ready":
			after["replaced when the node is back"]++
		case r.Node == j.node:
			after["replaced on this very node, since they tolerate the cordon"]++
		default:
			after["replaced elsewhere"]++
		}
	}
	if n == 0 {
		return []string{"there is nothing to evict"}
	}
	ways := keys(after)
	if len(ways) == 1 {
		return []string{fmt.Sprintf("every Pod can go (%d), %s", n, ways[0])}
	}
	var parts []string
	for _, what := range ways {
		parts = append(parts, fmt.Sprintf("%d %s", after[what], what))
	}
	return []string{fmt.Sprintf("every Pod can go (%d): %s", n, strings.Join(parts, ", "))}
}
