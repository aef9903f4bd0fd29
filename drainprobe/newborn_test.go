package drainprobe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// askingFor gives the Pods of twoReplicas requests of their own, and their
// template others ("" for none).
func askingFor(running, template string) func(*World) {
	container := func(cpu string) []corev1.Container {
		c := corev1.Container{Name: "c"}
		if cpu != "" {
			c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
		}
		return []corev1.Container{c}
	}
	return func(w *World) {
		for _, p := range w.Pods {
			p.Spec.Containers = container(running)
		}
		t := &w.ReplicaSets[0].Spec.Template
		t.Labels, t.Spec.Containers = w.Pods[0].Labels, container(template)
	}
}

// TestNewPodsAreOfTheTemplate: a replacement asks for what its template says,
// unless something that is not known may change it.
func TestNewPodsAreOfTheTemplate(t *testing.T) {
	t.Parallel()
	second := func(w *World) { w.Nodes = append(w.Nodes, bigNode("b")) }
	read := func(w *World) { w.admissionRead = true }
	webhook := func(resources ...string) func(*World) {
		return func(w *World) {
			w.MutatingWebhooks = []*admissionv1.MutatingWebhookConfiguration{{Webhooks: []admissionv1.MutatingWebhook{{Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create}, Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: resources}}}}}}}
		}
	}
	limits := func(kind corev1.LimitType, edit func(*corev1.LimitRangeItem)) func(*World) {
		return func(w *World) {
			item := corev1.LimitRangeItem{Type: kind}
			edit(&item)
			w.LimitRanges = []*corev1.LimitRange{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}}}}
		}
	}
	cpu := func(amount string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
	}
	quota := func(name corev1.ResourceName, hard, used string, edit ...func(*corev1.ResourceQuotaSpec)) func(*World) {
		return func(w *World) {
			q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: "shop"}, Status: corev1.ResourceQuotaStatus{
				Hard: corev1.ResourceList{name: resource.MustParse(hard)}, Used: corev1.ResourceList{name: resource.MustParse(used)}}}
			for _, e := range edit {
				e(&q.Spec)
			}
			w.Quotas = append(w.Quotas, q)
		}
	}
	scope := func(s corev1.ResourceQuotaScope) func(*corev1.ResourceQuotaSpec) {
		return func(q *corev1.ResourceQuotaSpec) { q.Scopes = []corev1.ResourceQuotaScope{s} }
	}
	for name, c := range map[string]struct {
		want  Verdict
		edits []func(*World)
	}{
		"resized up in place, the template fits":           {VerdictDrains, []func(*World){read, askingFor("5", "100m")}},
		"resized down in place, the template does not fit": {VerdictBlocked, []func(*World){read, askingFor("100m", "5")}},
		"webhooks were not read":                           {VerdictUndecided, []func(*World){askingFor("5", "100m")}},
		"a webhook changes new Pods":                       {VerdictUndecided, []func(*World){read, webhook("pods"), askingFor("5", "100m")}},
		"a webhook changes other things":                   {VerdictDrains, []func(*World){read, webhook("pods/status"), askingFor("5", "100m")}},
		"neither fits":                                     {VerdictBlocked, []func(*World){webhook("pods"), askingFor("5", "6")}},
		"both fit":                                         {VerdictDrains, []func(*World){webhook("pods"), askingFor("1", "2")}},
		"a limit range gives the requests":                 {VerdictBlocked, []func(*World){askingFor("5", ""), limits(corev1.LimitTypeContainer, func(l *corev1.LimitRangeItem) { l.DefaultRequest = cpu("5") })}},
		"a limit range's default is as well":               {VerdictDrains, []func(*World){askingFor("1", ""), limits(corev1.LimitTypeContainer, func(l *corev1.LimitRangeItem) { l.Default, l.Max = cpu("1"), cpu("1") })}},
		"above a container's most":                         {VerdictBlocked, []func(*World){askingFor("2", "2"), limits(corev1.LimitTypeContainer, func(l *corev1.LimitRangeItem) { l.Max = cpu("1") })}},
		"below a container's least":                        {VerdictBlocked, []func(*World){askingFor("1", "1"), limits(corev1.LimitTypeContainer, func(l *corev1.LimitRangeItem) { l.Min = cpu("2") })}},
		"below a Pod's least":                              {VerdictBlocked, []func(*World){askingFor("1", "1"), limits(corev1.LimitTypePod, func(l *corev1.LimitRangeItem) { l.Min = cpu("2") })}},
		"within a Pod's limits":                            {VerdictDrains, []func(*World){askingFor("1", "1"), limits(corev1.LimitTypePod, func(l *corev1.LimitRangeItem) { l.Min = cpu("1") })}},
		"a limit too far above the request":                {VerdictBlocked, []func(*World){askingFor("1", "1"), limits(corev1.LimitTypeContainer, func(l *corev1.LimitRangeItem) { l.Default, l.MaxLimitRequestRatio = cpu("4"), cpu("2") })}},
		"the ReplicaSet is being deleted":                  {VerdictBlocked, []func(*World){func(w *World) { w.ReplicaSets[0].DeletionTimestamp = &metav1.Time{Time: w.Taken} }}},
		"a Job of a work queue":                            {VerdictDrains, []func(*World){workQueue(0, "")}},
		"a work queue that is nearly done":                 {VerdictBlocked, []func(*World){workQueue(1, "")}},
		"a Job that somebody else manages":                 {VerdictUndecided, []func(*World){workQueue(0, "example.com/queue")}},
		"a quota with room":                                {VerdictDrains, []func(*World){quota("pods", "3", "2")}},
		"a quota that is full lets one in for one out":     {VerdictDrains, []func(*World){quota("pods", "2", "2")}},
		"a quota that is more than full":                   {VerdictBlocked, []func(*World){quota("count/pods", "1", "2")}},
		"a quota on limits, and none given":                {VerdictBlocked, []func(*World){askingFor("1", "1"), quota("limits.cpu", "9", "0")}},
		"a quota on disks":                                 {VerdictDrains, []func(*World){quota("persistentvolumeclaims", "1", "1")}},
		"a quota for the modest, and they are":             {VerdictBlocked, []func(*World){quota("pods", "1", "2", scope(corev1.ResourceQuotaScopeBestEffort))}},
		"a quota for the modest, and they are not":         {VerdictDrains, []func(*World){askingFor("1", "1"), quota("pods", "1", "2", scope(corev1.ResourceQuotaScopeBestEffort))}},
		"a quota for Pods with a deadline":                 {VerdictDrains, []func(*World){quota("pods", "1", "2", scope(corev1.ResourceQuotaScopeTerminating))}},
		"a quota for an unknown kind":                      {VerdictUndecided, []func(*World){quota("pods", "1", "2", scope("New"))}},
		"a quota of another namespace":                     {VerdictDrains, []func(*World){quota("pods", "1", "2"), func(w *World) { w.Quotas[0].Namespace = "elsewhere" }}},
		"quotas that were not read":                        {VerdictUndecided, []func(*World){func(w *World) { w.Gaps = []Gap{{"resourcequotas", "no permission"}} }}},
		"quotas that do not matter":                        {VerdictDrains, []func(*World){func(w *World) { w.Gaps, w.Budgets = []Gap{{"resourcequotas", "no permission"}}, nil }}},
		"another Pod's anti-affinity by unread labels": {VerdictUndecided, []func(*World){func(w *World) {
			shy := testPod("shy", "b")
			shy.Namespace, shy.OwnerReferences, shy.Labels = "elsewhere", nil, nil
			shy.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{LabelSelector: selector("web"), NamespaceSelector: tier("x"), TopologyKey: corev1.LabelHostname}}}}
			w.Pods = append(w.Pods, shy)
		}}},
		"its own anti-affinity to every namespace": {VerdictBlocked, []func(*World){func(w *World) {
			loud := testPod("loud", "b")
			loud.Namespace, loud.OwnerReferences, loud.Labels = "elsewhere", nil, map[string]string{"app": "loud"}
			for _, p := range w.Pods {
				p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
					{LabelSelector: selector("loud"), NamespaceSelector: &metav1.LabelSelector{}, TopologyKey: corev1.LabelHostname}}}}
			}
			w.Pods = append(w.Pods, loud)
		}}},
		"the node says that it is not Ready": {VerdictUndecided, []func(*World){func(w *World) { w.Nodes[0].Status.Conditions[0].Status = corev1.ConditionFalse }}},
	} {
		f, err := twoReplicas(append([]func(*World){second}, c.edits...)...).Forecast("a", Options{Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if f.Verdict != c.want {
			t.Errorf("%s: %s, want %s\n%s", name, f.Verdict, c.want, f)
		}
		if strings.HasPrefix(name, "a quota that is more than full") && !strings.Contains(f.String(), "its replacement is refused: quota q allows 1 count/pods") {
			t.Errorf("%s: the text does not name the quota:\n%s", name, f)
		}
	}
}

// TestWhatTheServerAddsIsNoDifference: Pods as the API server made them of their
// template are like it.
func TestWhatTheServerAddsIsNoDifference(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios(t, "own") {
		if !strings.HasSuffix(s.name(), "spread-by-revision") {
			continue
		}
		w := readState(t, s.dir)
		m := newModel(w, s.Node, Options{})
		for id := range m.pods {
			if m.newbornOf(id) != nil {
				t.Errorf("%s: Pod %s differs from its template", s.name(), m.pods[id].obj.Name)
			}
		}
		return
	}
	t.Error("no such record")
}

// workQueue gives the Pods to a Job without completions.
func workQueue(succeeded int32, manager string) func(*World) {
	return func(w *World) {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "queue", Namespace: "shop", UID: "j"},
			Spec: batchv1.JobSpec{Parallelism: new(int32(2))}, Status: batchv1.JobStatus{Active: 2, Succeeded: succeeded}}
		if manager != "" {
			j.Spec.ManagedBy = &manager
		}
		w.Jobs = append(w.Jobs, j)
		for _, p := range w.Pods {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "queue", UID: "j", Controller: new(true)}}
		}
	}
}

// TestEachListThatIsForbidden: a permission that is missing ends in an error
// that names it or in an honest verdict, never in a wrong one.
func TestEachListThatIsForbidden(t *testing.T) {
	t.Parallel()
	for resource, want := range map[string]string{
		"nodes": "nodes", "pods": "pods", "poddisruptionbudgets": "poddisruptionbudgets.policy", "daemonsets": "daemonsets.apps",
		"namespaces": "", "replicasets": "", "resourcequotas": "", "limitranges": "", "persistentvolumeclaims": "", "persistentvolumes": "", "deployments": "",
		"validatingwebhookconfigurations": "", "mutatingwebhookconfigurations": "", "validatingadmissionpolicybindings": "",
	} {
		w := twoReplicas(func(w *World) {
			w.Nodes = append(w.Nodes, bigNode("b"))
			w.Budgets[0].Spec.MinAvailable, w.Budgets[0].Spec.MaxUnavailable = nil, w.Budgets[0].Spec.MinAvailable
			agent := testPod("agent", "a")
			agent.OwnerReferences, agent.Labels = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "ds", Controller: new(true)}}, nil
			w.Pods = append(w.Pods, agent)
			shy := testPod("shy", "b")
			shy.Namespace, shy.OwnerReferences, shy.Labels = "elsewhere", nil, nil
			shy.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{LabelSelector: selector("web"), NamespaceSelector: tier("x"), TopologyKey: corev1.LabelHostname}}}}
			w.Pods = append(w.Pods, shy)
			shared(corev1.ReadWriteMany)(w)
		})
		var objects []runtime.Object
		for _, n := range w.Nodes {
			objects = append(objects, n)
		}
		for _, p := range w.Pods {
			objects = append(objects, p)
		}
		objects = append(objects, &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "shop", UID: "ds"}}, w.ReplicaSets[0], w.Deployments[0], w.Budgets[0], w.Claims[0], w.Volumes[0],
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere", Labels: map[string]string{"tier": "x"}}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"tier": "y"}}})
		c := newCluster(t, objects...)
		c.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(corev1.Resource(resource), "", errors.New("RBAC"))
		})
		f, err := Forecast(context.Background(), c, "a", Options{Timeout: time.Minute, IgnoreDaemonSets: true})
		if want != "" {
			var access *AccessError
			if !errors.As(err, &access) || access.Verb != "list" || access.Resource != want {
				t.Errorf("%s: error %v", resource, err)
			}
			continue
		}
		expect := VerdictUndecided
		if resource == "deployments" { // the budget's status tells their scale
			expect = VerdictDrains
		}
		if err != nil || f.Verdict != expect {
			t.Errorf("%s: %v\n%s", resource, err, f)
		}
	}
}
