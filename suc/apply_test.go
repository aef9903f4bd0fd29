package suc

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/k3sladder/k3sladder/skew"
)

// applyCluster stands in for an API server: apply creates or replaces, a CRD
// is established by the second look, and Plans are unknown before that. What
// the real one does is in apply_practice_test.go.
func applyCluster(t *testing.T, present ...runtime.Object) (*dynamicfake.FakeDynamicClient, *[]string) {
	t.Helper()
	c := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		Resource: "PlanList", crdResource: "CustomResourceDefinitionList", namespaceResource: "NamespaceList",
	}, present...)
	var applied []string
	looks := 0
	c.PrependReactor("get", "customresourcedefinitions", func(a clienttesting.Action) (bool, runtime.Object, error) {
		o, err := c.Tracker().Get(crdResource, "", CRDName)
		if err != nil {
			return true, nil, err
		}
		if looks++; looks > 1 {
			u := o.(*unstructured.Unstructured)
			_ = unstructured.SetNestedSlice(u.Object, []any{map[string]any{"type": "Established", "status": "True"}}, "status", "conditions")
		}
		return true, o, nil
	})
	c.PrependReactor("patch", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		p := a.(clienttesting.PatchActionImpl)
		if p.PatchType != types.ApplyPatchType {
			t.Errorf("a %s patch was sent for %s", p.PatchType, p.Name)
		}
		o := &unstructured.Unstructured{}
		if err := json.Unmarshal(p.Patch, &o.Object); err != nil {
			return true, nil, err
		}
		line := p.GetResource().Resource + " " + p.GetNamespace() + "/" + p.Name + " by " + p.PatchOptions.FieldManager
		if len(p.PatchOptions.DryRun) > 0 {
			return true, o, nil
		}
		if p.GetResource() == Resource && looks < 2 {
			return true, nil, apierrors.NewNotFound(Resource.GroupResource(), p.Name)
		}
		applied = append(applied, line)
		if _, err := c.Tracker().Get(p.GetResource(), p.GetNamespace(), p.Name); err == nil {
			return true, o, c.Tracker().Update(p.GetResource(), o, p.GetNamespace())
		}
		return true, o, c.Tracker().Add(o)
	})
	return c, &applied
}

func TestApplyGoesInOrder(t *testing.T) {
	t.Parallel()
	c, applied := applyCluster(t)
	plan := ServerPlan(skew.MustParse("v1.35.9+k3s1"), Options{Name: "k3s-server-next"})
	res, err := Apply(t.Context(), c, ApplyOptions{CRD: CRD(), Plans: []*Plan{plan}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"customresourcedefinitions /plans.upgrade.cattle.io by k3sladder",
		"namespaces /system-upgrade by k3sladder",
		"plans system-upgrade/k3s-server-next by k3sladder",
	}
	if diff := cmp.Diff(want, *applied); diff != "" {
		t.Error(diff)
	}
	wantText := "CustomResourceDefinition plans.upgrade.cattle.io created\nNamespace system-upgrade created\nPlan system-upgrade/k3s-server-next created\n"
	if diff := cmp.Diff(wantText, res.String()); diff != "" {
		t.Error(diff)
	}

	again, err := Apply(t.Context(), c, ApplyOptions{CRD: CRD(), Plans: []*Plan{plan}})
	if err != nil {
		t.Fatal(err)
	}
	wantText = "CustomResourceDefinition plans.upgrade.cattle.io kept\nPlan system-upgrade/k3s-server-next unchanged\n"
	if diff := cmp.Diff(wantText, again.String()); diff != "" {
		t.Error(diff)
	}
}

func TestApplyWithoutCRD(t *testing.T) {
	t.Parallel()
	c, applied := applyCluster(t)
	_, err := Apply(t.Context(), c, ApplyOptions{Plans: []*Plan{ServerPlan(skew.MustParse("v1.35.9+k3s1"), Options{})}})
	if !errors.Is(err, ErrNoCRD) || !strings.Contains(err.Error(), OfficialCRDURL) {
		t.Errorf("got %v", err)
	}
	if len(*applied) > 0 {
		t.Errorf("applied %v", *applied)
	}
}

func TestApplyDryRunKeepsNothing(t *testing.T) {
	t.Parallel()
	c, applied := applyCluster(t)
	res, err := Apply(t.Context(), c, ApplyOptions{
		CRD: CRD(), DryRun: true, Plans: []*Plan{ServerPlan(skew.MustParse("v1.35.9+k3s1"), Options{})},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(*applied) > 0 {
		t.Errorf("applied %v", *applied)
	}
	last := res.Objects[len(res.Objects)-1]
	if last.Action != "unchecked" || last.Note == "" {
		t.Errorf("the Plan could not be judged without its CRD, and the result says %+v", last)
	}
}

func TestApplyInstallsTheController(t *testing.T) {
	t.Parallel()
	c, applied := applyCluster(t)
	manifest := "apiVersion: v1\nkind: Namespace\nmetadata: {name: system-upgrade}\n---\n" +
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: suc}\n---\n" +
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: system-upgrade-controller, namespace: system-upgrade}\n"
	if _, err := Apply(t.Context(), c, ApplyOptions{CRD: CRD(), Controller: []byte(manifest), FieldManager: "gitops"}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"customresourcedefinitions /plans.upgrade.cattle.io by gitops",
		"namespaces /system-upgrade by gitops",
		"clusterroles /suc by gitops",
		"deployments system-upgrade/system-upgrade-controller by gitops",
	}
	if diff := cmp.Diff(want, *applied); diff != "" {
		t.Error(diff)
	}
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	homeless := ServerPlan(skew.MustParse("v1.35.9+k3s1"), Options{})
	homeless.Namespace = ""
	for name, opts := range map[string]ApplyOptions{
		"a plan without a namespace":       {CRD: CRD(), Plans: []*Plan{homeless}},
		"a CRD file without the CRD":       {CRD: []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n")},
		"a CRD file that is HTML":          {CRD: []byte("<html><body>502</body></html>")},
		"a controller file without a kind": {CRD: CRD(), Controller: []byte("a: 1\n")},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := applyCluster(t)
			if _, err := Apply(t.Context(), c, opts); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestApplyRefusesWhatLintFinds(t *testing.T) {
	t.Parallel()
	skips := ServerPlan(skew.MustParse("v1.36.4+k3s1"), Options{})
	facts := &Facts{ServerVersion: "v1.34.11+k3s1"}
	c, applied := applyCluster(t)
	_, err := Apply(t.Context(), c, ApplyOptions{CRD: CRD(), Plans: []*Plan{skips}, Facts: facts})
	var refused *LintError
	if !errors.As(err, &refused) || len(*applied) > 0 || !strings.Contains(err.Error(), "skips-minor") {
		t.Fatalf("error %v, applied %v", err, *applied)
	}
	if _, err := Apply(t.Context(), c, ApplyOptions{CRD: CRD(), Plans: []*Plan{skips}, Facts: facts, IgnoreLint: true}); err != nil {
		t.Errorf("told to go on: %v", err)
	}
}

func TestApplySaysWhatKeepsTheCRDBack(t *testing.T) {
	t.Parallel()
	c, _ := applyCluster(t)
	c.PrependReactor("get", "customresourcedefinitions", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": CRDName},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "NamesAccepted", "status": "False", "message": `"plans" is already in use`}}},
		}}, nil
	})
	_, err := Apply(t.Context(), c, ApplyOptions{CRD: CRD(), Timeout: 120 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "already in use") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Apply(ctx, c, ApplyOptions{CRD: CRD()}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled wait gives %v", err)
	}
}

func TestApplyPassesAPIErrorsOn(t *testing.T) {
	t.Parallel()
	c, _ := applyCluster(t)
	c.PrependReactor("get", "namespaces", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(namespaceResource.GroupResource(), "system-upgrade", errors.New("no"))
	})
	_, err := Apply(t.Context(), c, ApplyOptions{CRD: CRD(), Plans: []*Plan{ServerPlan(skew.MustParse("v1.35.9+k3s1"), Options{})}})
	if !apierrors.IsForbidden(err) {
		t.Errorf("got %v", err)
	}
}
