package drainprobe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// trimmer drops from Pods what a forecast does not look at, and lets Pods of
// one template share the rest.
type trimmer map[string]*corev1.Pod

func (t trimmer) trim(p *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: p.Name, Namespace: p.Namespace, UID: p.UID, Labels: p.Labels, OwnerReferences: p.OwnerReferences,
		DeletionTimestamp: p.DeletionTimestamp, Finalizers: p.Finalizers, CreationTimestamp: p.CreationTimestamp}}
	if v, ok := p.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		out.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: v}
	}
	out.Status.Phase = p.Status.Phase
	for _, c := range p.Status.Conditions {
		switch c.Type {
		case corev1.PodReady, corev1.PodScheduled, corev1.PodResizeInProgress, corev1.PodResizePending:
			out.Status.Conditions = append(out.Status.Conditions, c)
		}
	}
	if resizing(p) {
		out.Status.ContainerStatuses, out.Status.InitContainerStatuses = p.Status.ContainerStatuses, p.Status.InitContainerStatuses
	}
	key := revisionKey(p)
	if twin := t[key]; key != "" && twin != nil && !resizing(p) && sameAsks(&twin.Spec, &p.Spec) && !slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil
	}) {
		out.Spec = twin.Spec
		out.Spec.NodeName = p.Spec.NodeName
		return out
	}
	out.Spec = corev1.PodSpec{NodeName: p.Spec.NodeName, NodeSelector: p.Spec.NodeSelector, Affinity: p.Spec.Affinity,
		Tolerations: p.Spec.Tolerations, TopologySpreadConstraints: p.Spec.TopologySpreadConstraints,
		Priority: p.Spec.Priority, PreemptionPolicy: p.Spec.PreemptionPolicy, SchedulerName: p.Spec.SchedulerName,
		TerminationGracePeriodSeconds: p.Spec.TerminationGracePeriodSeconds, Overhead: p.Spec.Overhead,
		ResourceClaims: p.Spec.ResourceClaims, Resources: p.Spec.Resources, HostNetwork: p.Spec.HostNetwork,
		ActiveDeadlineSeconds: p.Spec.ActiveDeadlineSeconds, PriorityClassName: p.Spec.PriorityClassName}
	thin := func(list []corev1.Container) []corev1.Container {
		var cs []corev1.Container
		for i := range list {
			cs = append(cs, corev1.Container{Name: list[i].Name, Resources: list[i].Resources, Ports: list[i].Ports, RestartPolicy: list[i].RestartPolicy})
		}
		return cs
	}
	out.Spec.Containers, out.Spec.InitContainers = thin(p.Spec.Containers), thin(p.Spec.InitContainers)
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			out.Spec.Volumes = append(out.Spec.Volumes, v)
		}
	}
	if key != "" {
		t[key] = out
	}
	return out
}
