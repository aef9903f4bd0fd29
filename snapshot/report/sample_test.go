package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/snapshot"
	"github.com/k3sladder/k3sladder/snapshot/apiusage"
	"github.com/k3sladder/k3sladder/snapshot/report"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// cluster is a server node with a web Deployment, as the lab has it.
func cluster(version string, at time.Time) *snapshot.Snapshot {
	workload := func(kind, ns, name, uid string, n int) snapshot.Workload {
		return snapshot.Workload{Object: snapshot.Object{Group: "apps", Kind: kind, Namespace: ns, Name: name, UID: uid}, Images: []string{name + ":1"}, Desired: n, Ready: n}
	}
	web := workload("Deployment", "upg", "web", "4d36e96e-e325-11ce-bfc1-08002be10318", 2)
	dns := workload("Deployment", "kube-system", "coredns", "9a8b7c6d-1111-4222-8333-abcdefabcdef", 1)
	dns.KeptBy = "Addon/coredns"
	return &snapshot.Snapshot{
		Format: snapshot.Format, TakenAt: at, ClusterUID: "fe2be59d-7e5c-4ed9-a8d2-f3232e5aebbe",
		Servers: []snapshot.Server{{Version: version}},
		Nodes: []snapshot.Node{{Object: snapshot.Object{Kind: "Node", Name: "edge-01", UID: "2f1c9a04-5b7e-4c1a-9c57-0d5b3d0f7a11"},
			Kubelet: version, ContainerRuntime: "containerd://2.1.5-k3s1", Kernel: "6.8.0-79-generic", OSImage: "Ubuntu 24.04.3 LTS", Ready: true, Schedulable: true}},
		Workloads: []snapshot.Workload{dns, web},
		Pods: []snapshot.Pod{
			{Namespace: "upg", Name: "web-1", UID: "p1", Owner: snapshot.Ref{Kind: "Deployment", Name: "web", UID: web.UID}},
			{Namespace: "upg", Name: "web-2", UID: "p2", Owner: snapshot.Ref{Kind: "Deployment", Name: "web", UID: web.UID}},
		},
		Lists: everything(),
	}
}

// full is a report with every part.
func full(t testing.TB) *report.Report {
	t.Helper()
	before, after := cluster("v1.34.4+k3s1", noon), cluster("v1.35.4+k3s1", noon.Add(14*time.Minute))
	after.Workloads[0].Images = []string{"coredns:2"}
	after.Pods[0].Restarts, after.Pods[0].LastRestart = 1, noon.Add(9*time.Minute)
	r := report.New(before, after, snapshot.CompareOptions{})
	r.Generated, r.Tool = noon.Add(15*time.Minute), "k3sladder lab v0.1.0"
	r.Notes = []string{"Practice cluster: the control plane and the datastore are real, kubelets and containers are simulated."}
	r.Ladder = report.Ladder{Channel: "stable", ChannelVersion: "v1.36.2+k3s1", ChannelJump: 2, Rungs: []report.Rung{
		{Version: "v1.34.4+k3s1", State: report.Climbed},
		{Version: "v1.35.4+k3s1", State: report.Here},
		{Version: "v1.36.4+k3s1", State: report.Next, Note: "pinned in a Plan"},
		{Version: "v1.37.1+k3s1", State: report.Ahead},
	}}
	r.Steps = []report.Step{{Name: "before", Took: 180 * time.Millisecond}, {Name: "workload", Took: 4200 * time.Millisecond}, {Name: "deprecated", Took: 90 * time.Millisecond},
		{Name: "backup", Took: 600 * time.Millisecond}, {Name: "drain", Took: 40500 * time.Millisecond, Note: "ended by its timeout"}, {Name: "upgrade", Took: 11 * time.Second},
		{Name: "after", Took: 350 * time.Millisecond}, {Name: "plan", Took: 500 * time.Millisecond}}
	usage, err := apiusage.Scan(strings.NewReader(`apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="flowcontrol.apiserver.k8s.io",removed_release="1.32",resource="flowschemas",subresource="",version="v1beta3"} 1
process_start_time_seconds 1796039990
`), "")
	if err != nil {
		t.Fatal(err)
	}
	r.Deprecated = &report.Deprecated{Target: skew.Minor{Major: 1, Minor: 35}, Usage: usage, AskedAt: noon, Found: &apiusage.Found{
		Objects: []apiusage.Object{{GroupVersion: "flowcontrol.apiserver.k8s.io/v1beta3", Removed: skew.Minor{Major: 1, Minor: 32}, Replacement: "flowcontrol.apiserver.k8s.io/v1",
			Resource: "flowschemas", Name: "tenants", How: apiusage.WrittenThrough, Manager: "argocd-controller"}},
		NotRead: []string{}}}
	r.Backup = &report.Backup{Path: "backup/state.db", Bytes: 4321 << 10, TokenSHA256: strings.Repeat("ab12", 16), Version: "v1.34.4+k3s1", TakenAt: noon.Add(time.Minute), Took: 600 * time.Millisecond, Verified: true}
	r.Drain = &report.Drain{Node: "edge-01", Decision: "upgrade-without-drain", Timeout: 40 * time.Second, Took: 40500 * time.Millisecond, GivenBack: true,
		Reasons: []string{"PodDisruptionBudget upg/web allows one eviction, and the replacement has no other node to become ready on"},
		Output:  "node/edge-01 cordoned\nevicting pod upg/web-1\nerror when evicting pods/\"web-2\" -n \"upg\" (will retry after 5s): Cannot evict pod as it would violate the pod's disruption budget.\n<script>alert('not markup')</script>\n"}
	r.Upgrade = &report.Upgrade{From: "v1.34.4+k3s1", To: "v1.35.4+k3s1", Node: "edge-01", How: "install.sh of v1.35.4+k3s1, INSTALL_K3S_VERSION pinned", Took: 11 * time.Second}
	r.GiveUp("The drain: Kubernetes asks for one before a kubelet's minor upgrade. On a single node it could not finish, so containers kept running while the kubelet moved.")
	r.Plan = &report.Plan{Version: "v1.36.4+k3s1", Name: "system-upgrade/k3s-server-next", Reasons: []string{"the channel stable is not followed: it would move by itself"},
		YAML: "apiVersion: upgrade.cattle.io/v1\nkind: Plan\nmetadata:\n  name: k3s-server-next\n  namespace: system-upgrade\nspec:\n  concurrency: 1\n  cordon: true\n  version: v1.36.4+k3s1\n"}
	return r
}

// lossy is a comparison that went badly.
func lossy() *report.Report {
	before, after := cluster("v1.34.4+k3s1", noon), cluster("v1.36.1+k3s1", noon.Add(time.Hour))
	after.Workloads = after.Workloads[:1]
	after.Workloads[0].UID = "11111111-2222-4333-8444-555555555555"
	after.Nodes[0].Ready = false
	after.Pods = nil
	after.Lists[4].State, after.Lists[4].Reason = snapshot.Forbidden, `secrets is forbidden: User "viewer" cannot list resource "secrets"`
	return report.New(before, after, snapshot.CompareOptions{})
}
