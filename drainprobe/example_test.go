package drainprobe_test

import (
	"fmt"
	"os"

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
	//   - the attempt says that a drain does not finish
	//   - global timeout reached: 40s
	//   - upg/Deployment/web: The disruption budget web needs 1 healthy pods and has 1 currently.
	//   - there is no other node that takes Pods: an evicted Pod's replacement stays Pending, so no drain under a budget that has to keep a Pod can finish
	//   - the policy keeps budgets through a reboot: give the evicted Pods a node to run on, then drain
}
