package drainprobe

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
)

// firstWild is the first seed whose cluster also has what is rarer: wishes,
// quotas, rollouts that hang, templates that changed, sidecars.
const firstWild = 10000

// wildness draws for a seed from firstWild on, and does nothing before, so that
// earlier seeds keep their clusters.
type wildness struct{ rnd *rand.Rand }

func wild(seed int) wildness {
	if seed < firstWild {
		return wildness{}
	}
	return wildness{rand.New(rand.NewPCG(uint64(seed), 11))}
}

func (w wildness) in(n int) bool { return w.rnd != nil && w.rnd.IntN(n) == 0 }

func (w wildness) one(list ...string) string { return list[w.rnd.IntN(len(list))] }

func (w wildness) node() (edits []func(*corev1.Node)) {
	if w.in(3) {
		edits = append(edits, label(corev1.LabelTopologyZone, w.one("x", "y")))
	}
	if w.in(6) {
		edits = append(edits, tainted("soft", corev1.TaintEffectPreferNoSchedule))
	}
	if w.in(6) {
		edits = append(edits, extra("pods", w.one("2", "3", "5")))
	}
	return edits
}

func (w wildness) pods(c *cell, apps int) (edits []podEdit) {
	other := func() string { return fmt.Sprintf("w%d", w.rnd.IntN(apps)) }
	if w.in(5) {
		edits = append(edits, prefers(w.one("disk", "zone"), w.one("ssd", "x")))
	}
	if w.in(5) {
		edits = append(edits, wishes(other(), corev1.LabelHostname, w.in(2)))
	}
	if w.in(8) {
		edits = append(edits, spreads(w.one(corev1.LabelHostname, "zone"), 1, softly))
	}
	if w.in(8) {
		edits = append(edits, spreads(corev1.LabelHostname, 1, byRevision))
	}
	if w.in(12) {
		edits = append(edits, spreads(corev1.LabelHostname, 2, minDomains(3)))
	}
	if w.in(10) {
		edits = append(edits, initAsks(w.one("200m", "1200m"), w.in(2)))
	}
	if w.in(12) {
		edits = append(edits, listensAt(w.one("10.0.0.1", "10.0.0.2"), 8000))
	}
	if w.in(14) {
		edits = append(edits, apartFrom(other(), corev1.LabelHostname))
	}
	if w.in(25) {
		edits = append(edits, pinned(c.nodeName("a")))
	}
	return edits
}

// setup are steps after the cell has settled.
func (w wildness) setup(c *cell, kinds map[string]string) (steps []string) {
	for i := range len(kinds) {
		app := fmt.Sprintf("w%d", i)
		switch kinds[app] {
		case "deploy":
			if w.in(8) {
				steps = append(steps, fmt.Sprintf(`patch Deployment %s {"spec":{"template":{"metadata":{"annotations":{"drain.test/behave":"never-ready"}}}}}`, app), "sleep 3")
			}
		case "rs", "rc":
			if w.in(3) {
				kind := map[string]string{"rs": "ReplicaSet", "rc": "ReplicationController"}[kinds[app]]
				steps = append(steps, fmt.Sprintf(`patch %s %s {"spec":{"template":{"spec":{"containers":[{"name":"c","image":"pause","resources":{"requests":{"cpu":%q}}}]}}}}`, kind, app, w.one("50m", "700m", "1500m")))
			}
		}
	}
	if w.in(5) {
		c.quota("q", "pods", "40")
		steps = append(steps, fmt.Sprintf(`patch ResourceQuota q {"spec":{"hard":{"pods":%q}}}`, w.one("2", "4", "6", "8")), "sleep 2")
	}
	return steps
}

// wishes to be near an app's Pods, or away from them.
func wishes(app, key string, away bool) podEdit {
	return func(t *corev1.PodTemplateSpec) {
		if t.Spec.Affinity == nil {
			t.Spec.Affinity = &corev1.Affinity{}
		}
		terms := []corev1.WeightedPodAffinityTerm{{Weight: 50, PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: selector(app), TopologyKey: key}}}
		if away {
			t.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms}
		} else {
			t.Spec.Affinity.PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms}
		}
	}
}

func softly(r *corev1.TopologySpreadConstraint) { r.WhenUnsatisfiable = corev1.ScheduleAnyway }
