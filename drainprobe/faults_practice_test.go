//go:build practice

package drainprobe

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admission/v1"
	admissionreg "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/drain"

	"github.com/k3sladder/k3sladder/internal/practice"
)

// faultStage is a practice cluster with one cell: Deployment web with two
// replicas under minAvailable 1 on node a, and whatever else build adds.
func faultStage(t *testing.T, build func(*cell)) (*practice.Cluster, *stage, *cell) {
	t.Helper()
	cluster := practice.Start(t, practice.Options{NoNodes: true})
	s := &stage{client: cluster.Client(), dyn: mustDynamic(t, cluster.Config())}
	c := newCell("f1")
	c.node("a", "4").deploy("web", 2).budget("web", selector("web"), "min", "1")
	if build != nil {
		build(c)
	}
	c.isolate()
	if err := s.create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s.rest(t, c)
	return cluster, s, c
}

func (s *stage) rest(t *testing.T, c *cell) {
	t.Helper()
	if err := poll(t.Context(), time.Minute, func() (bool, error) { return s.controllersDone(t.Context(), c.space()) }); err != nil {
		t.Fatal(err)
	}
	if err := s.settle(t.Context(), c, time.Second); err != nil {
		t.Fatal(err)
	}
}

// kept fails unless the node is as it was.
func (s *stage) kept(t *testing.T, want *corev1.Node) {
	t.Helper()
	got, err := s.client.CoreV1().Nodes().Get(context.Background(), want.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]any{want.Spec.Unschedulable, want.Spec.Taints, want.Annotations}, []any{got.Spec.Unschedulable, got.Spec.Taints, got.Annotations}); d != "" {
		t.Errorf("the node is not as it was (-before +after):\n%s", d)
	}
}

func (s *stage) node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	n, err := s.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAttemptThroughAnAPIServerRestart(t *testing.T) {
	cluster, s, c := faultStage(t, nil)
	before := s.node(t, c.nodeName("a"))
	var once sync.Once
	back := make(chan error, 1)
	var lost, returned atomic.Bool
	got, err := Attempt(t.Context(), s.client, before.Name, Options{Timeout: 20 * time.Second, RetryDelay: time.Second, WaitReady: time.Minute, OnEvent: func(e Event) {
		switch e.Type {
		case EventRefused:
			once.Do(func() {
				go func() {
					if err := cluster.StopAPIServer(context.Background()); err != nil {
						back <- err
						return
					}
					time.Sleep(3 * time.Second)
					back <- cluster.StartAPIServer(context.Background())
				}()
			})
		case EventServerLost:
			lost.Store(true)
		case EventServerBack:
			returned.Store(true)
		}
	}})
	if err := <-back; err != nil {
		t.Fatal(err)
	}
	// The server may die between writing an eviction into the budget and deleting
	// the Pod; the disruption controller then holds the budget for two minutes,
	// and none goes (https://github.com/kubernetes/kubernetes/blob/master/pkg/controller/disruption/disruption.go,
	// DeletionTimeout).
	if err != nil || got.Drained || !got.Restored || len(got.Evicted) > 1 || !got.Recovered {
		t.Errorf("%v\n%s", err, got)
	}
	if !lost.Load() || !returned.Load() {
		t.Errorf("lost %v, back %v\n%s", lost.Load(), returned.Load(), got.Output)
	}
	s.kept(t, before)
}

func TestAttemptWhoseAPIServerIsAwayAtTheEndStillGivesTheNodeBack(t *testing.T) {
	cluster, s, c := faultStage(t, nil)
	before := s.node(t, c.nodeName("a"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var once sync.Once
	back := make(chan error, 1)
	_, err := Attempt(ctx, s.client, before.Name, Options{RetryDelay: time.Second, OnEvent: func(e Event) {
		if e.Type == EventRefused {
			once.Do(func() {
				if err := cluster.StopAPIServer(context.Background()); err != nil {
					t.Error(err)
				}
				cancel()
				go func() { time.Sleep(4 * time.Second); back <- cluster.StartAPIServer(context.Background()) }()
			})
		}
	}})
	if err := <-back; err != nil {
		t.Fatal(err)
	}
	var restore *RestoreError
	if !errors.Is(err, ErrInterrupted) || errors.As(err, &restore) {
		t.Errorf("error %v", err)
	}
	s.kept(t, before)
}

func TestFaultsOnOneCluster(t *testing.T) {
	cluster, s, c := faultStage(t, func(c *cell) {
		c.node("b", "4").stateful("db", 1, appsv1.OrderedReadyPodManagement)
	})
	before := s.node(t, c.nodeName("a"))
	quick := Options{Timeout: 8 * time.Second, RetryDelay: time.Second}

	t.Run("a context that ends before the timeout", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := Attempt(ctx, s.client, before.Name, quick)
		if !errors.Is(err, ErrInterrupted) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		s.kept(t, before)
		s.rest(t, c)
	})

	t.Run("two attempts at once", func(t *testing.T) {
		var second error
		_, err := Attempt(t.Context(), s.client, before.Name, Options{Timeout: 8 * time.Second, RetryDelay: time.Second, PodSelector: "app=none", OnEvent: func(e Event) {
			if e.Type == EventCordoned {
				_, second = Attempt(t.Context(), s.client, before.Name, quick)
			}
		}})
		var busy *BusyError
		if err != nil || !errors.As(second, &busy) {
			t.Errorf("first %v, second %v", err, second)
		}
		s.kept(t, before)
	})

	t.Run("a missing permission is named", func(t *testing.T) {
		limited := restricted(t, cluster, []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"nodes", "pods"}, Verbs: []string{"get", "list"}}})
		// A node without Pods needs no budgets.
		pods, err := s.client.CoreV1().Pods(c.space()).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
		if err != nil || len(pods.Items) == 0 {
			t.Fatal(err, len(pods.Items))
		}
		before := s.node(t, pods.Items[0].Spec.NodeName)
		_, err = Forecast(t.Context(), limited, before.Name, quick)
		var access *AccessError
		if !errors.As(err, &access) || access.Resource != "poddisruptionbudgets.policy" || access.Verb != "list" {
			t.Errorf("error %v", err)
		}
		_, err = Attempt(t.Context(), limited, before.Name, quick)
		if !errors.As(err, &access) || access.Resource != "nodes" || access.Verb != "patch" {
			t.Errorf("error %v", err)
		}
		s.kept(t, before)
	})

	t.Run("a webhook that refuses evictions", func(t *testing.T) {
		refuseEvictions(t, s, c)
		o := quick
		o.PodSelector = "app=db"
		if pods, _ := s.client.CoreV1().Pods(c.space()).List(t.Context(), metav1.ListOptions{LabelSelector: "app=db"}); len(pods.Items) == 1 {
			before = s.node(t, pods.Items[0].Spec.NodeName)
		}
		f, err := Forecast(t.Context(), s.client, before.Name, o)
		if err != nil || f.Verdict != VerdictUndecided || !strings.Contains(fmt.Sprint(f.Reasons), "webhook no.evictions.test") {
			t.Errorf("%v %v", f, err)
		}
		got, err := Attempt(t.Context(), s.client, before.Name, o)
		if err != nil || got.Drained || len(got.Pending) != 1 || !strings.Contains(got.Pending[0].Reason, "not today") {
			t.Errorf("%v %v", got, err)
		}
		s.kept(t, before)
	})

	t.Run("a StatefulSet Pod that comes back under its name", func(t *testing.T) {
		o := quick
		o.PodSelector = "app=db"
		got, err := Attempt(t.Context(), s.client, before.Name, o)
		if err != nil || !got.Drained || len(got.Evicted) != 1 {
			t.Errorf("%v %v", got, err)
		}
		s.kept(t, before)
	})
}

// restricted is a client of a user who may do only this.
func restricted(t *testing.T, cluster *practice.Cluster, rules []rbacv1.PolicyRule) kubernetes.Interface {
	t.Helper()
	ctx, rbac := t.Context(), cluster.Client().RbacV1()
	if _, err := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "limited"}, Rules: rules}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "limited"},
		RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "limited"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "limited"}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cfg := rest.CopyConfig(cluster.Config())
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "limited"}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := poll(ctx, 20*time.Second, func() (bool, error) {
		_, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		return err == nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	return client
}

// refuseEvictions puts a webhook in front of evictions until the test ends.
func refuseEvictions(t *testing.T, s *stage, c *cell) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var review admissionv1.AdmissionReview
		if json.Unmarshal(body, &review) != nil || review.Request == nil {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "not today"}}
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	none, fail := admissionreg.SideEffectClassNone, admissionreg.Fail
	url := server.URL + "/"
	hook := &admissionreg.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "no-evictions"}, Webhooks: []admissionreg.ValidatingWebhook{{
		Name: "no.evictions.test", SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: []string{"v1"},
		ClientConfig: admissionreg.WebhookClientConfig{URL: &url, CABundle: ca},
		Rules: []admissionreg.RuleWithOperations{{Operations: []admissionreg.OperationType{admissionreg.Create},
			Rule: admissionreg.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/eviction"}}}}}}}
	hooks := s.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := hooks.Create(t.Context(), hook, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hooks.Delete(context.Background(), hook.Name, metav1.DeleteOptions{}) })
	// The API server takes the webhook up a moment later: ask until it does.
	pods, err := s.client.CoreV1().Pods(c.space()).List(t.Context(), metav1.ListOptions{LabelSelector: "app=db"})
	if err != nil || len(pods.Items) == 0 {
		t.Fatal(err, len(pods.Items))
	}
	h := drain.Helper{Ctx: t.Context(), Client: s.client, DryRunStrategy: util.DryRunServer, GracePeriodSeconds: -1}
	version, err := drain.CheckEvictionSupport(s.client)
	if err != nil {
		t.Fatal(err)
	}
	if err := poll(t.Context(), 30*time.Second, func() (bool, error) {
		err := h.EvictPod(pods.Items[0], version)
		return err != nil && strings.Contains(err.Error(), "not today"), nil
	}); err != nil {
		t.Fatal(err)
	}
}

// counting counts requests.
type counting struct {
	next http.RoundTripper
	n    *atomic.Int64
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.next.RoundTrip(r)
}

// TestForecastCostsLittle counts API requests and time of a forecast beside
// `kubectl drain --dry-run=server`, and that Pods on other nodes cost none
// while no other node could take a Pod.
func TestForecastCostsLittle(t *testing.T) {
	cluster, s, c := faultStage(t, func(c *cell) {
		c.node("b", "64", tainted("busy", corev1.TaintEffectNoSchedule))
	})
	var n atomic.Int64
	cfg := rest.CopyConfig(cluster.Config())
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return counting{rt, &n} })
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	node := c.nodeName("a")
	measure := func(what string, do func() error) int64 {
		n.Store(0)
		begin := time.Now()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%-40s %3d requests, %v", what, n.Load(), time.Since(begin).Round(time.Millisecond))
		return n.Load()
	}
	forecast := func() error {
		f, err := Forecast(t.Context(), client, node, Options{Timeout: 15 * time.Second})
		if err == nil && f.Verdict != VerdictBlocked {
			err = fmt.Errorf("verdict %s", f.Verdict)
		}
		return err
	}
	few := measure("forecast, no Pods elsewhere", forecast)
	// In the workload's namespace and in another one, beyond a list's page.
	const crowd = 600
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(16)
	for i := range 2 * crowd {
		ns := []string{c.space(), metav1.NamespaceDefault}[i%2]
		g.Go(func() error {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("crowd-", i)}, Spec: corev1.PodSpec{NodeName: c.nodeName("b"), Containers: []corev1.Container{{Name: "c", Image: "pause"}}}}
			_, err := s.client.CoreV1().Pods(ns).Create(ctx, pod, metav1.CreateOptions{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	more := measure(fmt.Sprintf("forecast, %d Pods elsewhere", 2*crowd), forecast)
	if few != more {
		t.Errorf("%d requests without Pods elsewhere, %d with %d", few, more, 2*crowd)
	}
	dry := func() error {
		h := &drain.Helper{Ctx: t.Context(), Client: client, GracePeriodSeconds: -1, Out: io.Discard, ErrOut: io.Discard, ChunkSize: 500,
			DryRunStrategy: util.DryRunServer, Timeout: 15 * time.Second, EvictErrorRetryDelay: 5 * time.Second}
		list, errs := h.GetPodsForDeletion(node)
		if errs != nil {
			return errors.Join(errs...)
		}
		return h.DeleteOrEvictPods(list.Pods())
	}
	measure("kubectl drain --dry-run=server", dry)
}
