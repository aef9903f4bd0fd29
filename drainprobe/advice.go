package drainprobe

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
)

// addNodeChange is the change that Decide looks for.
const addNodeChange = "add one node of this size"

// largeWorld is from how many Pods on only the cheapest changes are tried.
const largeWorld = 20000

// change is one thing a person could do, as the world would be after it.
type change struct {
	text string
	// apply changes a copy of the world and the options.
	apply func(*World, *Options)
}

// unblock finds the shortest lists of changes after which the drain finishes:
// each is tried by forecasting the changed world, alone first, then in pairs
// and threes.
func (w *World) unblock(j *judgement) []Fix {
	fixes := []Fix{}
	if j.noNode {
		return fixes
	}
	changes, most := w.changes(j), 3
	if len(w.Pods) > largeWorld {
		changes, most = changes[:min(len(changes), 3)], 1
	}
	for size := 1; size <= most && len(fixes) == 0; size++ {
		tries := 0
		eachSet(len(changes), size, func(set []int) bool {
			if tries++; tries > 120 {
				return false
			}
			if w.after(j, changes, set) == VerdictDrains {
				var f Fix
				for _, i := range set {
					f.Changes = append(f.Changes, changes[i].text)
				}
				fixes = append(fixes, f)
			}
			return len(fixes) < 5
		})
	}
	return fixes
}

// after forecasts the world with a set of changes made.
func (w *World) after(j *judgement, changes []change, set []int) Verdict {
	next, opts := w.shallow(), j.opts
	for _, i := range set {
		changes[i].apply(next, &opts)
	}
	return next.judge(j.node, opts).verdict
}

// shallow copies the lists, not the objects: a change replaces an object.
func (w *World) shallow() *World {
	c := *w
	c.Nodes, c.Pods, c.Budgets = slices.Clone(w.Nodes), slices.Clone(w.Pods), slices.Clone(w.Budgets)
	c.Deployments, c.ReplicaSets, c.StatefulSets = slices.Clone(w.Deployments), slices.Clone(w.ReplicaSets), slices.Clone(w.StatefulSets)
	return &c
}

// eachSet visits the subsets of a size in order until visit says stop.
func eachSet(n, size int, visit func([]int) bool) {
	set := make([]int, 0, size)
	var step func(from int) bool
	step = func(from int) bool {
		if len(set) == size {
			return visit(set)
		}
		for i := from; i < n; i++ {
			set = append(set, i)
			ok := step(i + 1)
			set = set[:len(set)-1]
			if !ok {
				return false
			}
		}
		return true
	}
	step(0)
}

// changes lists what could help here, the least invasive first.
func (w *World) changes(j *judgement) []change {
	var out []change
	if j.flags {
		return flagChanges(j)
	}
	for _, n := range w.Nodes {
		if n.Name != j.node && n.Spec.Unschedulable && nodeReady(n) && len(out) < 5 {
			out = append(out, uncordonChange(n.Name))
		}
	}
	out = append(out, change{addNodeChange, func(w *World, _ *Options) { w.addNodeLike(j.node) }})
	seenBudget, seenOwner := map[int]bool{}, map[string]bool{}
	for _, l := range j.shown.left {
		p := j.shown.run.pod(l.id)
		if l.budget < 0 {
			continue
		}
		if covering := j.shown.run.covering(p); len(covering) > 1 {
			for _, i := range covering {
				if b := j.model.budgets[i]; !seenBudget[i] {
					seenBudget[i] = true
					out = append(out, change{"delete budget " + b.name() + ", one of two over the same Pods", func(w *World, _ *Options) {
						w.Budgets = slices.DeleteFunc(w.Budgets, func(p *policyv1.PodDisruptionBudget) bool { return p.UID == b.pdb.UID })
					}})
				}
			}
			continue
		}
		if name := j.model.workloadName(p); !seenOwner[name] {
			seenOwner[name] = true
			if c, ok := j.scaleChange(p); ok {
				out = append(out, c)
			}
			if !p.ready && p.owner >= 0 {
				out = append(out, readyChange(name, p.owner, j.model))
			}
		}
		if !seenBudget[l.budget] {
			seenBudget[l.budget] = true
			out = append(out, j.budgetChanges(l.budget, p)...)
		}
	}
	return append(out, j.timeChanges()...)
}
