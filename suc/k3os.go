package suc

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// K3OSChannel answers with a redirect to the newest k3OS release.
const K3OSChannel = "https://github.com/rancher/k3os/releases/latest"

// K3OSPlan is the Plan that upgrades k3OS nodes, kernel and root file system
// together, and reboots them. A version such as "v0.21.5-k3s2r1" is pinned; an
// empty one follows [K3OSChannel].
//
// The defaults are k3OS's own: Plan k3os-latest in k3os-system for nodes that
// carry the label plan.upgrade.cattle.io/k3os-latest and run from a disk, by
// the account k3os-upgrade, with a forced drain.
func K3OSPlan(version string, opts Options) *Plan {
	name := or(opts.Name, "k3os-latest")
	selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: LabelPlanPrefix + name, Operator: metav1.LabelSelectorOpExists},
		{Key: "k3os.io/mode", Operator: metav1.LabelSelectorOpExists},
		{Key: "k3os.io/mode", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"live"}},
	}}
	opts.ServiceAccount = or(opts.ServiceAccount, "k3os-upgrade")
	if opts.Drain == nil && !opts.NoCordon {
		opts.Drain = &DrainSpec{Force: true}
	}
	p := basePlan(name, "k3os-system", version, "rancher/k3os", selector, opts)
	if version == "" {
		p.Spec.Channel = K3OSChannel
	}
	p.Spec.Prepare = &ContainerSpec{
		Image:   prepareImage(p, opts),
		Command: []string{"k3os", "--version"},
	}
	p.Spec.Upgrade.Command = []string{"k3os", "--debug"}
	p.Spec.Upgrade.Args = []string{
		"upgrade", "--kernel", "--rootfs", "--remount", "--sync", "--reboot",
		"--lock-file=/host/run/k3os/upgrade.lock",
		"--source=/k3os/system", "--destination=/host/k3os/system",
	}
	return p
}
