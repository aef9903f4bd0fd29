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
	if r.refusal(p) != "" || !r.place(id, m.classOf(&m.pods[id])) || r.at(id) < 0 {
		return
	}
	p.Spec.NodeName = m.nodes[r.at(id)].node.Name
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
}

// refreshBudgets writes the status that the disruption controller would, in
// one namespace, or in all.
func (w *World) refreshBudgets(namespace string) {
	var only map[string]bool
	if namespace != "" {
		only = map[string]bool{namespace: true}
	}
	m := newModelOf(w, "", Options{}, only)
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
