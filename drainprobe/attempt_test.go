package drainprobe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
)

// asBefore fails unless the node's unschedulable, taints and annotations are
// those it had.
func asBefore(t *testing.T, c *cluster, want *corev1.Node) {
	t.Helper()
	got, err := c.Clientset.Tracker().Get(corev1.SchemeGroupVersion.WithResource("nodes"), "", want.Name)
	if err != nil {
		t.Fatal(err)
	}
	n := got.(*corev1.Node)
	if n.Spec.Unschedulable != want.Spec.Unschedulable {
		t.Errorf("unschedulable is %v, was %v", n.Spec.Unschedulable, want.Spec.Unschedulable)
	}
	if d := cmp.Diff(want.Spec.Taints, n.Spec.Taints); d != "" {
		t.Errorf("taints changed:\n%s", d)
	}
	if _, ok := n.Annotations[AttemptAnnotation]; ok {
		t.Error("the attempt's annotation is still there")
	}
}

func quick(o Options) Options {
	o.RetryDelay = 20 * time.Millisecond
	o.RestoreTimeout = 5 * time.Second
	return o
}

func TestAttemptDrainsAndPrintsWhatKubectlPrints(t *testing.T) {
	t.Parallel()
	node := testNode("a")
	c := newCluster(t, node, testNode("b"), testPod("web-1", "a"))
	var streamed strings.Builder
	var events []string
	got, err := Attempt(context.Background(), c, "a", quick(Options{Timeout: 10 * time.Second,
		OnOutput: func(s string) { streamed.WriteString(s) },
		OnEvent:  func(e Event) { events = append(events, string(e.Type)) }}))
	if err != nil {
		t.Fatal(err)
	}
	want := "node/a cordoned\nevicting pod shop/web-1\npod/web-1 evicted\nnode/a drained\nnode/a uncordoned\n"
	if got.Output != want || streamed.String() != want {
		t.Errorf("output %q, streamed %q, want %q", got.Output, streamed.String(), want)
	}
	if !got.Drained || !got.Restored || got.WasCordoned || len(got.Evicted) != 1 || len(got.Pending) != 0 || got.OtherNodes != 1 {
		t.Errorf("got %+v", got)
	}
	if d := cmp.Diff([]string{"cordoned", "evicting", "accepted", "evicted", "drained", "restored"}, events); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Workload{{Name: "shop/Deployment/web", ReadyBefore: 1, ReadyAtEnd: 0, ReadyAfter: -1}}, got.Workloads); d != "" {
		t.Error(d)
	}
	asBefore(t, c, node)
}

func TestAttemptTimesOutUnderABudgetAndSaysWhichOne(t *testing.T) {
	t.Parallel()
	node := testNode("a")
	c := newCluster(t, node, testPod("web-1", "a"), testPod("web-2", "a"))
	c.refuse = func(pod string) error {
		if pod == "web-2" {
			return overBudget(pod)
		}
		return nil
	}
	got, err := Attempt(context.Background(), c, "a", quick(Options{Timeout: 200 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	if got.Drained || len(got.Evicted) != 1 || len(got.Pending) != 1 {
		t.Fatalf("got %+v", got)
	}
	if r := got.Pending[0].Reason; !strings.Contains(r, "budget web needs 1 healthy pods") {
		t.Errorf("reason %q does not name the budget", r)
	}
	for _, line := range []string{
		`error when evicting pods/"web-2" -n "shop" (will retry after 20ms): Cannot evict pod as it would violate the pod's disruption budget.`,
		`There are pending pods in node "a" when an error occurred: error when evicting pods/"web-2" -n "shop": global timeout reached: 200ms`,
		`error: unable to drain node "a" due to error: error when evicting pods/"web-2" -n "shop": global timeout reached: 200ms, continuing command...`,
		"There are pending nodes to be drained:\n a\n",
		"pod/web-2\n", "node/a uncordoned\n",
	} {
		if !strings.Contains(got.Output, line) {
			t.Errorf("output lacks %q:\n%s", line, got.Output)
		}
	}
	if d := Decide(got, Policy{}); d.Action != ActionUpgradeWithoutDrain {
		t.Errorf("decision %+v", d)
	}
	if d := Decide(got, Policy{KeepBudgets: true}); d.Action != ActionAddNodeFirst {
		t.Errorf("decision %+v", d)
	}
	asBefore(t, c, node)
}

func TestAttemptLeavesACordonedNodeCordoned(t *testing.T) {
	t.Parallel()
	node := testNode("a", cordoned)
	c := newCluster(t, node, testPod("web-1", "a"))
	got, err := Attempt(context.Background(), c, "a", quick(Options{Timeout: 10 * time.Second}))
	if err != nil {
		t.Fatal(err)
	}
	if !got.WasCordoned || !strings.HasPrefix(got.Output, "node/a already cordoned\n") {
		t.Errorf("got %+v", got)
	}
	asBefore(t, c, node)
}

func TestAttemptGivesTheNodeBackWhenCancelled(t *testing.T) {
	t.Parallel()
	node := testNode("a")
	c := newCluster(t, node, testPod("web-1", "a"))
	c.refuse = overBudget
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var events []EventType
	got, err := Attempt(ctx, c, "a", quick(Options{OnEvent: func(e Event) {
		events = append(events, e.Type)
		if e.Type == EventRefused {
			cancel()
		}
	}}))
	if want := []EventType{EventCordoned, EventEvicting, EventRefused, EventNotDrained, EventRestored}; !slices.Equal(events, want) {
		t.Errorf("events %v, want %v", events, want)
	}
	if !errors.Is(err, ErrInterrupted) || !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if got.Drained || !got.Restored || len(got.Pending) != 1 {
		t.Errorf("got %+v", got)
	}
	asBefore(t, c, node)
}

func TestAttemptGivesTheNodeBackWhenACallbackPanics(t *testing.T) {
	t.Parallel()
	node := testNode("a")
	c := newCluster(t, node, testPod("web-1", "a"))
	c.refuse = overBudget
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = Attempt(context.Background(), c, "a", quick(Options{OnEvent: func(e Event) {
			if e.Type == EventRefused {
				panic("a bug in the caller")
			}
		}}))
	}()
	asBefore(t, c, node)
}

func TestAttemptGivesTheNodeBackThroughConflictsAndALostServer(t *testing.T) {
	t.Parallel()
	node := testNode("a")
	c := newCluster(t, node, testPod("web-1", "a"))
	c.onPatch = func(n int) error {
		switch n {
		case 1, 4:
			return conflict()
		case 3:
			return syscall.ECONNREFUSED
		}
		return nil
	}
	got, err := Attempt(context.Background(), c, "a", quick(Options{Timeout: 10 * time.Second}))
	if err != nil || !got.Restored {
		t.Fatalf("%+v, %v", got, err)
	}
	asBefore(t, c, node)
}

func TestAttemptUndoesACordonWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	node := testNode("a")
	c := newCluster(t, node, testPod("web-1", "a"))
	var lost atomic.Bool
	c.PrependReactor("patch", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if lost.Swap(true) {
			return false, nil, nil
		}
		// The server writes, and the connection breaks before it answers.
		_, obj, err := clienttesting.ObjectReaction(c.Tracker())(a)
		if err != nil {
			return true, obj, err
		}
		return true, nil, syscall.ECONNRESET
	})
	if _, err := Attempt(context.Background(), c, "a", quick(Options{Timeout: time.Second})); err == nil {
		t.Fatal("no error")
	}
	asBefore(t, c, node)
}

func TestAttemptWaitsForAnAPIServerThatRestarts(t *testing.T) {
	t.Parallel()
	node := testNode("a")
	c := newCluster(t, node, testPod("web-1", "a"))
	var asked atomic.Int32
	c.refuse = func(string) error {
		if asked.Add(1) <= 2 {
			return syscall.ECONNREFUSED
		}
		return nil
	}
	var events []EventType
	got, err := Attempt(context.Background(), c, "a", quick(Options{Timeout: 10 * time.Second, OnEvent: func(e Event) { events = append(events, e.Type) }}))
	if err != nil || !got.Drained {
		t.Fatalf("%+v, %v", got, err)
	}
	want := []EventType{EventCordoned, EventEvicting, EventServerLost, EventServerBack, EventAccepted, EventEvicted, EventDrained, EventRestored}
	if d := cmp.Diff(want, events); d != "" {
		t.Error(d)
	}
}

func TestAttemptWaitsForAnAPIServerThatIsAwayBeforeTheFirstEviction(t *testing.T) {
	t.Parallel()
	c := newCluster(t, testNode("a"), testPod("web-1", "a"))
	var asked atomic.Int32
	c.PrependReactor("get", "resource", func(clienttesting.Action) (bool, runtime.Object, error) {
		return asked.Add(1) <= 2, nil, syscall.ECONNREFUSED
	})
	var events []EventType
	got, err := Attempt(context.Background(), c, "a", quick(Options{Timeout: 10 * time.Second, OnEvent: func(e Event) { events = append(events, e.Type) }}))
	if err != nil || !got.Drained || asked.Load() != 3 {
		t.Fatalf("%+v, %v after %d requests", got, err, asked.Load())
	}
	want := []EventType{EventCordoned, EventServerLost, EventEvicting, EventServerBack, EventAccepted, EventEvicted, EventDrained, EventRestored}
	if d := cmp.Diff(want, events); d != "" {
		t.Error(d)
	}
}

func TestAttemptThatCannotRestoreNamesTheCommand(t *testing.T) {
	t.Parallel()
	c := newCluster(t, testNode("a"), testPod("web-1", "a"))
	c.onPatch = func(n int) error {
		if n == 1 {
			return nil
		}
		return syscall.ECONNREFUSED
	}
	opts := quick(Options{Timeout: time.Second})
	opts.RestoreTimeout = 300 * time.Millisecond
	got, err := Attempt(context.Background(), c, "a", opts)
	var restore *RestoreError
	if !errors.As(err, &restore) || restore.Command != "kubectl uncordon a" || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("error %v", err)
	}
	if got == nil || got.Restored || !got.Drained {
		t.Errorf("got %+v", got)
	}
}

func TestAttemptDoesNotTouchANodeThatAnotherAttemptHolds(t *testing.T) {
	t.Parallel()
	c := newCluster(t, testNode("a"), testPod("web-1", "a"))
	c.refuse = overBudget
	_, err := Attempt(context.Background(), c, "a", quick(Options{Timeout: 200 * time.Millisecond, OnEvent: func(e Event) {
		if e.Type != EventCordoned {
			return
		}
		_, err := Attempt(context.Background(), c, "a", quick(Options{Timeout: time.Second}))
		var busy *BusyError
		if !errors.As(err, &busy) {
			t.Errorf("the second attempt: %v", err)
		}
	}}))
	if err != nil {
		t.Fatal(err)
	}
	asBefore(t, c, testNode("a"))
}

func TestAttemptAfterAKilledOneKeepsTheNodeAsFound(t *testing.T) {
	t.Parallel()
	node := testNode("a", cordoned)
	node.Annotations = map[string]string{AttemptAnnotation: `{"id":"x","since":"2020-01-01T00:00:00Z","until":"2020-01-01T00:05:00Z","unschedulable":false}`}
	c := newCluster(t, node, testPod("web-1", "a"))
	if _, err := Attempt(context.Background(), c, "a", quick(Options{Timeout: 5 * time.Second})); err != nil {
		t.Fatal(err)
	}
	asBefore(t, c, node)
}

func TestAttemptOnAMissingNode(t *testing.T) {
	t.Parallel()
	_, err := Attempt(context.Background(), newCluster(t, testNode("a")), "b", Options{})
	if !errors.Is(err, ErrNoNode) {
		t.Errorf("error %v", err)
	}
}

func TestAttemptWhoseNodeGoesAwayIsNotAnError(t *testing.T) {
	t.Parallel()
	c := newCluster(t, testNode("a"), testPod("web-1", "a"))
	got, err := Attempt(context.Background(), c, "a", quick(Options{Timeout: time.Second, OnEvent: func(e Event) {
		if e.Type == EventEvicted {
			_ = c.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("nodes"), "", "a")
		}
	}}))
	if err != nil || got.Restored || !strings.Contains(got.Output, "node/a is gone") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAttemptWithoutPermissionNamesIt(t *testing.T) {
	t.Parallel()
	c := newCluster(t, testNode("a"))
	c.onPatch = func(int) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "a", errors.New("RBAC"))
	}
	_, err := Attempt(context.Background(), c, "a", quick(Options{}))
	var access *AccessError
	if !errors.As(err, &access) || access.Verb != "patch" || access.Resource != "nodes" {
		t.Errorf("error %v", err)
	}
}

func TestAttemptWaitsUntilTheWorkloadIsReadyAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t, testNode("a"), testPod("web-1", "a"), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}})
	waited := false
	got, err := Attempt(context.Background(), c, "a", quick(Options{Timeout: 5 * time.Second, WaitReady: 5 * time.Second, OnEvent: func(e Event) {
		if e.Type == EventWaiting && !waited {
			waited = true
			if err := c.Tracker().Add(testPod("web-9", "a")); err != nil {
				t.Error(err)
			}
		}
	}}))
	if err != nil || !waited || !got.Recovered || got.Workloads[0].ReadyAfter != 1 {
		t.Errorf("waited %v, %+v, %v", waited, got, err)
	}
}

func TestAttemptWaitsForNoWorkloadThatIsGone(t *testing.T) {
	t.Parallel()
	for name, forbidden := range map[string]bool{"it may look": false, "it may not": true} {
		c := newCluster(t, testNode("a"), testPod("web-1", "a")) // without its Deployment
		c.PrependReactor("get", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) {
			return forbidden, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "web", errors.New("RBAC"))
		})
		got, err := Attempt(context.Background(), c, "a", quick(Options{Timeout: 5 * time.Second, WaitReady: time.Second}))
		if err != nil || got.Recovered == forbidden || got.Workloads[0].ReadyAfter != 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestAttemptStoppedByAFilterEvictsNothing(t *testing.T) {
	t.Parallel()
	node := testNode("a")
	c := newCluster(t, node, testPod("web-1", "a"), testPod("bare", "a", func(p *corev1.Pod) { p.OwnerReferences = nil }))
	got, err := Attempt(context.Background(), c, "a", quick(Options{Timeout: time.Second}))
	if err != nil || got.Drained || !strings.Contains(got.Output, "use --force to override") {
		t.Fatalf("%+v, %v", got, err)
	}
	if pods, _ := c.CoreV1().Pods("shop").List(context.Background(), metav1.ListOptions{}); len(pods.Items) != 2 {
		t.Errorf("%d pods are left", len(pods.Items))
	}
	asBefore(t, c, node)
}

func TestOptionsThatNoDrainCanRunWithAreRefused(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"a broken selector":  {PodSelector: "app in ("},
		"a negative timeout": {Timeout: -1},
	} {
		if _, err := Attempt(context.Background(), newCluster(t, testNode("a")), "a", o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
