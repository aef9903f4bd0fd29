package drainprobe

import (
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// World is what a forecast knows of a cluster: plain API objects, read once.
// Gather reads it from a cluster, ReadWorld from a file; a World made by hand
// is as good. Forecasting does not change it.
type World struct {
	// Taken is when it was read; ages are counted from there.
	Taken time.Time

	Nodes      []*corev1.Node
	Namespaces []*corev1.Namespace
	Pods       []*corev1.Pod
	Budgets    []*policyv1.PodDisruptionBudget

	Deployments            []*appsv1.Deployment
	ReplicaSets            []*appsv1.ReplicaSet
	ReplicationControllers []*corev1.ReplicationController
	StatefulSets           []*appsv1.StatefulSet
	DaemonSets             []*appsv1.DaemonSet
	Jobs                   []*batchv1.Job

	Quotas      []*corev1.ResourceQuota
	LimitRanges []*corev1.LimitRange

	Volumes        []*corev1.PersistentVolume
	Claims         []*corev1.PersistentVolumeClaim
	StorageClasses []*storagev1.StorageClass

	ValidatingWebhooks []*admissionv1.ValidatingWebhookConfiguration
	MutatingWebhooks   []*admissionv1.MutatingWebhookConfiguration
	AdmissionPolicies  []*admissionv1.ValidatingAdmissionPolicy
	AdmissionBindings  []*admissionv1.ValidatingAdmissionPolicyBinding

	// Gaps say what was not read and why, one a line. A verdict that would
	// have needed it is undecided.
	Gaps []Gap

	// admissionRead: the webhooks are those that there are; a file may just not
	// hold them.
	admissionRead bool
}

// Gap is a part of the cluster that a World does not hold.
type Gap struct {
	// Resource as RBAC names it, e.g. "persistentvolumes".
	Resource string `json:"resource"`
	Reason   string `json:"reason"`
}

func (w *World) gap(resource string) (Gap, bool) {
	for _, g := range w.Gaps {
		if g.Resource == resource {
			return g, true
		}
	}
	return Gap{}, false
}

func (w *World) node(name string) *corev1.Node {
	for _, n := range w.Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}
