package snapshot_test

import (
	"fmt"
	"time"

	"github.com/k3sladder/k3sladder/snapshot"
)

// Two snapshots, as Capture took them before and after an upgrade (shortened
// here to what the example needs).
func ExampleCompare() {
	taken := func(version, webUID string, at time.Time) *snapshot.Snapshot {
		return &snapshot.Snapshot{
			Format: snapshot.Format, TakenAt: at, ClusterUID: "0f8fad5b-d9cb-469f-a165-70867728950e",
			Servers: []snapshot.Server{{Version: version}},
			Lists:   everything(),
			Workloads: []snapshot.Workload{{
				Object:  snapshot.Object{Group: "apps", Kind: "Deployment", Namespace: "upg", Name: "web", UID: webUID},
				Desired: 2, Ready: 2,
			}},
		}
	}
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	before := taken("v1.34.4+k3s1", "7c9e6679", noon)

	c := snapshot.Compare(before, taken("v1.35.4+k3s1", "7c9e6679", noon.Add(time.Hour)), snapshot.CompareOptions{})
	fmt.Println(c.Verdict)
	fmt.Println(c.Headline)

	c = snapshot.Compare(before, taken("v1.35.4+k3s1", "16fd2706", noon.Add(time.Hour)), snapshot.CompareOptions{})
	fmt.Println(c.Verdict)
	for _, d := range c.Losses() {
		fmt.Println(d)
	}
	// Output:
	// same-cluster
	// same cluster, one minor up (v1.34.4+k3s1 -> v1.35.4+k3s1), nothing lost, nothing restarted
	// same-cluster-with-losses
	// recreated: Deployment upg/web, UID 7c9e6679 -> 16fd2706
}

// everything is what a capture of a whole cluster names.
func everything() []snapshot.List {
	var lists []snapshot.List
	for _, l := range []snapshot.List{
		{Resource: "nodes", Kind: "Node"}, {Resource: "namespaces", Kind: "Namespace"}, {Resource: "pods", Kind: "Pod"},
		{Resource: "services", Kind: "Service"}, {Resource: "secrets", Kind: "Secret"}, {Resource: "configmaps", Kind: "ConfigMap"},
		{Resource: "persistentvolumes", Kind: "PersistentVolume"}, {Resource: "persistentvolumeclaims", Kind: "PersistentVolumeClaim"},
		{Group: "apps", Resource: "deployments", Kind: "Deployment"}, {Group: "apps", Resource: "statefulsets", Kind: "StatefulSet"},
		{Group: "apps", Resource: "daemonsets", Kind: "DaemonSet"},
		{Group: "batch", Resource: "jobs", Kind: "Job"}, {Group: "batch", Resource: "cronjobs", Kind: "CronJob"},
	} {
		l.Version, l.State = "v1", snapshot.Captured
		lists = append(lists, l)
	}
	return lists
}
