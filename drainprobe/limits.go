package drainprobe

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// outsideLimits says which limit range refuses a Pod, "" if none does.
// https://kubernetes.io/docs/concepts/policy/limit-range/
func (m *model) outsideLimits(p *corev1.Pod) string {
	items := m.limitsIn(p.Namespace)
	if len(items) == 0 {
		return ""
	}
	inits, containers := m.withDefaults(p.Namespace, p.Spec.InitContainers), m.withDefaults(p.Namespace, p.Spec.Containers)
	for _, l := range items {
		switch l.Type {
		case corev1.LimitTypeContainer:
			for _, c := range slices.Concat(inits, containers) {
				if why := outside(l, c.Resources.Requests, c.Resources.Limits); why != "" {
					return fmt.Sprintf("a limit range refuses container %s: %s", c.Name, why)
				}
			}
		case corev1.LimitTypePod:
			requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
			for _, c := range containers {
				sumInto(requests, c.Resources.Requests)
				sumInto(limits, c.Resources.Limits)
			}
			if why := outside(l, requests, limits); why != "" {
				return "a limit range refuses the Pod: " + why
			}
		}
	}
	return ""
}

// withDefaults are copies of containers with what the API server fills in.
func (m *model) withDefaults(namespace string, list []corev1.Container) []corev1.Container {
	out := slices.Clone(list)
	for i := range out {
		out[i].Resources = *out[i].Resources.DeepCopy()
		m.defaults(namespace, &out[i], false)
	}
	return out
}

func sumInto(sum, more corev1.ResourceList) {
	for k, v := range more {
		n := sum[k]
		n.Add(v)
		sum[k] = n
	}
}

func outside(l corev1.LimitRangeItem, requests, limits corev1.ResourceList) string {
	above := func(have, most resource.Quantity, ok bool) bool { return ok && have.Cmp(most) > 0 }
	for k, most := range l.Max {
		limit, hasLimit := limits[k]
		request, hasRequest := requests[k]
		switch {
		case !hasLimit:
			return fmt.Sprintf("it allows %s %s at most, and there is no limit", most.String(), k)
		case above(limit, most, true), above(request, most, hasRequest):
			return fmt.Sprintf("it allows %s %s at most", most.String(), k)
		}
	}
	for k, least := range l.Min {
		limit, hasLimit := limits[k]
		request, hasRequest := requests[k]
		if !hasRequest || above(least, request, true) || above(least, limit, hasLimit) {
			return fmt.Sprintf("it asks for %s %s at least", least.String(), k)
		}
	}
	for k, ratio := range l.MaxLimitRequestRatio {
		limit, request := limits[k], requests[k]
		if request.IsZero() || limit.IsZero() || limit.AsApproximateFloat64()/request.AsApproximateFloat64() > ratio.AsApproximateFloat64() {
			return fmt.Sprintf("it allows a %s limit of %s times the request at most", k, ratio.String())
		}
	}
	return ""
}
