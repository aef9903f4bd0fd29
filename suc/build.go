package suc

import (
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/k3sladder/k3sladder/skew"
)

// Defaults of the builders, as the controller's own manifest has them.
const (
	DefaultNamespace      = "system-upgrade"
	DefaultServiceAccount = "system-upgrade"

	K3sImage  = "rancher/k3s-upgrade"
	RKE2Image = "rancher/rke2-upgrade"

	// ControlPlaneLabel is on every k3s and RKE2 server, with the value
	// "true", since v1.20.
	ControlPlaneLabel = "node-role.kubernetes.io/control-plane"
)

// Options shape what the builders make. The zero value gives a Plan for one
// node at a time that cordons, in the controller's usual namespace.
type Options struct {
	// Name of the Plan. Empty: k3s-server, k3s-agent, rke2-server or
	// rke2-agent.
	Name string
	// Namespace of the Plan, the controller's own. Empty: [DefaultNamespace];
	// for an agent Plan the server Plan's.
	Namespace string
	// NodeSelector picks the nodes. Nil: the control-plane nodes for a server
	// Plan, all others for an agent Plan.
	NodeSelector *metav1.LabelSelector
	// Concurrency is how many nodes are taken at once. Zero: 1.
	Concurrency int64
	// NoCordon leaves the node schedulable during the upgrade. It has no
	// effect beside Drain.
	NoCordon bool
	// Drain empties the node first. Nil: no drain, the node is only cordoned.
	Drain *DrainSpec
	// ServiceAccount of the Jobs. Empty: [DefaultServiceAccount].
	ServiceAccount string
	// Registry is a private registry, such as "registry.lan:5000" or
	// "registry.lan/mirror", that holds the images under their usual names.
	// Empty: Docker Hub.
	Registry string
	// ImagePullSecrets are names of Secrets for that registry.
	ImagePullSecrets []string
	// Tolerations for tainted nodes; cordoned nodes are tolerated anyway.
	Tolerations []corev1.Toleration
	// Window limits when work may start. Nil: at any time.
	Window *TimeWindowSpec
	// Stage gives a server Plan a prepare container with the upgrade image:
	// prepare runs before the cordon, so the image is pulled while the node
	// still takes Pods. An agent Plan always has one, to wait for the servers.
	Stage bool
	// ControllerVersion is that of the controller which will read the Plan,
	// such as "v0.4.0": before v0.5.0 it gave the upgrade image its tag, but
	// not the prepare image. Empty: v0.5.0 or newer.
	ControllerVersion string
	// JobDeadline ends the Job of one node after so long, counted in whole
	// seconds. Zero: the controller's default.
	JobDeadline time.Duration
	// PostCompleteDelay is the pause between one node and the next.
	PostCompleteDelay time.Duration
	// Exclusive keeps other exclusive Plans off a node meanwhile.
	Exclusive bool
	// PriorityClassName of the Jobs' Pods.
	PriorityClassName string
}

// ServerPlan is a Plan that takes k3s servers to version, which is pinned: no
// channel is asked. The zero Version gives a Plan that resolves to nothing, which
// [LintPlans] calls an error (no-version).
func ServerPlan(version skew.Version, opts Options) *Plan {
	return serverPlan(version, "k3s-server", K3sImage, opts)
}

// RKE2ServerPlan is [ServerPlan] for RKE2.
func RKE2ServerPlan(version skew.Version, opts Options) *Plan {
	return serverPlan(version, "rke2-server", RKE2Image, opts)
}

// AgentPlan is a Plan that takes k3s agents to the version of server, whose
// Jobs first wait until server is done: the version, the namespace and the name
// it waits for are server's own, so that the two cannot disagree. Everything
// else comes from opts. Without a server Plan it is one that [LintPlans] refuses.
func AgentPlan(server *Plan, opts Options) *Plan {
	return agentPlan(server, "k3s-agent", K3sImage, opts)
}

// RKE2AgentPlan is [AgentPlan] for RKE2.
func RKE2AgentPlan(server *Plan, opts Options) *Plan {
	return agentPlan(server, "rke2-agent", RKE2Image, opts)
}

// ServerSelector selects the k3s and RKE2 servers.
func ServerSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: ControlPlaneLabel, Operator: metav1.LabelSelectorOpIn, Values: []string{"true"}},
	}}
}

// AgentSelector selects the nodes that are no servers.
func AgentSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: ControlPlaneLabel, Operator: metav1.LabelSelectorOpDoesNotExist},
	}}
}

func serverPlan(version skew.Version, name, image string, opts Options) *Plan {
	p := basePlan(name, DefaultNamespace, version.String(), image, ServerSelector(), opts)
	if opts.Stage {
		// The image's entry point would start the upgrade.
		p.Spec.Prepare = &ContainerSpec{
			Image:   prepareImage(p, opts),
			Command: []string{"/bin/true"},
		}
	}
	return p
}

func agentPlan(server *Plan, name, image string, opts Options) *Plan {
	if server == nil {
		server = &Plan{}
	}
	p := basePlan(name, server.Namespace, server.Spec.Version, image, AgentSelector(), opts)
	p.Namespace = server.Namespace // the Job looks for the server Plan in its own
	p.Spec.Channel = server.Spec.Channel
	p.Spec.Prepare = &ContainerSpec{
		Image: prepareImage(p, opts),
		Args:  []string{"prepare", server.Name},
	}
	return p
}

func basePlan(name, namespace, version, image string, selector *metav1.LabelSelector, opts Options) *Plan {
	p := &Plan{
		TypeMeta:   metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind},
		ObjectMeta: metav1.ObjectMeta{Name: or(opts.Name, name), Namespace: or(opts.Namespace, namespace)},
		Spec: PlanSpec{
			Concurrency:        max(opts.Concurrency, 1),
			Version:            version,
			NodeSelector:       selector,
			ServiceAccountName: or(opts.ServiceAccount, DefaultServiceAccount),
			Upgrade:            &ContainerSpec{Image: inRegistry(opts.Registry, image)},
			Cordon:             !opts.NoCordon && opts.Drain == nil,
			Drain:              opts.Drain.DeepCopy(),
			Window:             opts.Window.DeepCopy(),
			Exclusive:          opts.Exclusive,
			PriorityClassName:  opts.PriorityClassName,
		},
	}
	if opts.NodeSelector != nil {
		p.Spec.NodeSelector = opts.NodeSelector.DeepCopy()
	}
	for _, t := range opts.Tolerations {
		p.Spec.Tolerations = append(p.Spec.Tolerations, *t.DeepCopy())
	}
	for _, s := range opts.ImagePullSecrets {
		p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: s})
	}
	if opts.JobDeadline > 0 {
		s := int64((opts.JobDeadline + time.Second - 1) / time.Second)
		p.Spec.JobActiveDeadlineSecs = &s
	}
	if opts.PostCompleteDelay > 0 {
		p.Spec.PostCompleteDelay = &metav1.Duration{Duration: opts.PostCompleteDelay}
	}
	return p
}

func or(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}

func inRegistry(registry, image string) string {
	if registry = strings.TrimSuffix(registry, "/"); registry != "" {
		return registry + "/" + image
	}
	return image
}

// prepareImage is p's upgrade image, with the version as its tag where the
// controller is too old to add it to a prepare image. A controller version
// that cannot be read gets the tag: it is right with every controller.
func prepareImage(p *Plan, opts Options) string {
	image := p.Spec.Upgrade.Image
	if opts.ControllerVersion == "" || p.Spec.Version == "" {
		return image
	}
	v, err := semver.NewVersion(opts.ControllerVersion)
	if err == nil && !v.LessThan(prepareTagged) {
		return image
	}
	return image + ":" + munge(p.Spec.Version)
}

// prepareTagged is the first controller that gives prepare images a tag.
var prepareTagged = semver.New(0, 5, 0, "", "")

// munge is what the controller makes of a version to use it as an image tag
// and a label: every "+" becomes "-", and nothing else changes.
func munge(version string) string { return strings.ReplaceAll(version, "+", "-") }

// DrainTimeout is a drain's timeout in the form that means what it says: text
// with a unit. An integer would count nanoseconds.
func DrainTimeout(d time.Duration) *intstr.IntOrString {
	t := intstr.FromString(d.String())
	return &t
}
