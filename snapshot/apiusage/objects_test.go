package apiusage

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/k3sladder/k3sladder/skew"
)

func TestFindObjectsSeesWhatTheMetricForgot(t *testing.T) {
	t.Parallel()
	kube := fake.NewClientset()
	list := metav1.Verbs{"list", "get"}
	kube.Resources = []*metav1.APIResourceList{
		{GroupVersion: "networking.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "ingresses", Kind: "Ingress", Namespaced: true, Verbs: list}, {Name: "ipaddresses", Kind: "IPAddress", Verbs: list}}},
		{GroupVersion: "networking.k8s.io/v1beta1", APIResources: []metav1.APIResource{{Name: "ipaddresses", Kind: "IPAddress", Verbs: list}}},
		{GroupVersion: "scheduling.k8s.io/v1alpha1", APIResources: []metav1.APIResource{{Name: "workloads", Kind: "Workload", Namespaced: true, Verbs: list}}},
		{GroupVersion: "policy/v1", APIResources: []metav1.APIResource{{Name: "poddisruptionbudgets", Kind: "PodDisruptionBudget", Namespaced: true, Verbs: list}}},
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: list}}},
	}
	object := func(gv, kind, ns, name string, meta metav1.ObjectMeta) *metav1.PartialObjectMetadata {
		meta.Namespace, meta.Name = ns, name
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: gv, Kind: kind}, ObjectMeta: meta}
	}
	written := func(versions ...string) (m metav1.ObjectMeta) {
		for _, v := range versions {
			m.ManagedFields = append(m.ManagedFields, metav1.ManagedFieldsEntry{Manager: "writer", APIVersion: v})
		}
		return m
	}
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	meta := metadatafake.NewSimpleMetadataClient(scheme,
		object("networking.k8s.io/v1", "Ingress", "a", "old", written("extensions/v1beta1", "networking.k8s.io/v1", "extensions/v1beta1")),
		object("networking.k8s.io/v1", "Ingress", "a", "new", written("networking.k8s.io/v1")),
		object("networking.k8s.io/v1", "Ingress", "a", "applied", metav1.ObjectMeta{Annotations: map[string]string{
			"kubectl.kubernetes.io/last-applied-configuration": `{"apiVersion":"networking.k8s.io/v1beta1","kind":"Ingress"}`}}),
		object("networking.k8s.io/v1", "IPAddress", "", "10.0.0.1", written("networking.k8s.io/v1beta1")),
		object("scheduling.k8s.io/v1alpha1", "Workload", "a", "gang", metav1.ObjectMeta{}),
	)
	meta.PrependReactor("list", "poddisruptionbudgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}, "", nil)
	})
	find := func(minor int) []string {
		f, err := FindObjects(context.Background(), kube.Discovery(), meta, skew.Minor{Major: 1, Minor: minor})
		if err != nil {
			t.Fatal(err)
		}
		if len(f.NotRead) != 1 || !strings.HasPrefix(f.NotRead[0], "poddisruptionbudgets.policy: ") {
			t.Errorf("not read: %v", f.NotRead)
		}
		var out []string
		for _, o := range f.Objects {
			out = append(out, string(o.How)+" "+o.GroupVersion+" "+o.Name+" "+o.Manager)
		}
		slices.Sort(out)
		return out
	}
	early := []string{"applied-from networking.k8s.io/v1beta1 applied kubectl", "written-through extensions/v1beta1 old writer"}
	if diff := cmp.Diff(early, find(35)); diff != "" {
		t.Errorf("1.35: %s", diff)
	}
	late := append(slices.Clone(early), "only-there scheduling.k8s.io/v1alpha1 gang ", "written-through networking.k8s.io/v1beta1 10.0.0.1 writer")
	slices.Sort(late)
	if diff := cmp.Diff(late, find(37)); diff != "" {
		t.Errorf("1.37: %s", diff)
	}
}
