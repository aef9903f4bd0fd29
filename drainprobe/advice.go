package drainprobe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
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

func flagChanges(j *judgement) []change {
	return []change{
		{"use --ignore-daemonsets", func(_ *World, o *Options) { o.IgnoreDaemonSets = true }},
		{"use --delete-emptydir-data (what is in emptyDir volumes is lost)", func(_ *World, o *Options) { o.DeleteEmptyDirData = true }},
		{"use --force (Pods without a controller are lost)", func(_ *World, o *Options) { o.Force = true }},
	}
}

func uncordonChange(name string) change {
	return change{"uncordon node " + name, func(w *World, _ *Options) {
		for i, n := range w.Nodes {
			if n.Name == name {
				c := *n
				c.Spec.Unschedulable = false
				c.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), cordonTaint)
				w.Nodes[i] = &c
			}
		}
	}}
}

// addNodeLike adds an empty node with the capacity, labels and lasting taints
// of another, and a name of its own.
func (w *World) addNodeLike(name string) {
	old := w.node(name)
	n := old.DeepCopy()
	n.Name, n.UID = name+"-added", old.UID+"-added"
	if n.Labels[corev1.LabelHostname] != "" {
		n.Labels[corev1.LabelHostname] = n.Name
	}
	n.Spec.Unschedulable = false
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return strings.HasPrefix(t.Key, "node.kubernetes.io/")
	})
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w.Nodes = append(w.Nodes, n)
}

// scaleChange raises the replicas by one: with a Pod to spare on another node
// the budget allows a disruption.
func (j *judgement) scaleChange(p *modelPod) (change, bool) {
	if p.owner < 0 || !p.ready { // more of what is not ready helps nobody
		return change{}, false
	}
	o := j.model.owners[p.owner]
	if o.kind != ownerReplica && o.kind != ownerStateful || o.noScale || o.scaleErr != "" {
		return change{}, false
	}
	to := o.replicas + 1
	_, kindName, _ := strings.Cut(o.name, "/")
	return change{fmt.Sprintf("raise %s in %s to %d replicas", kindName, p.obj.Namespace, to), func(w *World, _ *Options) {
		w.scaleUp(o, p.obj)
	}}, true
}

// readyChange mends the Pods of a workload that run without being ready.
func readyChange(name string, owner int, m *model) change {
	return change{"get the Pods of " + name + " ready first", func(w *World, _ *Options) {
		for i, p := range w.Pods {
			k, ok := m.byUID[p.UID]
			if !ok || m.pods[k].owner != owner || p.Spec.NodeName == "" || p.DeletionTimestamp != nil {
				continue
			}
			c := *p
			c.Status.Phase = corev1.PodRunning
			c.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			w.Pods[i] = &c
		}
		w.refreshBudgets(m.pods[m.owners[owner].pods[0]].obj.Namespace)
	}}
}

// scaleUp adds one replica and the Pod for it, on a node if one takes it.
func (w *World) scaleUp(o *owner, like *corev1.Pod) {
	n := int32(o.replicas + 1)
	name := like.Name + "-more"
	for i, rs := range w.ReplicaSets {
		if rs.UID == o.uid {
			c := *rs
			c.Spec.Replicas = &n
			w.ReplicaSets[i] = &c
		}
	}
	for i, d := range w.Deployments {
		if d.UID == o.scaleUID {
			c := *d
			more := replicasOf(d.Spec.Replicas) + 1
			c.Spec.Replicas = new(int32(more))
			w.Deployments[i] = &c
		}
	}
	for i, s := range w.StatefulSets {
		if s.UID == o.uid {
			c := *s
			c.Spec.Replicas = &n
			w.StatefulSets[i] = &c
			name = fmt.Sprintf("%s-%d", s.Name, o.first+o.replicas)
		}
	}
	p := like.DeepCopy()
	p.Name, p.UID, p.DeletionTimestamp = name, types.UID(name), nil
	p.Spec.NodeName = ""
	p.Status = corev1.PodStatus{Phase: corev1.PodPending}
	w.Pods = append(w.Pods, p)
	w.placeNow(p)
	w.refreshBudgets(p.Namespace)
}

// placeNow schedules one Pod of the world before any drain and makes it ready.
func (w *World) placeNow(p *corev1.Pod) {
	m := newModelOf(w, "", Options{}, map[string]bool{p.Namespace: true})
	r := m.still()
	id := m.byUID[p.UID]
	if !r.place(id, m.classOf(&m.pods[id])) || r.at(id) < 0 {
		return
	}
	p.Spec.NodeName = m.nodes[r.at(id)].node.Name
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
}

// refreshBudgets writes the status that the disruption controller would, in
// one namespace, or in all.
func (w *World) refreshBudgets(namespace string) {
	m := newModel(w, "", Options{})
	if namespace != "" {
		m = newModelOf(w, "", Options{}, map[string]bool{namespace: true})
	}
	r := m.still()
	for i, b := range m.budgets {
		s := r.balance(i)
		c := b.pdb.DeepCopy()
		c.Status.DisruptionsAllowed, c.Status.CurrentHealthy = int32(s.allowed), int32(s.healthy)
		c.Status.DesiredHealthy, c.Status.ExpectedPods = int32(s.desired), int32(s.expected)
		c.Status.ObservedGeneration = c.Generation
		for k, old := range w.Budgets {
			if old.UID == c.UID {
				w.Budgets[k] = c
			}
		}
	}
}

// budgetChanges loosen a budget: by one disruption, or for unready Pods.
func (j *judgement) budgetChanges(i int, p *modelPod) []change {
	b := j.model.budgets[i]
	edit := func(text string, set func(*policyv1.PodDisruptionBudgetSpec)) change {
		return change{text, func(w *World, _ *Options) {
			for k, pdb := range w.Budgets {
				if pdb.UID == b.pdb.UID {
					c := pdb.DeepCopy()
					set(&c.Spec)
					w.Budgets[k] = c
				}
			}
			w.refreshBudgets(b.pdb.Namespace)
		}}
	}
	var out []change
	if !p.ready {
		out = append(out, edit("set unhealthyPodEvictionPolicy: AlwaysAllow on budget "+b.name(), func(s *policyv1.PodDisruptionBudgetSpec) {
			s.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow)
		}))
	}
	if start := j.shown.run.started[i]; never(b.pdb, start) != "" {
		countless := scaled(b.pdb) && (start.expected == 0 || start.failed != "")
		if desired := len(b.pods) - 1; desired >= 0 && (countless || b.pdb.Spec.MinAvailable != nil && b.pdb.Spec.MinAvailable.Type == intstr.Int) {
			out = append(out, edit(fmt.Sprintf("set minAvailable: %d on budget %s (it can never allow a disruption now)", desired, b.name()), func(s *policyv1.PodDisruptionBudgetSpec) {
				s.MaxUnavailable, s.MinAvailable = nil, new(intstr.FromInt32(int32(desired)))
			}))
		} else {
			out = append(out, edit("set maxUnavailable: 1 on budget "+b.name()+" (it can never allow a disruption now)", func(s *policyv1.PodDisruptionBudgetSpec) {
				s.MinAvailable, s.MaxUnavailable = nil, new(intstr.FromInt32(1))
			}))
		}
	}
	return append(out, change{"delete budget " + b.name() + " for the time of the upgrade", func(w *World, _ *Options) {
		w.Budgets = slices.DeleteFunc(w.Budgets, func(p *policyv1.PodDisruptionBudget) bool { return p.UID == b.pdb.UID })
	}})
}

// timeChanges lengthen the timeout, or shorten the wait.
func (j *judgement) timeChanges() []change {
	var out []change
	if j.opts.Timeout > 0 {
		out = append(out, change{fmt.Sprintf("use --timeout=%v", 4*j.opts.Timeout), func(_ *World, o *Options) { o.Timeout *= 4 }})
	}
	if j.shown.run != nil && len(j.shown.run.stuck) > 0 {
		out = append(out, change{"use --skip-wait-for-delete-timeout=1 and --timeout=1m or more (Pods that do not end are left behind)", func(_ *World, o *Options) {
			o.SkipWaitForDeleteTimeout = time.Second
			o.Timeout = max(o.Timeout, time.Minute)
		}})
	}
	return out
}
