package drainprobe

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// quota is a ResourceQuota as far as Pods use it up.
// https://kubernetes.io/docs/concepts/policy/resource-quotas/
type quota struct {
	obj  *corev1.ResourceQuota
	hard map[corev1.ResourceName]resource.Quantity
}

func (m *model) indexQuotas() {
	for _, q := range m.world.Quotas {
		hard := q.Status.Hard
		if len(hard) == 0 {
			hard = q.Spec.Hard
		}
		m.quotas = append(m.quotas, quota{q, hard})
	}
}

// limitsIn are the limit ranges' items of a namespace.
func (m *model) limitsIn(namespace string) []corev1.LimitRangeItem {
	var out []corev1.LimitRangeItem
	for _, l := range m.world.LimitRanges {
		if l.Namespace == namespace {
			out = append(out, l.Spec.Limits...)
		}
	}
	return out
}

// refusal says why the API server does not let a controller make this Pod now,
// "" if it does. A quota is told apart: it lets go when others have gone.
func (r *simulation) refusal(p *corev1.Pod) string {
	for _, g := range []string{"resourcequotas", "limitranges"} {
		if gap, ok := r.m.world.gap(g); ok && !r.shake(fmt.Sprintf("%s may refuse new Pods: %s", g, gap.Reason)) {
			return g + " were not read"
		}
	}
	if why := r.m.outsideLimits(p); why != "" {
		return why
	}
	for i, q := range r.m.quotas {
		if q.obj.Namespace != p.Namespace {
			continue
		}
		covers, known := quotaCovers(q.obj, p)
		if !known {
			if !r.shake("quota " + q.obj.Name + " has a scope that is not followed here") {
				return "quota " + q.obj.Name + " may refuse it"
			}
			continue
		}
		if !covers {
			continue
		}
		if why := q.missing(p); why != "" {
			return why
		}
		for name, want := range q.usage(p) {
			sum := want.DeepCopy()
			sum.Add(q.obj.Status.Used[name])
			if more, ok := r.spent[i][name]; ok {
				sum.Add(more)
			}
			if hard := q.hard[name]; sum.Cmp(hard) > 0 {
				return fmt.Sprintf("quota %s allows %s %s, and %s would be used", q.obj.Name, hard.String(), name, sum.String())
			}
		}
	}
	return ""
}

// spend books a Pod made, or one that has gone.
func (r *simulation) spend(p *corev1.Pod, sign int) {
	for i, q := range r.m.quotas {
		if covers, _ := quotaCovers(q.obj, p); q.obj.Namespace != p.Namespace || !covers {
			continue
		}
		if r.spent[i] == nil {
			r.spent[i] = corev1.ResourceList{}
		}
		for name, n := range q.usage(p) {
			sum := r.spent[i][name]
			if sign > 0 {
				sum.Add(n)
			} else {
				sum.Sub(n)
			}
			r.spent[i][name] = sum
		}
	}
}

// usage is what a Pod takes of each resource that the quota limits.
func (q quota) usage(p *corev1.Pod) corev1.ResourceList {
	requests := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
	limits := resourcehelper.PodLimits(p, resourcehelper.PodResourcesOptions{})
	one := *resource.NewQuantity(1, resource.DecimalSI)
	out := corev1.ResourceList{}
	for name := range q.hard {
		plain, limit := limited(name)
		n, ok := requests[plain]
		switch {
		case name == corev1.ResourcePods || name == "count/pods":
			n, ok = one, true
		case limit:
			n, ok = limits[plain]
		}
		if ok && !n.IsZero() {
			out[name] = n
		}
	}
	return out
}

// limited is the resource that a quota's entry is about, and whether it bounds
// the limits instead of the requests.
func limited(name corev1.ResourceName) (plain corev1.ResourceName, limit bool) {
	if plain, ok := strings.CutPrefix(string(name), "limits."); ok {
		return corev1.ResourceName(plain), true
	}
	return corev1.ResourceName(strings.TrimPrefix(string(name), "requests.")), false
}

// missing: a quota on cpu or memory takes only Pods that say how much they
// want, each container of them.
func (q quota) missing(p *corev1.Pod) string {
	for name := range q.hard {
		plain, limit := limited(name)
		if plain != corev1.ResourceCPU && plain != corev1.ResourceMemory {
			continue
		}
		says := func(r corev1.ResourceRequirements) bool {
			list := r.Requests
			if limit {
				list = r.Limits
			}
			_, ok := list[plain]
			return ok
		}
		if p.Spec.Resources != nil && says(*p.Spec.Resources) {
			continue
		}
		for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			if !says(c.Resources) {
				return fmt.Sprintf("quota %s takes only Pods whose containers say %s", q.obj.Name, name)
			}
		}
	}
	return ""
}

// quotaCovers says whether a Pod is in a quota's scopes, and whether they are
// known.
func quotaCovers(q *corev1.ResourceQuota, p *corev1.Pod) (covers, known bool) {
	terms := []corev1.ScopedResourceSelectorRequirement{}
	for _, s := range q.Spec.Scopes {
		terms = append(terms, corev1.ScopedResourceSelectorRequirement{ScopeName: s, Operator: corev1.ScopeSelectorOpExists})
	}
	if q.Spec.ScopeSelector != nil {
		terms = append(terms, q.Spec.ScopeSelector.MatchExpressions...)
	}
	deadline := p.Spec.ActiveDeadlineSeconds != nil
	for _, t := range terms {
		in := false
		switch t.ScopeName {
		case corev1.ResourceQuotaScopeTerminating:
			in = deadline
		case corev1.ResourceQuotaScopeNotTerminating:
			in = !deadline
		case corev1.ResourceQuotaScopeBestEffort:
			in = bestEffort(p)
		case corev1.ResourceQuotaScopeNotBestEffort:
			in = !bestEffort(p)
		case corev1.ResourceQuotaScopePriorityClass:
			class := p.Spec.PriorityClassName
			switch t.Operator {
			case corev1.ScopeSelectorOpIn:
				in = slices.Contains(t.Values, class)
			case corev1.ScopeSelectorOpNotIn:
				in = !slices.Contains(t.Values, class)
			case corev1.ScopeSelectorOpDoesNotExist:
				in = class == ""
			default:
				in = class != ""
			}
		default:
			return true, false
		}
		if !in {
			return false, true
		}
	}
	return true, true
}

func bestEffort(p *corev1.Pod) bool {
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if len(c.Resources.Requests)+len(c.Resources.Limits) > 0 {
			return false
		}
	}
	return p.Spec.Resources == nil
}

// quotas reads what may refuse replacements.
func (g *gatherer) quotas(scope []string) error {
	for _, ns := range scope {
		q, err := g.client.CoreV1().ResourceQuotas(ns).List(g.ctx, metav1.ListOptions{})
		if err == nil {
			g.w.Quotas = pointers(g.w.Quotas, q.Items)
		} else if err := g.may(err, "resourcequotas"); err != nil {
			return err
		}
		l, err := g.client.CoreV1().LimitRanges(ns).List(g.ctx, metav1.ListOptions{})
		if err == nil {
			g.w.LimitRanges = pointers(g.w.LimitRanges, l.Items)
		} else if err := g.may(err, "limitranges"); err != nil {
			return err
		}
	}
	return nil
}
