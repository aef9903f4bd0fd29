package suc

import (
	_ "embed"
	"slices"
)

// Where the controller's authors publish what a real cluster needs.
const (
	// Release is the controller's version whose API and semantics this
	// package knows.
	Release = "v0.20.1"
	// OfficialCRDURL is the CRD of that release.
	OfficialCRDURL = "https://github.com/rancher/system-upgrade-controller/releases/download/" + Release + "/crd.yaml"
	// OfficialManifestURL is the controller itself: namespace, account, roles,
	// default environment and Deployment, without the CRD.
	OfficialManifestURL = "https://github.com/rancher/system-upgrade-controller/releases/download/" + Release + "/system-upgrade-controller.yaml"
	// CRDName is the name of the CustomResourceDefinition.
	CRDName = "plans." + Group
)

//go:embed crd/upgrade.cattle.io_plans.yaml
var crd []byte

// CRD is the CustomResourceDefinition generated from this package's types, as
// YAML. It accepts and refuses what the official one does; a real cluster
// should still have the official one ([OfficialCRDURL]), which belongs to the
// controller that runs there.
func CRD() []byte { return slices.Clone(crd) }
