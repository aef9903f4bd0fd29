package drainprobe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

// best picks the node that the default scheduler would, about: the emptiest,
// and away from Pods of the same owner. Runs with a seed also pick others that
// score nearly as well, since the real scores have more parts.
func (r *simulation) best(fit []int, p *modelPod) int {
	score := make([]float64, len(fit))
	top := -1.0
	same := map[int]float64{}
	most := 0.0
	if p.owner >= 0 {
		for _, id := range r.podsOf(p.owner) {
			if n := r.at(id); n >= 0 && !r.is(id, gone|terminating) {
				same[n]++
				most = max(most, same[n])
			}
		}
	}
	for k, i := range fit {
		score[k] = r.leastAllocated(i, p)
		if most > 0 {
			score[k] += 2 * 100 * (1 - same[i]/(most+1))
		}
		score[k] -= 30 * float64(preferNot(r.m.nodes[i].taints, p.obj.Spec.Tolerations))
		top = max(top, score[k])
	}
	if r.rnd == nil {
		return fit[slices.Index(score, top)]
	}
	var near []int
	for k := range fit {
		if score[k] >= top-25 {
			near = append(near, fit[k])
		}
	}
	return near[r.rnd.IntN(len(near))]
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

func preferNot(taints []corev1.Taint, tolerations []corev1.Toleration) int {
	n := 0
	for i := range taints {
		if taints[i].Effect == corev1.TaintEffectPreferNoSchedule && !schedulinghelper.TolerationsTolerateTaint(klog.Background(), tolerations, &taints[i], true) {
			n++
		}
	}
	return n
}
