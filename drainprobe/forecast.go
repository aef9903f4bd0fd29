package drainprobe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
)

// Forecast says whether a drain of the node would finish, and what it would
// do, without writing anything. It reads the cluster once; see Gather.
//
// The verdict is VerdictDrains or VerdictBlocked only where every way in which
// open questions could turn out leads there; otherwise it is undecided and the
// reasons name the questions. A missing node is blocked: the drain fails.
//
// Errors are those of Gather.
func Forecast(ctx context.Context, client kubernetes.Interface, node string, opts Options) (*Forecasted, error) {
	w, err := Gather(ctx, client, node, opts)
	if err != nil {
		return nil, err
	}
	return w.Forecast(node, opts)
}

// Forecast judges a drain of one node of this world.
func (w *World) Forecast(node string, opts Options) (*Forecasted, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	j := w.judge(node, opts)
	f := j.describe()
	if f.Verdict != VerdictDrains {
		f.Unblock = w.unblock(j)
	}
	return f, nil
}

// judgement is a verdict with the runs it rests on.
type judgement struct {
	world   *World
	node    string
	opts    Options
	model   *model
	filter  filtered
	verdict Verdict
	reasons []string
	shown   outcome // the run that the description follows
	noNode  bool
	flags   bool
}

// judge filters as kubectl does, plays the drain through in every variant, and
// compares.
func (w *World) judge(node string, opts Options) *judgement {
	j := &judgement{world: w, node: node, opts: opts}
	if w.node(node) == nil {
		j.noNode, j.verdict = true, VerdictBlocked
		j.reasons = []string{fmt.Sprintf("there is no node %q; there are: %s", node, someNames(w.nodeNames(), 10))}
		return j
	}
	j.model = newModel(w, node, opts)
	j.filter = filterPods(w, node, opts)
	if len(j.filter.errs) > 0 {
		j.verdict, j.flags = VerdictBlocked, true
		for _, e := range j.filter.errs {
			j.reasons = append(j.reasons, "stopped before the first eviction: "+e.Error())
		}
		return j
	}
	for _, p := range j.filter.evict {
		j.model.targets = append(j.model.targets, j.model.byUID[p.UID])
	}
	j.compare()
	return j
}

func (w *World) nodeNames() []string {
	var out []string
	for _, n := range w.Nodes {
		out = append(out, n.Name)
	}
	return out
}

// compare plays the variants. The verdict stands only if all agree.
func (j *judgement) compare() {
	runs := j.runs()
	questions := map[string]bool{}
	drained, blocked := 0, 0
	for i := range runs {
		if runs[i].drains() {
			drained++
		} else {
			blocked++
		}
		for q := range runs[i].run.shaky {
			questions[q] = true
		}
	}
	open := keys(questions)
	j.shown = runs[0]
	switch {
	case drained == 0:
		j.verdict = VerdictBlocked
		j.reasons = j.blockers(runs[0])
		return
	case blocked > 0:
		j.verdict = VerdictUndecided
		j.shown = *firstWhere(runs, func(o outcome) bool { return !o.drains() })
		if len(open) == 0 {
			open = []string{"it depends on which Pods are evicted first and where the scheduler puts their replacements"}
		}
		j.reasons = append(open, j.blockers(j.shown)...)
		return
	}
	j.verdict = VerdictDrains
	if slow := j.slow(runs); len(slow) > 0 {
		j.verdict = VerdictUndecided
		j.reasons = slow
		return
	}
	j.checkTime(runs)
	if asked := j.admission(); j.verdict == VerdictDrains && len(asked) > 0 {
		j.verdict, j.reasons = VerdictUndecided, asked
	}
}

// runs plays the drain through once for every way that matters.
func (j *judgement) runs() []outcome {
	out := j.runsAs(false)
	if slices.ContainsFunc(j.model.targets, func(id int) bool {
		n := j.model.newbornOf(id)
		return n != nil && !n.certain
	}) {
		out = append(out, j.runsAs(true)...)
	}
	return out
}

func (j *judgement) runsAs(template bool) []outcome {
	m := j.model
	play := func(v variant) outcome {
		v.template = template
		return m.simulate(v)
	}
	out := []outcome{play(variant{hopeful: true}), play(variant{})}
	if len(m.targets) < 2 && len(m.budgets) == 0 {
		return out
	}
	for _, b := range m.budgets {
		if len(b.pods) > 0 {
			out = append(out, play(variant{recomputed: true, hopeful: true}), play(variant{recomputed: true}))
			break
		}
	}
	seeds := 12
	if len(m.nodes) > 200 {
		seeds = 2
	}
	for s := range seeds {
		out = append(out, play(variant{seed: uint64(s + 1), hopeful: s%2 == 0}))
	}
	return out
}

// blockers are the reasons of Pods that stay, the same one once.
func (j *judgement) blockers(o outcome) []string {
	var out []string
	seen := map[string]int{}
	for _, l := range o.left {
		text := fmt.Sprintf("%s: %s", j.model.workloadName(o.run.pod(l.id)), l.why)
		seen[text]++
		if seen[text] == 1 {
			out = append(out, text)
		}
	}
	for i, text := range out {
		if n := seen[text]; n > 1 {
			out[i] = fmt.Sprintf("%s (%d Pods)", text, n)
		}
	}
	return out
}

// slow are the Pods that may outlast the drain.
func (j *judgement) slow(runs []outcome) []string {
	questions := map[string]bool{}
	for _, id := range j.model.targets {
		if e := j.model.ending(id); e.open != "" {
			questions[e.open] = true
		}
	}
	return keys(questions)
}

// retryAfter is what the eviction API asks for when a Pod changed under it.
const retryAfter = 10 * time.Second

// checkTime compares the time the drain takes with its timeout.
func (j *judgement) checkTime(runs []outcome) {
	limit := j.opts.Timeout
	if limit == 0 {
		return
	}
	least, likely := time.Duration(1<<62), time.Duration(0)
	for i := range runs {
		e := runs[i].run.elapsed
		if e.unready {
			e.likely += retryAfter
		}
		least, likely = min(least, e.least), max(likely, e.likely)
	}
	switch {
	case least > limit:
		j.verdict = VerdictBlocked
		j.reasons = []string{fmt.Sprintf("it takes at least %v, longer than the timeout %v", least.Round(time.Second), limit)}
	case likely > limit:
		j.verdict = VerdictUndecided
		j.reasons = []string{fmt.Sprintf("it takes about %v, the timeout is %v", likely.Round(time.Second), limit)}
		if job := runs[0].run.elapsed.lingering; job != "" {
			j.reasons = append(j.reasons, fmt.Sprintf("evicted Pods of %s stay until its back-off has passed, unless this Kubernetes has the fix for https://github.com/kubernetes/kubernetes/issues/139428", job))
		}
	}
}

func keys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func firstWhere[T any](list []T, is func(T) bool) *T {
	for i := range list {
		if is(list[i]) {
			return &list[i]
		}
	}
	return nil
}

func someNames(names []string, most int) string {
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (f *Forecasted) evidence() evidence {
	e := evidence{finishes: "the forecast is that a drain finishes", doesNot: "the forecast is that a drain does not finish", verdict: f.Verdict, otherNodes: f.OtherNodes, flags: f.heldByFlags, helpKnown: f.Verdict != VerdictDrains}
	e.missing = f.Missing
	if f.Verdict != VerdictDrains {
		e.why = f.Reasons
	}
	for _, s := range f.Services {
		if s.AtEnd == 0 {
			e.lost = append(e.lost, s.Name)
		}
	}
	for _, x := range f.Unblock {
		e.nodeHelps = e.nodeHelps || slices.Contains(x.Changes, addNodeChange)
	}
	return e
}
