package drainprobe

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ending is how a Pod ends once it is told to.
type ending struct {
	// never is why it does not, for as long as the drain waits.
	never string
	// open is why it may not.
	open                string
	least, likely, most time.Duration
}

// usualGrace is a Pod's grace period where nobody chose one.
const usualGrace = corev1.DefaultTerminationGracePeriodSeconds * time.Second

// graceOf is the grace period that a Pod asks for.
func graceOf(p *corev1.Pod) time.Duration {
	if s := p.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return usualGrace
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

	grace := graceOf(p.obj)
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
	case node.troubled() != "" && !immediate:
		e.open = fmt.Sprintf("node %s says that it is not Ready (%s), so it may not end its Pods", node.node.Name, node.troubled())
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
	switch {
	case limit > 0 && e.least > limit:
		e.never = fmt.Sprintf("its preStop hook takes %v, longer than the timeout %v", e.least, limit)
	case limit > 0 && p.terminating && left > limit:
		e.open = fmt.Sprintf("%s has been told to end and may use the %v it has left, longer than the timeout %v", refOf(p.obj), left.Round(time.Second), limit)
	case limit > 0 && left > limit && left > usualGrace:
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

// troubled is why the kubelet itself calls its node not Ready, "" if it does
// not.
func (n *modelNode) troubled() string {
	for _, c := range n.node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionFalse {
			return cmp.Or(c.Message, c.Reason, "no reason given")
		}
	}
	return ""
}

// outOfService: Pods of the node are removed without its kubelet.
// https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#non-graceful-node-shutdown
func (n *modelNode) outOfService() bool {
	return hasTaint(n.taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
}
