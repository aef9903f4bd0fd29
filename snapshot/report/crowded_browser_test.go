//go:build browser

package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/k3sladder/k3sladder/snapshot"
	"github.com/k3sladder/k3sladder/snapshot/report"
)

// crowded has long names, many rows and many kinds of difference.
func crowded(t testing.TB) *report.Report {
	t.Helper()
	before, after := cluster("v1.34.4+k3s1", noon), cluster("v1.35.4+k3s1", noon.Add(time.Hour))
	long := strings.Repeat("a-very-long-name-without-any-place-to-break", 3)
	for i := range 150 {
		name := fmt.Sprintf("app-%03d", i)
		if i%25 == 0 {
			name = long + name
		}
		w := snapshot.Workload{Object: snapshot.Object{Group: "apps", Kind: "Deployment", Namespace: "team-" + long[:40], Name: name, UID: fmt.Sprintf("aaaaaaaa-bbbb-4ccc-8ddd-%012d", i)},
			Images: []string{"registry.example.test/" + long + ":1"}, Desired: 3, Ready: 3}
		before.Workloads = append(before.Workloads, w)
		switch {
		case i%10 == 1:
			w.UID = fmt.Sprintf("eeeeeeee-ffff-4000-8111-%012d", i)
		case i%10 == 2:
			w.Images = []string{"registry.example.test/" + long + ":2"}
		case i%10 == 3:
			w.Ready = 0
		}
		if i%10 != 4 {
			after.Workloads = append(after.Workloads, w)
		}
	}
	for i := range 14 {
		n := before.Nodes[0]
		n.Name, n.UID = fmt.Sprintf("edge-%02d.%s", i+2, long[:60]), fmt.Sprintf("99999999-0000-4000-8000-%012d", i)
		before.Nodes = append(before.Nodes, n)
		n.Kubelet = "v1.35.4+k3s1"
		after.Nodes = append(after.Nodes, n)
	}
	r := report.New(before, after, snapshot.CompareOptions{})
	r.Title = "The upgrade of " + long
	for i := range 12 {
		state := []report.RungState{report.Climbed, report.Here, report.Next, report.Ahead}[max(0, min(i-2, 3))]
		r.Ladder.Rungs = append(r.Ladder.Rungs, report.Rung{Version: fmt.Sprintf("v1.%d.10+k3s1", 26+i), State: state})
	}
	r.Ladder.Rungs[5].Note = "a note of some length that has to go onto a second line, and " + long
	r.Steps = []report.Step{{Name: long, Took: time.Hour + 5*time.Minute, Note: long}}
	r.GiveUp(long)
	r.Drain = &report.Drain{Node: long, Decision: "add-node-first", Output: long + long}
	r.Plan = &report.Plan{Version: "v1.36.4+k3s1", YAML: long + long}
	return r
}
