package drainprobe

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// spreadRule is a topology spread constraint that forbids (DoNotSchedule).
// https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/
type spreadRule struct {
	key        string
	maxSkew    int
	minDomains int
	selector   labels.Selector
	self       bool // the Pod counts itself
	byAffinity bool // nodes outside the Pod's node affinity are no domains
	byTaints   bool // nor are those whose taints it does not tolerate
}

func spreadRules(p *corev1.Pod) []spreadRule {
	var out []spreadRule
	for _, c := range p.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		s, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil {
			continue
		}
		s = withKeys(s, c.MatchLabelKeys, p.Labels, false)
		r := spreadRule{key: c.TopologyKey, maxSkew: int(c.MaxSkew), minDomains: 1, selector: s,
			self: s.Matches(labels.Set(p.Labels)), byAffinity: true}
		if c.MinDomains != nil {
			r.minDomains = int(*c.MinDomains)
		}
		if c.NodeAffinityPolicy != nil {
			r.byAffinity = *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor
		}
		if c.NodeTaintsPolicy != nil {
			r.byTaints = *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
		}
		out = append(out, r)
	}
	return out
}

// withKeys narrows a selector to Pods that share (or differ in) these labels.
func withKeys(s labels.Selector, keys []string, own map[string]string, differ bool) labels.Selector {
	reqs, selectable := s.Requirements()
	if !selectable || len(keys) == 0 {
		return s
	}
	out := labels.NewSelector().Add(reqs...)
	for _, k := range keys {
		if v, ok := own[k]; ok {
			op := "="
			if differ {
				op = "!="
			}
			if more, err := labels.ParseToRequirements(k + op + v); err == nil {
				out = out.Add(more...)
			}
		}
	}
	return out
}

// domains counts, for one rule and one Pod to place, the matching Pods of each
// topology value.
type domains struct {
	rule  spreadRule
	count map[string]int
	least int
}

func (r *simulation) domainsOf(c *class, rule spreadRule) domains {
	d := domains{rule: rule, count: map[string]int{}}
	m := r.m
	counted := make([]bool, len(m.nodes))
	for i := range m.nodes {
		n := &m.nodes[i]
		value, ok := n.node.Labels[rule.key]
		if !ok || !hasSpreadKeys(c.spread, n.node.Labels) || !r.counts(c, rule, i) {
			continue
		}
		counted[i] = true
		if _, ok := d.count[value]; !ok {
			d.count[value] = 0
		}
	}
	if !rule.selector.Empty() {
		r.eachMatching(c.pod.Namespace, rule.selector, func(id int) {
			if n := r.at(id); n >= 0 && counted[n] && !r.is(id, gone|terminating) {
				d.count[m.nodes[n].node.Labels[rule.key]]++
			}
		})
	}
	if len(d.count) >= rule.minDomains {
		first := true
		for _, n := range d.count {
			if first || n < d.least {
				d.least, first = n, false
			}
		}
	}
	return d
}

func hasSpreadKeys(rules []spreadRule, have map[string]string) bool {
	for _, r := range rules {
		if _, ok := have[r.key]; !ok {
			return false
		}
	}
	return true
}

// counts says whether node i is a domain for the rule.
func (r *simulation) counts(c *class, rule spreadRule, i int) bool {
	n := &r.m.nodes[i]
	if rule.byAffinity {
		if ok, _ := c.affinity.Match(n.node); !ok {
			return false
		}
	}
	return !rule.byTaints || untolerated(n.taints, c.pod.Spec.Tolerations) == nil
}

func (d domains) admits(n *corev1.Node) bool {
	value, ok := n.Labels[d.rule.key]
	if !ok {
		return false
	}
	self := 0
	if d.rule.self {
		self = 1
	}
	return d.count[value]+self-d.least <= d.rule.maxSkew
}
