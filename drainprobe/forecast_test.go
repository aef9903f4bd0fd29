package drainprobe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionreg "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clienttesting "k8s.io/client-go/testing"

	"github.com/k3sladder/k3sladder/internal/golden"
)

func TestForecastTextAndJSON(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"01-single-min1-of-2", "13-two-no-cpu", "29-two-preempts", "50-two-pdbs-one-pod", "64-bare-pdb-percent", "69-finalizer", "85-drain-dead-node-no-pdb"} {
		s := readScenario(t, filepath.Join("testdata", "cases", name))
		opts, _ := s.options(t)
		f, err := readState(t, s.dir).Forecast(s.Node, opts)
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "golden/"+name+".txt", []byte(f.String()))
		b, err := json.MarshalIndent(f, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "golden/"+name+".json", append(b, '\n'))
	}
}

// twoReplicas is the world of two replicas under minAvailable 1 on one node.
func twoReplicas(edit ...func(*World)) *World {
	one := intstr.FromInt32(1)
	w := &World{Taken: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		Nodes: []*corev1.Node{bigNode("a")},
		Pods:  []*corev1.Pod{testPod("web-1", "a"), testPod("web-2", "a")},
		ReplicaSets: []*appsv1.ReplicaSet{{ObjectMeta: metav1.ObjectMeta{Name: "web-abc", Namespace: "shop", UID: "rs",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "d", Controller: new(true)}}},
			Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(2))}}},
		Deployments: []*appsv1.Deployment{{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "d"}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}}},
		Budgets: []*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "b"},
			Spec:   policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: selector("web")},
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, CurrentHealthy: 2, DesiredHealthy: 1, ExpectedPods: 2}}},
	}
	for _, e := range edit {
		e(w)
	}
	return w
}

func bigNode(name string, edit ...func(*corev1.Node)) *corev1.Node {
	c := newCell("x").node("n", "4")
	n := c.objects[1].(*corev1.Node)
	n.Name, n.UID = name, "" // the UID of a node does not matter here
	n.Labels[corev1.LabelHostname] = name
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for _, e := range edit {
		e(n)
	}
	return n
}

// TestUndecidedNamesTheQuestion: what cannot be known is never "drains".
func TestUndecidedNamesTheQuestion(t *testing.T) {
	t.Parallel()
	second := func(w *World) { w.Nodes = append(w.Nodes, bigNode("b")) }
	each := func(edit func(*corev1.Pod)) func(*World) {
		return func(w *World) {
			for _, p := range w.Pods {
				edit(p)
			}
		}
	}
	for name, c := range map[string]struct {
		edits []func(*World)
		says  string
	}{
		"a scheduler of its own": {[]func(*World){second, each(func(p *corev1.Pod) { p.Spec.SchedulerName = "batchy" })}, "scheduler batchy"},
		"scheduling gates": {[]func(*World){second, func(w *World) {
			w.ReplicaSets[0].Spec.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "quota"}}
		}}, "scheduling gates"},
		"claims of devices": {[]func(*World){second, each(func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} })}, "resourceClaims"},
		"a controller of an unknown kind": {[]func(*World){second, each(func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Rollout", Name: "web", UID: "x", Controller: new(true)}}
		})}, "of a kind whose answer"},
		"some Pods of the controller are not ready": {[]func(*World){second, func(w *World) {
			w.Pods = append(w.Pods, testPod("web-3", "b", func(p *corev1.Pod) { p.Status.Conditions = nil }))
			w.ReplicaSets[0].Spec.Replicas, w.Deployments[0].Spec.Replicas = new(int32(3)), new(int32(3))
		}}, "run without being ready"},
		"a webhook on evictions": {[]func(*World){second, func(w *World) {
			w.ValidatingWebhooks = []*admissionreg.ValidatingWebhookConfiguration{{ObjectMeta: metav1.ObjectMeta{Name: "guard"}, Webhooks: []admissionreg.ValidatingWebhook{{Name: "guard.example.com",
				Rules: []admissionreg.RuleWithOperations{{Operations: []admissionreg.OperationType{"*"}, Rule: admissionreg.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/*"}}}}}}}}
		}}, "webhook guard.example.com"},
		"an admission policy on evictions": {[]func(*World){second, func(w *World) {
			w.AdmissionPolicies, w.AdmissionBindings = guardPolicy("pods/eviction", "CREATE", "Deny")
		}},
			"admission policy guard (binding guard)"},
		"a budget whose status is behind": {[]func(*World){second, func(w *World) { w.Budgets[0].Generation = 2; w.Budgets[0].Status.ObservedGeneration = 1 }}, "behind its spec"},
		"volumes that were not read": {[]func(*World){second, func(w *World) { w.Gaps = []Gap{{"persistentvolumes", "no permission"}} }, each(func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "d", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "d"}}}}
		})}, "were not read"},
		"replicasets that were not read": {[]func(*World){second, func(w *World) { w.ReplicaSets, w.Gaps = nil, []Gap{{"replicasets", "no permission"}} }}, "of a kind whose answer"},
		"a finalizer of somebody":        {[]func(*World){second, each(func(p *corev1.Pod) { p.Finalizers = []string{"example.com/hold"} })}, "finalizer example.com/hold"},
	} {
		f, err := twoReplicas(c.edits...).Forecast("a", Options{Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if f.Verdict != VerdictUndecided || !strings.Contains(fmt.Sprint(f.Reasons), c.says) {
			t.Errorf("%s: %s %q, want undecided and %q", name, f.Verdict, f.Reasons, c.says)
		}
	}
}

// guardPolicy is an admission policy and its binding.
func guardPolicy(resource string, operation admissionreg.OperationType, action admissionreg.ValidationAction) ([]*admissionreg.ValidatingAdmissionPolicy, []*admissionreg.ValidatingAdmissionPolicyBinding) {
	p := &admissionreg.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "guard"}}
	p.Spec.MatchConstraints = &admissionreg.MatchResources{ResourceRules: []admissionreg.NamedRuleWithOperations{{RuleWithOperations: admissionreg.RuleWithOperations{
		Operations: []admissionreg.OperationType{operation}, Rule: admissionreg.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}}}}}}
	b := &admissionreg.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "guard"}}
	b.Spec.PolicyName, b.Spec.ValidationActions = "guard", []admissionreg.ValidationAction{action}
	return []*admissionreg.ValidatingAdmissionPolicy{p}, []*admissionreg.ValidatingAdmissionPolicyBinding{b}
}

func TestAdmissionIsAskedAboutWhatTheDrainSends(t *testing.T) {
	t.Parallel()
	second := func(w *World) { w.Nodes = append(w.Nodes, bigNode("b")) }
	policy := func(resource string, operation admissionreg.OperationType, action admissionreg.ValidationAction, edit ...func(*admissionreg.ValidatingAdmissionPolicy, *admissionreg.ValidatingAdmissionPolicyBinding)) func(*World) {
		return func(w *World) {
			w.AdmissionPolicies, w.AdmissionBindings = guardPolicy(resource, operation, action)
			for _, e := range edit {
				e(w.AdmissionPolicies[0], w.AdmissionBindings[0])
			}
		}
	}
	labelled := &metav1.LabelSelector{MatchLabels: map[string]string{"no": "such"}}
	type p = *admissionreg.ValidatingAdmissionPolicy
	type b = *admissionreg.ValidatingAdmissionPolicyBinding
	for name, c := range map[string]struct {
		edit   func(*World)
		delete bool
		want   Verdict
	}{
		"evictions, all subresources":              {policy("pods/*", "*", "Deny"), false, VerdictUndecided},
		"evictions, everything":                    {policy("*/*", "CREATE", "Deny"), false, VerdictUndecided},
		"a rule about Pods is not about evictions": {policy("pods", "CREATE", "Deny"), false, VerdictDrains},
		"a star is not about evictions":            {policy("*", "CREATE", "Deny"), false, VerdictDrains},
		"deletions do not concern evictions":       {policy("pods", "DELETE", "Deny"), false, VerdictDrains},
		"deletions concern --disable-eviction":     {policy("pods", "DELETE", "Deny"), true, VerdictUndecided},
		"evictions do not concern deletions":       {policy("pods/eviction", "CREATE", "Deny"), true, VerdictDrains},
		"an audit refuses nothing":                 {policy("pods/eviction", "CREATE", "Audit"), false, VerdictDrains},
		"no binding":                               {func(w *World) { policy("pods/eviction", "CREATE", "Deny")(w); w.AdmissionBindings = nil }, false, VerdictDrains},
		"a binding for another policy":             {policy("pods/eviction", "CREATE", "Deny", func(_ p, b b) { b.Spec.PolicyName = "other" }), false, VerdictDrains},
		"the policy excludes evictions": {policy("pods/*", "CREATE", "Deny", func(p p, _ b) {
			m := p.Spec.MatchConstraints
			m.ExcludeResourceRules = []admissionreg.NamedRuleWithOperations{{RuleWithOperations: m.ResourceRules[0].RuleWithOperations}}
		}), false, VerdictDrains},
		"other namespaces, by the binding": {policy("pods/eviction", "CREATE", "Deny", func(_ p, b b) {
			b.Spec.MatchResources = &admissionreg.MatchResources{NamespaceSelector: labelled}
		}), false, VerdictDrains},
		"other Pods": {policy("pods", "DELETE", "Deny", func(p p, _ b) { p.Spec.MatchConstraints.ObjectSelector = labelled }), true, VerdictDrains},
		"these Pods": {policy("pods", "DELETE", "Deny", func(p p, _ b) {
			p.Spec.MatchConstraints.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		}), true, VerdictUndecided},
		"an eviction carries no labels": {policy("pods/eviction", "CREATE", "Deny", func(p p, _ b) {
			p.Spec.MatchConstraints.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		}), false, VerdictDrains},
	} {
		w := twoReplicas(second, func(w *World) {
			w.Namespaces = []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: w.Pods[0].Namespace}}}
		}, c.edit)
		f, err := w.Forecast("a", Options{Timeout: time.Minute, DisableEviction: c.delete})
		if err != nil {
			t.Fatal(err)
		}
		if f.Verdict != c.want {
			t.Errorf("%s: %s %q, want %s", name, f.Verdict, f.Reasons, c.want)
		}
	}
}

// TestWhatDecidesAForecast are single differences to two replicas on two nodes.
func TestWhatDecidesAForecast(t *testing.T) {
	t.Parallel()
	second := func(edit ...func(*corev1.Node)) func(*World) {
		return func(w *World) { w.Nodes = append(w.Nodes, bigNode("b", edit...)) }
	}
	pods := func(edit func(*corev1.Pod)) func(*World) {
		return func(w *World) {
			for _, p := range w.Pods {
				edit(p)
			}
		}
	}
	gate := func(seconds int64) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{{Name: "c", Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: seconds}}}}}
			p.Spec.TerminationGracePeriodSeconds = new(int64(120))
		}
	}
	minute := Options{Timeout: time.Minute}
	for name, c := range map[string]struct {
		opts Options
		want Verdict
		edit []func(*World)
	}{
		"room elsewhere": {minute, VerdictDrains, []func(*World){second()}},
		"the other node is not Ready but untainted": {minute, VerdictBlocked, []func(*World){second(func(n *corev1.Node) {
			n.Status.Conditions[0].Status = corev1.ConditionFalse
			n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
		})}},
		"the other node has too little memory":          {minute, VerdictBlocked, []func(*World){second(), pods(func(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{{Resources: asksFor("memory", "9Gi")}} })}},
		"an init container asks for more than the rest": {minute, VerdictBlocked, []func(*World){second(), pods(func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Resources: asksFor("cpu", "5")}} })}},
		"overhead counts":                               {minute, VerdictBlocked, []func(*World){second(), pods(func(p *corev1.Pod) { p.Spec.Overhead = asksFor("cpu", "5").Requests })}},
		"a preStop sleep longer than the timeout":       {minute, VerdictBlocked, []func(*World){second(), pods(gate(90))}},
		"a volume mounted by the other replica here":    {minute, VerdictBlocked, []func(*World){second(), shared(corev1.ReadWriteOnce)}},
		"a shared volume of many":                       {minute, VerdictDrains, []func(*World){second(), shared(corev1.ReadWriteMany)}},
		"the kubelet here is dead":                      {minute, VerdictBlocked, []func(*World){second(), func(w *World) { w.Nodes[0].Status.Conditions[0].Status = corev1.ConditionUnknown }}},
		"dead, but out of service": {minute, VerdictDrains, []func(*World){second(), func(w *World) {
			w.Nodes[0].Status.Conditions[0].Status = corev1.ConditionUnknown
			w.Nodes[0].Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute}}
		}}},
		"dead, killed at once":      {Options{Timeout: time.Minute, GracePeriod: new(time.Duration(0))}, VerdictDrains, []func(*World){second(), func(w *World) { w.Nodes[0].Status.Conditions[0].Status = corev1.ConditionUnknown }}},
		"dead, and skipped in time": {Options{Timeout: 10 * time.Minute, SkipWaitForDeleteTimeout: time.Second}, VerdictDrains, []func(*World){second(), func(w *World) { w.Nodes[0].Status.Conditions[0].Status = corev1.ConditionUnknown }}},
		"the owner is gone":         {minute, VerdictBlocked, []func(*World){second(), func(w *World) { w.ReplicaSets = nil }}},
		"scaled to zero behind it":  {minute, VerdictBlocked, []func(*World){second(), func(w *World) { w.ReplicaSets[0].Spec.Replicas = new(int32(0)) }}},
		"a promise not yet kept": {minute, VerdictBlocked, []func(*World){func(w *World) {
			w.Budgets[0].Status.DisruptedPods = map[string]metav1.Time{"web-1": {Time: w.Taken}}
			w.Budgets[0].Status.DisruptionsAllowed = 0
			w.Budgets[0].Status.CurrentHealthy = 1
		}}},
		"a timeout that is too short":        {Options{Timeout: time.Second, RetryDelay: time.Minute}, VerdictUndecided, []func(*World){second()}},
		"budgets of other namespaces":        {minute, VerdictDrains, []func(*World){func(w *World) { w.Budgets[0].Namespace = "elsewhere" }}},
		"a budget without a status, no room": {minute, VerdictBlocked, []func(*World){func(w *World) { w.Budgets[0].Status = policyv1.PodDisruptionBudgetStatus{} }}},
		"a budget without a status, and room": {minute, VerdictDrains, []func(*World){second(), func(w *World) {
			w.Budgets[0].Status = policyv1.PodDisruptionBudgetStatus{}
		}}},
		"a budget that no controller has seen": {minute, VerdictUndecided, []func(*World){second(), func(w *World) {
			w.Budgets[0].Status = policyv1.PodDisruptionBudgetStatus{}
			w.Budgets[0].Generation = 1
		}}},
		"the namespace is being deleted": {minute, VerdictDrains, []func(*World){func(w *World) {
			w.Namespaces = []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "shop", DeletionTimestamp: &metav1.Time{Time: w.Taken}}}}
		}}},
		"a replica on a dead node, and little time":  {minute, VerdictBlocked, []func(*World){deadReplica}},
		"a replica on a dead node, and all the time": {Options{}, VerdictUndecided, []func(*World){deadReplica}},
		"budgets are not asked":                      {Options{DisableEviction: true, Timeout: time.Minute}, VerdictDrains, nil},
	} {
		f, err := twoReplicas(c.edit...).Forecast("a", c.opts)
		if err != nil {
			t.Fatal(err)
		}
		if f.Verdict != c.want {
			t.Errorf("%s: %s, want %s\n%s", name, f.Verdict, c.want, f)
		}
	}
}

func asksFor(name, amount string) corev1.ResourceRequirements {
	t := template("x", []podEdit{asks(name, amount)})
	return t.Spec.Containers[0].Resources
}

// deadReplica puts one of the two replicas on a node that went away, and adds
// a node with room.
func deadReplica(w *World) {
	w.Nodes = append(w.Nodes, bigNode("b", func(n *corev1.Node) {
		n.Status.Conditions[0].Status = corev1.ConditionUnknown
		for _, e := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: e, TimeAdded: &metav1.Time{Time: w.Taken}})
		}
	}), bigNode("c"))
	w.Pods[1].Spec.NodeName = "b"
	w.Pods[1].Status.Conditions[0].Status = corev1.ConditionFalse
	for _, p := range w.Pods {
		p.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}}
	}
	w.Budgets[0].Status = policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 1, DesiredHealthy: 1, ExpectedPods: 2}
}

// shared gives both Pods one volume that is attached to a node.
func shared(mode corev1.PersistentVolumeAccessMode) func(*World) {
	return func(w *World) {
		w.Claims = []*corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "shop"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv"}}}
		w.Volumes = []*corev1.PersistentVolume{{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{AccessModes: []corev1.PersistentVolumeAccessMode{mode},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "x"}}}}}
		for _, p := range w.Pods {
			p.Spec.Volumes = []corev1.Volume{{Name: "d", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "d"}}}}
		}
	}
}

func TestWaysOutAreThoseThatWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		w    *World
		want []string
	}{
		"one node": {twoReplicas(), []string{"add one node of this size", "delete budget shop/web for the time of the upgrade"}},
		"a cordoned neighbour": {twoReplicas(func(w *World) { w.Nodes = append(w.Nodes, bigNode("b", cordoned)) }),
			[]string{"uncordon node b", "add one node of this size", "delete budget shop/web for the time of the upgrade"}},
		"one replica, room elsewhere": {twoReplicas(func(w *World) {
			w.Nodes, w.Pods = append(w.Nodes, bigNode("b")), w.Pods[:1]
			w.ReplicaSets[0].Spec.Replicas, w.Deployments[0].Spec.Replicas = new(int32(1)), new(int32(1))
			w.Budgets[0].Status = policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 1, DesiredHealthy: 1, ExpectedPods: 1}
		}), []string{"raise Deployment/web in shop to 2 replicas", "set minAvailable: 0 on budget shop/web (it can never allow a disruption now)", "delete budget shop/web for the time of the upgrade"}},
		"unready bare Pods": {twoReplicas(func(w *World) {
			for _, p := range w.Pods {
				p.Status.Conditions, p.OwnerReferences = nil, nil
			}
			w.Budgets[0].Status = policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 1, ExpectedPods: 2}
		}), []string{"set unhealthyPodEvictionPolicy: AlwaysAllow on budget shop/web", "delete budget shop/web for the time of the upgrade"}},
		"unready Pods": {twoReplicas(func(w *World) {
			for _, p := range w.Pods {
				p.Status.Conditions = nil
			}
			w.Nodes = append(w.Nodes, bigNode("b"))
			w.Budgets[0].Status = policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 1, ExpectedPods: 2}
		}), []string{"get the Pods of shop/Deployment/web ready first", "set unhealthyPodEvictionPolicy: AlwaysAllow on budget shop/web", "delete budget shop/web for the time of the upgrade"}},
	} {
		f, err := c.w.Forecast("a", Options{Timeout: time.Hour, Force: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range f.Unblock {
			got = append(got, strings.Join(x.Changes, " + "))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestHintsNameTheOperatorsSetting(t *testing.T) {
	t.Parallel()
	for labels, want := range map[[2]string]string{
		{"longhorn.io/component", "instance-manager"}: "node-drain-policy",
		{"cnpg.io/cluster", "db"}:                     "spec.enablePDB: false",
		{"istio", "ingressgateway"}:                   "global.defaultPodDisruptionBudget.enabled",
	} {
		f, err := twoReplicas(func(w *World) {
			for _, p := range w.Pods {
				p.Labels[labels[0]] = labels[1]
			}
		}).Forecast("a", Options{})
		if err != nil || len(f.Hints) != 1 || !strings.Contains(f.Hints[0].Advice, want) || !strings.HasPrefix(f.Hints[0].URL, "https://") {
			t.Errorf("%v: %+v %v", labels, f.Hints, err)
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	f := func(edit ...func(*World)) *Forecasted {
		got, err := twoReplicas(edit...).Forecast("a", Options{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	second := func(edit ...func(*corev1.Node)) func(*World) {
		return func(w *World) { w.Nodes = append(w.Nodes, bigNode("b", edit...)) }
	}
	noBudget := func(w *World) { w.Budgets = nil }
	closed := func(w *World) {
		w.Budgets[0].Spec.MinAvailable, w.Budgets[0].Spec.MaxUnavailable = nil, new(intstr.FromInt32(0))
		w.Budgets[0].Status.DisruptionsAllowed = 0
	}
	for name, c := range map[string]struct {
		from   Evidence
		policy Policy
		want   Action
	}{
		"one node under a budget":                              {f(), Policy{}, ActionUpgradeWithoutDrain},
		"one node under a budget that has to hold":             {f(), Policy{KeepBudgets: true}, ActionAddNodeFirst},
		"room elsewhere":                                       {f(second()), Policy{KeepBudgets: true, KeepServing: true}, ActionDrain},
		"one node without a budget":                            {f(noBudget), Policy{}, ActionDrain},
		"one node without a budget, the service has to stay":   {f(noBudget), Policy{KeepServing: true}, ActionUpgradeWithoutDrain},
		"the other node is full":                               {f(second(extra("pods", "0"))), Policy{}, ActionAddNodeFirst},
		"a budget that never allows, and another node":         {f(second(), closed), Policy{}, ActionUpgradeWithoutDrain},
		"an attempt that drained and took the service down":    {&Attempted{Drained: true, Workloads: []Workload{{Name: "shop/Deployment/web", ReadyBefore: 2, ReadyAtEnd: 0}}}, Policy{KeepServing: true}, ActionUpgradeWithoutDrain},
		"an attempt that timed out with other nodes":           {&Attempted{OtherNodes: 2, Pending: []PendingPod{{}}}, Policy{}, ActionAddNodeFirst},
		"an attempt that a filter stopped, other nodes or not": {&Attempted{OtherNodes: 2, Reason: "cannot delete DaemonSet-managed Pods"}, Policy{}, ActionUpgradeWithoutDrain},
	} {
		d := Decide(c.from, c.policy)
		if d.Action != c.want || len(d.Reasons) == 0 {
			t.Errorf("%s: %s %q, want %s", name, d.Action, d.Reasons, c.want)
		}
		if d.Action == ActionUpgradeWithoutDrain && !strings.Contains(strings.Join(d.Reasons, " "), "what is given up") {
			t.Errorf("%s: the reasons do not say what is given up: %q", name, d.Reasons)
		}
	}
}

func TestGatherReadsTheClusterAndNamesWhatItMayNot(t *testing.T) {
	t.Parallel()
	w := twoReplicas(func(w *World) { w.Nodes = append(w.Nodes, bigNode("b")) })
	var objects []runtime.Object
	for _, n := range w.Nodes {
		objects = append(objects, n)
	}
	for _, p := range w.Pods {
		objects = append(objects, p)
	}
	objects = append(objects, w.ReplicaSets[0], w.Deployments[0], w.Budgets[0])
	c := newCluster(t, objects...)
	f, err := Forecast(context.Background(), c, "a", Options{Timeout: time.Minute})
	if err != nil || f.Verdict != VerdictDrains || len(f.Pods) != 2 {
		t.Fatalf("%v %v", f, err)
	}
	for _, a := range c.Actions() {
		if !slices.Contains([]string{"get", "list"}, a.GetVerb()) {
			t.Errorf("a forecast does %s %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
	missing, err := Forecast(context.Background(), c, "nope", Options{})
	if err != nil || missing.Verdict != VerdictBlocked || !missing.Missing {
		t.Errorf("%v %v", missing, err)
	}
	forbid := func(resource string) {
		c.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(corev1.Resource(resource), "", errors.New("RBAC"))
		})
	}
	forbid("replicasets")
	f, err = Forecast(context.Background(), c, "a", Options{Timeout: time.Minute})
	if err != nil || f.Verdict != VerdictUndecided || len(f.Gaps) != 1 || f.Gaps[0].Resource != "replicasets" {
		t.Errorf("without replicasets: %v %v", f, err)
	}
	forbid("poddisruptionbudgets")
	_, err = Forecast(context.Background(), c, "a", Options{})
	var access *AccessError
	if !errors.As(err, &access) || access.Verb != "list" || access.Resource != "poddisruptionbudgets.policy" {
		t.Errorf("error %v", err)
	}
}

func TestForecastAllCarriesOneDrainIntoTheNext(t *testing.T) {
	t.Parallel()
	server := label("node-role.kubernetes.io/control-plane", "true")
	// Agents b and c can hold one Pod each beside what they have.
	w := twoReplicas(func(w *World) {
		w.Nodes = append([]*corev1.Node{bigNode("c"), bigNode("b")}, w.Nodes...)
		server(w.Nodes[2])
	})
	s, err := w.ForecastAll(Options{Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, f := range s.Nodes {
		order = append(order, f.Node)
	}
	if !slices.Equal(order, []string{"a", "b", "c"}) || s.Verdict != VerdictDrains {
		t.Errorf("%v\n%s", order, s)
	}
	if n := len(s.Nodes[1].Pods) + len(s.Nodes[2].Pods); n < 2 {
		t.Errorf("the Pods of a did not move on:\n%s", s)
	}
}

func TestReadWorldRefusesWhatIsNoState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, says string }{
		"nothing":              {"", "no nodes and no pods"},
		"a page":               {"<html></html>", "cannot unmarshal"},
		"an old budget":        {`{"apiVersion":"policy/v1beta1","kind":"PodDisruptionBudget","metadata":{"name":"x"}}`, "removed in Kubernetes 1.25"},
		"an object of no name": {`{"apiVersion":"v1","kind":"Pod","metadata":{}}`, "without a name"},
		"a wrong type":         {`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"nodeName":7}}`, "cannot unmarshal number"},
		"an object of no kind": {`{"items":[{"metadata":{"name":"x"}}]}`, "without a kind"},
	} {
		_, err := ReadWorld(strings.NewReader(c.in))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

func TestReadWorldTakesTypedListsAndNotesWhatIsMissing(t *testing.T) {
	t.Parallel()
	w, err := ReadWorld(bytes.NewReader([]byte(`
apiVersion: v1
kind: NodeList
items:
- metadata: {name: a, creationTimestamp: "2026-01-02T03:04:05Z"}
---
apiVersion: v1
kind: PodList
items:
- metadata:
    name: p
    namespace: x
    annotations: {expires: "2036-01-02T03:04:05Z"}
    ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: u, controller: true}]
  spec: {nodeName: a}
`)))
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Nodes) != 1 || len(w.Pods) != 1 || !w.Taken.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) || len(w.Gaps) != 1 || w.Gaps[0].Resource != "daemonsets" {
		t.Errorf("%+v", w)
	}
	f, err := w.Forecast("a", Options{IgnoreDaemonSets: true})
	if err != nil || f.Verdict != VerdictDrains {
		t.Errorf("%v %v", f, err)
	}
}

// Evicted Pods of a Job that keeps others stay for its back-off, on versions
// without the fix: https://github.com/kubernetes/kubernetes/issues/139428
func TestAJobThatKeepsPodsMayHoldItsEvictedOnes(t *testing.T) {
	t.Parallel()
	world := func(elsewhere int) *World {
		w := &World{Taken: time.Now(), Nodes: []*corev1.Node{bigNode("a"), bigNode("b")}}
		w.Jobs = []*batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Name: "batch", Namespace: "shop", UID: "j"},
			Spec: batchv1.JobSpec{Parallelism: new(int32(2 + int32(elsewhere))), Completions: new(int32(2 + int32(elsewhere)))}}}
		for i := range 2 + elsewhere {
			node := "a"
			if i >= 2 {
				node = "b"
			}
			w.Pods = append(w.Pods, testPod(fmt.Sprintf("batch-%d", i), node, func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "batch", UID: "j", Controller: new(true)}}
			}))
		}
		return w
	}
	for name, c := range map[string]struct {
		elsewhere int
		timeout   time.Duration
		want      Verdict
	}{
		"all of them go":                        {0, 15 * time.Second, VerdictDrains},
		"one stays, 20 s of back-off":           {1, 15 * time.Second, VerdictUndecided},
		"one stays, and there is time for that": {1, time.Minute, VerdictDrains},
	} {
		f, err := world(c.elsewhere).Forecast("a", Options{Timeout: c.timeout})
		if err != nil || f.Verdict != c.want {
			t.Errorf("%s: %v %v", name, f, err)
		}
		if c.want == VerdictUndecided && !strings.Contains(fmt.Sprint(f.Reasons), "issues/139428") {
			t.Errorf("%s: %q", name, f.Reasons)
		}
	}
}
