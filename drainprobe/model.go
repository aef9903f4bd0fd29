package drainprobe

import (
	"cmp"
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// model is a World made ready for simulation: looked up once, read by every
// run, never changed by one.
type model struct {
	world *World
	opts  Options
	names *resourceNames

	nodes   []modelNode
	drained int // index of the node to drain
	only    map[string]bool
	pods    []modelPod
	byNS    map[string][]int
	byNode  [][]int
	owners  []*owner
	budgets []*budget
	quotas  []quota
	pending []int          // Pods without a node at the start
	targets []int          // Pods that the drain has to move
	anti    []int          // Pods that keep others away from their node
	wishers map[string]int // by revision, a Pod with wishes about others

	namespaces map[string]*corev1.Namespace
	classes    map[string]*class
	matches    map[matchKey][]int
	byLabel    map[[2]string]map[string][]int // by namespace and key, then value
	volumes    *volumeIndex
	byUID      map[types.UID]int // index of each Pod
	byName     map[string]int    // index of each node
	newborns   map[int]*newborn
	values     map[string]labelValues
}

type modelNode struct {
	node     *corev1.Node
	alloc    amounts
	maxPods  int64
	ready    bool
	cordoned bool
	taints   []corev1.Taint
}

// modelPod is a Pod of the start, or one made during a run.
type modelPod struct {
	obj      *corev1.Pod
	node     int // -1: none
	owner    int // index, -1: none
	priority int32
	requests amounts
	ports    []hostPort
	class    *class

	ready       bool
	finished    bool // Succeeded or Failed
	pending     bool // phase Pending: evictions ask no budget
	terminating bool
}

type matchKey struct{ namespace, selector string }

// newModel indexes the world for a drain of one node. The node is cordoned in
// it, as drain does first.
func newModel(w *World, node string, opts Options) *model {
	return newModelOf(w, node, opts, nil)
}

// newModelOf is newModel with the budgets of these namespaces alone.
func newModelOf(w *World, node string, opts Options, only map[string]bool) *model {
	m := &model{world: w, opts: opts, only: only, names: newResourceNames(), drained: -1,
		byNS: map[string][]int{}, namespaces: map[string]*corev1.Namespace{}, classes: map[string]*class{},
		matches: map[matchKey][]int{}, byLabel: map[[2]string]map[string][]int{}, byUID: make(map[types.UID]int, len(w.Pods)), newborns: map[int]*newborn{}, wishers: map[string]int{}, values: map[string]labelValues{}}
	for _, ns := range w.Namespaces {
		m.namespaces[ns.Name] = ns
	}
	m.volumes = indexVolumes(w)
	m.indexQuotas()
	index := map[string]int{}
	for i, n := range w.Nodes {
		index[n.Name] = i
		mn := modelNode{node: n, ready: nodeReady(n), cordoned: n.Spec.Unschedulable, taints: n.Spec.Taints,
			alloc: m.names.amounts(n.Status.Allocatable), maxPods: n.Status.Allocatable.Pods().Value()}
		if n.Name == node {
			m.drained, mn.cordoned = i, true
		}
		// The node lifecycle controller taints what is cordoned.
		if mn.cordoned && !hasTaint(mn.taints, cordonTaint) {
			mn.taints = append(mn.taints[:len(mn.taints):len(mn.taints)], corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
		}
		m.nodes = append(m.nodes, mn)
	}
	m.byNode = make([][]int, len(m.nodes))
	m.byName = index
	m.indexPods(index)
	m.indexBudgets()
	return m
}

func hasTaint(taints []corev1.Taint, is func(corev1.Taint) bool) bool {
	for _, t := range taints {
		if is(t) {
			return true
		}
	}
	return false
}

func (m *model) indexPods(nodes map[string]int) {
	owners := indexOwners(m.world)
	byOwner := map[types.UID]int{}
	twins := map[string]int{} // by revision
	m.pods = make([]modelPod, 0, len(m.world.Pods)+64)
	for _, p := range m.world.Pods {
		id := len(m.pods)
		mp := modelPod{obj: p, node: -1, owner: -1,
			ready:       podReady(p),
			finished:    p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
			pending:     p.Status.Phase == corev1.PodPending,
			terminating: p.DeletionTimestamp != nil,
		}
		if p.Spec.Priority != nil {
			mp.priority = *p.Spec.Priority
		}
		if i, ok := nodes[p.Spec.NodeName]; ok && p.Spec.NodeName != "" {
			mp.node = i
			m.byNode[i] = append(m.byNode[i], id)
		}
		rev := revisionKey(p)
		if rev == "" || resizing(p) {
			mp.requests = m.names.requestsOf(p)
		} else if twin, ok := twins[rev]; ok && sameAsks(&m.pods[twin].obj.Spec, &p.Spec) {
			mp.requests = m.pods[twin].requests
		} else {
			mp.requests = m.names.requestsOf(p)
			twins[rev] = id
		}
		mp.ports = hostPorts(p)
		if ref := controllerUID(p); ref != "" {
			i, ok := byOwner[ref]
			if !ok {
				i = len(m.owners)
				byOwner[ref] = i
				m.owners = append(m.owners, owners.of(p))
			}
			mp.owner = i
			m.owners[i].pods = append(m.owners[i].pods, id)
		}
		if p.Spec.Affinity != nil && p.Spec.Affinity.PodAntiAffinity != nil &&
			len(p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 && mp.node >= 0 && !mp.finished {
			m.anti = append(m.anti, id)
		}
		if a := p.Spec.Affinity; a != nil && mp.node >= 0 && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
			m.wishers[cmp.Or(rev, string(p.UID))] = id
		}
		if p.Spec.NodeName == "" && !mp.finished && !mp.terminating {
			m.pending = append(m.pending, id)
		}
		m.byUID[p.UID] = id
		m.byNS[p.Namespace] = append(m.byNS[p.Namespace], id)
		m.pods = append(m.pods, mp)
	}
}

func controllerUID(p *corev1.Pod) types.UID {
	for i := range p.OwnerReferences {
		if r := &p.OwnerReferences[i]; r.Controller != nil && *r.Controller {
			return r.UID
		}
	}
	return ""
}

// matching lists the Pods of the start in a namespace that a selector matches.
func (m *model) matching(namespace string, s labels.Selector) []int {
	key := matchKey{namespace, s.String()}
	if ids, ok := m.matches[key]; ok {
		return ids
	}
	var ids []int
	for _, id := range m.candidates(namespace, s) {
		if s.Matches(labels.Set(m.pods[id].obj.Labels)) {
			ids = append(ids, id)
		}
	}
	m.matches[key] = ids
	return ids
}

// candidates are the Pods of the start in a namespace that a selector can match:
// those with the one value that it asks for, if it does.
func (m *model) candidates(namespace string, s labels.Selector) []int {
	requirements, _ := s.Requirements()
	for _, r := range requirements {
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			if values := r.ValuesUnsorted(); len(values) == 1 {
				return m.labelled(namespace, r.Key())[values[0]]
			}
		}
	}
	return m.byNS[namespace]
}

// labelled lists a namespace's Pods of the start by their value of a label.
func (m *model) labelled(namespace, key string) map[string][]int {
	at := [2]string{namespace, key}
	byValue, ok := m.byLabel[at]
	if !ok {
		byValue = map[string][]int{}
		for _, id := range m.byNS[namespace] {
			if v, has := m.pods[id].obj.Labels[key]; has {
				byValue[v] = append(byValue[v], id)
			}
		}
		m.byLabel[at] = byValue
	}
	return byValue
}

// class is what decides where a Pod may run. Pods of one template share it.
type class struct {
	pod      *corev1.Pod
	affinity nodeaffinity.RequiredNodeAffinity
	spread   []spreadRule
	near     []podTerm // required affinity
	far      []podTerm // required anti-affinity
	// barred is why a node can never take the Pod, "" when it can; filled when
	// first asked for. known marks what was filled.
	barred []string
	known  []bool
	// avoids are Pods of the start whose own anti-affinity matches this class.
	avoids     []avoidance
	avoidsDone bool
	needs      claimNeeds
	wish       wish
	// open is why its placement cannot be told from here.
	open string
}

type avoidance struct {
	pod  int
	term podTerm
}

func (m *model) classOf(p *modelPod) *class {
	if p.class != nil {
		return p.class
	}
	key := revisionKey(p.obj)
	if key == "" || len(p.obj.Spec.Volumes) > 0 {
		// Claims differ from Pod to Pod of a StatefulSet.
		key = p.obj.Namespace + "/" + p.obj.Name + "/" + string(p.obj.UID)
	}
	c := m.classes[key]
	if c == nil {
		c = m.newClass(p.obj)
		m.classes[key] = c
	}
	p.class = c
	return c
}

func (m *model) newClass(p *corev1.Pod) *class {
	c := &class{pod: p, affinity: nodeaffinity.GetRequiredNodeAffinity(p),
		barred: make([]string, len(m.nodes)), known: make([]bool, len(m.nodes))}
	c.spread = spreadRules(p)
	c.wish = m.wishOf(p)
	if a := p.Spec.Affinity; a != nil {
		if a.PodAffinity != nil {
			c.near = m.podTerms(p, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
		if a.PodAntiAffinity != nil {
			c.far = m.podTerms(p, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
	}
	c.needs = m.volumes.needs(p)
	switch {
	case p.Spec.SchedulerName != "" && p.Spec.SchedulerName != corev1.DefaultSchedulerName:
		c.open = "its scheduler " + p.Spec.SchedulerName + " has rules of its own"
	case len(p.Spec.ResourceClaims) > 0:
		c.open = "it claims devices (resourceClaims), which is not followed"
	case slices.ContainsFunc(slices.Concat(c.near, c.far), func(t podTerm) bool { return t.open }):
		c.open = unknownNamespaces
	case c.needs.open != "":
		c.open = c.needs.open
	}
	return c
}

// byImportance sorts Pods as the scheduler's queue does: priority first, then
// the order in which they came.
func byImportance(ids []int, pod func(int) *modelPod) {
	sort.SliceStable(ids, func(i, j int) bool {
		a, b := pod(ids[i]), pod(ids[j])
		if a.priority != b.priority {
			return a.priority > b.priority
		}
		return ids[i] < ids[j]
	})
}
