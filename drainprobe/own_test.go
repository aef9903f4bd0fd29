package drainprobe

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ownScenario is a scenario of this package's own. Node a is drained.
type ownScenario struct {
	name, why string
	flags     []string
	timeout   string   // 15s
	setup     []string // after the cell has settled; {a} stands for node a's name
	build     func(c *cell)
	// verdict where it has to be undecided.
	verdict Verdict
	totals  bool // which Pods go is a race
}

const openB = "uncordon {b}"

var ownScenarios = slices.Concat(plainScenarios, hostileScenarios)

var plainScenarios = []ownScenario{
	{name: "single-min1-of-3", why: "two go, the last must stay", build: func(c *cell) {
		c.node("a", "4").deploy("web", 3).budget("web", selector("web"), "min", "1")
	}},
	{name: "single-max1-of-2", why: "one at a time, and the replacement has no place", build: func(c *cell) {
		c.node("a", "4").deploy("web", 2).budget("web", selector("web"), "max", "1")
	}},
	{name: "single-max50pct-of-3", why: "50 % of 3 lets 2 go", build: func(c *cell) {
		c.node("a", "4").deploy("web", 3).budget("web", selector("web"), "max", "50%")
	}},
	{name: "single-max100pct", why: "everything may go", build: func(c *cell) {
		c.node("a", "4").deploy("web", 3).budget("web", selector("web"), "max", "100%")
	}},
	{name: "single-min0-ready", why: "minAvailable 0 lets ready Pods go", build: func(c *cell) {
		c.node("a", "4").deploy("web", 2).budget("web", selector("web"), "min", "0")
	}},
	{name: "single-min100pct", why: "all must stay", build: func(c *cell) {
		c.node("a", "4").deploy("web", 2).budget("web", selector("web"), "min", "100%")
	}},
	{name: "one-replica-max1", why: "a single replica under maxUnavailable 1 may go", build: func(c *cell) {
		c.node("a", "4").deploy("web", 1).budget("web", selector("web"), "max", "1")
	}},
	{name: "one-unready-max1", why: "an unready single replica under maxUnavailable 1 may not", build: func(c *cell) {
		c.node("a", "4").deploy("web", 1, behaves("never-ready")).budget("web", selector("web"), "max", "1")
	}},
	{name: "one-unready-alwaysallow", why: "AlwaysAllow frees it", build: func(c *cell) {
		c.node("a", "4").deploy("web", 1, behaves("never-ready")).budget("web", selector("web"), "min", "1", alwaysAllow)
	}},
	{name: "two-hostport-taken", why: "the other node's port is taken by the other replica", setup: nil, build: func(c *cell) {
		c.node("a", "4").node("b", "4").deploy("web", 2, listens(8080)).budget("web", selector("web"), "max", "1")
	}},
	{name: "two-hostport-blocked", why: "two replicas here, and a stranger has the port there", setup: []string{openB}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).bare("stranger", "stranger", pinned(c.nodeName("b")), listens(8080))
		c.deploy("api", 1, listens(8080)).deploy("web", 2).budget("all", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"api", "web"}}}}, "min", "3")
	}},
	{name: "two-no-memory", why: "no memory there", setup: []string{openB}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).bare("filler", "filler", pinned(c.nodeName("b")), asks("memory", "7Gi"))
		c.deploy("web", 2, asks("memory", "2Gi")).budget("web", selector("web"), "min", "1")
	}},
	{name: "two-extended-resource", why: "only the drained node has the device", setup: []string{openB}, build: func(c *cell) {
		c.node("a", "4", extra("example.com/gpu", "2")).node("b", "4", closed)
		c.deploy("web", 2, asks("example.com/gpu", "1")).budget("web", selector("web"), "min", "1")
	}},
	{name: "two-pod-limit", why: "the other node takes one Pod more", setup: []string{openB}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed, extra("pods", "1")).deploy("web", 3).budget("web", selector("web"), "min", "2")
	}},
	{name: "two-spread-honor-taints", why: "with nodeTaintsPolicy Honor the cordoned node is no domain", build: func(c *cell) {
		c.node("a", "4").node("b", "4").deploy("web", 4, spreads(corev1.LabelHostname, 1, honorTaints)).budget("web", selector("web"), "max", "1")
	}},
	{name: "three-spread-zone", why: "two nodes share a zone, so one can take over from the other", build: func(c *cell) {
		c.node("a", "4", label("zone", "x")).node("b", "4", label("zone", "x")).node("c", "4", label("zone", "y"))
		c.deploy("web", 4, spreads("zone", 1)).budget("web", selector("web"), "max", "1")
	}},
	{name: "two-preempts-never", why: "preemptionPolicy Never waits instead", setup: []string{openB}, build: func(c *cell) {
		c.node("a", "4").node("b", "1", closed).priority("high", 1000, corev1.PreemptNever)
		c.deploy("batch", 2, asks("cpu", "500m"), on(corev1.LabelHostname, c.nodeName("b")), tolerates(corev1.TaintNodeUnschedulable))
		c.deploy("web", 2, asks("cpu", "500m"), ranked(c.id+"-high")).budget("web", selector("web"), "min", "1")
	}},
	{name: "two-preempts-past-a-budget", why: "preemption breaks the victims' budget if it must", setup: []string{openB}, build: func(c *cell) {
		c.node("a", "4").node("b", "1", closed).priority("high", 1000, corev1.PreemptLowerPriority)
		c.deploy("batch", 2, asks("cpu", "500m"), on(corev1.LabelHostname, c.nodeName("b")), tolerates(corev1.TaintNodeUnschedulable)).budget("batch", selector("batch"), "max", "0")
		c.deploy("web", 2, asks("cpu", "500m"), ranked(c.id+"-high")).budget("web", selector("web"), "min", "1")
	}},
	{name: "daemonset-ignored-emptydir", why: "an ignored DaemonSet Pod may have an emptyDir", flags: []string{"--ignore-daemonsets"}, build: func(c *cell) {
		c.node("a", "4").daemon("agent", scratch).deploy("web", 1)
	}},
	{name: "emptydir-with-flag", why: "the flag lets it go", flags: []string{"--delete-emptydir-data"}, build: func(c *cell) {
		c.node("a", "4").deploy("web", 2, scratch)
	}},
	{name: "bare-with-force", why: "--force lets it go", flags: []string{"--force"}, build: func(c *cell) {
		c.node("a", "4").bare("tool", "tool").deploy("web", 1)
	}},
	{name: "sts-single-max1", why: "the first to come back stays Pending", build: func(c *cell) {
		c.node("a", "4").stateful("db", 3, appsv1.OrderedReadyPodManagement).budget("db", selector("db"), "max", "1")
	}},
	{name: "sts-parallel-two-nodes", why: "each comes back on the other node", timeout: "60s", setup: []string{openB}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).stateful("db", 3, appsv1.ParallelPodManagement).budget("db", selector("db"), "min", "2")
	}},
	{name: "sts-room-for-one", why: "the second to come back has no room", setup: []string{openB}, timeout: "25s", build: func(c *cell) {
		c.node("a", "4").node("b", "1", closed).stateful("db", 3, appsv1.OrderedReadyPodManagement, asks("cpu", "600m")).budget("db", selector("db"), "max", "1")
	}},
	{name: "job-max1", why: "a Job has no scale, so the budget's sync fails", build: func(c *cell) {
		c.node("a", "4").job("batch", 2, 6).budget("batch", selector("batch"), "max", "1")
	}},
	{name: "job-min2-of-2", why: "both Pods of the Job must stay", build: func(c *cell) {
		c.node("a", "4").job("batch", 2, 6).budget("batch", selector("batch"), "min", "2")
	}},
	{name: "job-min1-two-nodes", why: "the Job makes another Pod after its back-off", setup: []string{openB}, timeout: "60s", build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).job("batch", 2, 6).budget("batch", selector("batch"), "min", "1")
	}},
	{name: "job-gives-up", why: "one Pod lost is one too many for backoffLimit 0, and the Job ends the other", timeout: "30s", build: func(c *cell) {
		c.node("a", "4").job("batch", 2, 0).budget("batch", selector("batch"), "min", "1")
	}},
	{name: "two-budgets-over-some", why: "Pods under two budgets stay, others go", build: func(c *cell) {
		c.node("a", "4").deploy("web", 2).deploy("api", 2, labelled("tier", "front")).deploy("shop", 2, labelled("tier", "front"))
		c.budget("api", selector("api"), "min", "0").budget("front", &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front", "app": "api"}}, "min", "0")
	}},
	{name: "budget-without-selector", why: "a missing selector matches nothing", build: func(c *cell) {
		c.node("a", "4").deploy("web", 2).budget("none", nil, "max", "0")
	}},
	{name: "disable-eviction-max0", why: "deletion does not ask the budget", flags: []string{"--disable-eviction"}, build: func(c *cell) {
		c.node("a", "4").deploy("web", 2).budget("web", selector("web"), "max", "0")
	}},
	{name: "grace-period-flag", why: "--grace-period shortens what the Pods may take", flags: []string{"--grace-period=1"}, build: func(c *cell) {
		c.node("a", "4").deploy("web", 1, behaves("ignore-sigterm"), grace(60))
	}},
	{name: "terminating-held", why: "a Pod that a finalizer holds is waited for", flags: []string{"--force"}, setup: []string{"delete pod tool", "sleep 4"}, build: func(c *cell) {
		c.node("a", "4").bare("tool", "tool", grace(1), func(t *corev1.PodTemplateSpec) { t.Finalizers = []string{"drain.test/hold"} }).deploy("web", 1)
	}},
	{name: "failed-pods-no-flags", why: "finished Pods need no flag", build: func(c *cell) {
		c.node("a", "4").bare("tool", "tool", behaves("fail"), scratch, func(t *corev1.PodTemplateSpec) { t.Spec.RestartPolicy = corev1.RestartPolicyNever })
	}},
	{name: "static-counts", why: "a static Pod counts for an integer minAvailable", build: func(c *cell) {
		c.node("a", "4").bare("static", "web", static, pinned(c.nodeName("a"))).deploy("web", 1).budget("web", selector("web"), "min", "1")
	}},
	{name: "bare-adds-headroom", why: "with maxUnavailable 0 a bare Pod is one more than the scale", flags: []string{"--force"}, totals: true, build: func(c *cell) {
		c.node("a", "4").bare("tool", "web", labelled("kind", "tool")).add(&appsv1.Deployment{TypeMeta: meta("apps/v1", "Deployment"),
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: c.space()}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)),
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"kind": "web"}}, Template: template("web", []podEdit{labelled("kind", "web")})}})
		c.budget("web", selector("web"), "max", "0")
	}},
	{name: "replicationcontroller-two-nodes", why: "old controllers count too", setup: []string{openB}, timeout: "40s", build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).controller("web", 2).budget("web", selector("web"), "min", "50%")
	}},
	{name: "replicaset-single-50pct", why: "half of a ReplicaSet's 4 stays", build: func(c *cell) {
		c.node("a", "4").replicaSet("web", 4).budget("web", selector("web"), "min", "50%")
	}},
	{name: "affinity-follows", why: "the Pods must be where the cache is, and the cache stays on the drained node's side", setup: []string{openB}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).deploy("cache", 1, on(corev1.LabelHostname, c.nodeName("a"))).deploy("web", 2, near("cache", corev1.LabelHostname)).budget("web", selector("web"), "min", "1")
	}},
	{name: "tolerates-the-cordon", why: "replacements come back to the cordoned node, and the drain still finishes", timeout: "40s", build: func(c *cell) {
		c.node("a", "4").deploy("web", 2, tolerates(corev1.TaintNodeUnschedulable)).budget("web", selector("web"), "min", "1")
	}},
	{name: "unready-while-met", why: "the ready ones elsewhere meet the budget", build: func(c *cell) {
		c.node("a", "4").node("b", "4").deploy("good", 2, labelled("tier", "x"), on(corev1.LabelHostname, c.nodeName("b"))).deploy("bad", 2, labelled("tier", "x"), behaves("never-ready"), on(corev1.LabelHostname, c.nodeName("a")))
		c.budget("x", &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "x"}}, "min", "1")
	}},
	{name: "three-nodes-tight", why: "room for two on each of the others", timeout: "60s", setup: []string{openB, "uncordon {c}"}, build: func(c *cell) {
		c.node("a", "4").node("b", "1", closed).node("c", "1", closed).deploy("web", 4, asks("cpu", "500m")).budget("web", selector("web"), "max", "1")
	}},
	{name: "local-volume-elsewhere", why: "the volume is on the other node already", setup: []string{openB}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).volume("data", "a").deploy("db", 1, mounts("data")).deploy("web", 2).budget("web", selector("web"), "min", "1")
	}, timeout: "40s"},
	{name: "antiaffinity-three-nodes", why: "a third node is free for it", timeout: "40s", setup: []string{"uncordon {c}"}, build: func(c *cell) {
		c.node("a", "4").node("b", "4").node("c", "4", closed).deploy("web", 2, apart(corev1.LabelHostname)).budget("web", selector("web"), "min", "2", func(s *policyv1.PodDisruptionBudgetSpec) {
			s.MinAvailable = nil
			s.MaxUnavailable = new(intOrString("1"))
		})
	}},
	{name: "min-of-everything-one-cordoned", why: "the budget has one to spare, and the place for the replacement is cordoned", build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).deploy("web", 3).deploy("api", 1).budget("all", &metav1.LabelSelector{}, "min", "3")
	}, totals: true},
	{name: "preferred-taint", why: "PreferNoSchedule keeps nobody away", timeout: "40s", setup: []string{openB}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed, tainted("soft", corev1.TaintEffectPreferNoSchedule)).deploy("web", 2).budget("web", selector("web"), "min", "1")
	}},
	{name: "noexecute-taint-tolerated", why: "the Pods tolerate the other node's taint", timeout: "40s", setup: []string{openB}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed, tainted("hard", corev1.TaintEffectNoExecute)).deploy("web", 2, tolerates("hard")).budget("web", selector("web"), "min", "1")
	}},
}

// TestForecastAgreesWithOwnRecords judges this package's own scenarios offline.
func TestForecastAgreesWithOwnRecords(t *testing.T) {
	t.Parallel()
	list := scenarios(t, "own")
	if len(list) < 30 || len(list) != len(ownScenarios) {
		t.Fatalf("%d recorded, %d defined", len(list), len(ownScenarios))
	}
	for _, s := range list {
		w := readState(t, s.dir)
		opts, _ := s.options(t)
		f, err := w.Forecast(s.Node, opts)
		if err != nil {
			t.Errorf("%s: %v", s.name(), err)
			continue
		}
		checkAgainst(t, s, f, s.Observed)
		if f.Verdict == VerdictUndecided && s.Verdict != VerdictUndecided {
			t.Errorf("%s is undecided: %v", s.name(), f.Reasons)
		}
	}
}
