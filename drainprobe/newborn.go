package drainprobe

import (
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newborn is the Pod that a controller would make of its template now, in
// place of one that differs from it: resized in place, made of an earlier
// template, or changed on its way in by whatever admits Pods.
type newborn struct {
	pod   *corev1.Pod
	class *class
	// certain: nothing known changes new Pods, and the two differ in what their
	// containers ask for alone. Otherwise a new Pod may be like either.
	certain bool
}

// newbornOf compares a Pod of the start with its controller's template, once.
// Nil: a new one is like the old.
func (m *model) newbornOf(id int) *newborn {
	if id >= len(m.pods) {
		return nil
	}
	if n, ok := m.newborns[id]; ok {
		return n
	}
	n := m.compareTemplate(&m.pods[id])
	m.newborns[id] = n
	return n
}

func (m *model) compareTemplate(old *modelPod) *newborn {
	if old.owner < 0 {
		return nil
	}
	o := m.owners[old.owner]
	if o.template == nil || len(o.template.Spec.Containers) == 0 {
		return nil
	}
	pod := m.fromTemplate(o, old.obj)
	like := sameAsks(&pod.Spec, &old.obj.Spec)
	placed := samePlacement(pod, old.obj)
	if like && placed {
		return nil
	}
	n := &newborn{pod: pod, class: m.newClass(pod)}
	n.certain = placed && !o.revisions && sameContainers(&pod.Spec, &old.obj.Spec) && m.world.admissionRead && !m.world.changesPods()
	return n
}

// fromTemplate makes a Pod as its controller and the API server's defaults do.
func (m *model) fromTemplate(o *owner, old *corev1.Pod) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: old.ObjectMeta, Spec: *o.template.Spec.DeepCopy()}
	p.Labels = maps.Clone(o.template.Labels)
	if p.Labels == nil {
		p.Labels = map[string]string{}
	}
	for k, v := range old.Labels { // those that controllers add
		if prefix, _, _ := strings.Cut(k, "/"); strings.HasSuffix(prefix, "kubernetes.io") || k == "controller-revision-hash" || k == "controller-uid" || k == "job-name" {
			p.Labels[k] = v
		}
	}
	s := &p.Spec
	s.NodeName = ""
	s.Priority, s.PreemptionPolicy, s.Overhead = old.Spec.Priority, old.Spec.PreemptionPolicy, old.Spec.Overhead
	if o.kind == ownerStateful {
		s.Volumes = old.Spec.Volumes
	}
	for _, t := range old.Spec.Tolerations {
		if addedToleration(t) && !slices.ContainsFunc(s.Tolerations, func(have corev1.Toleration) bool { return have.Key == t.Key }) {
			s.Tolerations = append(s.Tolerations, t)
		}
	}
	if s.SchedulerName == "" {
		s.SchedulerName = old.Spec.SchedulerName
	}
	for _, list := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range list {
			m.defaults(p.Namespace, &list[i], s.HostNetwork)
		}
	}
	return p
}

// defaults fills in what the API server does for a container: requests from
// limits, host ports on the host's network, and the namespace's limit ranges.
func (m *model) defaults(namespace string, c *corev1.Container, hostNetwork bool) {
	r := &c.Resources
	fill := func(list *corev1.ResourceList, from corev1.ResourceList) {
		for k, v := range from {
			if _, ok := (*list)[k]; !ok {
				if *list == nil {
					*list = corev1.ResourceList{}
				}
				(*list)[k] = v
			}
		}
	}
	fill(&r.Requests, r.Limits)
	for _, l := range m.limitsIn(namespace) {
		if l.Type == corev1.LimitTypeContainer {
			fill(&r.Requests, l.DefaultRequest)
			fill(&r.Limits, l.Default)
		}
	}
	for i := range c.Ports {
		if p := &c.Ports[i]; hostNetwork && p.HostPort == 0 {
			p.HostPort = p.ContainerPort
		}
	}
}

// addedToleration is one that the API server gives every Pod.
func addedToleration(t corev1.Toleration) bool {
	return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable || t.Key == corev1.TaintNodeMemoryPressure
}

// sameAsks compares what the containers ask for, theirs by place.
func sameAsks(a, b *corev1.PodSpec) bool {
	same := func(x, y []corev1.Container) bool {
		if len(x) != len(y) {
			return false
		}
		if len(x) > 0 && &x[0] == &y[0] {
			return true
		}
		for i := range x {
			if !sameAmounts(x[i].Resources.Requests, y[i].Resources.Requests) {
				return false
			}
		}
		return true
	}
	if !same(a.Containers, b.Containers) || !same(a.InitContainers, b.InitContainers) {
		return false
	}
	if a.Resources == nil || b.Resources == nil {
		return a.Resources == b.Resources
	}
	return sameAmounts(a.Resources.Requests, b.Resources.Requests)
}

func sameAmounts(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for k, x := range a {
		if y, ok := b[k]; !ok || x.Cmp(y) != 0 {
			return false
		}
	}
	return true
}

func sameContainers(a, b *corev1.PodSpec) bool {
	same := func(x, y corev1.Container) bool { return x.Name == y.Name }
	return slices.EqualFunc(a.Containers, b.Containers, same) && slices.EqualFunc(a.InitContainers, b.InitContainers, same)
}

// samePlacement compares what else decides where two Pods may run.
func samePlacement(a, b *corev1.Pod) bool {
	s, t := &a.Spec, &b.Spec
	lasting := func(list []corev1.Toleration) []corev1.Toleration {
		return slices.DeleteFunc(slices.Clone(list), addedToleration)
	}
	return maps.Equal(a.Labels, b.Labels) && maps.Equal(s.NodeSelector, t.NodeSelector) && s.SchedulerName == t.SchedulerName &&
		equality.Semantic.DeepEqual(s.Affinity, t.Affinity) &&
		equality.Semantic.DeepEqual(unmerged(s.TopologySpreadConstraints), unmerged(t.TopologySpreadConstraints)) &&
		equality.Semantic.DeepEqual(lasting(s.Tolerations), lasting(t.Tolerations)) &&
		slices.Equal(hostPorts(a), hostPorts(b)) && slices.Equal(claimNames(a), claimNames(b))
}

// unmerged drops the expressions that the API server adds to a new Pod's
// selectors for matchLabelKeys (from 1.34 on).
func unmerged(list []corev1.TopologySpreadConstraint) []corev1.TopologySpreadConstraint {
	out := slices.Clone(list)
	for i, c := range out {
		if len(c.MatchLabelKeys) == 0 || c.LabelSelector == nil {
			continue
		}
		s := *c.LabelSelector
		s.MatchExpressions = slices.DeleteFunc(slices.Clone(s.MatchExpressions), func(r metav1.LabelSelectorRequirement) bool {
			return r.Operator == metav1.LabelSelectorOpIn && len(r.Values) == 1 && slices.Contains(c.MatchLabelKeys, r.Key)
		})
		out[i].LabelSelector = &s
	}
	return out
}

func claimNames(p *corev1.Pod) []string {
	var out []string
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		}
	}
	return out
}

// changesPods: some webhook is asked about new Pods and may change them.
func (w *World) changesPods() bool {
	made := request{operation: admissionv1.Create}
	return slices.ContainsFunc(w.MutatingWebhooks, func(c *admissionv1.MutatingWebhookConfiguration) bool {
		return slices.ContainsFunc(c.Webhooks, func(h admissionv1.MutatingWebhook) bool {
			return slices.ContainsFunc(h.Rules, made.matches)
		})
	})
}

// severalRevisions: a Pod of the set may come back from its template or from
// an earlier one.
func severalRevisions(s *appsv1.StatefulSet) bool {
	return s.Status.UpdateRevision != s.Status.CurrentRevision && s.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType
}
