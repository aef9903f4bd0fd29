package drainprobe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// podTerm is one required Pod (anti-)affinity term.
// https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
type podTerm struct {
	key        string
	selector   labels.Selector
	namespaces []string
	// open are namespaces that it covers or not: their labels are not known.
	open bool
}

func (m *model) podTerms(p *corev1.Pod, terms []corev1.PodAffinityTerm) []podTerm {
	var out []podTerm
	for _, t := range terms {
		s, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		if err != nil {
			continue
		}
		s = withKeys(s, t.MatchLabelKeys, p.Labels, false)
		s = withKeys(s, t.MismatchLabelKeys, p.Labels, true)
		pt := podTerm{key: t.TopologyKey, selector: s, namespaces: slices.Clone(t.Namespaces)}
		if t.NamespaceSelector != nil {
			if ns, err := metav1.LabelSelectorAsSelector(t.NamespaceSelector); err == nil {
				for name := range m.byNS { // those that hold Pods
					n := m.namespaces[name]
					switch {
					case n == nil && !ns.Empty():
						pt.namespaces, pt.open = append(pt.namespaces, name), true
					case n == nil || ns.Matches(labels.Set(n.Labels)):
						pt.namespaces = append(pt.namespaces, name)
					}
				}
			}
		} else if len(pt.namespaces) == 0 {
			pt.namespaces = []string{p.Namespace}
		}
		out = append(out, pt)
	}
	return out
}

func (t podTerm) covers(p *corev1.Pod) bool {
	return slices.Contains(t.namespaces, p.Namespace) && t.selector.Matches(labels.Set(p.Labels))
}

// occupied lists the topology values of the nodes that hold a Pod the term
// covers. Ending Pods count until they are gone.
func (r *simulation) occupied(t podTerm) map[string]bool {
	out := map[string]bool{}
	for _, ns := range t.namespaces {
		r.eachMatching(ns, t.selector, func(id int) {
			if n := r.at(id); n >= 0 && !r.is(id, gone|finished) {
				if v, ok := r.m.nodes[n].node.Labels[t.key]; ok {
					out[v] = true
				}
			}
		})
	}
	return out
}

// neighbours is what other Pods mean for placing one Pod, worked out once.
type neighbours struct {
	far  []map[string]bool // by class.far
	near []map[string]bool // by class.near
	// alone: no Pod anywhere satisfies the affinity, and the Pod itself does.
	alone bool
	// avoided topology values, by key, that other Pods' anti-affinity closes.
	avoided map[string]map[string]bool
}

func (r *simulation) neighboursOf(c *class) neighbours {
	n := neighbours{avoided: map[string]map[string]bool{}}
	for _, t := range c.far {
		n.far = append(n.far, r.occupied(t))
	}
	if len(c.near) > 0 {
		any, self := false, true
		for _, t := range c.near {
			set := r.occupied(t)
			any = any || len(set) > 0
			self = self && t.covers(c.pod)
			n.near = append(n.near, set)
		}
		n.alone = !any && self
	}
	avoid := func(id int, key string) {
		if at := r.at(id); at >= 0 && !r.is(id, gone|finished) {
			if v, ok := r.m.nodes[at].node.Labels[key]; ok {
				if n.avoided[key] == nil {
					n.avoided[key] = map[string]bool{}
				}
				n.avoided[key][v] = true
			}
		}
	}
	for _, a := range r.m.avoidsOf(c) {
		if !r.spared(a.term) {
			avoid(a.pod, a.term.key)
		}
	}
	for i := range r.made {
		other := &r.made[i]
		for _, t := range r.m.classOf(other).far {
			if t.covers(c.pod) && !r.spared(t) {
				avoid(len(r.m.pods)+i, t.key)
			}
		}
	}
	return n
}

// unknownNamespaces is the question that an open term raises.
const unknownNamespaces = "a Pod (anti-)affinity selects namespaces by labels that were not read"

// spared: another Pod's anti-affinity may not mean this one.
func (r *simulation) spared(t podTerm) bool { return t.open && r.shake(unknownNamespaces) }

// avoidsOf lists the Pods of the start that keep this class away.
func (m *model) avoidsOf(c *class) []avoidance {
	if !c.avoidsDone {
		c.avoidsDone = true
		for _, id := range m.anti {
			for _, t := range m.classOf(&m.pods[id]).far {
				if t.covers(c.pod) {
					c.avoids = append(c.avoids, avoidance{id, t})
				}
			}
		}
	}
	return c.avoids
}

// admits says why a node does not suit the neighbours, "" if it does, and
// whether removing Pods could change that.
func (n neighbours) admits(c *class, node *corev1.Node) (why string, removable bool) {
	for i, t := range c.near {
		v, ok := node.Labels[t.key]
		if !ok || !n.near[i][v] && !n.alone {
			return "no Pod there that its affinity asks for", false
		}
	}
	for i, t := range c.far {
		if v, ok := node.Labels[t.key]; ok && n.far[i][v] {
			return "a Pod there that its anti-affinity forbids", true
		}
	}
	for key, values := range n.avoided {
		if v, ok := node.Labels[key]; ok && values[v] {
			return "a Pod there whose anti-affinity forbids it", true
		}
	}
	return "", true
}
