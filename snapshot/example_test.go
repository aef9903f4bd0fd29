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
			Lists:   []snapshot.List{{Group: "apps", Version: "v1", Resource: "deployments", Kind: "Deployment", State: snapshot.Captured}},
			Workloads: []snapshot.Workload{{
				Object:  snapshot.Object{Group: "apps", Kind: "Deployment", Namespace: "upg", Name: "web", UID: webUID},
				Desired: 2, Ready: 2,
			}},
		}
	}
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	only := snapshot.CompareOptions{Kinds: []string{"Deployment"}} // the zero value judges all, and misses the rest here
	before := taken("v1.34.4+k3s1", "7c9e6679", noon)

	c := snapshot.Compare(before, taken("v1.35.4+k3s1", "7c9e6679", noon.Add(time.Hour)), only)
	fmt.Println(c.Verdict)
	fmt.Println(c.Headline)

	c = snapshot.Compare(before, taken("v1.35.4+k3s1", "16fd2706", noon.Add(time.Hour)), only)
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
