package drainprobe

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// webhooks names admission webhooks that the API server asks about these
// evictions. What they answer is not to be known from here.
func (j *judgement) webhooks() []string {
	if j.opts.DisableEviction || len(j.model.targets) == 0 {
		return nil
	}
	found := map[string]bool{}
	if g, ok := j.world.gap(webhookGap); ok {
		found["webhooks on evictions are not known: "+g.Reason] = true
	}
	ask := func(config, name string, rules []admissionv1.RuleWithOperations, ns *metav1.LabelSelector) {
		if !slices.ContainsFunc(rules, asksForEvictions) {
			return
		}
		for _, id := range j.model.targets {
			if selects(ns, j.model.namespaces[j.model.pods[id].obj.Namespace]) {
				found[fmt.Sprintf("webhook %s (%s) is asked about evictions, and its answer is not known", name, config)] = true
				return
			}
		}
	}
	for _, c := range j.world.ValidatingWebhooks {
		for _, h := range c.Webhooks {
			ask(c.Name, h.Name, h.Rules, h.NamespaceSelector)
		}
	}
	for _, c := range j.world.MutatingWebhooks {
		for _, h := range c.Webhooks {
			ask(c.Name, h.Name, h.Rules, h.NamespaceSelector)
		}
	}
	return keys(found)
}

// asksForEvictions: an eviction is a CREATE of pods/eviction.
func asksForEvictions(r admissionv1.RuleWithOperations) bool {
	any := func(list []string, want ...string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return s == "*" || slices.Contains(want, s) })
	}
	ops := slices.ContainsFunc(r.Operations, func(o admissionv1.OperationType) bool {
		return o == admissionv1.OperationAll || o == admissionv1.Create
	})
	return ops && any(r.APIGroups, "") && any(r.APIVersions, "v1") &&
		slices.ContainsFunc(r.Resources, func(s string) bool {
			return s == "*/*" || s == "pods/*" || s == "pods/eviction" || s == "*/eviction" || strings.HasPrefix(s, "pods/eviction")
		})
}

func selects(s *metav1.LabelSelector, ns *corev1.Namespace) bool {
	if s == nil || ns == nil {
		return true
	}
	sel, err := metav1.LabelSelectorAsSelector(s)
	return err != nil || sel.Matches(labels.Set(ns.Labels))
}
