package drainprobe

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// wish is what a Pod would rather have, as the scheduler scores it.
type wish struct {
	nodes  *nodeaffinity.PreferredSchedulingTerms
	pods   []weighed
	spread []softSpread
	sought bool // Pods of other kinds would have it near or away
	byKind bool // no spread of its own: the scheduler's default applies
}

type weighed struct {
	podTerm
	weight float64
}

// softSpread is a topology spread constraint that only counts for the score.
type softSpread struct {
	key      string
	maxSkew  float64
	selector labels.Selector // nil: Pods of the same controller
}

// defaultSpread is what the scheduler wishes for Pods without constraints.
// https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#internal-default-constraints
var defaultSpread = []softSpread{{key: corev1.LabelHostname, maxSkew: 3}, {key: corev1.LabelTopologyZone, maxSkew: 5}}

func (m *model) wishOf(p *corev1.Pod) wish {
	w := wish{byKind: len(p.Spec.TopologySpreadConstraints) == 0, pods: m.wishedPods(p)}
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil && len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
		w.nodes, _ = nodeaffinity.NewPreferredSchedulingTerms(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	for rev, id := range m.wishers {
		w.sought = w.sought || rev != revisionKey(p) && slices.ContainsFunc(m.wishedPods(m.pods[id].obj), func(t weighed) bool { return t.covers(p) })
	}
	for _, c := range p.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != corev1.ScheduleAnyway {
			continue
		}
		if s, err := metav1.LabelSelectorAsSelector(c.LabelSelector); err == nil {
			w.spread = append(w.spread, softSpread{c.TopologyKey, float64(c.MaxSkew), withKeys(s, c.MatchLabelKeys, p.Labels, false)})
		}
	}
	return w
}

// wishedPods are the Pods that a Pod would rather have near, or away.
func (m *model) wishedPods(p *corev1.Pod) (out []weighed) {
	add := func(terms []corev1.WeightedPodAffinityTerm, sign float64) {
		for _, t := range terms {
			for _, pt := range m.podTerms(p, []corev1.PodAffinityTerm{t.PodAffinityTerm}) {
				out = append(out, weighed{pt, sign * float64(t.Weight)})
			}
		}
	}
	if a := p.Spec.Affinity; a != nil && a.PodAffinity != nil {
		add(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, 1)
	}
	if a := p.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		add(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, -1)
	}
	return out
}

// best picks the node that the default scheduler would, about: its plugins with
// their weights, those for images and for other Pods' wishes left out. Runs
// with a seed also pick others that score nearly as well.
// https://kubernetes.io/docs/reference/scheduling/config/#scheduling-plugins
func (r *simulation) best(fit []int, p *modelPod) int {
	score := make([]float64, len(fit))
	for k, i := range fit {
		score[k] = r.leastAllocated(i, p) + r.balanced(i, p)
	}
	w := r.m.classOf(p).wish
	tolerated := func(i int) float64 { return -float64(preferNot(r.m.nodes[i].taints, p.obj.Spec.Tolerations)) }
	if slices.ContainsFunc(fit, func(i int) bool { return tolerated(i) < 0 }) {
		addScore(score, fit, 3, 0, tolerated)
	}
	if w.nodes != nil {
		addScore(score, fit, 2, 0, func(i int) float64 { return float64(w.nodes.Score(r.m.nodes[i].node)) })
	}
	if len(w.pods) > 0 {
		addScore(score, fit, 2, math.Inf(1), r.company(w.pods))
	}
	spread := w.spread
	if w.byKind && p.owner >= 0 && r.m.owners[p.owner].kind != ownerJob {
		spread = defaultSpread
	}
	if len(spread) > 0 {
		r.addSpread(score, fit, p, spread)
	}
	top := slices.Max(score)
	if r.rnd == nil {
		return fit[slices.Index(score, top)]
	}
	var near []int
	for k := range fit {
		if score[k] >= top-25 || w.sought {
			near = append(near, fit[k])
		}
	}
	return near[r.rnd.IntN(len(near))]
}

// addScore adds a plugin's points times its weight, stretched so that they go
// from 0 to 100; zero too unless told otherwise.
func addScore(score []float64, fit []int, weight, zero float64, points func(node int) float64) {
	low, high := zero, -zero
	got := make([]float64, len(fit))
	for k, i := range fit {
		got[k] = points(i)
		low, high = min(low, got[k]), max(high, got[k])
	}
	if high == low {
		return
	}
	for k := range got {
		score[k] += weight * 100 * (got[k] - low) / (high - low)
	}
}

// company counts, by topology, the Pods that a Pod would like to be near or
// away from.
func (r *simulation) company(terms []weighed) func(node int) float64 {
	sums := make([]map[string]float64, len(terms))
	for k, t := range terms {
		sums[k] = map[string]float64{}
		for _, ns := range t.namespaces {
			r.eachMatching(ns, t.selector, func(id int) {
				if n := r.at(id); n >= 0 && !r.is(id, gone|finished) {
					if v, ok := r.m.nodes[n].node.Labels[t.key]; ok {
						sums[k][v] += t.weight
					}
				}
			})
		}
	}
	return func(i int) (total float64) {
		for k, t := range terms {
			if v, ok := r.m.nodes[i].node.Labels[t.key]; ok {
				total += sums[k][v]
			}
		}
		return total
	}
}

// addSpread scores how evenly a Pod's kind would be spread.
func (r *simulation) addSpread(score []float64, fit []int, p *modelPod, spread []softSpread) {
	bad := make([]float64, len(fit))
	for _, s := range spread {
		value, values := r.m.valuesOf(s.key)
		count, seen := make([]float64, values), make([]bool, values)
		domains := 0
		for _, i := range fit {
			if v := value[i]; v >= 0 && !seen[v] {
				seen[v] = true
				domains++
			}
		}
		note := func(id int) {
			if n := r.at(id); n >= 0 && value[n] >= 0 && !r.is(id, gone|terminating) {
				count[value[n]]++
			}
		}
		if s.selector != nil {
			r.eachMatching(p.obj.Namespace, s.selector, note)
		} else {
			for _, id := range r.podsOf(p.owner) {
				note(id)
			}
		}
		weight := math.Log(float64(domains + 2))
		for k, i := range fit {
			if v := value[i]; v >= 0 {
				bad[k] += count[v]*weight + s.maxSkew - 1
			}
		}
	}
	high, low := slices.Max(bad), slices.Min(bad)
	if high == 0 {
		return
	}
	for k := range bad {
		score[k] += 2 * 100 * (high + low - bad[k]) / high
	}
}

// valuesOf numbers the values of a node label: by node, -1 where it has none.
func (m *model) valuesOf(key string) (byNode []int, values int) {
	if v, ok := m.values[key]; ok {
		return v.byNode, v.count
	}
	index := map[string]int{}
	for i := range m.nodes {
		v, ok := m.nodes[i].node.Labels[key]
		if !ok {
			byNode = append(byNode, -1)
			continue
		}
		n, known := index[v]
		if !known {
			n = len(index)
			index[v] = n
		}
		byNode = append(byNode, n)
	}
	m.values[key] = labelValues{byNode, len(index)}
	return byNode, len(index)
}

type labelValues struct {
	byNode []int
	count  int
}

func (r *simulation) leastAllocated(i int, p *modelPod) float64 {
	total := 0.0
	for k := range 2 { // cpu and memory
		if have := r.m.nodes[i].alloc.at(k); have > 0 {
			total += 50 * float64(max(0, have-r.load(i, k)-p.requests.at(k))) / float64(have)
		}
	}
	return total
}

// balanced prefers nodes whose cpu and memory fill up alike.
func (r *simulation) balanced(i int, p *modelPod) float64 {
	var part [2]float64
	for k := range part {
		if have := r.m.nodes[i].alloc.at(k); have > 0 {
			part[k] = min(1, float64(r.load(i, k)+p.requests.at(k))/float64(have))
		}
	}
	return 100 * (1 - math.Abs(part[0]-part[1])/2)
}

func preferNot(taints []corev1.Taint, tolerations []corev1.Toleration) int {
	n := 0
	for i := range taints {
		if taints[i].Effect == corev1.TaintEffectPreferNoSchedule && !schedulinghelper.TolerationsTolerateTaint(klog.Background(), tolerations, &taints[i], true) {
			n++
		}
	}
	return n
}
