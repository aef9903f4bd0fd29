package drainprobe

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Sequence is a forecast for several nodes, one after another: each starts
// from the cluster that the drains before it leave behind.
type Sequence struct {
	// Verdict is drains when all of them do, blocked when one is.
	Verdict Verdict       `json:"verdict"`
	Nodes   []*Forecasted `json:"nodes"`
}

// ForecastAll forecasts every node in upgrade order, servers before agents
// (https://docs.k3s.io/upgrades/manual), one at a time: a node that drains is
// emptied, comes back and takes Pods again before the next one goes. A node
// that does not drain is left as it is.
func ForecastAll(ctx context.Context, client kubernetes.Interface, opts Options) (*Sequence, error) {
	w, err := GatherAll(ctx, client)
	if err != nil {
		return nil, err
	}
	return w.ForecastAll(opts)
}

// ForecastAll forecasts every node of this world in upgrade order.
func (w *World) ForecastAll(opts Options) (*Sequence, error) {
	return w.sequence(w.upgradeOrder(), opts, false)
}

// ForecastSelected forecasts `kubectl drain --selector`: all nodes that match
// are cordoned first, then drained in turn, and stay cordoned. No match is
// nothing to do, which kubectl ends with status 0.
func (w *World) ForecastSelected(selector string, opts Options) (*Sequence, error) {
	s, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("node selector %q: %w", selector, err)
	}
	var names []string
	for _, n := range w.Nodes {
		if s.Matches(labels.Set(n.Labels)) {
			names = append(names, n.Name)
		}
	}
	cordoned := w.shallow()
	for i, n := range cordoned.Nodes {
		if slices.Contains(names, n.Name) && !n.Spec.Unschedulable {
			c := *n
			c.Spec.Unschedulable = true
			cordoned.Nodes[i] = &c
		}
	}
	return cordoned.sequence(names, opts, true)
}

func (w *World) sequence(names []string, opts Options, stay bool) (*Sequence, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	s := &Sequence{Verdict: VerdictDrains, Nodes: []*Forecasted{}}
	for _, name := range names {
		j := w.judge(name, opts)
		f := j.describe()
		if f.Verdict != VerdictDrains {
			f.Unblock = w.unblock(j)
		}
		s.Nodes = append(s.Nodes, f)
		switch {
		case f.Verdict == VerdictBlocked:
			s.Verdict = VerdictBlocked
		case f.Verdict == VerdictUndecided && s.Verdict == VerdictDrains:
			s.Verdict = VerdictUndecided
		}
		if f.Verdict == VerdictDrains {
			w = j.emptied(stay)
		}
	}
	return s, nil
}

// isServer: the node runs the control plane or etcd.
func isServer(n *corev1.Node) bool {
	for _, role := range []string{"control-plane", "master", "etcd"} {
		if hasKey(n.Labels, "node-role.kubernetes.io/"+role) {
			return true
		}
	}
	return false
}

func (w *World) upgradeOrder() []string {
	nodes := slices.Clone(w.Nodes)
	slices.SortStableFunc(nodes, func(a, b *corev1.Node) int {
		if s, t := isServer(a), isServer(b); s != t {
			if s {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	var out []string
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	return out
}

// emptied is the world after the drain, with the node back in use unless it
// stays cordoned.
func (j *judgement) emptied(stay bool) *World {
	r, m := j.shown.run, j.model
	w := j.world.shallow()
	w.Pods = nil
	for id := range r.flags {
		if r.is(id, gone) {
			continue
		}
		p := r.pod(id).obj
		switch {
		case id >= len(m.pods):
			c := *p
			c.UID = types.UID(fmt.Sprintf("%s+%d", p.UID, id))
			if o := r.pod(id).owner; o < 0 || m.owners[o].kind != ownerStateful {
				c.Name = fmt.Sprintf("%s+%d", p.Name, id)
			}
			p = r.settled(&c, id)
		case r.at(id) != m.pods[id].node:
			c := *p
			p = r.settled(&c, id)
		}
		w.Pods = append(w.Pods, p)
	}
	w.refreshBudgets("")
	if !stay {
		w.placePending()
	}
	return w
}

// settled gives a copy of a Pod the node and the status that a run gave it.
func (r *simulation) settled(p *corev1.Pod, id int) *corev1.Pod {
	p.DeletionTimestamp = nil
	p.Spec.NodeName = ""
	p.Status = corev1.PodStatus{Phase: corev1.PodPending}
	if n := r.at(id); n >= 0 {
		p.Spec.NodeName = r.m.nodes[n].node.Name
		if r.is(id, isReady) {
			p.Status = readyStatus()
		}
	}
	return p
}

func readyStatus() corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
}

// placePending schedules what waits for a node, now that one is back.
func (w *World) placePending() {
	m := newModel(w, "", Options{})
	r := m.still()
	r.queue = slices.Clone(m.retried())
	r.settle()
	for _, id := range m.pending {
		if r.at(id) >= 0 {
			c := *m.pods[id].obj
			w.replace(r.settled(&c, id))
		}
	}
	w.refreshBudgets("")
}

func (w *World) replace(p *corev1.Pod) {
	for i := range w.Pods {
		if w.Pods[i].UID == p.UID {
			w.Pods[i] = p
		}
	}
}

// String is the sequence as text.
func (s *Sequence) String() string {
	var b strings.Builder
	_ = s.WriteText(&b)
	return b.String()
}

// WriteText writes one table line a node, then what is not plain sailing.
func (s *Sequence) WriteText(w io.Writer) error {
	var b strings.Builder
	if len(s.Nodes) == 0 {
		b.WriteString("no node matches: there is nothing to drain\n")
	}
	for i, f := range s.Nodes {
		fmt.Fprintf(&b, "%d. %-9s  %s: %s\n", i+1, f.Verdict, f.Node, strings.Join(f.Reasons, "; "))
	}
	for _, f := range s.Nodes {
		if f.Verdict != VerdictDrains {
			b.WriteString("\n")
			_ = f.WriteText(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
