// Package drainprobe answers whether a drain of a node can finish, and drains
// it for real without keeping it.
//
// `kubectl drain --dry-run=server` asks about each eviction alone. On one node,
// with two replicas under minAvailable 1, it says "drained"; the real drain
// evicts one Pod, whose replacement stays Pending on the cordoned node, and is
// refused the second until it times out.
//
//   - [Attempt] is a real drain through k8s.io/kubectl/pkg/drain. Its output is
//     kept whole, and the node is given back as it was found, whatever happens.
//   - [Decide] turns what it did into drain, upgrade-without-drain or
//     add-node-first, with reasons, under the user's [Policy].
//
// A probe before an upgrade:
//
//	got, err := drainprobe.Attempt(ctx, client, "server-1", drainprobe.Options{
//		IgnoreDaemonSets:   true,
//		DeleteEmptyDirData: true,
//		Timeout:            40 * time.Second,
//		OnOutput:           func(s string) { fmt.Print(s) },
//	})
//	if err != nil {
//		return err // a *RestoreError names the command that gives the node back
//	}
//	decision := drainprobe.Decide(got, drainprobe.Policy{})
//	fmt.Println(decision) // decision=upgrade-without-drain
package drainprobe
