package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
)

// node is a node as k3s registers it; args is its node-args annotation, "" for
// none.
func node(name, kubelet, args string, labels ...string) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, Annotations: map[string]string{}}}
	for _, l := range labels {
		n.Labels[l] = "true"
	}
	if args != "" {
		n.Annotations["k3s"+annotationArgs] = args
	}
	n.Status.NodeInfo.KubeletVersion = kubelet
	n.Status.NodeInfo.ContainerRuntimeVersion = "containerd://2.1.5-k3s1"
	return n
}

func TestSightReadsVersionsAndFacts(t *testing.T) {
	t.Parallel()
	type facts struct {
		datastore channels.Datastore
		agents    channels.Answer
		traits    string // "name=answer ..." that must hold
	}
	docker := node("agent", "v1.34.4+k3s1", "")
	docker.Status.NodeInfo.ContainerRuntimeVersion = "docker://28.0.1"
	ipsec := node("server", "v1.26.4+k3s1", `["server"]`, labelControlPlane)
	ipsec.Annotations[annotationFlannel] = "ipsec"
	byEnv := node("server", "v1.34.4+k3s1", `["server"]`, labelControlPlane)
	byEnv.Annotations["k3s"+annotationEnv] = `{"K3S_DATASTORE_ENDPOINT":"********"}`
	for _, tt := range []struct {
		name   string
		server string
		nodes  []corev1.Node
		from   string
		facts  facts
	}{
		{
			"one box on SQLite", "v1.34.4+k3s1",
			[]corev1.Node{node("box", "v1.34.4+k3s1", `["server","--disable","traefik,servicelb"]`, labelControlPlane)},
			"v1.34.4+k3s1", facts{channels.SQLite, channels.No, "packaged-traefik=no docker=no gateway-api-crds=no"},
		},
		{
			"traefik stays", "v1.34.4+k3s1",
			[]corev1.Node{node("box", "v1.34.4+k3s1", `["server","--disable=servicelb"]`, labelControlPlane)},
			"v1.34.4+k3s1", facts{channels.SQLite, channels.No, "packaged-traefik=yes"},
		},
		{
			"servers that differ in what they disable", "v1.34.4+k3s1",
			[]corev1.Node{
				node("a", "v1.34.4+k3s1", `["server","--disable","traefik"]`, labelControlPlane, labelEtcd),
				node("b", "v1.34.4+k3s1", `["server"]`, labelControlPlane, labelEtcd),
			},
			"v1.34.4+k3s1", facts{channels.EmbeddedEtcd, channels.No, "packaged-traefik= ha=yes"},
		},
		{
			"an agent behind, a server ahead", "v1.35.4+k3s1",
			[]corev1.Node{
				node("a", "v1.35.4+k3s1", `["server"]`, labelControlPlane, labelEtcd),
				node("b", "v1.34.4+k3s1", `["server"]`, labelControlPlane, labelEtcd),
				node("agent", "v1.33.4+k3s1", ""),
			},
			"v1.34.4+k3s1", facts{channels.EmbeddedEtcd, channels.Yes, "ha=yes"},
		},
		{
			"an external datastore", "v1.34.4+k3s1",
			[]corev1.Node{node("a", "v1.34.4+k3s1", `["server","--datastore-endpoint=********"]`, labelControlPlane)},
			"v1.34.4+k3s1", facts{channels.ExternalDatastore, channels.No, ""},
		},
		{"an external datastore from the environment", "v1.34.4+k3s1", []corev1.Node{byEnv}, "v1.34.4+k3s1", facts{channels.ExternalDatastore, channels.No, ""}},
		{
			"a node that tells nothing", "v1.34.4+k3s1",
			[]corev1.Node{node("a", "v1.34.4+k3s1", "", labelControlPlane)},
			"v1.34.4+k3s1", facts{channels.DatastoreUnknown, channels.No, "packaged-traefik= kube-proxy-ipvs="},
		},
		{
			"an annotation that is no list", "v1.34.4+k3s1",
			[]corev1.Node{node("a", "v1.34.4+k3s1", "{", labelControlPlane)},
			"v1.34.4+k3s1", facts{channels.DatastoreUnknown, channels.No, ""},
		},
		{
			"docker and ipvs", "v1.34.4+k3s1",
			[]corev1.Node{node("a", "v1.34.4+k3s1", `["server","--kube-proxy-arg","proxy-mode=ipvs"]`, labelControlPlane), docker},
			"v1.34.4+k3s1", facts{channels.SQLite, channels.Yes, "docker=yes kube-proxy-ipvs=yes"},
		},
		{"flannel on ipsec", "v1.26.4+k3s1", []corev1.Node{ipsec}, "v1.26.4+k3s1", facts{channels.SQLite, channels.No, "packaged-flannel=yes flannel-backend-ipsec=yes"}},
		{
			"servers that are no nodes", "v1.34.4+k3s1",
			[]corev1.Node{node("agent", "v1.34.4+k3s1", "")},
			"v1.34.4+k3s1", facts{channels.DatastoreUnknown, channels.Yes, ""},
		},
		{
			"etcd on nodes of its own", "v1.34.4+k3s1",
			[]corev1.Node{node("a", "v1.34.4+k3s1", `["server","--disable-etcd"]`, labelControlPlane), node("e", "v1.34.4+k3s1", `["server","--disable-apiserver"]`, labelEtcd)},
			"v1.34.4+k3s1", facts{channels.EmbeddedEtcd, channels.Yes, ""},
		},
		{"no nodes", "v1.34.4+k3s1", nil, "v1.34.4+k3s1", facts{channels.DatastoreUnknown, channels.No, "docker="}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := sight(skew.MustParse(tt.server), tt.nodes, false)
			if err != nil {
				t.Fatal(err)
			}
			if s.from.String() != tt.from || len(s.fleet.Servers) == 0 || len(s.fleet.Nodes) != len(tt.nodes) {
				t.Errorf("from %s, fleet %+v", s.from, s.fleet)
			}
			if s.facts.Datastore != tt.facts.datastore || s.facts.Agents != tt.facts.agents {
				t.Errorf("%+v", s.facts)
			}
			for _, want := range strings.Fields(tt.facts.traits) {
				name, answer, _ := strings.Cut(want, "=")
				if got := s.facts.Traits[channels.Trait(name)]; got != channels.Answer(answer) {
					t.Errorf("%s is %q, want %q", name, got, answer)
				}
			}
			if err := s.facts.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := sight(skew.MustParse("v1.34.4+k3s1"), []corev1.Node{node("a", "unreadable", "")}, false); err == nil || !strings.Contains(err.Error(), "node a") {
		t.Errorf("%v", err)
	}
}

func TestFleetAlongTheLadder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, target string
		nodes        []corev1.Node
		want         []string
	}{
		"an agent that the policy would strand": {"v1.35.8+k3s1", "v1.36.4+k3s1", []corev1.Node{
			node("box", "v1.35.8+k3s1", `["server"]`, labelControlPlane),
			node("edge-7", "v1.32.13+k3s1", ""),
		}, []string{
			"Now nothing breaks the version skew policy.",
			"raising the servers to 1.36 strands node edge-7 at 1.32",
			"1. node edge-7: v1.32.13+k3s1 -> v1.35.8+k3s1, servers at 1.36 would strand it",
			"2. server box: v1.35.8+k3s1 -> v1.36.4+k3s1",
			"3. node edge-7: v1.35.8+k3s1 -> v1.36.4+k3s1, agents after the servers",
		}},
		// The version skew policy allows an agent three minors back, k3s does not.
		"agents that would hang": {"v1.31.14+k3s1", "v1.32.13+k3s1", []corev1.Node{
			node("box", "v1.31.14+k3s1", `["server"]`, labelControlPlane),
			node("edge-7", "v1.30.5+k3s1", ""),
			node("edge-8", "v1.30.9+k3s1", ""),
		}, []string{
			"raising the servers to 1.32 hangs new Pods on node edge-7",
			"1. node edge-7: v1.30.5+k3s1 -> v1.31.14+k3s1, its Pods would hang under servers at 1.32",
			"2. server box: v1.31.14+k3s1 -> v1.32.13+k3s1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := sight(skew.MustParse(c.from), c.nodes, false)
			if err != nil {
				t.Fatal(err)
			}
			climb, err := channels.Ladder(s.from, skew.MustParse(c.target), channels.Bundled(), s.facts)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := s.along(climb).writeText(&b); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(b.String(), want) {
					t.Errorf("no %q in\n%s", want, b.String())
				}
			}
		})
	}
}
