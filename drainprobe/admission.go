package drainprobe

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// admissionGap is the resource of the gap that unread webhooks and admission
// policies leave.
const admissionGap = "validatingwebhookconfigurations"

// request is what a drain asks the API server to admit for each Pod: the
// CREATE of its eviction, or its DELETE where evictions are disabled.
type request struct {
	operation admissionv1.OperationType
	sub       string // subresource of pods
	name      string // in texts
}

func (o Options) request() request {
	if o.DisableEviction {
		return request{admissionv1.Delete, "", "deletions of Pods"}
	}
	return request{admissionv1.Create, "eviction", "evictions"}
}

// admission names the webhooks and admission policies that the API server asks
// about what this drain does. What they answer is not to be known from here.
func (j *judgement) admission() []string {
	if len(j.model.targets) == 0 {
		return nil
	}
	req := j.opts.request()
	found := map[string]bool{}
	if g, ok := j.world.gap(admissionGap); ok {
		found[fmt.Sprintf("webhooks and admission policies on %s are not known: %s", req.name, g.Reason)] = true
	}
	webhook := func(config, name string, m matcher) {
		if j.concerns(req, m) {
			found[fmt.Sprintf("webhook %s (%s) is asked about %s, and its answer is not known", name, config, req.name)] = true
		}
	}
	for _, c := range j.world.ValidatingWebhooks {
		for _, h := range c.Webhooks {
			webhook(c.Name, h.Name, matcher{h.Rules, nil, h.NamespaceSelector, h.ObjectSelector})
		}
	}
	for _, c := range j.world.MutatingWebhooks {
		for _, h := range c.Webhooks {
			webhook(c.Name, h.Name, matcher{h.Rules, nil, h.NamespaceSelector, h.ObjectSelector})
		}
	}
	// https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
	for _, b := range j.world.AdmissionBindings {
		if !slices.Contains(b.Spec.ValidationActions, admissionv1.Deny) {
			continue
		}
		for _, p := range j.world.AdmissionPolicies {
			if p.Name == b.Spec.PolicyName && p.Spec.MatchConstraints != nil && j.concerns(req, matches(p.Spec.MatchConstraints), matches(b.Spec.MatchResources)) {
				found[fmt.Sprintf("admission policy %s (binding %s) judges %s, and its answer is not known", p.Name, b.Name, req.name)] = true
			}
		}
	}
	return keys(found)
}

// matcher is what webhooks and policies select requests by. Without rules every
// request will do.
type matcher struct {
	rules, except     []admissionv1.RuleWithOperations
	namespace, object *metav1.LabelSelector
}

func matches(m *admissionv1.MatchResources) matcher {
	if m == nil {
		return matcher{}
	}
	plain := func(named []admissionv1.NamedRuleWithOperations) []admissionv1.RuleWithOperations {
		var out []admissionv1.RuleWithOperations
		for _, r := range named {
			out = append(out, r.RuleWithOperations)
		}
		return out
	}
	except := slices.DeleteFunc(slices.Clone(m.ExcludeResourceRules), func(r admissionv1.NamedRuleWithOperations) bool { return len(r.ResourceNames) > 0 })
	return matcher{plain(m.ResourceRules), plain(except), m.NamespaceSelector, m.ObjectSelector}
}

// concerns says whether all matchers may select the request for one of the Pods.
func (j *judgement) concerns(req request, all ...matcher) bool {
	asks := func(r admissionv1.RuleWithOperations) bool { return req.matches(r) }
	for _, m := range all {
		if len(m.rules) > 0 && !slices.ContainsFunc(m.rules, asks) || slices.ContainsFunc(m.except, asks) {
			return false
		}
	}
	return slices.ContainsFunc(j.model.targets, func(id int) bool {
		pod := j.model.pods[id].obj
		object := labels.Set(pod.Labels)
		if req.operation == admissionv1.Create {
			object = nil // the object is the eviction, and kubectl's has no labels
		}
		for _, m := range all {
			ns := j.model.namespaces[pod.Namespace]
			if ns != nil && !selects(m.namespace, ns.Labels) || !selects(m.object, object) {
				return false
			}
		}
		return true
	})
}

// matches a rule as the API server does: of "pods/eviction" each half may be a
// star, and a star without a subresource stands for resources alone
// (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-rules).
func (q request) matches(r admissionv1.RuleWithOperations) bool {
	has := func(list []string, want string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, want)
	}
	return (slices.Contains(r.Operations, admissionv1.OperationAll) || slices.Contains(r.Operations, q.operation)) &&
		has(r.APIGroups, "") && has(r.APIVersions, "v1") &&
		slices.ContainsFunc(r.Resources, func(s string) bool {
			resource, sub, _ := strings.Cut(s, "/")
			return (resource == "*" || resource == "pods") && (sub == "*" || sub == q.sub)
		})
}

// selects says whether a selector may match: one that cannot be read may.
func selects(s *metav1.LabelSelector, set labels.Set) bool {
	if s == nil {
		return true
	}
	sel, err := metav1.LabelSelectorAsSelector(s)
	return err != nil || sel.Matches(set)
}

// admission reads what decides about the drain's requests besides the budgets.
func (g *gatherer) admission() {
	a := g.client.AdmissionregistrationV1()
	var errs []error
	if l, err := a.ValidatingWebhookConfigurations().List(g.ctx, metav1.ListOptions{}); err == nil {
		g.w.ValidatingWebhooks = pointers(g.w.ValidatingWebhooks, l.Items)
	} else {
		errs = append(errs, err)
	}
	if l, err := a.MutatingWebhookConfigurations().List(g.ctx, metav1.ListOptions{}); err == nil {
		g.w.MutatingWebhooks = pointers(g.w.MutatingWebhooks, l.Items)
	} else {
		errs = append(errs, err)
	}
	if l, err := a.ValidatingAdmissionPolicyBindings().List(g.ctx, metav1.ListOptions{}); err == nil {
		g.w.AdmissionBindings = pointers(g.w.AdmissionBindings, l.Items)
	} else if !apierrors.IsNotFound(err) { // before 1.30 there are none
		errs = append(errs, err)
	}
	if len(g.w.AdmissionBindings) > 0 {
		if l, err := a.ValidatingAdmissionPolicies().List(g.ctx, metav1.ListOptions{}); err == nil {
			g.w.AdmissionPolicies = pointers(g.w.AdmissionPolicies, l.Items)
		} else {
			errs = append(errs, err)
		}
	}
	g.w.admissionRead = len(errs) == 0
	if len(errs) > 0 {
		g.w.Gaps = append(g.w.Gaps, Gap{Resource: admissionGap, Reason: firstLine(errs[0].Error())})
	}
}
