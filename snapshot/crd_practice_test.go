//go:build practice

package snapshot_test

import (
	"context"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/k3sladder/k3sladder/internal/practice"
	"github.com/k3sladder/k3sladder/snapshot"
)

// TestAStoredVersionTakenAway removes the version in which an object lies, the
// way people do it: after writing into the CRD's status that there is none.
func TestAStoredVersionTakenAway(t *testing.T) {
	c := practice.Start(t, practice.Options{NoNodes: true})
	ctx := t.Context()
	ext, err := apiextensions.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	dyn, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	crds := ext.ApiextensionsV1().CustomResourceDefinitions()
	yes := true
	version := func(name string, storage bool) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: true, Storage: storage,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &yes}}}
	}
	const name = "widgets.example.test"
	_, err = crds.Create(ctx, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.test", Scope: apiextensionsv1.NamespaceScoped,
		Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version("v1alpha1", true), version("v1", false)}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	widgets := schema.GroupVersionResource{Group: "example.test", Version: "v1alpha1", Resource: "widgets"}
	until := func(what string, done func(context.Context) error) {
		t.Helper()
		var last error
		if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			last = done(ctx)
			return last == nil, nil
		}); err != nil {
			t.Fatalf("%s: %v", what, last)
		}
	}
	until("creating a Widget", func(ctx context.Context) error {
		_, err := dyn.Resource(widgets).Namespace("default").Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.test/v1alpha1", "kind": "Widget", "metadata": map[string]any{"name": "one"}}}, metav1.CreateOptions{})
		return err
	})
	before := capture(t, c.Config(), snapshot.Options{})

	change := func(status bool, edit func(*apiextensionsv1.CustomResourceDefinition)) {
		t.Helper()
		until("changing the CRD", func(ctx context.Context) error {
			d, err := crds.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			edit(d)
			if status {
				_, err = crds.UpdateStatus(ctx, d, metav1.UpdateOptions{})
			} else {
				_, err = crds.Update(ctx, d, metav1.UpdateOptions{})
			}
			return err
		})
	}
	change(false, func(d *apiextensionsv1.CustomResourceDefinition) {
		d.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{version("v1alpha1", false), version("v1", true)}
	})
	until("the CRD's status", func(ctx context.Context) error {
		d, err := crds.Get(ctx, name, metav1.GetOptions{})
		if err == nil && len(d.Status.StoredVersions) != 2 {
			err = context.DeadlineExceeded
		}
		return err
	})
	change(true, func(d *apiextensionsv1.CustomResourceDefinition) { d.Status.StoredVersions = []string{"v1"} })
	change(false, func(d *apiextensionsv1.CustomResourceDefinition) {
		d.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{version("v1", true)}
	})
	widgets.Version = "v1"
	until("the change to take hold", func(ctx context.Context) error {
		if _, err := dyn.Resource(widgets).List(ctx, metav1.ListOptions{}); err != nil && strings.Contains(err.Error(), "convert") {
			return nil
		}
		return context.DeadlineExceeded
	})

	got := snapshot.Compare(before, capture(t, c.Config(), snapshot.Options{}), snapshot.CompareOptions{})
	if got.Verdict != snapshot.SameClusterWithLosses || !has(got.Losses(), "stored-version-gone: CustomResourceDefinition "+name+", stored version v1alpha1 -> none: its objects cannot be listed") {
		t.Errorf("got %s", got)
	}
	if !has(got.Differences, "api-gone: API example.test/v1alpha1") {
		t.Errorf("the API is not called gone: %s", got)
	}
}
