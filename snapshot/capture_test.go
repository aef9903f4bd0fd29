package snapshot

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensionsfake "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/fake"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	discoveryfake "k8s.io/client-go/discovery/fake"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

// fakes are the four clients over a small k3s cluster.
type fakes struct {
	kube *fake.Clientset
	meta *metadatafake.FakeMetadataClient
	dyn  *dynamicfake.FakeDynamicClient
	ext  *extensionsfake.Clientset
}

func (f *fakes) clients() Clients {
	return Clients{Kubernetes: f.kube, Metadata: f.meta, Dynamic: f.dyn, Extensions: f.ext}
}

func newFakes(t *testing.T) *fakes {
	t.Helper()
	yes := true
	meta := func(ns, name string, owner ...metav1.OwnerReference) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: ns, Name: name, UID: types.UID("uid-" + name), OwnerReferences: owner}
	}
	by := func(kind, name string) metav1.OwnerReference {
		return metav1.OwnerReference{Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: &yes}
	}
	two := int32(2)
	podSpec := corev1.PodSpec{InitContainers: []corev1.Container{{Image: "init:1"}}, Containers: []corev1.Container{{Image: "web:1"}}}
	restarted := func(n int32) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			InitContainerStatuses: []corev1.ContainerStatus{{RestartCount: 1}},
			ContainerStatuses: []corev1.ContainerStatus{{RestartCount: n, LastTerminationState: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(noon)}}}}}
	}
	f := &fakes{}
	f.kube = fake.NewClientset(
		&corev1.Namespace{ObjectMeta: meta("", "kube-system")}, &corev1.Namespace{ObjectMeta: meta("", "upg")},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "uid-n1", Labels: map[string]string{"node-role.kubernetes.io/control-plane": "true", "node-role.kubernetes.io/etcd": "true"}},
			Spec: corev1.NodeSpec{PodCIDRs: []string{"10.42.0.0/24"}, Unschedulable: true},
			Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{KubeletVersion: v34, ContainerRuntimeVersion: "containerd://2"},
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}},
		&appsv1.Deployment{ObjectMeta: meta("upg", "web"), Spec: appsv1.DeploymentSpec{Replicas: &two, Template: corev1.PodTemplateSpec{Spec: podSpec}}, Status: appsv1.DeploymentStatus{ReadyReplicas: 2}},
		&corev1.Pod{ObjectMeta: meta("upg", "web-1", by("ReplicaSet", "web-rs")), Spec: podSpec, Status: restarted(2)},
		&corev1.Pod{ObjectMeta: meta("upg", "web-2", by("ReplicaSet", "web-rs")), Spec: podSpec, Status: restarted(0)},
		&corev1.Pod{ObjectMeta: meta("upg", "bare"), Spec: podSpec, Status: restarted(3)},
		&corev1.Pod{ObjectMeta: meta("upg", "tick-1-x", by("Job", "tick-1")), Spec: podSpec, Status: restarted(4)},
		&batchv1.Job{ObjectMeta: meta("upg", "tick-1", by("CronJob", "tick"))},
		&batchv1.CronJob{ObjectMeta: meta("upg", "tick"), Spec: batchv1.CronJobSpec{Schedule: "@daily"}},
		&corev1.Secret{ObjectMeta: meta("upg", "password"), Data: map[string][]byte{"password": []byte("hunter2")}},
		&corev1.ConfigMap{ObjectMeta: meta("upg", "config"), Data: map[string]string{"password": "hunter2"}},
		&corev1.Service{ObjectMeta: meta("upg", "web"), Spec: corev1.ServiceSpec{Type: "NodePort", ClusterIPs: []string{"10.43.0.1"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80, NodePort: 30080, Protocol: "TCP"}}}},
	)
	list := metav1.Verbs{"list", "get"}
	r := func(name, kind string, namespaced bool) metav1.APIResource {
		return metav1.APIResource{Name: name, Kind: kind, Namespaced: namespaced, Verbs: list}
	}
	f.kube.Resources = []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{r("namespaces", "Namespace", false), r("nodes", "Node", false), r("pods", "Pod", true), {Name: "pods/log", Kind: "Pod", Verbs: metav1.Verbs{"get"}},
			r("secrets", "Secret", true), r("configmaps", "ConfigMap", true), r("services", "Service", true), r("persistentvolumes", "PersistentVolume", false), r("persistentvolumeclaims", "PersistentVolumeClaim", true), r("serviceaccounts", "ServiceAccount", true), r("events", "Event", true),
			{Name: "bindings", Kind: "Binding", Verbs: metav1.Verbs{"create"}}}},
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{r("deployments", "Deployment", true), r("replicasets", "ReplicaSet", true), r("statefulsets", "StatefulSet", true), r("daemonsets", "DaemonSet", true)}},
		{GroupVersion: "batch/v1", APIResources: []metav1.APIResource{r("jobs", "Job", true), r("cronjobs", "CronJob", true)}},
		{GroupVersion: "apiextensions.k8s.io/v1", APIResources: []metav1.APIResource{r("customresourcedefinitions", "CustomResourceDefinition", false)}},
		{GroupVersion: "coordination.k8s.io/v1", APIResources: []metav1.APIResource{r("leases", "Lease", true)}},
		{GroupVersion: "helm.cattle.io/v1", APIResources: []metav1.APIResource{r("helmcharts", "HelmChart", true)}},
		{GroupVersion: "upgrade.cattle.io/v1", APIResources: []metav1.APIResource{r("plans", "Plan", true)}},
	}
	f.kube.Discovery().(*discoveryfake.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: v34}
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	partial := func(gv, kind string, m metav1.ObjectMeta) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: gv, Kind: kind}, ObjectMeta: m}
	}
	plan := meta("system-upgrade", "k3s")
	plan.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "old", APIVersion: "upgrade.cattle.io/v1beta1"}, {Manager: "new", APIVersion: "upgrade.cattle.io/v1"}}
	f.meta = metadatafake.NewSimpleMetadataClient(scheme,
		partial("apps/v1", "ReplicaSet", meta("upg", "web-rs", by("Deployment", "web"))),
		partial("v1", "Namespace", meta("", "kube-system")), partial("v1", "Namespace", meta("", "upg")),
		partial("v1", "ServiceAccount", meta("upg", "default")),
		partial("upgrade.cattle.io/v1", "Plan", plan),
		partial("v1", "Event", meta("upg", "noise")),
	)
	f.dyn = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{{Group: "helm.cattle.io", Version: "v1", Resource: "helmcharts"}: "HelmChartList"},
		&unstructured.Unstructured{Object: map[string]any{"apiVersion": "helm.cattle.io/v1", "kind": "HelmChart",
			"metadata": map[string]any{"name": "traefik", "namespace": "kube-system", "uid": "uid-traefik", "annotations": map[string]any{
				"objectset.rio.cattle.io/owner-gvk": "k3s.cattle.io/v1, Kind=Addon", "objectset.rio.cattle.io/owner-name": "traefik"}},
			"spec": map[string]any{"chart": "traefik", "version": "37.0.0"}, "status": map[string]any{"jobName": "helm-install-traefik"}}})
	f.ext = extensionsfake.NewClientset(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: meta("", "plans.upgrade.cattle.io"),
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: "upgrade.cattle.io", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "plans", Kind: "Plan"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}}},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}, Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}}})
	return f
}

func mustCapture(t *testing.T, f *fakes, opts Options) *Snapshot {
	t.Helper()
	s, err := Capture(context.Background(), f.clients(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCaptureTakesIdentityVersionsAndHealth(t *testing.T) {
	t.Parallel()
	s := mustCapture(t, newFakes(t), Options{})
	if s.ClusterUID != "uid-kube-system" || s.ServerVersion() != v34 {
		t.Errorf("cluster %q, server %q", s.ClusterUID, s.ServerVersion())
	}
	n, ok := s.Node("n1")
	if !ok || n.Kubelet != v34 || !n.Ready || n.Schedulable || strings.Join(n.Roles, ",") != "control-plane,etcd" {
		t.Errorf("node %+v", n)
	}
	web, ok := s.Workload("Deployment", "upg", "web")
	if !ok || web.UID != "uid-web" || web.Ready != 2 || web.Desired != 2 || web.Restarts != 4 || !web.LastRestart.Equal(noon) || strings.Join(web.Images, ",") != "init:1,web:1" {
		t.Errorf("web %+v", web)
	}
	if bare, ok := s.Workload("Pod", "upg", "bare"); !ok || bare.Restarts != 4 || bare.Ready != 1 {
		t.Errorf("bare Pod %+v", bare)
	}
	for _, w := range []string{"Job tick-1", "CronJob tick"} {
		kind, name, _ := strings.Cut(w, " ")
		if got, ok := s.Workload(kind, "upg", name); !ok || got.Restarts != 5 {
			t.Errorf("%s: %+v, want the Pod's 5 restarts", w, got)
		}
	}
	if len(s.Pods) != 3 || s.Pods[2].Owner.Kind != "Deployment" {
		t.Errorf("Pods %+v", s.Pods)
	}
	if s.Services[0].Ports[0] != "http:80/TCP>30080" {
		t.Errorf("service %+v", s.Services[0])
	}
	if up, err := s.Deployed("traefik"); err != nil || !up || s.HelmCharts[0].KeptBy != "Addon/traefik" || s.HelmCharts[0].Version != "37.0.0" {
		t.Errorf("traefik deployed: %v, %v; %+v", up, err, s.HelmCharts)
	}
	if up, err := s.Deployed("coredns"); err != nil || up {
		t.Errorf("coredns deployed: %v, %v", up, err)
	}
	plan, ok := find(s.Others, func(o *Object) bool { return o.Kind == "Plan" })
	if !ok || strings.Join(plan.WrittenAs, ",") != "upgrade.cattle.io/v1beta1" {
		t.Errorf("Plan %+v", plan)
	}
	if _, ok := find(s.Others, func(o *Object) bool { return o.Kind == "Event" || o.Kind == "Lease" }); ok {
		t.Error("Events and Leases are captured")
	}
	if len(s.NotCaptured()) != 0 {
		t.Errorf("not captured: %+v", s.NotCaptured())
	}
}

func TestCaptureKeepsNoSecretValue(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	s := mustCapture(t, f, Options{})
	var b strings.Builder
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "hunter2") || strings.Contains(b.String(), "aHVudGVyMg") {
		t.Error("the password is in the file")
	}
	if len(s.Data) != 2 || s.Data[0].Hash == s.Data[1].Hash || len(s.Data[0].Hash) != 32 {
		t.Errorf("the same value in two objects must not show as the same: %+v", s.Data)
	}
	again := mustCapture(t, f, Options{})
	if s.Data[1].Hash != again.Data[1].Hash {
		t.Error("the same data gives two hashes")
	}
	secret, err := f.kube.CoreV1().Secrets("upg").Get(context.Background(), "password", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret.Data["password"] = []byte("hunter3")
	if _, err := f.kube.CoreV1().Secrets("upg").Update(context.Background(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c := Compare(s, mustCapture(t, f, Options{}), CompareOptions{})
	if len(c.Differences) != 1 || c.Differences[0].What != Changed || c.Differences[0].Kind != "Secret" || c.Differences[0].Name != "password" {
		t.Errorf("got %v", c.Differences)
	}
}

func TestHashTellsFieldsApart(t *testing.T) {
	t.Parallel()
	c := &capture{out: &Snapshot{ClusterUID: "x"}}
	seen := map[string]string{}
	for name, m := range map[string]*corev1.ConfigMap{
		"empty": {}, "a key without value": {Data: map[string]string{"a": ""}}, "ab=c": {Data: map[string]string{"ab": "c"}}, "a=bc": {Data: map[string]string{"a": "bc"}},
		"two keys": {Data: map[string]string{"a": "b", "c": ""}}, "binary": {BinaryData: map[string][]byte{"ab": []byte("c")}}, "both": {Data: map[string]string{"a": "b"}, BinaryData: map[string][]byte{"c": nil}},
	} {
		h := c.configMap(m).Hash
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[h] = name
	}
}

func TestWhatMayNotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.kube.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no right"))
	})
	s := mustCapture(t, f, Options{})
	gaps := s.NotCaptured()
	if len(gaps) != 1 || gaps[0].Resource != "secrets" || gaps[0].State != Forbidden || !strings.Contains(gaps[0].Reason, "forbidden") {
		t.Errorf("got %+v", gaps)
	}
	if c := Compare(s, s, CompareOptions{}); c.Verdict != NotComparable {
		t.Errorf("verdict %s with Secrets unseen", c.Verdict)
	}
}

func TestAKindWhoseOwnServerFailsIsNamed(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.meta.PrependReactor("list", "plans", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(errors.New("conversion webhook failed"))
	})
	s := mustCapture(t, f, Options{})
	if l, ok := s.List("upgrade.cattle.io", "plans"); !ok || l.State != Failed || !strings.Contains(l.Reason, "conversion webhook") {
		t.Errorf("got %+v", l)
	}
}

func TestAFailureOfTheAPIServerItselfIsAnError(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"the connection breaks":    errors.New("read tcp: connection reset by peer"),
		"the server shuts down":    apierrors.NewServiceUnavailable("shutting down"),
		"the token is not valid":   apierrors.NewUnauthorized("who are you"),
		"the server has a timeout": apierrors.NewTimeoutError("slow", 1),
	} {
		f := newFakes(t)
		f.kube.PrependReactor("list", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
		s, got := Capture(context.Background(), f.clients(), Options{})
		if s != nil || !errors.Is(got, err) || !strings.Contains(got.Error(), "listing deployments.apps") {
			t.Errorf("%s: got %v, %v", name, s, got)
		}
	}
}

func TestAnUpgradeInMidCaptureIsAnError(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.kube.PrependReactor("list", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
		f.kube.Discovery().(*discoveryfake.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: v35}
		return false, nil, nil
	})
	if s, err := Capture(context.Background(), f.clients(), Options{Concurrency: 1}); s != nil || err == nil || !strings.Contains(err.Error(), "it was v1.34.4+k3s1 and is v1.35.4+k3s1") {
		t.Errorf("got %v, %v", s, err)
	}
}

func TestACancelledCaptureIsAnError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	f := newFakes(t)
	f.kube.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) { cancel(); return false, nil, nil })
	if s, err := Capture(ctx, f.clients(), Options{Concurrency: 1}); s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", s, err)
	}
}

func TestCaptureWithoutTheRightToSeeTheIdentity(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.kube.PrependReactor("get", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, "kube-system", nil)
	})
	s := mustCapture(t, f, Options{})
	if c := Compare(s, s, CompareOptions{}); c.Verdict != NotComparable || !strings.Contains(c.Headline, "no cluster identity") {
		t.Errorf("got %s", c)
	}
}

func TestOptionsChooseKinds(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	s := mustCapture(t, f, Options{Kinds: []string{"Deployment", "plans.upgrade.cattle.io"}})
	var captured []string
	for _, l := range s.Lists {
		if l.State == Captured {
			captured = append(captured, l.name())
		}
	}
	if want := "pods deployments.apps replicasets.apps plans.upgrade.cattle.io"; strings.Join(captured, " ") != want {
		t.Errorf("captured %q, want %q", captured, want)
	}
	if web, ok := s.Workload("Deployment", "upg", "web"); !ok || web.Restarts != 4 {
		t.Errorf("web %+v", web)
	}
	full := mustCapture(t, f, Options{})
	if c := Compare(s, full, CompareOptions{}); c.Verdict != NotComparable {
		t.Errorf("a part is compared with the whole: %s", c.Verdict)
	}
	if c := Compare(s, full, CompareOptions{Kinds: []string{"deployments", "Plan"}}); c.Verdict != SameCluster {
		t.Errorf("got %s", c)
	}
	if _, err := Capture(context.Background(), f.clients(), Options{Kinds: []string{"Deploiment"}}); err == nil || !strings.Contains(err.Error(), `"Deploiment"`) {
		t.Errorf("a misspelt kind: %v", err)
	}
	if _, err := s.Deployed("coredns"); err == nil {
		t.Error("coredns is said to be there or not though HelmCharts were not captured")
	}
}

func TestOptionsChooseNamespaces(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	s := mustCapture(t, f, Options{Namespaces: []string{"upg", "nothing", "upg"}})
	if len(s.HelmCharts) != 0 || len(s.Nodes) != 1 || len(s.Data) != 2 {
		t.Errorf("charts %d, nodes %d, data %d", len(s.HelmCharts), len(s.Nodes), len(s.Data))
	}
	if c := Compare(s, s, CompareOptions{}); c.Verdict != NotComparable {
		t.Errorf("some namespaces are called all: %s", c.Verdict)
	}
	if c := Compare(s, s, CompareOptions{Namespaces: []string{"upg"}}); c.Verdict != SameCluster {
		t.Errorf("got %s", c)
	}
	if _, err := s.Deployed("traefik"); err == nil {
		t.Error("traefik is looked for outside of what was captured")
	}
}

func TestASnapshotWhoseListsWereCutIsNeverTheSame(t *testing.T) {
	t.Parallel()
	whole := mustCapture(t, newFakes(t), Options{})
	if c := Compare(whole, whole, CompareOptions{}); c.Verdict != SameCluster {
		t.Fatal(c)
	}
	for _, l := range everywhere {
		cut := *whole
		cut.Lists = slices.DeleteFunc(slices.Clone(whole.Lists), func(m List) bool { return m.Resource == l.Resource })
		for _, c := range []*Comparison{Compare(&cut, whole, CompareOptions{}), Compare(whole, &cut, CompareOptions{}), Compare(&cut, &cut, CompareOptions{})} {
			if c.Verdict != NotComparable {
				t.Errorf("without %s: %s", l.Resource, c.Verdict)
			}
		}
		if c := Compare(&cut, &cut, CompareOptions{Kinds: []string{"Ingress"}}); c.Verdict != SameCluster {
			t.Errorf("%s is missed although only Ingresses are asked for: %s", l.Resource, c.Verdict)
		}
	}
}

func TestACRDThatDiscoveryDoesNotKnowYetIsAGap(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	f.kube.Resources = slices.DeleteFunc(f.kube.Resources, func(l *metav1.APIResourceList) bool { return l.GroupVersion == "upgrade.cattle.io/v1" })
	s := mustCapture(t, f, Options{Settle: -1})
	if l, ok := s.List("upgrade.cattle.io", "plans"); !ok || l.State != Failed {
		t.Errorf("got %+v", l)
	}
}

func TestACRDThatIsServedLateIsReadAllTheSame(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	all := f.kube.Resources
	f.kube.Resources = slices.DeleteFunc(slices.Clone(all), func(l *metav1.APIResourceList) bool { return l.GroupVersion == "upgrade.cattle.io/v1" })
	// The list of CRDs comes after the discovery that lacks the kind.
	f.ext.PrependReactor("list", "customresourcedefinitions", func(clienttesting.Action) (bool, runtime.Object, error) {
		f.kube.Lock()
		defer f.kube.Unlock()
		f.kube.Resources = all
		return false, nil, nil
	})
	s := mustCapture(t, f, Options{Concurrency: 1})
	if l, ok := s.List("upgrade.cattle.io", "plans"); !ok || l.State != Captured || l.Count != 1 {
		t.Errorf("got %+v", l)
	}
	if _, ok := find(s.APIs, func(a *API) bool { return a.GroupVersion == "upgrade.cattle.io/v1" }); !ok {
		t.Error("the API is not among those served")
	}
}

func TestClientsAreAllNeeded(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	for i := range 4 {
		c := f.clients()
		switch i {
		case 0:
			c.Kubernetes = nil
		case 1:
			c.Metadata = nil
		case 2:
			c.Dynamic = nil
		case 3:
			c.Extensions = nil
		}
		if _, err := Capture(context.Background(), c, Options{}); err == nil {
			t.Errorf("client %d is not missed", i)
		}
	}
	if _, err := NewClients(nil); err == nil {
		t.Error("no configuration is no error")
	}
}

func TestCaptureCallsNoDeprecatedAPIWhereItNeedNot(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	list := metav1.Verbs{"list"}
	f.kube.Resources = []*metav1.APIResourceList{
		{GroupVersion: "extensions/v1beta1", APIResources: []metav1.APIResource{{Name: "ingresses", Kind: "Ingress", Verbs: list}}},
		{GroupVersion: "networking.k8s.io/v1beta1", APIResources: []metav1.APIResource{{Name: "ingresses", Kind: "Ingress", Verbs: list}, {Name: "ipaddresses", Kind: "IPAddress", Verbs: list}}},
		{GroupVersion: "networking.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "ingresses", Kind: "Ingress", Verbs: list}}},
	}
	apis, lists, err := discover(f.kube.Discovery())
	if err != nil || len(apis) != 3 {
		t.Fatalf("%+v, %v", apis, err)
	}
	var got []string
	for _, l := range lists {
		got = append(got, l.Group+"/"+l.Version+" "+l.Resource)
	}
	if want := "networking.k8s.io/v1 ingresses, networking.k8s.io/v1beta1 ipaddresses"; strings.Join(got, ", ") != want {
		t.Errorf("lists %q, want %q", got, want)
	}
}

// brokenDiscovery has aggregated APIs whose servers are away.
type brokenDiscovery struct {
	discovery.DiscoveryInterface
	away map[schema.GroupVersion]error
}

func (b brokenDiscovery) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	g, r, _ := b.DiscoveryInterface.ServerGroupsAndResources()
	return g, r, &discovery.ErrGroupDiscoveryFailed{Groups: b.away}
}

func TestAnAPIWhoseServerIsAwayIsNamed(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	apis, lists, err := discover(brokenDiscovery{f.kube.Discovery(), map[schema.GroupVersion]error{
		{Group: "metrics.k8s.io", Version: "v1beta1"}: errors.New("the server is currently unable to handle the request"),
		{Group: "things.example", Version: "v1"}:      errors.New("no endpoints available"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := &Snapshot{APIs: apis}
	gaps := unseen(s, lists)
	if len(gaps) != 1 || gaps[0].Group != "things.example" || gaps[0].State != Failed {
		t.Errorf("got %+v: metrics are computed and no gap, things are", gaps)
	}
	if a, ok := find(apis, func(a *API) bool { return a.GroupVersion == "metrics.k8s.io/v1beta1" }); !ok || a.Unavailable == "" {
		t.Errorf("metrics %+v", a)
	}
}

func TestEveryAPIServerIsAskedForItsVersion(t *testing.T) {
	t.Parallel()
	answer := func(version string) (string, int32) {
		srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"gitVersion":%q}`, version)
		}))
		t.Cleanup(srv.Close)
		host, port, _ := strings.Cut(strings.TrimPrefix(srv.URL, "https://"), ":")
		n, err := strconv.Atoi(port)
		if err != nil {
			t.Fatal(err)
		}
		return host, int32(n)
	}
	f := newFakes(t)
	clients := f.clients()
	clients.Config = &rest.Config{TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	add := func(name, host string, port int32) {
		s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"kubernetes.io/service-name": "kubernetes"}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{host}}}, Ports: []discoveryv1.EndpointPort{{Port: &port}}}
		if _, err := f.kube.DiscoveryV1().EndpointSlices("default").Create(context.Background(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	host, port := answer(v34)
	add("one", host, port)
	s, err := Capture(context.Background(), clients, Options{})
	if err != nil || len(s.Servers) != 1 {
		t.Fatalf("one server: %+v, %v", s, err)
	}
	host, port = answer(v35)
	add("two", host, port)
	add("away", "127.0.0.1", 1)
	s, err = Capture(context.Background(), clients, Options{})
	if err != nil || len(s.Servers) != 4 || s.ServerVersion() != v34 {
		t.Fatalf("three servers: %+v, %v", s, err)
	}
	c := Compare(s, s, CompareOptions{})
	if len(c.Differences) != 1 || c.Differences[0].What != NotAStep || !strings.Contains(c.Differences[0].Detail, "has not reached all servers") {
		t.Errorf("differences %v", c.Differences)
	}
	if !slices.ContainsFunc(c.Reasons, func(r string) bool { return strings.Contains(r, "127.0.0.1:1 was not reached") }) {
		t.Errorf("reasons %q", c.Reasons)
	}
}

// chunk is a list in pages.
type chunk struct{ next, revision string }

func (c chunk) GetContinue() string        { return c.next }
func (c chunk) GetResourceVersion() string { return c.revision }

func TestPagesAreOfOneRevision(t *testing.T) {
	t.Parallel()
	expired := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired}}
	type answer struct {
		chunk
		err error
	}
	for name, c := range map[string]struct {
		answers  []answer
		limits   []int64
		revision string
		visited  int
		err      error
	}{
		"one page":    {answers: []answer{{chunk: chunk{"", "7"}}}, limits: []int64{10}, revision: "7", visited: 1},
		"three pages": {answers: []answer{{chunk: chunk{"a", "7"}}, {chunk: chunk{"b", "7"}}, {chunk: chunk{"", "7"}}}, limits: []int64{10, 10, 10}, revision: "7", visited: 3},
		"the revision is forgotten once": {answers: []answer{{chunk: chunk{"a", "7"}}, {err: expired}, {chunk: chunk{"a", "9"}}, {chunk: chunk{"", "9"}}},
			limits: []int64{10, 10, 10, 10}, revision: "9", visited: 2},
		"the revision is forgotten twice": {answers: []answer{{chunk: chunk{"a", "7"}}, {err: expired}, {chunk: chunk{"a", "9"}}, {err: expired}, {chunk: chunk{"", "11"}}},
			limits: []int64{10, 10, 10, 10, 0}, revision: "11", visited: 1},
		"two revisions":                 {answers: []answer{{chunk: chunk{"a", "7"}}, {chunk: chunk{"", "8"}}}, limits: []int64{10, 10}, err: errPaging},
		"the same page again and again": {answers: []answer{{chunk: chunk{"a", "7"}}, {chunk: chunk{"a", "7"}}}, limits: []int64{10, 10}, err: errPaging},
	} {
		var limits []int64
		visited := 0
		revision, err := pages(context.Background(), 10, func(_ context.Context, o metav1.ListOptions) (chunk, error) {
			if len(limits) == len(c.answers) {
				return chunk{}, fmt.Errorf("asked %d times", len(limits)+1)
			}
			a := c.answers[len(limits)]
			limits = append(limits, o.Limit)
			return a.chunk, a.err
		}, func() { visited = 0 }, func(chunk) error { visited++; return nil })
		if !errors.Is(err, c.err) || revision != c.revision || !slices.Equal(limits, c.limits) || err == nil && visited != c.visited {
			t.Errorf("%s: revision %q, limits %v, visited %d, error %v", name, revision, limits, visited, err)
		}
	}
}

func TestCgroupVersion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"# HELP kubelet_cgroup_version [ALPHA] cgroup version on the hosts.\nkubelet_cgroup_version 2\n": 2,
		"kubelet_cgroup_version 1\n": 1, "kubelet_cgroup_version 0\n": 0, "kubelet_cgroup_version x\n": 0, "other 2\n": 0, "": 0,
	} {
		if got := cgroupVersion(strings.NewReader(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
