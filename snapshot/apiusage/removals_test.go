package apiusage

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/k3sladder/k3sladder/skew"
)

// TestRemovalsAgreeWithKubernetesOwnDeclarations reads the lifecycle methods of
// every type that k8s.io/api has.
func TestRemovalsAgreeWithKubernetesOwnDeclarations(t *testing.T) {
	t.Parallel()
	// Newer sources than this module's k8s.io/api moved these.
	moved := map[string]bool{
		"certificates.k8s.io/v1beta1 clustertrustbundles":          true,
		"certificates.k8s.io/v1beta1 podcertificaterequests":       true,
		"storagemigration.k8s.io/v1beta1 storageversionmigrations": true,
	}
	checked := 0
	for gvk := range scheme.Scheme.AllKnownTypes() {
		o, err := scheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		r, ok := o.(interface{ APILifecycleRemoved() (int, int) })
		if !ok || meta.IsListType(o) || gvk.Kind == "DeploymentRollback" || gvk.Kind == "Scale" {
			continue
		}
		gvr, _ := meta.UnsafeGuessKindToResource(gvk)
		resource := gvr.Resource
		if gvk.Kind == "Eviction" {
			resource = "pods/eviction"
		}
		name := gvk.GroupVersion().String() + " " + resource
		major, minor := r.APILifecycleRemoved()
		got, found := Lookup(gvk.Group, gvk.Version, resource)
		if !found {
			t.Errorf("%s goes in %d.%d and is not in the table", name, major, minor)
			continue
		}
		if want := (skew.Minor{Major: major, Minor: minor}); got.Removed != want && !moved[name] {
			t.Errorf("%s: table says %s, k8s.io/api %s", name, got.Removed, want)
		}
		checked++
	}
	if checked < 60 {
		t.Errorf("only %d types checked", checked)
	}
}

func TestRemovalsAreWellFormed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range Removals() {
		k := r.GroupVersion() + " " + r.Resource
		if seen[k] {
			t.Errorf("%s stands twice", k)
		}
		seen[k] = true
		if r.Removed.IsZero() && r.Deprecated.IsZero() {
			t.Errorf("%s has no release at all", k)
		}
		if !r.Removed.IsZero() && !r.Deprecated.IsZero() && r.Removed.Compare(r.Deprecated) <= 0 {
			t.Errorf("%s goes before it is deprecated", k)
		}
	}
	for _, bad := range []string{"a\tb\tc", "g\tv1\tr\tx\t1.2\t-"} {
		if _, err := parseTable(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
