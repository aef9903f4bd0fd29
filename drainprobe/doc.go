// Package drainprobe answers whether a drain of a node can finish, before the
// first eviction, and drains it for real without keeping it.
//
// `kubectl drain --dry-run=server` asks about each eviction alone. On one node,
// with two replicas under minAvailable 1, it says "drained"; the real drain
// evicts one Pod, whose replacement stays Pending on the cordoned node, and is
// refused the second until it times out.
//
//   - [Forecast] plays the drain through without writing anything: evictions in
//     turn against shared budgets, and whether each evicted Pod's replacement
//     can run elsewhere. Its verdict is drains, blocked or undecided, and it
//     lists what would help. [ReadWorld] judges a saved List instead of a
//     cluster, [ForecastAll] every node in upgrade order.
//   - [Attempt] is a real drain through k8s.io/kubectl/pkg/drain. Its output is
//     kept whole, and the node is given back as it was found, whatever happens.
//   - [Decide] turns either into drain, upgrade-without-drain or add-node-first,
//     with reasons, under the user's [Policy].
//
// A question before an upgrade:
//
//	f, err := drainprobe.Forecast(ctx, client, "server-1", drainprobe.Options{
//		IgnoreDaemonSets:   true,
//		DeleteEmptyDirData: true,
//		Timeout:            5 * time.Minute,
//	})
//	if err != nil {
//		return err
//	}
//	fmt.Print(f)                                            // what happens to which Pod, and why
//	fmt.Println(drainprobe.Decide(f, drainprobe.Policy{})) // decision=upgrade-without-drain
//
// The forecast follows what kube-apiserver, kube-controller-manager and
// kube-scheduler 1.34 and 1.35 do with their default settings; it was compared
// with recorded drains on them. What it cannot know makes the verdict
// undecided, never drains: schedulers other than the default one, scheduling
// gates, device claims, controllers of unknown kinds, controllers whose Pods
// are not ready, webhooks and admission policies on evictions, foreign finalizers, grace periods
// longer than the timeout, a node that says itself that it is not Ready,
// running Pods that differ from their template where webhooks may change new
// ones. What it takes for granted: images can be pulled,
// processes end soon after SIGTERM where nobody asked for a grace period
// longer than the default 30 s, nothing else changes the cluster meanwhile,
// no webhook refuses new Pods, no autoscaler adds nodes, volume attach limits
// are not reached.
//
// The package imports k8s.io/kubectl, which belongs at client-go's version in
// your go.mod: beside client-go v0.37.2, run `go get k8s.io/kubectl@v0.37.2`.
package drainprobe
