package snapshot

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// cluster is a small one with one of nearly everything.
func cluster(version string) *Snapshot {
	obj := func(group, kind, ns, name string) Object {
		return Object{Group: group, Kind: kind, Namespace: ns, Name: name, UID: "uid-" + kind + "-" + ns + "-" + name}
	}
	s := &Snapshot{Format: Format, TakenAt: noon, ClusterUID: "uid-cluster", Servers: []Server{{Version: version}}}
	s.Nodes = []Node{{Object: obj("", "Node", "", "n1"), Kubelet: version, Ready: true, Schedulable: true, BootID: "b1", ContainerRuntime: "containerd://2.0", Roles: []string{"control-plane"}}}
	web := Workload{Object: obj("apps", "Deployment", "upg", "web"), Images: []string{"nginx:1"}, Desired: 2, Ready: 2}
	web.Generation = 3
	dns := Workload{Object: obj("apps", "Deployment", "kube-system", "coredns"), Images: []string{"coredns:1"}, Desired: 1, Ready: 1}
	dns.KeptBy = "Addon/coredns"
	cron := Workload{Object: obj("batch", "CronJob", "upg", "tick"), Schedule: "* * * * *"}
	run := Workload{Object: obj("batch", "Job", "upg", "tick-1"), Desired: 1, Ready: 1, State: "complete"}
	run.Owner = &Ref{Kind: "CronJob", Name: "tick", UID: cron.UID}
	s.Workloads = []Workload{dns, web, cron, run}
	s.Pods = []Pod{
		{Namespace: "upg", Name: "web-a", UID: "pod-a", Owner: Ref{"Deployment", "web", web.UID}, Ready: true, Restarts: 1},
		{Namespace: "upg", Name: "web-b", UID: "pod-b", Owner: Ref{"Deployment", "web", web.UID}, Ready: true},
	}
	s.Claims = []Claim{{Object: obj("", "PersistentVolumeClaim", "upg", "data"), Phase: "Bound", Volume: "pv-1"}}
	s.Volumes = []Volume{{Object: obj("", "PersistentVolume", "", "pv-1"), Phase: "Bound", Claim: "upg/data", Source: "local:/data"}}
	s.Services = []Service{{Object: obj("", "Service", "upg", "web"), Type: "NodePort", ClusterIPs: []string{"10.43.0.9"}, Ports: []string{"http:80/TCP>30080"}}}
	s.Data = []Data{{Object: obj("", "Secret", "upg", "password"), Type: "Opaque", Keys: 1, Hash: "aaaaaaaaaaaaaaaa"},
		{Object: obj("", "ConfigMap", "upg", "config"), Keys: 1, Hash: "bbbbbbbbbbbbbbbb"}}
	s.CRDs = []CRD{{Object: obj("apiextensions.k8s.io", "CustomResourceDefinition", "", "plans.upgrade.cattle.io"), Resource: "plans", ResourceGroup: "upgrade.cattle.io", ResourceKind: "Plan",
		Versions: []CRDVersion{{"v1", true, true}}, StoredVersions: []string{"v1"}, Established: true}}
	s.Addons = []Addon{{Object: obj("k3s.cattle.io", "Addon", "kube-system", "coredns"), Checksum: "c1"}}
	s.Others = []Object{obj("", "Namespace", "", "upg"), obj("", "Namespace", "", "kube-system"), obj("upgrade.cattle.io", "Plan", "system-upgrade", "k3s")}
	for _, l := range []List{{Resource: "nodes", Kind: "Node"}, {Resource: "pods", Kind: "Pod"}, {Group: "apps", Resource: "deployments", Kind: "Deployment"},
		{Group: "batch", Resource: "jobs", Kind: "Job"}, {Group: "batch", Resource: "cronjobs", Kind: "CronJob"}, {Group: "apps", Resource: "statefulsets", Kind: "StatefulSet"},
		{Group: "apps", Resource: "daemonsets", Kind: "DaemonSet"},
		{Resource: "persistentvolumeclaims", Kind: "PersistentVolumeClaim"}, {Resource: "persistentvolumes", Kind: "PersistentVolume"}, {Resource: "services", Kind: "Service"},
		{Resource: "secrets", Kind: "Secret"}, {Resource: "configmaps", Kind: "ConfigMap"}, {Resource: "namespaces", Kind: "Namespace"}, {Resource: "serviceaccounts", Kind: "ServiceAccount"}, {Group: "upgrade.cattle.io", Resource: "plans", Kind: "Plan"},
		{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Kind: "CustomResourceDefinition"},
		{Group: "helm.cattle.io", Resource: "helmcharts", Kind: "HelmChart"}, {Group: "k3s.cattle.io", Resource: "addons", Kind: "Addon"}} {
		l.Version, l.State, l.Revision = "v1", Captured, "1000"
		s.Lists = append(s.Lists, l)
	}
	s.APIs = []API{{GroupVersion: "v1", Resources: []string{"nodes", "pods", "secrets"}}, {GroupVersion: "apps/v1", Resources: []string{"deployments"}},
		{GroupVersion: "batch/v1", Resources: []string{"jobs", "cronjobs"}}, {GroupVersion: "storage.k8s.io/v1alpha1", Resources: []string{"volumeattributesclasses"}},
		{GroupVersion: "upgrade.cattle.io/v1", Resources: []string{"plans"}}}
	s.sort()
	return s
}

const v34, v35 = "v1.34.4+k3s1", "v1.35.4+k3s1"

// later is the same cluster an hour later, one minor up.
func later() *Snapshot {
	s := cluster(v35)
	s.TakenAt = noon.Add(time.Hour)
	for i := range s.Lists {
		s.Lists[i].Revision = "2000"
	}
	return s
}

func workload(s *Snapshot, name string) *Workload {
	w, _ := find(s.Workloads, func(w *Workload) bool { return w.Name == name })
	return w
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(a, b *Snapshot)
		opts    CompareOptions
		verdict Verdict
		// want are beginnings of differences that count, expected of those that
		// do not; none may be missing and no other may be there.
		want, expected []string
		headline       string
	}{
		"one minor up and nothing else": {verdict: SameCluster, headline: "same cluster, one minor up (v1.34.4+k3s1 -> v1.35.4+k3s1), nothing lost, nothing restarted",
			expected: []string{"moved: Node n1, kubelet v1.34.4+k3s1 -> v1.35.4+k3s1"}},
		"the version did not move": {change: func(a, b *Snapshot) { *b = *cluster(v34) }, verdict: SameCluster,
			headline: "same cluster, same version (v1.34.4+k3s1), nothing lost, nothing restarted"},
		"a patch": {change: func(a, b *Snapshot) { b.Servers[0].Version, b.Nodes[0].Kubelet = "v1.34.5+k3s1", v34 }, verdict: SameCluster,
			headline: "same cluster, a newer patch (v1.34.4+k3s1 -> v1.34.5+k3s1), nothing lost, nothing restarted"},
		"two minors at once": {change: func(a, b *Snapshot) { b.Servers[0].Version, b.Nodes[0].Kubelet = "v1.36.0+k3s1", "v1.36.0+k3s1" }, verdict: SameCluster,
			want:     []string{"not-a-step: API server version: v1.34.4+k3s1 -> v1.36.0+k3s1 skips 1 minor (1.35)"},
			expected: []string{"moved: Node n1, kubelet"}},
		"a kubelet newer than its server": {change: func(a, b *Snapshot) { b.Nodes[0].Kubelet = "v1.36.0+k3s1" }, verdict: SameCluster,
			want: []string{"skew: Node n1"}, expected: []string{"moved: Node n1, kubelet"}},
		"another cluster": {change: func(a, b *Snapshot) { b.ClusterUID = "uid-other" }, verdict: OtherCluster,
			headline: "another cluster: the namespace kube-system has another UID"},
		"the identity was not captured": {change: func(a, b *Snapshot) { b.ClusterUID = "" }, verdict: NotComparable},
		"the sides are swapped":         {change: func(a, b *Snapshot) { *a, *b = *b, *a }, verdict: NotComparable},
		"a kind was forbidden": {change: func(a, b *Snapshot) {
			l, _ := b.List("", "secrets")
			l.State, l.Reason = Forbidden, "no right to list"
			b.Data = b.Data[:1]
		}, verdict: NotComparable, headline: "no loss found, but not all was captured: secrets after", expected: []string{"moved: "}},
		"a kind was forbidden on both sides": {change: func(a, b *Snapshot) {
			for _, s := range []*Snapshot{a, b} {
				l, _ := s.List("", "secrets")
				l.State = Forbidden
			}
		}, verdict: NotComparable, expected: []string{"moved: "}},
		"a kind was left out and is not judged": {change: func(a, b *Snapshot) {
			l, _ := b.List("", "secrets")
			l.State = Excluded
		}, opts: CompareOptions{Kinds: []string{"Deployment", "nodes"}}, verdict: SameCluster, expected: []string{"moved: "}},
		"only some namespaces were captured": {change: func(a, b *Snapshot) {
			l, _ := b.List("apps", "deployments")
			l.Namespaces = []string{"upg"}
		}, verdict: NotComparable, expected: []string{"moved: "}},
		"only the judged namespaces were captured": {change: func(a, b *Snapshot) {
			for _, s := range []*Snapshot{a, b} {
				for i := range s.Lists {
					s.Lists[i].Namespaces = []string{"upg"}
				}
			}
		}, opts: CompareOptions{Namespaces: []string{"upg"}}, verdict: SameCluster, expected: []string{"moved: "}},
		"a Deployment made anew": {change: func(a, b *Snapshot) { workload(b, "web").UID = "uid-new" }, verdict: SameClusterWithLosses,
			want: []string{"recreated: Deployment upg/web, UID uid-Deployment-upg-web -> uid-new"}, expected: []string{"moved: "}},
		"a Deployment gone": {change: func(a, b *Snapshot) {
			b.Workloads = slices.DeleteFunc(b.Workloads, func(w Workload) bool { return w.Name == "web" })
		}, verdict: SameClusterWithLosses, want: []string{"missing: Deployment upg/web"}, expected: []string{"moved: "}},
		"a Deployment less ready": {change: func(a, b *Snapshot) { workload(b, "web").Ready = 1 }, verdict: SameClusterWithLosses,
			want: []string{"unwell: Deployment upg/web, ready 2 of 2 -> 1 of 2"}, expected: []string{"moved: "}},
		"a Deployment that was no better before": {change: func(a, b *Snapshot) { workload(a, "web").Ready, workload(b, "web").Ready = 1, 1 }, verdict: SameCluster,
			expected: []string{"moved: "}},
		"a Deployment with another image": {change: func(a, b *Snapshot) {
			w := workload(b, "web")
			w.Images, w.Generation = []string{"nginx:2"}, 4
		}, verdict: SameCluster, want: []string{"changed: Deployment upg/web, images nginx:1 -> nginx:2"}, expected: []string{"moved: "},
			headline: "same cluster, one minor up (v1.34.4+k3s1 -> v1.35.4+k3s1), nothing lost, nothing restarted, 1 other difference"},
		"a Deployment edited elsewhere": {change: func(a, b *Snapshot) { workload(b, "web").Generation = 4 }, verdict: SameCluster,
			want: []string{"changed: Deployment upg/web, generation 3 -> 4"}, expected: []string{"moved: "}},
		"a Deployment set back by a restore": {change: func(a, b *Snapshot) { workload(b, "web").Generation = 2 }, verdict: SameClusterWithLosses,
			want: []string{"set-back: Deployment upg/web, generation 3 -> 2"}, expected: []string{"moved: "}},
		"a restored datastore with other data": {change: func(a, b *Snapshot) {
			for i := range b.Lists {
				b.Lists[i].Revision = "900"
			}
			b.Data[0].Hash = "cccccccccccccccc"
		}, verdict: SameClusterWithLosses, want: []string{"changed: ConfigMap upg/config, data", "restored: Datastore revision, revision 1000 -> 900"}, expected: []string{"moved: "}},
		"every Pod made anew is not nothing restarted": {change: func(a, b *Snapshot) { b.Pods[0].UID, b.Pods[0].Restarts, b.Pods[1].UID = "pod-c", 0, "pod-d" }, verdict: SameCluster, expected: []string{"moved: "},
			headline: "same cluster, one minor up (v1.34.4+k3s1 -> v1.35.4+k3s1), nothing lost, 2 new Pods"},
		"restarts": {change: func(a, b *Snapshot) { b.Pods[0].Restarts, b.Pods[1].UID, b.Pods[1].Restarts = 3, "pod-new", 1 }, verdict: SameCluster, expected: []string{"moved: "},
			headline: "same cluster, one minor up (v1.34.4+k3s1 -> v1.35.4+k3s1), nothing lost, 3 restarts, 1 new Pod"},
		"a node gone, one come": {change: func(a, b *Snapshot) { b.Nodes[0].Name, b.Nodes[0].UID = "n2", "uid-n2" }, verdict: SameClusterWithLosses,
			want: []string{"missing: Node n1", "added: Node n2"}},
		"a node not ready and left cordoned": {change: func(a, b *Snapshot) { b.Nodes[0].Ready, b.Nodes[0].Schedulable = false, false }, verdict: SameClusterWithLosses,
			want: []string{"unwell: Node n1, ready", "unwell: Node n1, schedulable yes -> no: cordoned"}, expected: []string{"moved: "}},
		"traefik came back": {change: func(a, b *Snapshot) {
			b.Addons = append(b.Addons, Addon{Object: Object{Group: "k3s.cattle.io", Kind: "Addon", Namespace: "kube-system", Name: "traefik", UID: "t0"}})
			b.HelmCharts = append(b.HelmCharts, HelmChart{Object: Object{Group: "helm.cattle.io", Kind: "HelmChart", Namespace: "kube-system", Name: "traefik", UID: "t1", KeptBy: "Addon/traefik"}})
			b.Workloads = append(b.Workloads, Workload{Object: Object{Group: "apps", Kind: "Deployment", Namespace: "kube-system", Name: "traefik", UID: "t2", KeptBy: "HelmRelease/kube-system/traefik"}, Desired: 1, Ready: 1})
		}, verdict: SameClusterWithLosses, want: []string{"came-back: Addon kube-system/traefik"},
			expected: []string{"moved: ", "came-back: HelmChart kube-system/traefik", "came-back: Deployment kube-system/traefik"}},
		"a packaged Deployment moved with the server": {change: func(a, b *Snapshot) {
			workload(b, "coredns").Images = []string{"coredns:2"}
			b.Addons[0].Checksum = "c2"
		}, verdict: SameCluster, expected: []string{"moved: ", "changed: Addon kube-system/coredns", "changed: Deployment kube-system/coredns, images"}},
		"a packaged Deployment moved without the server": {change: func(a, b *Snapshot) {
			*b = *cluster(v34)
			workload(b, "coredns").Images = []string{"coredns:2"}
		}, verdict: SameCluster, want: []string{"changed: Deployment kube-system/coredns, images"}},
		"helm-controller runs its Jobs anew": {change: func(a, b *Snapshot) {
			for i, s := range []*Snapshot{a, b} {
				s.Addons = append(s.Addons, Addon{Object: Object{Group: "k3s.cattle.io", Kind: "Addon", Namespace: "kube-system", Name: "traefik", UID: "t0"}})
				s.HelmCharts = append(s.HelmCharts, HelmChart{Object: Object{Group: "helm.cattle.io", Kind: "HelmChart", Namespace: "kube-system", Name: "traefik", UID: "t1", KeptBy: "Addon/traefik"}, Version: fmt.Sprint(37 + i)},
					HelmChart{Object: Object{Group: "helm.cattle.io", Kind: "HelmChart", Namespace: "kube-system", Name: "mine", UID: "m1"}})
				for _, name := range []string{"traefik", "mine"} {
					s.Workloads = append(s.Workloads, Workload{Object: Object{Group: "batch", Kind: "Job", Namespace: "kube-system", Name: "helm-install-" + name, UID: fmt.Sprint(name, i), KeptBy: "HelmChart/" + name}, State: "complete"})
				}
			}
		}, verdict: SameCluster, expected: []string{"moved: ", "changed: HelmChart kube-system/traefik, version 37 -> 38", "recreated: Job kube-system/helm-install-traefik", "recreated: Job kube-system/helm-install-mine"}},
		"a Deployment of a packaged chart made anew": {change: func(a, b *Snapshot) {
			workload(b, "coredns").UID = "uid-new"
		}, verdict: SameClusterWithLosses, want: []string{"recreated: Deployment kube-system/coredns"}, expected: []string{"moved: "}},
		"an autoscaler at work": {change: func(a, b *Snapshot) {
			h := Autoscaler{Object: Object{Group: "autoscaling", Kind: "HorizontalPodAutoscaler", Namespace: "upg", Name: "web", UID: "h"}, Target: "Deployment/web", Min: 1, Max: 5}
			a.Autoscalers, b.Autoscalers = []Autoscaler{h}, []Autoscaler{h}
			w := workload(b, "web")
			w.Desired, w.Ready, w.Generation = 4, 4, 9
		}, verdict: SameCluster, expected: []string{"moved: ", "changed: Deployment upg/web, replicas 2 -> 4"}},
		"replicas out of the autoscaler's bounds": {change: func(a, b *Snapshot) {
			b.Autoscalers = []Autoscaler{{Object: Object{Group: "autoscaling", Kind: "HorizontalPodAutoscaler", Namespace: "upg", Name: "web", UID: "h"}, Target: "Deployment/web", Min: 1, Max: 3}}
			a.Autoscalers = b.Autoscalers
			w := workload(b, "web")
			w.Desired, w.Ready = 4, 4
		}, verdict: SameCluster, want: []string{"changed: Deployment upg/web, replicas 2 -> 4"}, expected: []string{"moved: "}},
		"a kind that the new version serves first": {change: func(a, b *Snapshot) {
			b.Lists = append(b.Lists, List{Group: "networking.k8s.io", Version: "v1", Resource: "servicecidrs", Kind: "ServiceCIDR", State: Captured})
			b.Others = append(b.Others, Object{Group: "networking.k8s.io", Kind: "ServiceCIDR", Name: "kubernetes", UID: "c"})
		}, verdict: SameCluster, expected: []string{"moved: ", "added: ServiceCIDR kubernetes"}},
		"k3s' own definitions": {change: func(a, b *Snapshot) {
			for i, s := range []*Snapshot{a, b} {
				s.CRDs = append(s.CRDs, CRD{Object: Object{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "addons.k3s.cattle.io", UID: "a", Generation: int64(1 + i)}})
			}
		}, verdict: SameCluster, expected: []string{"moved: ", "changed: CustomResourceDefinition addons.k3s.cattle.io, generation 1 -> 2"}},
		"controllers' accounts and etcd snapshots": {change: func(a, b *Snapshot) {
			b.Others = append(b.Others, Object{Kind: "ServiceAccount", Namespace: "kube-system", Name: "new-controller", UID: "s"})
			a.Others = append(a.Others, Object{Group: "k3s.cattle.io", Kind: "ETCDSnapshotFile", Name: "old", UID: "e"})
		}, verdict: SameCluster, expected: []string{"moved: ", "added: ServiceAccount kube-system/new-controller", "missing: ETCDSnapshotFile old"}},
		"an account that is no controller's": {change: func(a, b *Snapshot) {
			b.Others = append(b.Others, Object{Kind: "ServiceAccount", Namespace: "kube-system", Name: "backdoor", UID: "s"})
		}, verdict: SameCluster, want: []string{"added: ServiceAccount kube-system/backdoor"}, expected: []string{"moved: "}},
		"a Plan's Jobs": {change: func(a, b *Snapshot) {
			b.Workloads = append(b.Workloads, Workload{Object: Object{Group: "batch", Kind: "Job", Namespace: "system-upgrade", Name: "apply-k3s-on-n1", UID: "j", KeptBy: "Plan/k3s"}, State: "complete"})
		}, verdict: SameCluster, expected: []string{"moved: ", "added: Job system-upgrade/apply-k3s-on-n1"}},
		"CronJobs' Jobs come and go": {change: func(a, b *Snapshot) {
			j := workload(b, "tick-1")
			j.Name, j.UID = "tick-2", "uid-tick-2"
		}, verdict: SameCluster, expected: []string{"moved: ", "missing: Job upg/tick-1", "added: Job upg/tick-2"}},
		"a claim made anew is lost data": {change: func(a, b *Snapshot) { b.Claims[0].UID = "uid-new" }, verdict: SameClusterWithLosses,
			want: []string{"recreated: PersistentVolumeClaim upg/data"}, expected: []string{"moved: "}},
		"a volume elsewhere": {change: func(a, b *Snapshot) { b.Volumes[0].Source = "local:/other" }, verdict: SameClusterWithLosses,
			want: []string{"unwell: PersistentVolume pv-1, source local:/data -> local:/other"}, expected: []string{"moved: "}},
		"a nodePort moved": {change: func(a, b *Snapshot) { b.Services[0].Ports = []string{"http:80/TCP>31000"} }, verdict: SameCluster,
			want: []string{"changed: Service upg/web, ports http:80/TCP>30080 -> http:80/TCP>31000"}, expected: []string{"moved: "}},
		"an API gone that nothing used": {change: func(a, b *Snapshot) { b.APIs = slices.Delete(b.APIs, 3, 4) }, verdict: SameCluster,
			expected: []string{"moved: ", "api-gone: API storage.k8s.io/v1alpha1"}},
		"an API gone through which somebody wrote": {change: func(a, b *Snapshot) {
			workload(a, "tick").WrittenAs = []string{"batch/v1beta1"}
			a.APIs = append(a.APIs, API{GroupVersion: "batch/v1beta1", Resources: []string{"cronjobs"}})
		}, verdict: SameCluster, want: []string{"api-gone: API batch/v1beta1: somebody wrote through it to CronJob upg/tick"}, expected: []string{"moved: "}},
		"an API gone with its objects": {change: func(a, b *Snapshot) {
			b.APIs = b.APIs[:4]
			b.Lists = slices.DeleteFunc(b.Lists, func(l List) bool { return l.Resource == "plans" })
			b.Others = slices.DeleteFunc(b.Others, func(o Object) bool { return o.Kind == "Plan" })
		}, verdict: SameClusterWithLosses, want: []string{"missing: Plan system-upgrade/k3s: the cluster serves no Plan any more",
			"api-gone: API upgrade.cattle.io/v1: no other version serves Plan system-upgrade/k3s"}, expected: []string{"moved: "}},
		"an API that does not answer any more": {change: func(a, b *Snapshot) { b.APIs[4].Unavailable = "no endpoints" }, verdict: SameClusterWithLosses,
			want: []string{"unwell: API upgrade.cattle.io/v1: it does not answer any more: no endpoints"}, expected: []string{"moved: "}},
		"an aggregated API's objects unseen while its server is away": {change: func(a, b *Snapshot) {
			b.APIs[4].Unavailable = "no endpoints"
			b.Lists = slices.DeleteFunc(b.Lists, func(l List) bool { return l.Resource == "plans" })
			b.Lists = append(b.Lists, List{Group: "upgrade.cattle.io", Version: "v1", Resource: "*", Kind: "*", State: Failed, Reason: "the API does not answer"})
			b.Others = slices.DeleteFunc(b.Others, func(o Object) bool { return o.Kind == "Plan" })
		}, verdict: SameClusterWithLosses, want: []string{"unwell: API upgrade.cattle.io/v1: it does not answer any more: no endpoints"}, expected: []string{"moved: "}},
		"a stored version gone, its objects readable": {change: func(a, b *Snapshot) { b.CRDs[0].Versions = []CRDVersion{{"v2", true, true}} }, verdict: SameCluster,
			want: []string{"stored-version-gone: CustomResourceDefinition plans.upgrade.cattle.io, stored version v1 -> none: all objects that are there can be read",
				"changed: CustomResourceDefinition plans.upgrade.cattle.io, served versions v1 -> v2"}, expected: []string{"moved: "}},
		"a stored version gone with its objects": {change: func(a, b *Snapshot) {
			b.CRDs[0].Versions = []CRDVersion{{"v2", true, true}}
			l, _ := b.List("upgrade.cattle.io", "plans")
			l.State, l.Reason = Failed, "request to convert CR from an invalid group/version"
		}, verdict: SameClusterWithLosses,
			want: []string{"stored-version-gone: CustomResourceDefinition plans.upgrade.cattle.io, stored version v1 -> none: its objects cannot be listed",
				"changed: CustomResourceDefinition plans.upgrade.cattle.io, served versions v1 -> v2"}, expected: []string{"moved: "}},
		"a Helm release's old revision": {change: func(a, b *Snapshot) {
			rev := func(n string) Data {
				return Data{Object: Object{Kind: "Secret", Namespace: "upg", Name: "sh.helm.release.v1.app." + n, UID: n}, Type: "helm.sh/release.v1"}
			}
			a.Data, b.Data = append(a.Data, rev("v1"), rev("v2")), append(b.Data, rev("v2"), rev("v3"))
		}, verdict: SameCluster, expected: []string{"moved: ", "missing: Secret upg/sh.helm.release.v1.app.v1", "added: Secret upg/sh.helm.release.v1.app.v3"}},
		"a Helm release gone": {change: func(a, b *Snapshot) {
			a.Data = append(a.Data, Data{Object: Object{Kind: "Secret", Namespace: "upg", Name: "sh.helm.release.v1.app.v1", UID: "r"}})
		}, verdict: SameClusterWithLosses, want: []string{"missing: Secret upg/sh.helm.release.v1.app.v1"}, expected: []string{"moved: "}},
	} {
		a, b := cluster(v34), later()
		if c.change != nil {
			c.change(a, b)
		}
		got := Compare(a, b, c.opts)
		if got.Verdict != c.verdict {
			t.Errorf("%s: verdict %s, want %s\n%s", name, got.Verdict, c.verdict, got)
		}
		if c.headline != "" && got.Headline != c.headline {
			t.Errorf("%s: headline\n%s\nwant\n%s", name, got.Headline, c.headline)
		}
		check := func(what string, got []Difference, want []string) {
			t.Helper()
			rest := slices.Clone(got)
			for _, prefix := range want {
				i := slices.IndexFunc(rest, func(d Difference) bool { return strings.HasPrefix(d.String(), prefix) })
				if i < 0 {
					t.Errorf("%s: no %s difference %q in %v", name, what, prefix, got)
					continue
				}
				rest = slices.Delete(rest, i, i+1)
			}
			for _, d := range rest {
				t.Errorf("%s: unforeseen %s difference %q (%s)", name, what, d, d.Expected)
			}
		}
		check("counting", got.Differences, c.want)
		check("expected", got.Expected, c.expected)
		if got.Verdict == SameCluster && len(got.Gaps)+got.Counts.Losses > 0 {
			t.Errorf("%s: same cluster in spite of gaps or losses", name)
		}
	}
}

func TestWithoutASnapshotThereIsNoVerdict(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]*Snapshot{{nil, later()}, {cluster(v34), nil}, {nil, nil}, {{}, {}}, {cluster(v34), {Format: Format}}} {
		c := Compare(pair[0], pair[1], CompareOptions{})
		if c.Verdict != NotComparable || c.String() == "" || len(c.Reasons) != 1 {
			t.Errorf("got %s", c)
		}
	}
}

func TestTheOrderOfASnapshotDoesNotMatter(t *testing.T) {
	t.Parallel()
	a, b := large(2000, v34, noon), large(2000, v35, noon.Add(time.Hour))
	workload(b, "web").UID = "uid-new"
	b.Others = b.Others[5:]
	want := Compare(a, b, CompareOptions{})
	slices.Reverse(b.Others)
	slices.Reverse(b.Workloads)
	slices.Reverse(b.Data)
	slices.Reverse(b.Pods)
	got := Compare(a, b, CompareOptions{})
	if want.String() != got.String() || want.Counts.Losses != 6 {
		t.Errorf("sorted: %s\nreversed: %s", want, got)
	}
	if b.Workloads[0].Name == "coredns" {
		t.Error("the snapshot was put into another order")
	}
}

func TestWhatMustNotPassAsExpected(t *testing.T) {
	t.Parallel()
	agent := func(s *Snapshot, desired int) {
		w := Workload{Object: Object{Group: "apps", Kind: "DaemonSet", Namespace: "upg", Name: "agent", UID: "uid-agent"}, Desired: desired, Ready: desired}
		w.Generation = 1
		s.Workloads = append(s.Workloads, w)
		s.sort()
	}
	for name, c := range map[string]struct {
		change  func(a, b *Snapshot)
		verdict Verdict
		want    string
	}{
		"a kubelet that went down while the server went up": {func(_, b *Snapshot) { b.Nodes[0].Kubelet = "v1.33.4+k3s1" }, SameCluster, "moved: Node n1, kubelet v1.34.4+k3s1 -> v1.33.4+k3s1"},
		"a DaemonSet that lost a node which is there":       {func(a, b *Snapshot) { agent(a, 1); agent(b, 0) }, SameClusterWithLosses, "unwell: DaemonSet upg/agent, nodes 1 -> 0"},
		"a CRD that is not established any more":            {func(_, b *Snapshot) { b.CRDs[0].Established = false }, SameClusterWithLosses, "unwell: CustomResourceDefinition plans.upgrade.cattle.io, established"},
		"an object without the UID that tells it apart":     {func(_, b *Snapshot) { workload(b, "web").UID = "" }, SameClusterWithLosses, "upg/web has no UID"},
	} {
		a, b := cluster(v34), later()
		c.change(a, b)
		got := Compare(a, b, CompareOptions{})
		if got.Verdict != c.verdict {
			t.Errorf("%s: verdict %s, want %s\n%s", name, got.Verdict, c.verdict, got)
		}
		if !strings.Contains(got.String(), c.want) {
			t.Errorf("%s: %q is not in\n%s", name, c.want, got)
		}
	}
}
