package snapshot

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// nodes puts the two sides of every node beside each other.
func (w *world) nodes() []NodeMove {
	at := map[string]*NodeMove{}
	for i := range w.before.Nodes {
		n := &w.before.Nodes[i]
		at[n.Name] = &NodeMove{Name: n.Name, UIDBefore: n.UID, KubeletBefore: n.Kubelet}
	}
	boots := map[string]string{}
	for i := range w.before.Nodes {
		boots[w.before.Nodes[i].Name] = w.before.Nodes[i].BootID
	}
	for i := range w.after.Nodes {
		n := &w.after.Nodes[i]
		m := at[n.Name]
		if m == nil {
			m = &NodeMove{Name: n.Name}
			at[n.Name] = m
		}
		m.UIDAfter, m.KubeletAfter, m.ReadyAfter = n.UID, n.Kubelet, n.Ready
		m.Rebooted = boots[n.Name] != "" && n.BootID != "" && boots[n.Name] != n.BootID
	}
	out := make([]NodeMove, 0, len(at))
	for _, m := range at {
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b NodeMove) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// workloads puts the two sides of every workload beside each other and counts
// restarts: of a Pod that was there before the increase, of another one all.
// Owners of Pods that are no workload captured (a static Pod's node, a custom
// kind) are there with their Pods alone.
func (w *world) workloads() []WorkloadMove {
	type id struct{ kind, namespace, name string }
	at := make(map[id]int, len(w.after.Workloads))
	out := make([]WorkloadMove, 0, len(w.after.Workloads))
	get := func(kind, namespace, name string) *WorkloadMove {
		k := id{kind, namespace, name}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k], out = i, append(out, WorkloadMove{Kind: kind, Namespace: namespace, Name: name})
		}
		return &out[i]
	}
	bare := map[string]int{}
	for i := range w.before.Workloads {
		if x := &w.before.Workloads[i]; w.keep(&x.Object) {
			m := get(x.Kind, x.Namespace, x.Name)
			m.UIDBefore, m.ReadyBefore = x.UID, x.Ready
			if x.Kind == "Pod" {
				bare[x.UID] = x.Restarts
			}
		}
	}
	count := func(m *WorkloadMove, was int, had bool, now int, last time.Time) {
		switch {
		case !had, now < was:
			m.Restarts += now
		default:
			m.Restarts += now - was
		}
		if m.Restarts > 0 && last.After(m.LastRestart) {
			m.LastRestart = last
		}
		if had {
			m.PodsKept++
		} else {
			m.PodsNew++
		}
	}
	for i := range w.after.Workloads {
		if x := &w.after.Workloads[i]; w.keep(&x.Object) {
			m := get(x.Kind, x.Namespace, x.Name)
			m.UIDAfter, m.ReadyAfter, m.Desired = x.UID, x.Ready, x.Desired
			if x.Kind == "Pod" {
				was, had := bare[x.UID]
				count(m, was, had, x.Restarts, x.LastRestart)
			}
		}
	}
	was := make(map[string]int, len(w.before.Pods))
	for i := range w.before.Pods {
		was[w.before.Pods[i].UID] = w.before.Pods[i].Restarts
	}
	if w.judged("", "Pod", "pods") || len(at) > 0 {
		for i := range w.after.Pods {
			p := &w.after.Pods[i]
			if len(w.namespaces) > 0 && !w.namespaces[p.Namespace] {
				continue
			}
			n, had := was[p.UID]
			count(get(p.Owner.Kind, p.Namespace, p.Owner.Name), n, had, p.Restarts, p.LastRestart)
		}
	}
	slices.SortFunc(out, func(a, b WorkloadMove) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
	})
	return out
}
