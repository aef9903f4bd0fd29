package suc

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// installed is a cluster with the controller as the shipped manifest makes it.
func installed(t *testing.T, objects ...runtime.Object) Clients {
	t.Helper()
	l := map[string]string{LabelController: controllerName}
	kube := fake.NewClientset(append([]runtime.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "system-upgrade"}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "system-upgrade", Name: "system-upgrade"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system-upgrade", Name: "script"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system-upgrade", Name: "default-controller-env"}, Data: map[string]string{deadlineVariable: "900"}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "system-upgrade", Name: controllerName}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: l},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Image:   "registry.lan/rancher/system-upgrade-controller:v0.20.1",
				EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "default-controller-env"}}}},
			}}}},
		}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "system-upgrade", Name: "suc-x", Labels: l}, Spec: corev1.PodSpec{NodeName: "srv-1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}},
	}, objects...)...)
	kube.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: "v1.34.11+k3s1"}
	dyn := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{Resource: "PlanList"})
	return Clients{Kube: kube, Dynamic: dyn}
}

func server(args string, etcd bool) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "srv-1", UID: "u", Labels: map[string]string{ControlPlaneLabel: "true"}, Annotations: map[string]string{}},
		Status:     corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.34.11+k3s1"}, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: "True"}}},
	}
	if args != "" {
		n.Annotations["k3s.io/node-args"] = args
	}
	if etcd {
		n.Labels[etcdLabel] = "true"
	}
	return n
}

func TestReadFacts(t *testing.T) {
	t.Parallel()
	got, err := ReadFacts(t.Context(), installed(t, server(`["server"]`, false)))
	if err != nil {
		t.Fatal(err)
	}
	ready, deadline := true, int64(900)
	want := &Facts{
		ServerVersion: "v1.34.11+k3s1", Datastore: "sqlite",
		Nodes:      []Node{{Name: "srv-1", UID: "u", KubeletVersion: "v1.34.11+k3s1", Labels: map[string]string{ControlPlaneLabel: "true"}, Ready: &ready}},
		SUC:        &Controller{Version: "v0.20.1", Namespace: "system-upgrade", JobDeadlineSeconds: &deadline, Node: "srv-1"},
		Plans:      []string{},
		Secrets:    []string{"system-upgrade/script"},
		Namespaces: []string{"system-upgrade"}, ServiceAccounts: []string{"system-upgrade/system-upgrade"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadFactsConcludesTheDatastore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		node *corev1.Node
		want string
	}{
		"one k3s server":    {server(`["server"]`, false), "sqlite"},
		"an endpoint":       {server(`["server","--datastore-endpoint","********"]`, false), "external"},
		"the etcd role":     {server(`["server","--cluster-init"]`, true), "etcd"},
		"no arguments seen": {server("", false), ""},
	} {
		got, err := ReadFacts(t.Context(), installed(t, c.node))
		if err != nil || got.Datastore != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got.Datastore, err, c.want)
		}
	}
}

func TestParseFactsRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a misspelt key":       `{"serverVersoin": "v1.34.11+k3s1"}`,
		"no version":           `{"serverVersion": "latest"}`,
		"no datastore":         `{"datastore": "floppy"}`,
		"a node without name":  `{"nodes": [{"labels": {}}]}`,
		"a list":               `[]`,
		"nothing":              ``,
		"two documents":        "serverVersion: v1.34.11+k3s1\n---\nserverVersion: v1.34.11+k3s1\n",
		"a key given twice":    `{"plans": [], "plans": []}`,
		"broken":               `{"plans": [`,
		"a number for a label": `{"nodes": [{"name": "a", "labels": {"b": 1}}]}`,
	} {
		if f, err := ParseFacts([]byte(text)); err == nil {
			t.Errorf("%s was taken: %+v", name, f)
		}
	}
	if f, err := ParseFacts([]byte("# facts\nserverVersion: v1.34.11+k3s1\nsecrets: []\n")); err != nil || f.Secrets == nil || f.Plans != nil {
		t.Errorf("YAML: %+v, %v", f, err)
	}
}

func TestAMissingPlanIsToldFromAMissingCRD(t *testing.T) {
	t.Parallel()
	get := func(answer error) (plan, watch error) {
		c := installed(t)
		c.Dynamic.(*dynamicfake.FakeDynamicClient).PrependReactor("get", Resource.Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, answer
		})
		_, plan = GetPlan(t.Context(), c.Dynamic, "system-upgrade", "x")
		_, watch = Watch(t.Context(), c, "system-upgrade", "x", WatchOptions{})
		return plan, watch
	}
	missing := apierrors.NewNotFound(Resource.GroupResource(), "x")
	unknown := apierrors.NewGenericServerResponse(http.StatusNotFound, "get", Resource.GroupResource(), "x", "404 page not found", 0, true)
	for _, tt := range []struct {
		name   string
		answer error
		noCRD  bool
		says   string
	}{
		{"no Plan", missing, false, "no Plan x in namespace system-upgrade"},
		{"no CRD", unknown, true, "no CRD plans.upgrade.cattle.io"},
	} {
		plan, watch := get(tt.answer)
		for _, err := range []error{plan, watch} {
			if errors.Is(err, ErrNoCRD) != tt.noCRD || !apierrors.IsNotFound(err) {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		if !strings.Contains(watch.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, watch)
		}
	}
}
