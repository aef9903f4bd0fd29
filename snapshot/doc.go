// Package snapshot writes down what a cluster is before an upgrade, and says
// afterwards whether it is the same cluster with the same workloads.
//
// [Capture] reads versions, identities (UIDs) and health of everything that
// lasts: nodes, workloads with their restarts, volumes, Services, Secrets and
// ConfigMaps (a keyed hash of their data, never the data), CRDs, packaged
// add-ons, the API versions served, and the metadata of every other kind the
// cluster has, custom resources included. What comes and goes by itself (Events,
// Leases, EndpointSlices) is left out. Lists are paged and read at one revision
// each; a kind that could not be read is named in [Snapshot.Lists] and not
// passed over.
//
//	clients, err := snapshot.NewClients(config)
//	...
//	before, err := snapshot.Capture(ctx, clients, snapshot.Options{})
//	... the upgrade ...
//	after, err := snapshot.Capture(ctx, clients, snapshot.Options{})
//	c := snapshot.Compare(before, after, snapshot.CompareOptions{})
//	fmt.Println(c.Verdict) // same-cluster
//	fmt.Print(c)           // what moved, what was lost, what was to be expected
//
// [Compare] is a pure function of two snapshots. It never says same-cluster when
// something was not captured on either side: that is not-comparable, with the
// kind and the reason.
//
// Snapshots are plain structs; [Snapshot.WriteFile] and [ReadFile] keep them as
// one JSON file, gzipped when its name ends in .gz.
//
// Subpackage apiusage reads which deprecated APIs clients still call; subpackage
// report renders a whole procedure.
package snapshot
