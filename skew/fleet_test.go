package skew_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/skew"
)

func fleet() skew.Fleet {
	v := skew.MustParse
	return skew.Fleet{
		Servers: []skew.Server{{Name: "s1", Version: v("v1.35.8+k3s1")}, {Name: "s2", Version: v("v1.35.8+k3s1")}},
		Nodes: []skew.Node{
			{Name: "s1", Kubelet: v("v1.35.8+k3s1"), Server: "s1"},
			{Name: "s2", Kubelet: v("v1.35.8+k3s1"), Server: "s2"},
			{Name: "edge-1", Kubelet: v("v1.35.8+k3s1")},
			{Name: "edge-7", Kubelet: v("v1.32.13+k3s1")},
		},
		Clients: []skew.Client{{Name: "laptop", Version: v("v1.34.1")}},
	}
}

func TestFleetIsFineNow(t *testing.T) {
	t.Parallel()
	if vs := fleet().Violations(); len(vs) != 0 {
		t.Errorf("%v", vs)
	}
}

func TestRaisingTheServersStrandsWhatIsTooOld(t *testing.T) {
	t.Parallel()
	vs := fleet().Strands(skew.MustParse("v1.36.4+k3s1"))
	if len(vs) != 2 || vs[0].Name != "edge-7" || vs[0].Rule.ID != "kubelet" || vs[1].Name != "laptop" || vs[1].Rule.ID != "kubectl" {
		t.Fatalf("%v", vs)
	}
	if text := vs[0].String(); !strings.HasPrefix(text, "node edge-7: kubelet v1.32.13+k3s1 is 4 minors older than kube-apiserver v1.36.4+k3s1") {
		t.Error(text)
	}
}

func TestOrderRaisesStrandedAgentsFirstThenServersThenAgents(t *testing.T) {
	t.Parallel()
	moves, err := fleet().Order(skew.MustParse("v1.36.4+k3s1"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range moves {
		got = append(got, fmt.Sprintf("%s %s %s", m.Kind, m.Name, m.To))
	}
	want := "node edge-7 v1.35.8+k3s1, server s1 v1.36.4+k3s1, server s2 v1.36.4+k3s1, node edge-1 v1.36.4+k3s1, node edge-7 v1.36.4+k3s1"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, ", "), want)
	}
	// The order itself breaks nothing but the laptop's kubectl.
	for _, s := range fleet().Stages(moves) {
		for _, v := range s.New {
			if v.Name != "laptop" {
				t.Errorf("after %s: %s", s.Move, v)
			}
		}
	}
}

func TestViolationsOfFleets(t *testing.T) {
	t.Parallel()
	v := skew.MustParse
	for _, tt := range []struct {
		name  string
		fleet skew.Fleet
		want  string
	}{
		{"a server two minors ahead", skew.Fleet{Servers: []skew.Server{{Name: "a", Version: v("1.36.1")}, {Name: "b", Version: v("1.34.1")}}}, "server a kube-apiserver-ha"},
		{"an agent newer than the oldest server", skew.Fleet{
			Servers: []skew.Server{{Name: "a", Version: v("1.36.1")}, {Name: "b", Version: v("1.35.1")}},
			Nodes:   []skew.Node{{Name: "n", Kubelet: v("1.36.1")}},
		}, "node n kubelet"},
		{"a server's own kubelet follows its server", skew.Fleet{
			Servers: []skew.Server{{Name: "a", Version: v("1.36.1")}, {Name: "b", Version: v("1.35.1")}},
			Nodes:   []skew.Node{{Name: "a", Kubelet: v("1.36.1"), Server: "a"}},
		}, ""},
		{"an old scheduler", skew.Fleet{Servers: []skew.Server{{Name: "a", Version: v("1.36.1"), Scheduler: v("1.34.1"), ControllerManager: v("1.35.1")}}}, "server a kube-scheduler"},
		{"a kube-proxy far from its kubelet", skew.Fleet{
			Servers: []skew.Server{{Name: "a", Version: v("1.27.1")}},
			Nodes:   []skew.Node{{Name: "n", Kubelet: v("1.27.1"), KubeProxy: v("1.24.1")}},
		}, "node n kube-proxy-before-1.25; node n kube-proxy-beside-kubelet-before-1.25"},
		{"a client ahead", skew.Fleet{
			Servers: []skew.Server{{Name: "a", Version: v("1.34.1")}},
			Clients: []skew.Client{{Name: "k9s", Version: v("1.36.0")}},
		}, "client k9s kubectl"},
		{"nothing to measure against", skew.Fleet{Nodes: []skew.Node{{Name: "n", Kubelet: v("1.27.1")}}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, x := range tt.fleet.Violations() {
				got = append(got, x.Where+" "+x.Name+" "+x.Rule.ID)
			}
			if strings.Join(got, "; ") != tt.want {
				t.Errorf("%s, want %s", strings.Join(got, "; "), tt.want)
			}
		})
	}
}

func TestOrderRefusesWhatIsNoStep(t *testing.T) {
	t.Parallel()
	if _, err := fleet().Order(skew.MustParse("v1.37.1+k3s1")); !errors.Is(err, skew.ErrSkip) {
		t.Errorf("two minors up: %v", err)
	}
	if _, err := (skew.Fleet{}).Order(skew.MustParse("v1.37.1+k3s1")); !errors.Is(err, skew.ErrNoServers) {
		t.Errorf("no servers: %v", err)
	}
	moves, err := fleet().Order(skew.MustParse("v1.35.8+k3s1"))
	if err != nil || len(moves) != 1 || moves[0].Name != "edge-7" {
		t.Errorf("servers that are there stay: %v, %v", moves, err)
	}
}

func TestOrderSaysOfAnUnknownAgentWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	f := fleet()
	f.Nodes = append(f.Nodes, skew.Node{Name: "edge-9"})
	moves, err := f.Order(skew.MustParse("v1.36.4+k3s1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range moves {
		if m.Name == "edge-9" && m.To.Minor() == skew.MustParse("v1.35.8+k3s1").Minor() && !strings.HasPrefix(m.Why, "its version is not known") {
			t.Errorf("%s", m)
		}
	}
	if !slices.ContainsFunc(moves, func(m skew.Move) bool { return m.Name == "edge-9" }) {
		t.Error("it is left out")
	}
}

func ExampleFleet_Strands() {
	f := skew.Fleet{
		Servers: []skew.Server{{Name: "box", Version: skew.MustParse("v1.35.8+k3s1")}},
		Nodes:   []skew.Node{{Name: "edge-7", Kubelet: skew.MustParse("v1.32.13+k3s1")}},
	}
	for _, v := range f.Strands(skew.MustParse("v1.36.4+k3s1")) {
		fmt.Printf("raising the servers to 1.36 strands %s %s at %s\n", v.Where, v.Name, v.Version.Minor())
	}
	moves, _ := f.Order(skew.MustParse("v1.36.4+k3s1"))
	for _, m := range moves {
		fmt.Println(m)
	}
	// Output:
	// raising the servers to 1.36 strands node edge-7 at 1.32
	// node edge-7: v1.32.13+k3s1 -> v1.35.8+k3s1, servers at 1.36 would strand it
	// server box: v1.35.8+k3s1 -> v1.36.4+k3s1, servers one by one, before agents
	// node edge-7: v1.35.8+k3s1 -> v1.36.4+k3s1, agents after the servers
}
