package suc

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/k3sladder/k3sladder/skew"
)

func TestMarshalLeavesOutWhatTheServerAdds(t *testing.T) {
	t.Parallel()
	p := ServerPlan(skew.MustParse("v1.35.9+k3s1"), Options{})
	want, err := Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	live := p.DeepCopy()
	live.TypeMeta = metav1.TypeMeta{} // as typed clients answer
	live.UID, live.ResourceVersion, live.Generation = "u", "7", 3
	live.CreationTimestamp = metav1.Now()
	live.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	live.Annotations = map[string]string{lastApplied: "{}"}
	live.Labels = map[string]string{}
	live.Status = PlanStatus{LatestVersion: "v1.35.9-k3s1", Applying: []string{"srv-1"}}
	got, err := Marshal(live)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("a Plan read from a cluster is written as\n%s\nwant\n%s", got, want)
	}
	if live.Status.LatestVersion == "" || live.Annotations[lastApplied] == "" {
		t.Error("Marshal changed what it was given")
	}
	for _, bad := range []string{"status", "null", "creationTimestamp", "{}"} {
		if strings.Contains(string(got), bad) {
			t.Errorf("the file contains %q:\n%s", bad, got)
		}
	}
}

func TestMarshalKeepsEmptyMapsThatMeanSomething(t *testing.T) {
	t.Parallel()
	p := ServerPlan(skew.MustParse("v1.35.9+k3s1"), Options{
		NodeSelector: &metav1.LabelSelector{}, Drain: &DrainSpec{},
	})
	got, err := Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  drain: {}\n", "  nodeSelector: {}\n"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
	var back Plan
	if err := yaml.UnmarshalStrict(got, &back); err != nil {
		t.Fatal(err)
	}
	if back.Spec.Drain == nil || back.Spec.NodeSelector == nil {
		t.Error("the meaning changed on the way")
	}
}

func TestMarshalWritesADocumentEach(t *testing.T) {
	t.Parallel()
	ns := &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: "system-upgrade"},
	}
	got, err := Marshal(ns, ns)
	if err != nil {
		t.Fatal(err)
	}
	doc := "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: system-upgrade\n"
	if want := doc + "---\n" + doc; string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMarshalRefusesWhatCannotBeApplied(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]any{
		"no type":      &corev1.Namespace{},
		"nil":          (*Plan)(nil),
		"no object":    []string{"x"},
		"no JSON":      func() {},
		"a bare value": 7,
	} {
		if b, err := Marshal(o); err == nil {
			t.Errorf("%s was written as %q", name, b)
		}
	}
}
