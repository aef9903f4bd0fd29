package drainprobe_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/k3sladder/k3sladder/drainprobe"
)

func ExampleDecide() {
	// What Attempt returned on a single node, two replicas under minAvailable 1.
	attempted := &drainprobe.Attempted{
		Node:   "server-1",
		Reason: "global timeout reached: 40s",
		Evicted: []drainprobe.PodRef{
			{Namespace: "upg", Name: "web-1", Owner: "Deployment/web"},
		},
		Pending: []drainprobe.PendingPod{{
			PodRef: drainprobe.PodRef{Namespace: "upg", Name: "web-2", Owner: "Deployment/web"},
			Reason: "The disruption budget web needs 1 healthy pods and has 1 currently.",
		}},
	}
	fmt.Println(drainprobe.Decide(attempted, drainprobe.Policy{}))
	_ = drainprobe.Decide(attempted, drainprobe.Policy{KeepBudgets: true}).WriteText(os.Stdout)
	// Output:
	// decision=upgrade-without-drain
	// decision=add-node-first
	//   - there is no other node that takes Pods: an evicted Pod's replacement stays Pending, so no drain under a budget that has to keep a Pod can finish
	//   - the drain was tried and did not finish
	//   - global timeout reached: 40s
	//   - upg/Deployment/web: The disruption budget web needs 1 healthy pods and has 1 currently.
	//   - the policy keeps budgets through a reboot: give the evicted Pods a node to run on, then drain
}

// A saved List, as `kubectl get nodes,pods,... -A -o json` writes it, is judged
// without a cluster.
func ExampleReadWorld() {
	f, err := os.Open("testdata/cases/01-single-min1-of-2/state.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	world, err := drainprobe.ReadWorld(f)
	if err != nil {
		fmt.Println(err)
		return
	}
	forecast, err := world.Forecast("n01-a", drainprobe.Options{Timeout: time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(forecast)
	// Output:
	// BLOCKED: a drain of n01-a does not finish
	//   - app-01/Deployment/web: budget app-01/web needs 1 healthy Pods and has 1
	// pods on the node: 2
	//     1 x evicted  app-01/Deployment/web, replacement pending: cordoned (n01-a)
	//     1 x blocked  app-01/Deployment/web: budget app-01/web needs 1 healthy Pods and has 1
	// ready Pods on the way:
	//   app-01/Deployment/web: 2, at worst 1, at the end 1
	// any one of these unblocks it:
	//   * add one node of this size
	//   * delete budget app-01/web for the time of the upgrade
}

func ExampleWorld_ForecastAll() {
	const state = `
kind: Node
apiVersion: v1
metadata: {name: agent-1}
---
kind: Node
apiVersion: v1
metadata: {name: server-1, labels: {node-role.kubernetes.io/control-plane: "true"}}
`
	world, err := drainprobe.ReadWorld(strings.NewReader(state))
	if err != nil {
		fmt.Println(err)
		return
	}
	all, err := world.ForecastAll(drainprobe.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(all)
	// Output:
	// 1. drains     server-1: there is nothing to evict
	// 2. drains     agent-1: there is nothing to evict
}
