package suc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// seen is the cluster at one moment, as far as the Plan touches it.
type seen struct {
	now   time.Time
	plan  *Plan // nil when it cannot be decoded
	jobs  []*batchv1.Job
	pods  []*corev1.Pod
	nodes []*corev1.Node
	// undecodable is a Plan that the controller cannot decode.
	undecodable string
}

// watchState is what was told already, so that every event is told once.
type watchState struct {
	opts     WatchOptions
	told     map[string]bool
	cordoned map[string]bool // before the watch began
	phases   map[string]string
	// since says when something was first seen that time alone decides.
	since  map[string]time.Time
	events []Event
	now    time.Time
}

func newWatchState(opts WatchOptions) *watchState {
	return &watchState{opts: opts, told: map[string]bool{}, phases: map[string]string{}, since: map[string]time.Time{}}
}

// tell adds an event unless it was told before.
func (w *watchState) tell(key string, e Event) {
	if w.told[key] {
		return
	}
	w.told[key] = true
	e.Time = w.now
	w.events = append(w.events, e)
}

// lasts reports whether something has been so for as long as d.
func (w *watchState) lasts(key string, d time.Duration) bool {
	first, ok := w.since[key]
	if !ok {
		w.since[key], first = w.now, w.now
	}
	return w.now.Sub(first) >= d
}

// holds is lasts for something that may end in between: then the time starts
// anew.
func (w *watchState) holds(key string, is bool, d time.Duration) bool {
	if !is {
		delete(w.since, key)
		return false
	}
	return w.lasts(key, d)
}

// observe gives the events since the last look, and the result once there is
// one.
func (w *watchState) observe(s *seen) ([]Event, *WatchResult) {
	w.now, w.events = s.now, nil
	if w.cordoned == nil {
		w.cordoned = map[string]bool{}
		for _, n := range s.nodes {
			w.cordoned[n.Name] = n.Spec.Unschedulable
		}
	}
	if s.plan == nil {
		return w.end(s, Stuck, fmt.Sprintf("Plan %s cannot be decoded, and so the controller reads no Plan at all", s.undecodable))
	}
	if why := w.conditions(s); why != "" {
		return w.end(s, Stuck, why)
	}
	var active, failed, pending []string
	selected := w.selected(s)
	for _, n := range selected {
		w.follow(s, n)
		switch phase := w.phases[n.Name]; phase {
		case "done":
		case "failed":
			failed = append(failed, n.Name)
		case "waiting":
			pending = append(pending, n.Name)
		default:
			active = append(active, n.Name)
		}
	}
	if why := w.pods(s); why != "" {
		return w.end(s, Stuck, why)
	}
	complete := condition(s.plan, ConditionComplete)
	gone := w.holds("failed before", complete.Reason == "JobFailed" && len(active) == 0, w.opts.Settle)
	settled := w.holds("complete", complete.Status == corev1.ConditionTrue, w.opts.Settle)
	switch {
	case stale(s.plan):
		return w.events, nil // the status is about an earlier version
	case len(selected) > 0 && len(active)+len(failed)+len(pending) == 0:
		w.tell("complete", Event{Type: EventComplete, Message: fmt.Sprintf("at %s and Ready: %s", s.plan.Status.LatestVersion, counted(len(selected), "node"))})
		return w.end(s, Done, "")
	case len(failed) > 0 && len(active) == 0:
		return w.end(s, Failed, fmt.Sprintf("the Job of %s failed, and the node did not move", strings.Join(failed, ", ")))
	case gone:
		// The failed Job is gone already, and no other comes.
		return w.end(s, Failed, complete.Message)
	case settled && len(selected) == 0:
		return w.end(s, Stuck, "the Plan says Complete because it selects no node")
	case settled:
		return w.end(s, Stuck, fmt.Sprintf("the Plan says Complete, but %s", w.lagging(s, selected)))
	}
	return w.events, nil
}

func condition(p *Plan, kind string) Condition {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return Condition{}
}

// stale reports whether the status is about another version than the spec.
func stale(p *Plan) bool {
	return p.Status.LatestVersion == "" || p.Spec.Version != "" && munge(p.Spec.Version) != p.Status.LatestVersion
}

// selected are the nodes that the Plan takes or took.
func (w *watchState) selected(s *seen) []*corev1.Node {
	sel, err := nodeSelector(s.plan.Spec.NodeSelector)
	if err != nil {
		return nil
	}
	var out []*corev1.Node
	for _, n := range s.nodes {
		if sel.Matches(labels.Set(n.Labels)) && n.Labels[LabelPlanPrefix+s.plan.Name] != "disabled" {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// moved reports whether the node is where the Plan wants it.
func moved(p *Plan, n *corev1.Node) bool {
	if !ready(n) {
		return false
	}
	if v := p.Status.LatestVersion; !readVersion(v, "").IsZero() {
		return munge(n.Status.NodeInfo.KubeletVersion) == v
	}
	return p.Status.LatestHash != "" && n.Labels[LabelPlanPrefix+p.Name] == p.Status.LatestHash
}

func ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// follow tells what happened on one node.
func (w *watchState) follow(s *seen, n *corev1.Node) {
	if w.phases[n.Name] == "" {
		w.phases[n.Name] = "waiting"
	}
	var job *batchv1.Job
	for _, j := range s.jobs {
		if j.Labels[LabelNode] == n.Name && j.Labels[LabelVersion] == s.plan.Status.LatestVersion && (job == nil || job.CreationTimestamp.Before(&j.CreationTimestamp)) {
			job = j
		}
	}
	ended, failed := false, ""
	if job != nil {
		key := n.Name + " " + string(job.UID)
		started := job.Spec.Parallelism == nil || *job.Spec.Parallelism > 0
		if started {
			w.advance(n.Name, "started")
			w.tell(key, Event{Type: EventJobStarted, Node: n.Name, Job: job.Name})
		}
		for _, p := range s.pods {
			if p.Labels[batchv1.JobNameLabel] == job.Name {
				w.steps(n.Name, job, p)
			}
		}
		for _, c := range job.Status.Conditions {
			if c.Status != corev1.ConditionTrue {
				continue
			}
			switch c.Type {
			case batchv1.JobComplete:
				ended = true
			case batchv1.JobFailed:
				failed = strings.TrimSuffix(c.Reason+": "+c.Message, ": ")
			}
		}
	}
	marked := s.plan.Status.LatestHash != "" && n.Labels[LabelPlanPrefix+s.plan.Name] == s.plan.Status.LatestHash
	complete := condition(s.plan, ConditionComplete)
	over := complete.Status == corev1.ConditionTrue || complete.Reason == "JobFailed"
	// The controller uncordons the node a moment after the Job's end.
	held := ended && n.Spec.Unschedulable && !w.cordoned[n.Name]
	if !w.holds("held "+n.Name, held, w.opts.Settle) && held {
		ended = false
	}
	switch {
	case moved(s.plan, n) && (ended || failed != "" || marked || job == nil && over):
		// The Job has ended one way or the other; while it runs, it can still
		// take a node away that has the version already.
		message := "reports " + n.Status.NodeInfo.KubeletVersion + " and is Ready"
		if failed != "" {
			message += ", although its Job failed (" + failed + ")"
		}
		w.phases[n.Name] = "done"
		w.tell("done "+n.Name+" "+s.plan.Status.LatestVersion, Event{Type: EventNodeDone, Node: n.Name, Message: message})
	case failed != "":
		// The node may have moved and not be back yet.
		if w.lasts("failed "+n.Name+" "+string(job.UID), w.opts.Settle) {
			w.phases[n.Name] = "failed"
			w.tell("failed "+n.Name+" "+string(job.UID), Event{Type: EventFailed, Node: n.Name, Job: job.Name, Message: failed})
		}
	case w.phases[n.Name] == "done":
		w.phases[n.Name] = "waiting" // for another version, or not Ready any more
	}
}

// order of the phases of a node.
var order = []string{"waiting", "started", "prepared", "cordoned", "drained", "upgraded"}

// advance moves a node on, never back.
func (w *watchState) advance(node, phase string) {
	if slices.Index(order, phase) > slices.Index(order, w.phases[node]) && w.phases[node] != "done" {
		w.phases[node] = phase
	}
}

var steps = map[string]struct {
	event EventType
	phase string
}{
	"prepare": {EventPrepared, "prepared"}, "cordon": {EventCordoned, "cordoned"},
	"drain": {EventDrained, "drained"}, "upgrade": {EventUpgraded, "upgraded"},
}

// steps tells which containers of a Job's Pod have ended, and how.
func (w *watchState) steps(node string, job *batchv1.Job, p *corev1.Pod) {
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		step, ok := steps[c.Name]
		end := c.State.Terminated
		if !ok || end == nil {
			continue
		}
		key := string(p.UID) + " " + c.Name
		if end.ExitCode == 0 {
			w.advance(node, step.phase)
			w.tell(key, Event{Type: step.event, Node: node, Job: job.Name})
			continue
		}
		message := fmt.Sprintf("ended with status %d", end.ExitCode)
		if end.Reason != "" && end.Reason != "Error" {
			message += " (" + end.Reason + ")"
		}
		w.tell(key, Event{
			Type: EventFailed, Node: node, Job: job.Name, Container: p.Name + "/" + c.Name,
			Message: message + "; the Job tries again until its deadline or its limit",
		})
	}
}

// lagging says which nodes are not where the Plan says they are.
func (w *watchState) lagging(s *seen, selected []*corev1.Node) string {
	var out []string
	for _, n := range selected {
		switch {
		case w.phases[n.Name] == "done":
		case !ready(n):
			out = append(out, fmt.Sprintf("node %s is not Ready", n.Name))
		default:
			out = append(out, fmt.Sprintf("node %s reports %s", n.Name, n.Status.NodeInfo.KubeletVersion))
		}
	}
	return strings.Join(out, ", ") + ": a Job that finds the binary in place ends without a restart"
}

// progress is how far each node is.
func (w *watchState) progress(s *seen) []NodeProgress {
	out := []NodeProgress{}
	if s.plan == nil {
		return out
	}
	for _, n := range w.selected(s) {
		out = append(out, NodeProgress{
			Name: n.Name, Phase: or(w.phases[n.Name], "waiting"), Kubelet: n.Status.NodeInfo.KubeletVersion, Ready: ready(n), Cordoned: n.Spec.Unschedulable,
		})
	}
	return out
}

// end makes the result, with what is left to do.
func (w *watchState) end(s *seen, outcome Outcome, because string) ([]Event, *WatchResult) {
	r := &WatchResult{Outcome: outcome, Because: because, Nodes: w.progress(s)}
	if outcome == Stuck {
		w.tell("stuck "+because, Event{Type: EventStuck, Message: because})
	}
	if s.plan == nil {
		return w.events, r
	}
	r.Version = s.plan.Status.LatestVersion
	for _, n := range r.Nodes {
		if n.Cordoned && !w.cordoned[n.Name] {
			r.LeftCordoned = append(r.LeftCordoned, n.Name)
			r.Commands = append(r.Commands, "kubectl uncordon "+n.Name)
		}
	}
	if outcome == Failed {
		// A failed Job is not made again until the Plan's spec changes, and not
		// as long as it is there.
		for _, j := range s.jobs {
			if slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
				return c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue
			}) {
				r.Commands = append(r.Commands, fmt.Sprintf("kubectl -n %s delete job %s", s.plan.Namespace, j.Name))
			}
		}
		deadline, _, _ := s.plan.deadline(nil)
		r.Commands = append(r.Commands, fmt.Sprintf(`kubectl -n %s patch plan %s --type merge -p '{"spec":{"jobActiveDeadlineSecs":%d}}'`, s.plan.Namespace, s.plan.Name, int64(deadline/time.Second)+60))
	}
	return w.events, r
}
