//go:build practice

package snapshot_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/k3sladder/k3sladder/backup"
	"github.com/k3sladder/k3sladder/internal/practice"
	"github.com/k3sladder/k3sladder/snapshot"
	"github.com/k3sladder/k3sladder/snapshot/apiusage"
)

func capture(t *testing.T, config *rest.Config, opts snapshot.Options) *snapshot.Snapshot {
	t.Helper()
	clients, err := snapshot.NewClients(config)
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Capture(t.Context(), clients, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// deploy makes a Deployment and waits until its Pods are ready.
func deploy(t *testing.T, kube kubernetes.Interface, namespace, name string, replicas int32) {
	t.Helper()
	ctx := t.Context()
	_, _ = kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	labels := map[string]string{"app": name}
	_, err := kube.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1"}}}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ready(t, kube, namespace, name, replicas)
}

func ready(t *testing.T, kube kubernetes.Interface, namespace, name string, replicas int32) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		d, err := kube.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
		return err == nil && d.Status.ReadyReplicas == replicas, nil
	})
	if err != nil {
		t.Fatalf("Deployment %s/%s does not get ready: %v", namespace, name, err)
	}
}

func has(list []snapshot.Difference, text string) bool {
	for _, d := range list {
		if strings.HasPrefix(d.String(), text) {
			return true
		}
	}
	return false
}

// TestClusterOverItsLife takes one cluster through what can happen to it.
func TestClusterOverItsLife(t *testing.T) {
	c := practice.Start(t, practice.Options{})
	ctx := t.Context()
	deploy(t, c.Client(), "upg", "web", 2)
	deploy(t, c.Client(), "upg", "other", 1)
	called := func() int {
		u, err := apiusage.Read(ctx, c.Client().Discovery().RESTClient())
		if err != nil {
			t.Fatal(err)
		}
		return len(u.Lines)
	}
	calls := called()
	before := capture(t, c.Config(), snapshot.Options{AskKubelets: true})
	if now := called(); now != calls {
		t.Errorf("the capture itself called %d deprecated APIs", now-calls)
	}

	t.Run("upgraded by one minor it is the same", func(t *testing.T) {
		if err := c.Upgrade(ctx, practice.To); err != nil {
			t.Fatal(err)
		}
		after := capture(t, c.Config(), snapshot.Options{})
		got := snapshot.Compare(before, after, snapshot.CompareOptions{})
		if !got.Same() || got.Step.Kind != "step" || got.Counts.PodsKept != 3 || got.Counts.PodsNew != 0 {
			t.Errorf("got %s", got)
		}
		for _, d := range got.Expected {
			t.Logf("expected: %s (%s)", d, d.Expected)
		}
		web, ok := after.Workload("Deployment", "upg", "web")
		if !ok || web.Ready != 2 || web.Restarts != 0 {
			t.Errorf("web %+v", web)
		}
		if up, err := after.Deployed("traefik"); up || err != nil {
			t.Errorf("traefik deployed: %v, %v", up, err)
		}
	})

	t.Run("a Pod that its Deployment replaces is no difference", func(t *testing.T) {
		was := capture(t, c.Config(), snapshot.Options{})
		var gone string
		for _, p := range was.Pods {
			if p.Owner.Name == "other" {
				gone = p.Name
			}
		}
		if err := c.Client().CoreV1().Pods("upg").Delete(ctx, gone, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, err := c.Client().CoreV1().Pods("upg").Get(ctx, gone, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		ready(t, c.Client(), "upg", "other", 1)
		got := snapshot.Compare(was, capture(t, c.Config(), snapshot.Options{}), snapshot.CompareOptions{})
		if !got.Same() || got.Counts.PodsKept != 2 || got.Counts.PodsNew != 1 || got.Counts.Restarts != 0 {
			t.Errorf("got %s", got)
		}
	})

	t.Run("a Deployment deleted and made again is recreated", func(t *testing.T) {
		was := capture(t, c.Config(), snapshot.Options{})
		foreground := metav1.DeletePropagationForeground
		if err := c.Client().AppsV1().Deployments("upg").Delete(ctx, "other", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
			t.Fatal(err)
		}
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			list, err := c.Client().AppsV1().Deployments("upg").List(ctx, metav1.ListOptions{})
			return err == nil && len(list.Items) == 1, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		deploy(t, c.Client(), "upg", "other", 1)
		got := snapshot.Compare(was, capture(t, c.Config(), snapshot.Options{}), snapshot.CompareOptions{})
		if got.Verdict != snapshot.SameClusterWithLosses || got.Counts.Losses != 1 || !has(got.Losses(), "recreated: Deployment upg/other, UID ") {
			t.Errorf("got %s", got)
		}
	})

	t.Run("traefik installed by somebody comes back", func(t *testing.T) {
		was := capture(t, c.Config(), snapshot.Options{})
		deploy(t, c.Client(), "kube-system", "traefik", 1)
		now := capture(t, c.Config(), snapshot.Options{})
		got := snapshot.Compare(was, now, snapshot.CompareOptions{})
		if got.Verdict != snapshot.SameClusterWithLosses || !has(got.Losses(), "came-back: Deployment kube-system/traefik") {
			t.Errorf("got %s", got)
		}
		if up, err := now.Deployed("traefik"); !up || err != nil {
			t.Errorf("traefik deployed: %v, %v", up, err)
		}
	})

	t.Run("HelmCharts and Addons are read, with the kinds just defined", func(t *testing.T) {
		dyn, err := dynamic.NewForConfig(c.Config())
		if err != nil {
			t.Fatal(err)
		}
		ext, err := apiextensions.NewForConfig(c.Config())
		if err != nil {
			t.Fatal(err)
		}
		yes := true
		for _, k := range [][3]string{{"helm.cattle.io", "helmcharts", "HelmChart"}, {"k3s.cattle.io", "addons", "Addon"}} {
			_, err := ext.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: k[1] + "." + k[0]},
				Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: k[0], Scope: apiextensionsv1.NamespaceScoped,
					Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: k[1], Kind: k[2], ListKind: k[2] + "List", Singular: strings.ToLower(k[2])},
					Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
						Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &yes}}}}}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
		}
		// At once: whatever is defined is in the snapshot, or it says that it is not.
		early := capture(t, c.Config(), snapshot.Options{})
		for _, k := range [][2]string{{"helm.cattle.io", "helmcharts"}, {"k3s.cattle.io", "addons"}} {
			crd := false
			for _, d := range early.CRDs {
				crd = crd || d.Resource == k[1] && d.Established
			}
			if l, ok := early.List(k[0], k[1]); crd && (!ok || l.State != snapshot.Captured) {
				t.Errorf("%s: %+v", k[1], l)
			}
		}
		object := func(gv, kind, keeper string, spec map[string]any) *unstructured.Unstructured {
			u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": gv, "kind": kind, "metadata": map[string]any{"name": "traefik"}, "spec": spec}}
			if keeper != "" {
				u.SetAnnotations(map[string]string{"objectset.rio.cattle.io/owner-gvk": "k3s.cattle.io/v1, Kind=Addon", "objectset.rio.cattle.io/owner-name": keeper})
			}
			return u
		}
		create := func(group, resource string, u *unstructured.Unstructured) {
			gvr := schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
			err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
				_, err := dyn.Resource(gvr).Namespace("kube-system").Create(ctx, u, metav1.CreateOptions{})
				return err == nil, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		was := capture(t, c.Config(), snapshot.Options{})
		create("k3s.cattle.io", "addons", object("k3s.cattle.io/v1", "Addon", "", map[string]any{"source": "/var/lib/rancher/k3s/server/manifests/traefik.yaml", "checksum": "abc"}))
		create("helm.cattle.io", "helmcharts", object("helm.cattle.io/v1", "HelmChart", "traefik", map[string]any{"chart": "traefik", "version": "37.0.0"}))
		now := capture(t, c.Config(), snapshot.Options{})
		if len(now.HelmCharts) != 1 || now.HelmCharts[0].Version != "37.0.0" || len(now.Addons) != 1 || now.Addons[0].Checksum != "abc" {
			t.Errorf("charts %+v, addons %+v", now.HelmCharts, now.Addons)
		}
		got := snapshot.Compare(was, now, snapshot.CompareOptions{})
		if got.Counts.Losses != 1 || !has(got.Losses(), "came-back: Addon kube-system/traefik") || !has(got.Expected, "came-back: HelmChart kube-system/traefik") {
			t.Errorf("got %s", got)
		}
	})

	t.Run("a restored backup lists what is lost", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "backup")
		if _, err := backup.Save(ctx, c.DataDir(), backup.Options{Out: dir}); err != nil {
			t.Fatal(err)
		}
		deploy(t, c.Client(), "late", "newcomer", 1)
		if _, err := c.Client().CoreV1().ConfigMaps("upg").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "note"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		was := capture(t, c.Config(), snapshot.Options{})
		if err := c.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := backup.Restore(ctx, dir, c.DataDir(), backup.RestoreOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := c.Restart(ctx, ""); err != nil {
			t.Fatal(err)
		}
		ready(t, c.Client(), "upg", "web", 2)
		got := snapshot.Compare(was, capture(t, c.Config(), snapshot.Options{}), snapshot.CompareOptions{})
		if got.Verdict != snapshot.SameClusterWithLosses {
			t.Errorf("got %s", got)
		}
		for _, lost := range []string{"missing: Deployment late/newcomer", "missing: Namespace late", "missing: ConfigMap upg/note"} {
			if !has(got.Losses(), lost) {
				t.Errorf("%q is not among the losses: %s", lost, got)
			}
		}
		if has(got.Losses(), "missing: Deployment upg/") {
			t.Errorf("what the backup had is called lost: %s", got)
		}
	})

	t.Run("what a user may not list is named", func(t *testing.T) {
		_, err := c.Client().RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "viewer"},
			RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "view"}, Subjects: []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "viewer"}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		full := capture(t, c.Config(), snapshot.Options{})
		config := rest.CopyConfig(c.Config())
		config.Impersonate.UserName = "viewer"
		var part *snapshot.Snapshot
		// The binding takes a moment to hold.
		err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			part = capture(t, config, snapshot.Options{})
			l, _ := part.List("", "pods")
			return l.State == snapshot.Captured, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for resource, want := range map[string]snapshot.State{"secrets": snapshot.Forbidden, "nodes": snapshot.Forbidden, "configmaps": snapshot.Captured} {
			if l, ok := part.List("", resource); !ok || l.State != want {
				t.Errorf("%s: %+v, want %s", resource, l, want)
			}
		}
		got := snapshot.Compare(full, part, snapshot.CompareOptions{})
		if got.Verdict != snapshot.NotComparable {
			t.Errorf("got %s", got)
		}
		named := false
		for _, g := range got.Gaps {
			named = named || g.Resource == "secrets" && g.Side == "after" && g.State == snapshot.Forbidden
		}
		if !named || got.Counts.Losses > 0 {
			t.Errorf("gaps %+v, losses %v", got.Gaps, got.Losses())
		}
		if got := snapshot.Compare(full, part, snapshot.CompareOptions{Kinds: []string{"deployments"}}); got.Verdict != snapshot.SameCluster {
			t.Errorf("Deployments alone: %s", got)
		}
	})

	t.Run("the role in the documentation is enough", func(t *testing.T) {
		doc, err := os.ReadFile("../docs/snapshot.md")
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(doc), "```yaml\n")
		text, _, _ = strings.Cut(text, "```")
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict([]byte(text), &role); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Client().RbacV1().ClusterRoles().Create(ctx, &role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		_, err = c.Client().RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "snapshotter"},
			RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: role.Name}, Subjects: []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "snapshotter"}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		config := rest.CopyConfig(c.Config())
		config.Impersonate.UserName = "snapshotter"
		kube, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			s := capture(t, config, snapshot.Options{})
			_, err := apiusage.Read(ctx, kube.Discovery().RESTClient())
			return len(s.NotCaptured()) == 0 && s.ClusterUID != "" && err == nil, nil
		})
		if err != nil {
			t.Errorf("with that role something is not captured: %+v", capture(t, config, snapshot.Options{}).NotCaptured())
		}
	})

	t.Run("another cluster is another", func(t *testing.T) {
		other := practice.Start(t, practice.Options{Version: practice.To})
		got := snapshot.Compare(before, capture(t, other.Config(), snapshot.Options{}), snapshot.CompareOptions{})
		if got.Verdict != snapshot.OtherCluster {
			t.Errorf("got %s", got)
		}
	})
}

// nth calls what at the nth request.
type nth struct {
	http.RoundTripper
	count atomic.Int32
	at    int32
	what  func()
}

func (n *nth) RoundTrip(r *http.Request) (*http.Response, error) {
	if n.count.Add(1) == n.at {
		n.what()
	}
	return n.RoundTripper.RoundTrip(r)
}

// TestAPIServerGoesAwayInMidCapture holds that a capture is whole or an error,
// wherever it is interrupted.
func TestAPIServerGoesAwayInMidCapture(t *testing.T) {
	c := practice.Start(t, practice.Options{})
	ctx := t.Context()
	for i := range 120 {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m-%03d", i)}, Data: map[string]string{"n": fmt.Sprint(i)}}
		if _, err := c.Client().CoreV1().ConfigMaps("default").Create(ctx, m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// One ConfigMap a page (a tenth of ten), so that most interruptions are between two pages.
	opts := snapshot.Options{PageSize: 10}
	whole := capture(t, c.Config(), opts)
	try := func(name string, at int32, what func()) (*snapshot.Snapshot, error) {
		config := rest.CopyConfig(c.Config())
		config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return &nth{RoundTripper: rt, at: at, what: what} })
		clients, err := snapshot.NewClients(config)
		if err != nil {
			t.Fatal(err)
		}
		s, err := snapshot.Capture(ctx, clients, opts)
		t.Logf("%s at request %d: error %v", name, at, err)
		if err != nil {
			if s != nil {
				t.Errorf("%s at request %d: an error and a snapshot", name, at)
			}
			return nil, err
		}
		got := snapshot.Compare(whole, s, snapshot.CompareOptions{})
		// The server's own objects may be made anew at a start; nothing else is.
		if got.Verdict != snapshot.SameCluster || len(got.Differences) > 0 {
			t.Errorf("%s at request %d: a capture without error is not whole: %s", name, at, got)
		}
		return s, nil
	}
	for _, at := range []int32{2, 30, 100} {
		_, err := try("gone for good", at, func() {
			if err := c.StopAPIServer(ctx); err != nil {
				t.Error(err)
			}
		})
		if err == nil {
			t.Errorf("the API server was gone from request %d on and the capture is no error", at)
		}
		if err := c.StartAPIServer(ctx); err != nil {
			t.Fatal(err)
		}
		_, _ = try("restarted", at, func() {
			if err := c.StopAPIServer(ctx); err != nil {
				t.Error(err)
			}
			if err := c.StartAPIServer(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}
