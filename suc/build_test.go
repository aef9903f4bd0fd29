package suc

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/k3sladder/k3sladder/internal/golden"
	"github.com/k3sladder/k3sladder/skew"
)

func TestBuilders(t *testing.T) {
	t.Parallel()
	v := skew.MustParse("v1.35.9+k3s1")
	server := ServerPlan(v, Options{})
	all := Options{
		Name: "nightly", Namespace: "cattle-system", NodeSelector: AgentSelector(), Concurrency: 2,
		Drain: &DrainSpec{Force: true}, ServiceAccount: "upgrader", Registry: "registry.lan:5000/mirror/",
		ImagePullSecrets: []string{"registry"}, Stage: true, ControllerVersion: "v0.4.0",
		Tolerations: []corev1.Toleration{{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists}},
		Window:      &TimeWindowSpec{Days: []Day{"sa", "su"}, StartTime: "02:00", EndTime: "05:00", TimeZone: "Europe/Vienna"},
		JobDeadline: 1500 * time.Millisecond, PostCompleteDelay: 2 * time.Minute, Exclusive: true, PriorityClassName: "system-node-critical",
	}
	for name, plan := range map[string]*Plan{
		"server by default":                     server,
		"lab rung":                              ServerPlan(v, Options{Name: "k3s-server-next"}),
		"server staged":                         ServerPlan(v, Options{Stage: true}),
		"server with everything set":            ServerPlan(v, all),
		"agent waits for the server plan":       AgentPlan(server, Options{}),
		"agent keeps the server plan namespace": AgentPlan(ServerPlan(v, all), Options{Namespace: "elsewhere"}),
		"rke2 server":                           RKE2ServerPlan(skew.MustParse("v1.35.9+rke2r1"), Options{}),
		"rke2 agent":                            RKE2AgentPlan(RKE2ServerPlan(skew.MustParse("v1.35.9+rke2r1"), Options{}), Options{}),
		"k3os by default":                       K3OSPlan("", Options{}),
		"k3os pinned":                           K3OSPlan("v0.21.5-k3s2r1", Options{}),
	} {
		t.Run(name, func(t *testing.T) {
			b, err := Marshal(plan)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "build/"+strings.ReplaceAll(name, " ", "-")+".golden", b)
		})
	}
}

func TestBuildersPleaseTheLinter(t *testing.T) {
	t.Parallel()
	v := skew.MustParse("v1.35.9+k3s1")
	rke2 := RKE2ServerPlan(skew.MustParse("v1.35.9+rke2r1"), Options{Drain: &DrainSpec{Force: true}})
	for name, c := range map[string]struct {
		plans []*Plan
		facts *Facts
	}{
		"k3s":    {[]*Plan{ServerPlan(v, Options{Stage: true}), AgentPlan(ServerPlan(v, Options{}), Options{})}, &Facts{ServerVersion: "v1.34.11+k3s1", Datastore: "etcd"}},
		"mirror": {[]*Plan{ServerPlan(v, Options{Stage: true, Registry: "registry.lan:5000"})}, nil},
		"rke2":   {[]*Plan{rke2, RKE2AgentPlan(rke2, Options{})}, &Facts{ServerVersion: "v1.34.11+rke2r1", Datastore: "etcd"}},
		"k3os":   {[]*Plan{K3OSPlan("", Options{})}, &Facts{ServerVersion: "v1.20.4+k3s1"}},
		"pinned": {[]*Plan{K3OSPlan("v0.21.5-k3s2r1", Options{})}, &Facts{ServerVersion: "v1.20.4+k3s1"}},
	} {
		if found := LintPlans(c.plans, LintOptions{Facts: c.facts}); len(found) > 0 {
			t.Errorf("%s:\n%s", name, found)
		}
	}
}

func TestBuildersCopyWhatTheyAreGiven(t *testing.T) {
	t.Parallel()
	opts := Options{Drain: &DrainSpec{Force: true}, NodeSelector: ServerSelector()}
	p := ServerPlan(skew.MustParse("v1.35.9+k3s1"), opts)
	p.Spec.Drain.Force = false
	p.Spec.NodeSelector.MatchExpressions[0].Values[0] = "false"
	if !opts.Drain.Force || opts.NodeSelector.MatchExpressions[0].Values[0] != "true" {
		t.Error("a change of the Plan reached the Options it was built from")
	}
}

func TestPrepareTagForOldControllers(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"":           "rancher/k3s-upgrade",
		"v0.20.1":    "rancher/k3s-upgrade",
		"v0.5.0":     "rancher/k3s-upgrade",
		"0.5.0":      "rancher/k3s-upgrade",
		"v0.4.0":     "rancher/k3s-upgrade:v1.35.9-k3s1",
		"v0.5.0-rc1": "rancher/k3s-upgrade:v1.35.9-k3s1",
		"main":       "rancher/k3s-upgrade:v1.35.9-k3s1",
	} {
		opts := Options{Stage: true, ControllerVersion: version}
		if got := ServerPlan(skew.MustParse("v1.35.9+k3s1"), opts).Spec.Prepare.Image; got != want {
			t.Errorf("prepare image for controller %q is %s, want %s", version, got, want)
		}
	}
}
