package report_test

import (
	"fmt"
	"os"
	"time"

	"github.com/k3sladder/k3sladder/snapshot"
	"github.com/k3sladder/k3sladder/snapshot/report"
)

// Two snapshots and what was done in between; WriteHTML makes the page of it.
func ExampleNew() {
	taken := func(version string, at time.Time) *snapshot.Snapshot {
		return &snapshot.Snapshot{Format: snapshot.Format, TakenAt: at, ClusterUID: "fe2be59d", Servers: []snapshot.Server{{Version: version}},
			Lists: everything(),
			Nodes: []snapshot.Node{{Object: snapshot.Object{Kind: "Node", Name: "edge-01", UID: "2f1c9a04"}, Kubelet: version, Ready: true, Schedulable: true}}}
	}
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	r := report.New(taken("v1.34.4+k3s1", noon), taken("v1.35.4+k3s1", noon.Add(10*time.Minute)), snapshot.CompareOptions{})
	r.Title = "edge-01, one rung up"
	r.GiveUp("The drain: the node has no partner.")
	if err := r.WriteMarkdown(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// # edge-01, one rung up
	//
	// **same-cluster**: same cluster, one minor up (v1.34.4+k3s1 -> v1.35.4+k3s1), nothing lost, nothing restarted
	//
	// Before: 2026-11-30 12:00:00 UTC, after: 2026-11-30 12:10:00 UTC.
	//
	// ## What was given up
	//
	// - The drain: the node has no partner.
	//
	// ## Versions
	//
	// | component | before | after |
	// | --- | --- | --- |
	// | API server | `v1.34.4+k3s1` | `v1.35.4+k3s1` |
	// | kubelet | `v1.34.4+k3s1` | `v1.35.4+k3s1` |
	//
	// ## Identities
	//
	// | object | UID | is it | ready | restarts | Pods |
	// | --- | --- | --- | --- | --- | --- |
	// | Cluster kube-system | `fe2be59d` | same |  |  |  |
	// | Node edge-01 | `2f1c9a04` | same | Ready | 0 |  |
	//
	// ## What differs
	//
	// Nothing but what was to be expected.
	//
	// | expected | why |
	// | --- | --- |
	// | 1 | a kubelet's version moves with the server's |
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
