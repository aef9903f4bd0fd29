package drainprobe

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

var everything = labels.Everything()

// somewhere is the node of a Pod whose scheduler is not followed and that is
// hoped to find one.
const somewhere = -2

// schedule gives nodes to Pods that wait for one, the most important first.
func (r *simulation) schedule() bool {
	if len(r.queue) == 0 {
		return false
	}
	queue := r.queue
	r.queue = nil
	byImportance(queue, r.pod)
	progress := false
	var left []int
	barred := map[*class]bool{}
	for _, id := range queue {
		if r.is(id, gone|terminating) || r.at(id) != -1 {
			continue
		}
		c := r.m.classOf(r.pod(id))
		if barred[c] {
			left = append(left, id)
			continue
		}
		if r.place(id, c) || r.preempt(id, c) {
			progress = true
			clear(barred)
			continue
		}
		barred[c] = true
		left = append(left, id)
	}
	r.queue = append(r.queue, left...)
	return progress
}

// spot is what placing one Pod needs to know of all nodes together.
type spot struct {
	c          *class
	p          *modelPod
	neighbours neighbours
	domains    []domains
}

func (r *simulation) spotFor(c *class, p *modelPod) spot {
	s := spot{c: c, p: p, neighbours: r.neighboursOf(c)}
	for _, rule := range c.spread {
		s.domains = append(s.domains, r.domainsOf(c, rule))
	}
	return s
}

func (r *simulation) place(id int, c *class) bool {
	p := r.pod(id)
	if open := r.openPlacement(p, c); open != "" && !r.shake(open) {
		return false
	}
	s := r.spotFor(c, p)
	var fit []int
	for i := range r.m.nodes {
		if why, _ := r.rejects(s, i); why == "" {
			fit = append(fit, i)
		}
	}
	switch {
	case len(fit) > 0:
		r.settleOn(id, r.best(fit, p))
		return true
	case r.openPlacement(p, c) != "":
		r.where[id] = somewhere
		return true
	}
	return false
}

func (r *simulation) openPlacement(p *modelPod, c *class) string {
	if len(p.obj.Spec.SchedulingGates) > 0 || p.owner >= 0 && r.m.owners[p.owner].gated {
		return r.m.workloadName(p) + " has scheduling gates that somebody must lift"
	}
	if c.open != "" {
		return r.m.workloadName(p) + ": " + c.open
	}
	return ""
}

func (r *simulation) settleOn(id, node int) {
	r.where[id] = int32(node)
	r.charge(node, r.pod(id).requests, +1)
	if id >= len(r.m.pods) {
		r.madeOn[node] = append(r.madeOn[node], id)
	} else {
		r.madeOn[node] = append(r.madeOn[node], id)
	}
}

// rejects says why a node does not take the Pod, "" when it does, and whether
// preempting Pods there could help. Filters and their order:
// https://kubernetes.io/docs/reference/scheduling/config/#scheduling-plugins
func (r *simulation) rejects(s spot, i int) (why string, removable bool) {
	if why := r.m.bars(s.c, i); why != "" {
		return why, false
	}
	for _, port := range s.p.ports {
		if r.portTaken(i, port) {
			return fmt.Sprintf("host port %d is taken there", port.port), true
		}
	}
	n := &r.m.nodes[i]
	if r.count[i]+1 > n.maxPods {
		return fmt.Sprintf("no room: it holds its %d Pods", n.maxPods), true
	}
	for k, want := range s.p.requests {
		if want > 0 && want > n.alloc.at(k)-r.load(i, k) {
			return "no room: " + r.m.shortage(k, want, n.alloc.at(k)-r.load(i, k)), want <= n.alloc.at(k)
		}
	}
	for _, pv := range s.c.needs.bound {
		if slices.Contains(pv.Spec.AccessModes, corev1.ReadWriteOncePod) && r.inUse(s.p, pv) {
			return "volume " + pv.Name + " is for one Pod, which still has it", true
		}
	}
	for _, d := range s.domains {
		if !d.admits(n.node) {
			return fmt.Sprintf("topology spread over %s (DoNotSchedule, maxSkew %d) forbids it", d.rule.key, d.rule.maxSkew), true
		}
	}
	return s.neighbours.admits(s.c, n.node)
}

func (m *model) shortage(resource int, want, free int64) string {
	name := m.names.names[resource]
	if name == corev1.ResourceCPU {
		return fmt.Sprintf("%dm cpu asked, %dm free", want, max(free, 0))
	}
	if name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage {
		return fmt.Sprintf("%d Mi %s asked, %d Mi free", want>>20, name, max(free, 0)>>20)
	}
	return fmt.Sprintf("%d %s asked, %d free", want, name, max(free, 0))
}

// bars is what stands between a class and a node whatever else runs there.
func (m *model) bars(c *class, i int) string {
	if c.known[i] {
		return c.barred[i]
	}
	c.known[i] = true
	c.barred[i] = m.barsNow(c, &m.nodes[i])
	return c.barred[i]
}

func (m *model) barsNow(c *class, n *modelNode) string {
	if n.cordoned && !toleratesCordon(c.pod.Spec.Tolerations) {
		return "cordoned"
	}
	if t := untolerated(n.taints, c.pod.Spec.Tolerations); t != nil {
		return "taint " + t.ToString() + " is not tolerated"
	}
	if ok, _ := c.affinity.Match(n.node); !ok {
		return "does not match its node selector or affinity"
	}
	return c.needs.bars(n.node)
}

func toleratesCordon(tolerations []corev1.Toleration) bool {
	t := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	return schedulinghelper.TolerationsTolerateTaint(klog.Background(), tolerations, &t, true)
}

// untolerated is the first taint that keeps a Pod from being scheduled.
func untolerated(taints []corev1.Taint, tolerations []corev1.Toleration) *corev1.Taint {
	t, found := schedulinghelper.FindMatchingUntoleratedTaint(klog.Background(), taints, tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}, true)
	if !found {
		return nil
	}
	return &t
}

func (r *simulation) load(node, k int) int64 {
	u := r.loads(node)
	if k < len(u) {
		return u[k]
	}
	return 0
}

// loads is what the Pods on a node ask for, summed up when first needed.
func (r *simulation) loads(node int) []int64 {
	if r.used[node] == nil {
		u := make(amounts, len(r.m.names.names))
		u.add(r.m.load(node), 1)
		r.used[node] = u
	}
	return r.used[node]
}

func (r *simulation) charge(node int, a amounts, sign int64) {
	u := amounts(r.loads(node))
	u.add(a, sign)
	r.used[node] = u
	r.count[node] += sign
}

// load sums up a node at the start; finished Pods ask for nothing.
func (m *model) load(node int) amounts {
	var u amounts
	for _, id := range m.byNode[node] {
		if p := &m.pods[id]; !p.finished {
			u.add(p.requests, 1)
		}
	}
	return u
}

// on visits the Pods that are on a node now.
func (r *simulation) on(node int, visit func(id int)) {
	for _, id := range r.m.byNode[node] {
		if !r.is(id, gone|finished) {
			visit(id)
		}
	}
	for _, id := range r.madeOn[node] {
		if !r.is(id, gone|finished) && r.at(id) == node {
			visit(id)
		}
	}
}

func (r *simulation) portTaken(node int, port hostPort) bool {
	taken := false
	r.on(node, func(id int) {
		for _, q := range r.pod(id).ports {
			taken = taken || q.clashes(port)
		}
	})
	return taken
}

func (r *simulation) inUse(p *modelPod, pv *corev1.PersistentVolume) bool {
	for _, id := range r.claimants(p.obj.Namespace) {
		if r.at(id) != -1 && !r.is(id, gone|finished) && slices.Contains(r.m.classOf(r.pod(id)).needs.bound, pv) {
			return true
		}
	}
	return false
}
