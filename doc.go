// Package k3sladder takes a k3s cluster up one Kubernetes minor version at a
// time and proves afterwards that it is the same cluster.
//
// This package holds nothing but the map. Import the part you need:
//
//   - [github.com/k3sladder/k3sladder/skew]: versions as people paste them, and
//     Kubernetes' version skew policy as rules.
//   - [github.com/k3sladder/k3sladder/channels]: where a release channel points,
//     and the ladder from a running version to there.
//   - [github.com/k3sladder/k3sladder/backup]: one consistent copy of a live
//     SQLite datastore with the token that opens it; verify and restore.
//   - [github.com/k3sladder/k3sladder/drainprobe]: whether a drain can finish,
//     before the first eviction; and a real drain that gives the node back.
//   - [github.com/k3sladder/k3sladder/snapshot]: what there was before, and
//     whether it is still there afterwards. Below it apiusage reads which
//     deprecated APIs are called, and report writes a procedure down.
//   - [github.com/k3sladder/k3sladder/suc]: system-upgrade-controller Plans that
//     mean what their author meant.
//
// The programs under examples/ are thin shells over these packages; examples/lab
// composes all of them into the whole procedure.
package k3sladder
