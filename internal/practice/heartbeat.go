package practice

import (
	"context"
	"encoding/json"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// heartbeatInterval is a kubelet's: the control plane calls a node Unknown
// after 50 seconds without one.
const heartbeatInterval = 10 * time.Second

// startHeartbeats renews the nodes' leases as their kubelets would, except
// those of nodes that are not to be Ready. kwok could do it, but either for all
// nodes or anew after each event of a node, so that a busy one gets none.
func startHeartbeats(client kubernetes.Interface) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := every(heartbeatInterval, func() { renewLeases(ctx, client) })
	return func() { cancel(); done() }
}

// renewLeases does what it can: a server that does not answer is asked again.
func renewLeases(ctx context.Context, client kubernetes.Interface) {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return
	}
	leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	for _, node := range nodes.Items {
		if node.Annotations[kwokAnnotation] == "" || node.Annotations[notReadyAnnotation] != "" {
			continue
		}
		seconds, now := int32(40), metav1.NowMicro()
		spec := coordinationv1.LeaseSpec{HolderIdentity: &node.Name, LeaseDurationSeconds: &seconds, RenewTime: &now}
		patch, err := json.Marshal(map[string]any{"spec": spec})
		if err != nil {
			return
		}
		_, err = leases.Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if apierrors.IsNotFound(err) {
			_, _ = leases.Create(ctx, &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID,
				}}},
				Spec: spec,
			}, metav1.CreateOptions{})
		}
	}
}
