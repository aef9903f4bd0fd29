package drainprobe

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A state put together by hand or out of several dumps is judged like the
// cluster it stands for.
func TestReadWorldTakesStatesAsPeopleMakeThem(t *testing.T) {
	t.Parallel()
	const node = `{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {kubernetes.io/hostname: %[1]s}}, status: {conditions: [{type: Ready, status: "True"}], allocatable: {cpu: "4", memory: 8Gi, pods: "110"}, capacity: {cpu: "4", memory: 8Gi, pods: "110"}}}`
	const replicaSet = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, namespace: shop%s}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c}]}}}, status: {replicas: 2, readyReplicas: 2, availableReplicas: 2}}`
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: web-%d, namespace: shop, labels: {app: web}%s, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, controller: true%s}]}, spec: {nodeName: a, containers: [{name: c}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`
	const budget = `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: shop}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}`
	a, b := fmt.Sprintf(node, "a"), fmt.Sprintf(node, "b")
	for name, c := range map[string]struct {
		docs []string
		want Verdict
	}{
		"references without uid":                        {[]string{a, b, fmt.Sprintf(replicaSet, ""), fmt.Sprintf(pod, 1, "", ""), fmt.Sprintf(pod, 2, "", ""), budget}, VerdictDrains},
		"references without uid to an owner with one":   {[]string{a, b, fmt.Sprintf(replicaSet, ", uid: u1"), fmt.Sprintf(pod, 1, "", ""), fmt.Sprintf(pod, 2, "", ""), budget}, VerdictDrains},
		"Pods and budgets twice":                        {[]string{a, b, fmt.Sprintf(replicaSet, ", uid: u1"), fmt.Sprintf(pod, 1, ", uid: p1", ", uid: u1"), fmt.Sprintf(pod, 2, ", uid: p2", ", uid: u1"), budget, budget, fmt.Sprintf(pod, 1, ", uid: p1", ", uid: u1"), fmt.Sprintf(pod, 2, ", uid: p2", ", uid: u1"), a, b, fmt.Sprintf(replicaSet, ", uid: u1")}, VerdictDrains},
		"the same on one node still does not drain":     {[]string{a, fmt.Sprintf(replicaSet, ""), fmt.Sprintf(pod, 1, "", ""), fmt.Sprintf(pod, 2, "", ""), budget, budget}, VerdictBlocked},
		"a name that was given again: the later counts": {[]string{a, b, fmt.Sprintf(replicaSet, ""), fmt.Sprintf(pod, 1, ", uid: old", ""), fmt.Sprintf(pod, 2, "", ""), budget, fmt.Sprintf(pod, 1, ", uid: new", "")}, VerdictDrains},
	} {
		w, err := ReadWorld(strings.NewReader(strings.Join(c.docs, "\n---\n")))
		if err != nil {
			t.Fatal(name, err)
		}
		f, err := w.Forecast("a", Options{Timeout: time.Minute})
		if err != nil {
			t.Fatal(name, err)
		}
		if f.Verdict != c.want {
			t.Errorf("%s: %s %q, want %s", name, f.Verdict, f.Reasons, c.want)
		}
		if len(w.Pods) != 2 || len(w.Budgets) != 1 {
			t.Errorf("%s: %d Pods, %d budgets", name, len(w.Pods), len(w.Budgets))
		}
	}
}
