package drainprobe

import (
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// podFlag is what a run knows of a Pod.
type podFlag uint8

const (
	isReady podFlag = 1 << iota
	terminating
	gone
	finished
	phasePending
)

// variant is one way in which what is open could turn out. A verdict holds
// only if all of them agree on it.
type variant struct {
	// seed orders the evictions and breaks near ties between nodes; 0 takes
	// the order of the list and the best node.
	seed uint64
	// hopeful: what cannot be told from here goes well.
	hopeful bool
	// recomputed budgets start from the arithmetic instead of their status.
	recomputed bool
	// template: new Pods are as their template says, where those running differ
	// from it and it is not certain which they will be like.
	template bool
}

// simulation is one run over a model. It has the world's state as small
// copies, so that many runs share one model.
type simulation struct {
	m       *model
	v       variant
	rnd     *rand.Rand
	flags   []podFlag
	where   []int32
	used    [][]int64 // by node; nil until touched
	count   []int64   // Pods by node
	made    []modelPod
	madeOn  map[int][]int
	madeFor map[int]int // id of the Pod that each made one replaces

	balances []balance
	started  []balance
	dirty    []bool
	active   map[int]int // by owner, those touched
	jobsHit  map[int]int // Jobs' Pods told to end, by owner
	lost     map[string]*readiness
	queue    []int // without a node, in order of arrival
	stuck    map[int]string
	orphans  []int // StatefulSets with Pods to make
	unmade   []int // Pods whose replacement the API server refuses so far
	refused  map[int]string
	spent    []corev1.ResourceList // of each quota, beyond its status
	preempts bool
	gaveUp   bool
	shaky    map[string]bool // open questions that this run came across
	elapsed  elapsed
}

// readiness follows one workload's ready Pods.
type readiness struct{ before, now, least int }

// outcome is how a run ended.
type outcome struct {
	run  *simulation
	left []leftPod
}

// leftPod is a Pod that would still be on the node.
type leftPod struct {
	id     int
	why    string
	budget int // index, -1: not a budget
	after  balance
}

func (o outcome) drains() bool { return len(o.left) == 0 }

// simulate plays the drain through once.
func (m *model) simulate(v variant) outcome {
	r := m.start(v)
	r.queue = slices.Clone(m.retried())
	return r.drain()
}

// still is the world as it is, with nothing set off.
func (m *model) still() *simulation { return m.start(variant{hopeful: true}) }

func (m *model) start(v variant) *simulation {
	r := &simulation{m: m, v: v, madeOn: map[int][]int{}, madeFor: map[int]int{}, active: map[int]int{}, jobsHit: map[int]int{},
		lost: map[string]*readiness{}, stuck: map[int]string{}, shaky: map[string]bool{}, refused: map[int]string{}, spent: make([]corev1.ResourceList, len(m.quotas)),
		flags: make([]podFlag, len(m.pods)), where: make([]int32, len(m.pods)),
		used: make([][]int64, len(m.nodes)), count: make([]int64, len(m.nodes)),
		balances: make([]balance, len(m.budgets)), dirty: make([]bool, len(m.budgets))}
	if v.seed != 0 {
		r.rnd = rand.New(rand.NewPCG(v.seed, 1))
	}
	for i := range m.pods {
		p := &m.pods[i]
		r.where[i] = int32(p.node)
		f := podFlag(0)
		if p.ready && !p.terminating {
			f |= isReady
		}
		if p.terminating {
			f |= terminating
		}
		if p.finished {
			f |= finished
		}
		if p.pending {
			f |= phasePending
		}
		r.flags[i] = f
		if p.node >= 0 && !p.finished {
			r.count[p.node]++
		}
	}
	for i, b := range m.budgets {
		r.balances[i] = recorded(b.pdb)
		if v.recomputed || b.unsynced {
			r.balances[i] = r.balance(i)
		}
	}
	r.started = slices.Clone(r.balances)
	return r
}

// retried are the Pods of the start without a node whose chance a drain can
// change: by what it moves away, or by the room on the node itself.
func (m *model) retried() []int {
	if len(m.pending) <= 200 {
		return m.pending
	}
	var out []int
	for _, id := range m.pending {
		if c := m.classOf(&m.pods[id]); len(c.spread)+len(c.near)+len(c.far) > 0 {
			out = append(out, id)
		}
	}
	return out
}

func (r *simulation) pod(id int) *modelPod {
	if id < len(r.m.pods) {
		return &r.m.pods[id]
	}
	return &r.made[id-len(r.m.pods)]
}

func (r *simulation) is(id int, f podFlag) bool { return r.flags[id]&f != 0 }

func (r *simulation) at(id int) int { return int(r.where[id]) }

// eachMatching visits the Pods of a namespace that a selector matches.
func (r *simulation) eachMatching(namespace string, s labels.Selector, visit func(id int)) {
	for _, id := range r.m.matching(namespace, s) {
		visit(id)
	}
	for i := range r.made {
		if p := &r.made[i]; p.obj.Namespace == namespace && s.Matches(labels.Set(p.obj.Labels)) {
			visit(len(r.m.pods) + i)
		}
	}
}

func (r *simulation) workload(p *modelPod) *readiness {
	key := r.m.workloadName(p)
	w := r.lost[key]
	if w == nil {
		n := r.m.readyOf(p)
		w = &readiness{n, n, n}
		r.lost[key] = w
	}
	return w
}

func (m *model) workloadName(p *modelPod) string {
	if p.owner >= 0 {
		return m.owners[p.owner].name
	}
	return p.obj.Namespace + "/Pod/" + p.obj.Name
}

// readyOf counts the ready Pods of a workload at the start.
func (m *model) readyOf(p *modelPod) int {
	if p.owner < 0 {
		if p.ready && !p.terminating {
			return 1
		}
		return 0
	}
	n, name := 0, m.owners[p.owner].name
	for i := range m.owners {
		if m.owners[i].name != name {
			continue
		}
		for _, id := range m.owners[i].pods {
			if q := &m.pods[id]; q.ready && !q.terminating {
				n++
			}
		}
	}
	return n
}

// touch marks the budgets whose sync a change of this Pod sets off.
func (r *simulation) touch(p *modelPod) {
	for _, i := range r.covering(p) {
		r.dirty[i] = true
	}
}

// balance works out what the disruption controller would write now.
func (r *simulation) balance(i int) balance {
	b := r.m.budgets[i]
	var pods []*livePod
	r.eachMatching(b.pdb.Namespace, b.selector, func(id int) {
		if r.is(id, gone) {
			return
		}
		p := r.pod(id)
		l := &livePod{owner: p.owner, healthy: r.is(id, isReady) && !r.is(id, terminating)}
		if id < len(r.m.pods) {
			l.name = p.obj.Name
		}
		pods = append(pods, l)
	})
	return balanceOf(b, r.balances[i], pods, r.m.owners)
}

// settle lets controllers, scheduler and kubelets come to rest. It reports
// whether any budget allows something else now.
func (r *simulation) settle() bool {
	for again := true; again; {
		again = r.makeStateful()
		again = r.makeRefused() || again
		again = r.schedule() || again
		again = r.becomeReady() || again
	}
	moved := false
	for i := range r.dirty {
		if r.dirty[i] {
			r.dirty[i] = false
			if b := r.balance(i); b != r.balances[i] {
				r.balances[i], moved = b, true
			}
		}
	}
	return moved
}
