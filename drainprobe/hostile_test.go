package drainprobe

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// quota adds a ResourceQuota: resource names and amounts in turn.
func (c *cell) quota(name string, hard ...string) *cell {
	q := &corev1.ResourceQuota{TypeMeta: meta("v1", "ResourceQuota"), ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.space()}}
	q.Spec.Hard = corev1.ResourceList{}
	for i := 0; i < len(hard); i += 2 {
		q.Spec.Hard[corev1.ResourceName(hard[i])] = resource.MustParse(hard[i+1])
	}
	return c.add(q)
}

// runtimeClass adds a RuntimeClass with an overhead.
func (c *cell) runtimeClass(name, cpu string) *cell {
	return c.add(&nodev1.RuntimeClass{TypeMeta: meta("node.k8s.io/v1", "RuntimeClass"), ObjectMeta: metav1.ObjectMeta{Name: c.id + "-" + name}, Handler: "x",
		Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}})
}

func initAsks(cpu string, sidecar bool) podEdit {
	return func(t *corev1.PodTemplateSpec) {
		i := corev1.Container{Name: "i", Image: "pause", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}
		if sidecar {
			i.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		t.Spec.InitContainers = append(t.Spec.InitContainers, i)
	}
}

func runs(class string) podEdit {
	return func(t *corev1.PodTemplateSpec) { t.Spec.RuntimeClassName = &class }
}

func listensAt(ip string, port int32) podEdit {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[0].Ports = append(t.Spec.Containers[0].Ports, corev1.ContainerPort{ContainerPort: port, HostPort: port, HostIP: ip})
	}
}

func held(t *corev1.PodTemplateSpec) { t.Finalizers = []string{"drain.test/hold"} }

func gated(t *corev1.PodTemplateSpec) {
	t.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "drain.test/gate"}}
}

// apartFrom keeps a Pod away from another app's, in every namespace.
func apartFrom(app, key string) podEdit {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{LabelSelector: selector(app), NamespaceSelector: &metav1.LabelSelector{}, TopologyKey: key}}}}
	}
}

// prefers a node label, strongly.
func prefers(key, value string) podEdit {
	return func(t *corev1.PodTemplateSpec) {
		if t.Spec.Affinity == nil {
			t.Spec.Affinity = &corev1.Affinity{}
		}
		t.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
			{Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}}}}}
	}
}

func minDomains(n int32) func(*corev1.TopologySpreadConstraint) {
	return func(r *corev1.TopologySpreadConstraint) { r.MinDomains = &n }
}

func byRevision(r *corev1.TopologySpreadConstraint) { r.MatchLabelKeys = []string{"pod-template-hash"} }

func tier(v string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"tier": v}}
}

// badAndGood is two ready and two unready replicas in one budget on one node.
func badAndGood(field, value string, edit ...podEdit) func(c *cell) {
	return func(c *cell) {
		c.node("a", "4").deploy("good", 2, labelled("tier", "x")).deploy("bad", 2, labelled("tier", "x"), behaves("never-ready")).budget("x", tier("x"), field, value)
	}
}

var hostileScenarios = []ownScenario{
	{name: "half-unready-min2", why: "the ready ones meet the budget exactly: the others go", build: badAndGood("min", "2")},
	{name: "half-unready-max1", why: "more are unready than may be", build: badAndGood("max", "1")},
	{name: "half-unready-min50pct", why: "half must be healthy, and half is", build: badAndGood("min", "50%")},
	{name: "half-unready-max75pct", why: "three of four may be missing: one ready one goes besides", build: badAndGood("max", "75%")},
	{name: "half-unready-max100pct", why: "nobody has to be healthy, so each disruption counts for everyone", verdict: VerdictUndecided, build: badAndGood("max", "100%")},
	{name: "half-unready-max1-alwaysallow", why: "the unready ones go anyway", build: func(c *cell) {
		c.node("a", "4").deploy("good", 2, labelled("tier", "x")).deploy("bad", 2, labelled("tier", "x"), behaves("never-ready")).budget("x", tier("x"), "max", "1", alwaysAllow)
	}},
	{name: "other-node-says-not-ready", why: "its kubelet reports False: its Pods count for the budget until it is heard of no more", setup: []string{"annotate node {b} drain.test/not-ready=true", "report {b} False"}, build: func(c *cell) {
		c.node("a", "4").node("b", "4").deploy("web", 2, apart(corev1.LabelHostname)).budget("web", selector("web"), "min", "1")
	}},
	{name: "drained-node-says-not-ready", why: "whether a kubelet in trouble ends its Pods is not to be known", setup: []string{openB, "annotate node {a} drain.test/not-ready=true", "report {a} False"}, verdict: VerdictUndecided, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).deploy("web", 2)
	}},
	{name: "min-domains-too-few", why: "two domains where three are wanted: nobody may get a second Pod", setup: []string{openB}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).deploy("web", 1, spreads(corev1.LabelHostname, 1, minDomains(3))).deploy("api", 2, labelled("tier", "x"), spreads(corev1.LabelHostname, 2, minDomains(3)))
		c.budget("api", selector("api"), "min", "1")
	}, timeout: "40s"},
	{name: "spread-by-revision", why: "matchLabelKeys counts Pods of one revision alone", build: func(c *cell) {
		c.node("a", "4").node("b", "4").deploy("web", 2, spreads(corev1.LabelHostname, 1, byRevision)).budget("web", selector("web"), "max", "1")
	}},
	{name: "spread-honors-taints-three", why: "the cordoned node is no domain, the others are", timeout: "40s", build: func(c *cell) {
		c.node("a", "4").node("b", "4").node("c", "4", tainted("hard", corev1.TaintEffectNoSchedule)).deploy("web", 4, spreads(corev1.LabelHostname, 1, honorTaints)).budget("web", selector("web"), "max", "1")
	}},
	{name: "antiaffinity-any-namespace", why: "the other node holds what the Pod must not meet", setup: []string{openB}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).bare("noise", "noise", pinned(c.nodeName("b"))).deploy("web", 2, apartFrom("noise", corev1.LabelHostname)).budget("web", selector("web"), "min", "1")
	}},
	{name: "antiaffinity-of-the-other", why: "the Pod over there keeps this one away", setup: []string{openB}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).bare("shy", "shy", pinned(c.nodeName("b")), apartFrom("web", corev1.LabelHostname)).deploy("web", 2).budget("web", selector("web"), "min", "1")
	}},
	{name: "hostport-other-address", why: "the same port on another address is free", setup: []string{openB}, timeout: "40s", build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).bare("stranger", "stranger", pinned(c.nodeName("b")), listensAt("10.0.0.1", 8080)).deploy("web", 1, listensAt("10.0.0.2", 8080)).deploy("api", 2).budget("all", tier("x"), "min", "1")
	}},
	{name: "hostport-any-address", why: "0.0.0.0 takes the port of every address, so it depends on whose turn comes first", setup: []string{openB}, verdict: VerdictUndecided, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).bare("stranger", "stranger", pinned(c.nodeName("b")), listensAt("10.0.0.1", 8080))
		c.deploy("web", 1, listens(8080), labelled("tier", "x")).deploy("api", 1, labelled("tier", "x")).deploy("shop", 1, labelled("tier", "x")).budget("x", tier("x"), "min", "2")
	}, totals: true},
	{name: "init-container-too-big", why: "an init container asks for more than the other node has", setup: []string{openB}, build: func(c *cell) {
		c.node("a", "4").node("b", "1", closed).deploy("web", 2, asks("cpu", "100m"), initAsks("1500m", false)).budget("web", selector("web"), "min", "1")
	}},
	{name: "sidecar-adds-up", why: "a sidecar's request is added to the rest", setup: []string{openB}, build: func(c *cell) {
		c.node("a", "4").node("b", "1", closed).deploy("web", 2, asks("cpu", "600m"), initAsks("600m", true)).budget("web", selector("web"), "min", "1")
	}},
	{name: "sidecar-fits", why: "request and sidecar together just fit", setup: []string{openB}, timeout: "40s", build: func(c *cell) {
		c.node("a", "4").node("b", "1", closed).deploy("web", 1, asks("cpu", "500m"), initAsks("500m", true)).deploy("api", 2).budget("web", selector("web"), "max", "1")
	}},
	{name: "overhead-adds-up", why: "a RuntimeClass's overhead is added", setup: []string{openB}, build: func(c *cell) {
		c.runtimeClass("heavy", "600m")
		c.node("a", "4").node("b", "1", closed).deploy("web", 2, asks("cpu", "600m"), runs(c.id+"-heavy")).budget("web", selector("web"), "min", "1")
	}},
	{name: "quota-full", why: "the quota was lowered below what runs, so nobody new is made", setup: []string{openB, `patch ResourceQuota q {"spec":{"hard":{"pods":"1"}}}`, "sleep 2"}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).quota("q", "pods", "10").deploy("web", 2).budget("web", selector("web"), "min", "1")
	}},
	{name: "quota-just-enough", why: "the quota holds as many Pods as run: the next comes when the last has gone", setup: []string{openB}, timeout: "60s", build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).quota("q", "pods", "2").deploy("web", 2).budget("web", selector("web"), "min", "1")
	}},
	{name: "quota-of-cpu-lowered", why: "one fits the lowered quota after it went, and only then", setup: []string{openB, `patch ResourceQuota q {"spec":{"hard":{"requests.cpu":"600m"}}}`, "sleep 2"}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).quota("q", "requests.cpu", "4").deploy("web", 3, asks("cpu", "300m")).budget("web", selector("web"), "min", "2")
	}},
	{name: "quota-asks-for-requests", why: "a quota on memory refuses Pods that ask for none", setup: []string{openB, `create ResourceQuota q {"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"hard":{"requests.memory":"4Gi"}}}`, "sleep 2"}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).deploy("web", 2).budget("web", selector("web"), "min", "1")
	}},
	{name: "limitrange-refuses", why: "a limit range was made that the Pods are above", setup: []string{openB, `create LimitRange l {"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"l"},"spec":{"limits":[{"type":"Pod","max":{"cpu":"200m"}}]}}`, "sleep 2"}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).deploy("web", 2, asks("cpu", "300m")).budget("web", selector("web"), "min", "1")
	}},
	{name: "template-names-the-node", why: "the replacement goes straight to the cordoned node", timeout: "40s", build: func(c *cell) {
		c.node("a", "4").deploy("web", 2, pinned(c.nodeName("a"))).budget("web", selector("web"), "min", "1")
	}},
	{name: "template-grew", why: "a ReplicaSet's new template asks for more than the other node has", setup: []string{openB, `patch ReplicaSet web {"spec":{"template":{"spec":{"containers":[{"name":"c","image":"pause","resources":{"requests":{"cpu":"1500m"}}}]}}}}`}, build: func(c *cell) {
		c.node("a", "4").node("b", "1", closed).replicaSet("web", 2, asks("cpu", "100m")).budget("web", selector("web"), "min", "1")
	}},
	{name: "template-shrank", why: "a ReplicaSet's new template fits the other node, and the old did not", timeout: "40s", setup: []string{openB, `patch ReplicaSet web {"spec":{"template":{"spec":{"containers":[{"name":"c","image":"pause","resources":{"requests":{"cpu":"100m"}}}]}}}}`}, build: func(c *cell) {
		c.node("a", "4").node("b", "1", closed).replicaSet("web", 2, asks("cpu", "1500m")).budget("web", selector("web"), "min", "1")
	}},
	{name: "sts-ondelete-grew", why: "the Pods that come back are of the new template, which is too big", setup: []string{openB, `patch StatefulSet db {"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`, "sleep 1", `patch StatefulSet db {"spec":{"template":{"spec":{"containers":[{"name":"c","image":"pause","resources":{"requests":{"cpu":"1500m"}}}]}}}}`, "sleep 1"}, build: func(c *cell) {
		c.node("a", "4").node("b", "1", closed).stateful("db", 2, appsv1.ParallelPodManagement, asks("cpu", "100m")).budget("db", selector("db"), "min", "1")
	}},
	{name: "rollout-stuck", why: "a rollout hangs on a new Pod that is not ready", setup: []string{`patch Deployment web {"spec":{"template":{"metadata":{"annotations":{"drain.test/behave":"never-ready"}}}}}`, "sleep 3"}, build: func(c *cell) {
		c.node("a", "4").deploy("web", 3).budget("web", selector("web"), "min", "2")
	}},
	{name: "rollout-stuck-two-nodes", why: "a rollout hangs, and old Pods are made anew elsewhere", timeout: "60s", setup: []string{openB, `patch Deployment web {"spec":{"template":{"metadata":{"annotations":{"drain.test/behave":"never-ready"}}}}}`, "sleep 3"}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).deploy("web", 3).budget("web", selector("web"), "min", "2")
	}},
	{name: "preempts-what-never-ends", why: "the victim's finalizer keeps the room", setup: []string{openB}, verdict: VerdictUndecided, build: func(c *cell) {
		c.node("a", "4").node("b", "1", closed).priority("high", 1000, corev1.PreemptLowerPriority)
		c.bare("batch", "batch", asks("cpu", "600m"), pinned(c.nodeName("b")), held)
		c.deploy("web", 2, asks("cpu", "500m"), ranked(c.id+"-high")).budget("web", selector("web"), "min", "1")
	}},
	{name: "prefers-the-full-one", why: "the preferred node is the smaller one, and takes only one of them: the rest go elsewhere", setup: []string{openB, "uncordon {c}"}, timeout: "60s", build: func(c *cell) {
		c.node("a", "4").node("b", "1", closed, label("disk", "ssd")).node("c", "4", closed)
		c.deploy("web", 3, asks("cpu", "600m"), prefers("disk", "ssd")).budget("web", selector("web"), "max", "1")
	}},
	{name: "takes-the-place-of-the-picky", why: "the flexible Pod prefers the only node that suits the other", setup: []string{openB, "uncordon {c}"}, timeout: "40s", totals: true, build: func(c *cell) {
		c.node("a", "4").node("b", "1", closed, label("disk", "ssd")).node("c", "4", closed)
		c.deploy("any", 2, asks("cpu", "600m"), labelled("tier", "x"), prefers("disk", "ssd")).deploy("picky", 2, asks("cpu", "600m"), labelled("tier", "x"), on("disk", "ssd")).budget("x", tier("x"), "min", "3")
	}},
	{name: "scheduling-gates", why: "somebody has to lift the gate of the replacement", setup: []string{"ungate web", "sleep 3", openB}, verdict: VerdictUndecided, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).deploy("web", 2, gated).budget("web", selector("web"), "min", "1")
	}},
	{name: "preference-leaves-room", why: "the flexible Pods prefer the small node, and leave the large one to the others", setup: []string{openB, "uncordon {c}"}, timeout: "60s", build: func(c *cell) {
		c.node("a", "4", label("zone", "x")).node("b", "1900m", closed, label("zone", "x")).node("c", "1300m", closed, label("disk", "ssd"))
		c.deploy("any", 2, asks("cpu", "600m"), labelled("tier", "x"), prefers("disk", "ssd")).deploy("picky", 2, asks("cpu", "900m"), labelled("tier", "x"), on("zone", "x")).budget("x", tier("x"), "min", "3")
	}},
	{name: "unknown-owner-max1", why: "the scale of a controller without one cannot be counted, so the budget allows nothing", setup: []string{"adopt tool", "sleep 2"}, build: func(c *cell) {
		c.node("a", "4").bare("tool-1", "tool").bare("tool-2", "tool").deploy("web", 1).budget("tool", selector("tool"), "max", "1")
	}},
	{name: "unknown-owner-mixed", why: "one Pod of an unknown controller is enough to fail the sync", setup: []string{"adopt tool", "sleep 2"}, build: func(c *cell) {
		c.node("a", "4").bare("tool-1", "tool", labelled("tier", "x")).deploy("web", 2, labelled("tier", "x")).deploy("free", 1).budget("x", tier("x"), "max", "50%")
	}},
	{name: "unknown-owner-min1", why: "whatever the controller does, a new Pod has no place", setup: []string{"adopt tool", "sleep 2"}, build: func(c *cell) {
		c.node("a", "4").bare("tool-1", "tool").bare("tool-2", "tool").budget("tool", selector("tool"), "min", "1")
	}},
	{name: "unknown-owner-with-room", why: "whether the controller makes a new Pod is not known", setup: []string{openB, "adopt tool", "sleep 2"}, verdict: VerdictUndecided, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).bare("tool-1", "tool").bare("tool-2", "tool").budget("tool", selector("tool"), "min", "1")
	}},
	{name: "two-apps-one-place", why: "two apps, and room for one Pod of either", setup: []string{openB}, totals: true, build: func(c *cell) {
		c.node("a", "4").node("b", "1", closed).deploy("web", 2, asks("cpu", "600m")).deploy("api", 2, asks("cpu", "600m"))
		c.budget("web", selector("web"), "min", "1").budget("api", selector("api"), "min", "1")
	}},
	{name: "daemonset-under-a-budget", why: "the drain leaves DaemonSet Pods, whatever budget they are under", flags: []string{"--ignore-daemonsets"}, build: func(c *cell) {
		c.node("a", "4").daemon("agent", labelled("tier", "x")).deploy("web", 2, labelled("tier", "x")).budget("x", tier("x"), "min", "1")
	}},
	{name: "daemonset-spoils-a-percentage", why: "a DaemonSet has no scale, so a percentage over its Pods fails", flags: []string{"--ignore-daemonsets"}, build: func(c *cell) {
		c.node("a", "4").daemon("agent", labelled("tier", "x")).deploy("web", 4, labelled("tier", "x")).budget("x", tier("x"), "max", "50%")
	}},
	{name: "job-partly-done", why: "what has finished does not count, and the rest has nowhere to go", build: func(c *cell) {
		c.node("a", "4").job("done", 2, 6, behaves("succeed"), labelled("tier", "x")).job("batch", 2, 6, labelled("tier", "x")).budget("x", tier("x"), "min", "2")
	}},
	{name: "grace-flag-too-long", why: "--grace-period longer than the timeout may be used up", flags: []string{"--grace-period=60"}, verdict: VerdictUndecided, build: func(c *cell) {
		c.node("a", "4").deploy("web", 1, behaves("ignore-sigterm"))
	}},
	{name: "long-grace-longer-timeout", why: "the process uses its grace, and the drain waits for it", timeout: "40s", build: func(c *cell) {
		c.node("a", "4").deploy("web", 1, behaves("ignore-sigterm"), grace(20))
	}},
	{name: "terminating-here-and-room", why: "a Pod that was told to end before is waited for, and its budget is met meanwhile", setup: []string{openB}, timeout: "40s", flags: []string{"--force"}, build: func(c *cell) {
		c.node("a", "4").node("b", "4", closed).bare("tool", "tool", behaves("ignore-sigterm"), grace(8)).deploy("web", 2).budget("web", selector("web"), "min", "1")
	}},
}
