package suc

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/k3sladder/k3sladder/internal/golden"
	"github.com/k3sladder/k3sladder/skew"
)

// The Plans, UIDs and answers of TestAsTheControllerDid come from the real
// controller: system-upgrade-controller v0.20.1, built from its source, ran
// without leader election against a practice cluster (kube-apiserver v1.34.4
// with the CRD of this package, 7 nodes) and took these three Plans. Whenever a
// Pod was scheduled, its status was set to Succeeded by hand. Seen and compared
// then: the hash in each Plan's status, the name of every Job, its containers
// with images, commands and arguments, and which node came when. All of them
// were what Explain had said before the controller started; within one batch
// the controller makes the Jobs in the order of the nodes' names, and a slot is
// filled again as soon as it is free.
//
// In the same run a Plan with drain.gracePeriod 3000000000 was taken by the API
// server, and from then on the controller only logged "failed to list *v1.Plan:
// json: cannot unmarshal number 3000000000 into Go struct field".
func TestAsTheControllerDid(t *testing.T) {
	t.Parallel()
	facts := &Facts{ServerVersion: "v1.34.4+k3s1"}
	for _, n := range [][2]string{
		{"agt-1", "f8df1a64-13d6-4016-bfdc-3def828ea5b6"},
		{"agt-2.example.org", "0a6c13e9-2297-4b32-903c-633c43228990"},
		{"agt-3-with-a-rather-long-name-in-it", "31349482-5f9d-4e3a-a1e9-d35c2e44000c"},
		{"agt-4", "0657a1d3-549a-43da-807e-f0890c708d4d"},
		{"srv-1", "34397335-7f2b-413e-ab2a-16f72728f35d"},
		{"srv-2", "dfb4cbc5-61eb-415d-bcfa-b0d3dc685a20"},
		{"srv-3", "9a5ccbe7-1902-4b34-99a8-659f70362aac"},
	} {
		l := map[string]string{corev1.LabelHostname: n[0]}
		if strings.HasPrefix(n[0], "srv") {
			l[ControlPlaneLabel] = "true"
		}
		facts.Nodes = append(facts.Nodes, Node{Name: n[0], UID: n[1], KubeletVersion: "v1.34.4+k3s1", Labels: l})
	}
	yes, grace := true, int32(7)
	server := ServerPlan(skew.MustParse("v1.35.8+k3s1"), Options{Stage: true})
	server.UID = types.UID("a4a184ca-7b1c-4057-9c82-a0cd1d57a2f0")
	agent := AgentPlan(server, Options{Concurrency: 2, Registry: "registry.lan:5000", Drain: &DrainSpec{
		Force: true, Timeout: DrainTimeout(3 * time.Minute), GracePeriod: &grace, DeleteEmptydirData: &yes, DisableEviction: true, SkipWaitForDeleteTimeout: 5,
		PodSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "NotIn", Values: []string{"b", "a"}}}},
	}})
	agent.Spec.Drain.Timeout.StrVal = "3m"
	agent.UID = types.UID("a3419388-d381-4c74-a2d9-2e5ea79da9ef")
	agent.Annotations = map[string]string{AnnotationDigest: "spec.upgrade.image,spec.concurrency,spec.cordon,spec.drain.force,spec.nope"}
	agent.Spec.Secrets = []SecretSpec{{Name: "s1", Path: "x"}, {Name: "s2", Path: "y", IgnoreUpdates: true}}
	familiar := ServerPlan(skew.MustParse("v1.35.8+k3s1"), Options{Name: "familiar", NoCordon: true})
	familiar.UID = types.UID("d3884dbc-16c6-4eba-90cb-9dd06a65484a")
	familiar.Spec.Upgrade.Image = "docker.io/library/ubuntu"
	familiar.Spec.Prepare = &ContainerSpec{Image: "index.docker.io/rancher/k3s-upgrade"}

	kube := fake.NewClientset(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "system-upgrade", Name: "s1"}, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"a": []byte("b")},
	})
	for _, c := range []struct {
		plan  *Plan
		hash  string
		order []string // first those of the first batch, by name
		jobs  []string // a name for some of them
	}{
		{
			server, "a51930a28fd08364afd36032c010eeba5c42b9b60c095d227eae682a",
			[]string{"1 srv-2", "2 srv-1", "3 srv-3"},
			[]string{"apply-k3s-server-on-srv-2-with-a51930a28fd08364afd36032c0-13c57"},
		},
		{
			agent, "bc978867a71e9221b8a001a815a2b45b8dca12fb68530d22c334448c",
			[]string{"1 agt-1", "1 agt-2.example.org", "2 agt-3-with-a-rather-long-name-in-it", "2 agt-4"},
			[]string{
				"apply-k3s-agent-on-agt-3-with-a-rather-long-name-in-it-wi-2a079", "apply-k3s-agent-on-agt-2-with-bc978867a71e9221b8a001a815a-6ebda",
			},
		},
		{
			familiar, "a51930a28fd08364afd36032c010eeba5c42b9b60c095d227eae682a",
			[]string{"1 srv-3", "2 srv-1", "3 srv-2"},
			[]string{"apply-familiar-on-srv-3-with-a51930a28fd08364afd36032c010-dcfe9"},
		},
	} {
		hashes, err := SecretHashes(t.Context(), kube, c.plan)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Explain(t.Context(), c.plan, ExplainOptions{Facts: facts, SecretHashes: hashes})
		if err != nil {
			t.Fatal(err)
		}
		var order, jobs []string
		for _, n := range e.Nodes {
			if n.State == "todo" {
				order = append(order, string(rune('0'+n.Batch))+" "+n.Name)
				jobs = append(jobs, n.Job)
			}
		}
		slices.Sort(order)
		if e.Hash != c.hash || !e.OrderKnown || !slices.Equal(order, c.order) {
			t.Errorf("%s: hash %s, order %v (known %v)", e.Plan, e.Hash, order, e.OrderKnown)
		}
		for _, j := range c.jobs {
			if !slices.Contains(jobs, j) {
				t.Errorf("%s: no Job %s among %v", e.Plan, j, jobs)
			}
		}
	}
	e, err := Explain(t.Context(), agent, ExplainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"drain", "NODE", "--pod-selector", "app notin (a,b),!upgrade.cattle.io/controller", "--ignore-daemonsets", "--delete-emptydir-data", "--force",
		"--timeout", "3m", "--grace-period", "7", "--disable-eviction=true", "--skip-wait-for-delete-timeout", "5",
	}
	if diff := cmp.Diff(want, e.DrainArgs); diff != "" {
		t.Error(diff)
	}
	e, err = Explain(t.Context(), familiar, ExplainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var images []string
	for _, c := range e.Containers {
		images = append(images, c.Name+" "+c.Image)
	}
	if diff := cmp.Diff([]string{"prepare rancher/k3s-upgrade:v1.35.8-k3s1", "upgrade ubuntu:v1.35.8-k3s1"}, images); diff != "" {
		t.Error(diff)
	}
}

type fixedForecast map[string]string

func (f fixedForecast) Forecast(_ context.Context, node string, _ *DrainSpec) (*DrainForecast, error) {
	if f[node] == "" {
		return nil, errors.New("no such node")
	}
	return &DrainForecast{Verdict: f[node], Reasons: []string{"budget web allows no disruption"}}, nil
}

// odd is a cluster in which much is wrong.
func odd() *Facts {
	server := func(name, version string, extra ...string) Node {
		l := map[string]string{corev1.LabelHostname: name, ControlPlaneLabel: "true"}
		for i := 0; i+1 < len(extra); i += 2 {
			l[extra[i]] = extra[i+1]
		}
		return Node{Name: name, UID: "uid-" + name, KubeletVersion: version, Labels: l}
	}
	f := &Facts{ServerVersion: "v1.34.11+k3s1", Nodes: []Node{
		server("done", "v1.35.8+k3s1", LabelPlanPrefix+"k3s-server", "a51930a28fd08364afd36032c010eeba5c42b9b60c095d227eae682a"),
		server("excluded", "v1.34.11+k3s1", LabelPlanPrefix+"k3s-server", "disabled"),
		server("behind", "v1.33.5+k3s1"),
		server("again", "v1.35.8+k3s1", LabelPlanPrefix+"k3s-server", "0123"),
		server("cordoned", "v1.34.11+k3s1"),
		server("tainted", "v1.34.11+k3s1"),
		server("renamed", "v1.34.11+k3s1", corev1.LabelHostname, "other"),
		{Name: "nameless", Labels: map[string]string{ControlPlaneLabel: "true"}},
		{Name: "agent", KubeletVersion: "v1.33.5+k3s1", Labels: map[string]string{corev1.LabelHostname: "agent"}},
	}}
	f.Nodes[4].Unschedulable = true
	f.Nodes[5].Taints = []corev1.Taint{{Key: "CriticalAddonsOnly", Value: "true", Effect: corev1.TaintEffectNoExecute}}
	return f
}

func TestExplainSaysWhatGoesWrongWhere(t *testing.T) {
	t.Parallel()
	p := ServerPlan(skew.MustParse("v1.35.8+k3s1"), Options{Concurrency: 2, Drain: &DrainSpec{Force: true, Timeout: DrainTimeout(14 * time.Minute)},
		Window: &TimeWindowSpec{Days: []Day{"sa"}, StartTime: "02:00", EndTime: "03:00", TimeZone: "Europe/Vienna"}})
	p.UID = "uid-plan"
	p.Status.Applying = []string{"behind"}
	e, err := Explain(t.Context(), p, ExplainOptions{
		Facts: odd(), Now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		Drain: fixedForecast{"behind": "blocked", "again": "drains", "cordoned": "drains", "tainted": "undecided", "renamed": "drains"},
	})
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "explain/odd.golden", []byte(e.String()))
}

func TestExplainWithoutFactsDecidesNothing(t *testing.T) {
	t.Parallel()
	server := ServerPlan(skew.MustParse("v1.35.8+k3s1"), Options{})
	e, err := Explain(t.Context(), AgentPlan(server, Options{}), ExplainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "explain/unknown.golden", []byte(e.String()))
	for _, a := range e.Answers {
		if a.Answer != "undecided" {
			t.Errorf("%s %s: %s", a.Answer, a.Question, a.Because)
		}
	}
	channel := K3OSPlan("", Options{})
	if e, err = Explain(t.Context(), channel, ExplainOptions{Facts: odd()}); err != nil || e.Version != "" || e.Hash != "" || !strings.Contains(e.Unresolved, "not asked") {
		t.Errorf("%v, %+v", err, e)
	}
}

func TestExplainDeadlineOfAgentsThatWait(t *testing.T) {
	t.Parallel()
	server := ServerPlan(skew.MustParse("v1.35.8+k3s1"), Options{})
	agent := AgentPlan(server, Options{})
	facts := &Facts{Nodes: []Node{}}
	for _, n := range []string{"a", "b", "c", "d"} {
		facts.Nodes = append(facts.Nodes, Node{Name: n, Labels: map[string]string{corev1.LabelHostname: n, ControlPlaneLabel: "true"}})
	}
	answer := func(opts ExplainOptions) string {
		opts.Facts, opts.Plans = facts, []*Plan{server, agent}
		e, err := Explain(t.Context(), agent, opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range e.Answers {
			if a.Question == QuestionDeadline {
				return a.Answer
			}
		}
		return ""
	}
	if got := answer(ExplainOptions{}); got != "no" { // 4 servers and the agent: 25 minutes
		t.Errorf("900 seconds for 4 servers at 5 minutes: %s", got)
	}
	if got := answer(ExplainOptions{PerNode: time.Minute}); got != "yes" {
		t.Errorf("900 seconds for 4 servers at 1 minute: %s", got)
	}
	if got := answer(ExplainOptions{PerNode: 3 * time.Minute}); got != "no" { // a Job that runs for 900 seconds has failed
		t.Errorf("900 seconds for 4 servers and the agent at 3 minutes: %s", got)
	}
	facts.SUC = &Controller{JobDeadlineSeconds: new(int64)}
	if got := answer(ExplainOptions{}); got != "yes" {
		t.Errorf("no deadline: %s", got)
	}
}

func TestExplainPassesTheForecastersErrorOn(t *testing.T) {
	t.Parallel()
	p := ServerPlan(skew.MustParse("v1.35.8+k3s1"), Options{Drain: &DrainSpec{Force: true}})
	if _, err := Explain(t.Context(), p, ExplainOptions{Facts: odd(), Drain: fixedForecast{}}); err == nil {
		t.Error("no error")
	}
	if _, err := Explain(t.Context(), &Plan{}, ExplainOptions{}); err == nil {
		t.Error("a Plan without spec.upgrade was explained")
	}
}
