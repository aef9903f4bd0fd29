// Package channels knows where a release channel points and how to get there.
//
// A channel such as stable does not know where a cluster is. From 1.34 it may
// point at 1.36, which the version skew policy forbids as one step. [Read] asks
// a channel server (k3s's, RKE2's, a mirror) or a saved file; [Ladder] gives the
// ladder from the running version to the target: every rung a pinned release.
//
//	catalog, err := channels.Read(ctx, "", channels.Options{}) // k3s's own server
//	if err != nil {
//		return err
//	}
//	stable, err := catalog.Latest("stable")
//	if err != nil {
//		return err
//	}
//	ladder, err := channels.Ladder(running, stable, catalog, channels.Facts{})
//	if err != nil {
//		return err
//	}
//	for _, rung := range ladder.Rungs {
//		fmt.Println(rung.Version, rung.InstallScript)
//	}
//
// Without a network there is [Bundled], a snapshot of k3s's channels that
// carries its date; [Catalog.Origin] says which of them an answer came from.
package channels
