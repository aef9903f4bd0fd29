// +groupName=upgrade.cattle.io
// +versionName=v1

// Package suc writes, reads and follows Plans of system-upgrade-controller
// (https://github.com/rancher/system-upgrade-controller, v0.20.1).
//
// The controller's CRD accepts almost anything, and the controller itself
// checks no version: a Plan that skips two minors, selects no node, or selects
// all of them is taken without a word. This package gives Plans that do what
// their author meant:
//
//	next := skew.MustParse("v1.35.8+k3s1")
//	plan := suc.ServerPlan(next, suc.Options{Name: "k3s-server-next"})
//	text, err := suc.Marshal(plan)
//
// [ServerPlan] and its siblings build pinned Plans, [Marshal] writes them
// clean, [Decode] reads them strictly, [Lint] finds what the CRD lets pass and
// the controller misreads, [Explain] says what the controller will do node by
// node, [Apply] brings CRD, namespace and Plan into a cluster in that order,
// and [Watch] follows a Plan until its nodes run the version.
//
// The semantics were read in the controller's source and observed with the
// real controller; docs/suc.md has them with their sources.
package suc

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.21.0 object paths=. crd:crdVersions=v1 output:crd:dir=crd
