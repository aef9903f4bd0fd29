package drainprobe

import (
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// cluster is a fake API server with the little behaviour that an attempt sees:
// evictions that a hook may refuse and that otherwise remove the Pod, conflicts
// on stale node patches, field selectors.
type cluster struct {
	*fake.Clientset
	mu sync.Mutex
	// refuse decides over an eviction; nil lets all Pods go.
	refuse func(pod string) error
	// keep lets an evicted Pod stay as if it were ending.
	keep bool
	// patches counts patches of nodes; onPatch may fail one.
	patches int
	onPatch func(n int) error
}

func newCluster(t *testing.T, objects ...runtime.Object) *cluster {
	t.Helper()
	c := &cluster{Clientset: fake.NewClientset(objects...)}
	c.Resources = []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "pods/eviction", Kind: "Eviction", Group: "policy", Version: "v1"}}}}
	c.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		e := a.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction)
		c.mu.Lock()
		refuse, keep := c.refuse, c.keep
		c.mu.Unlock()
		if refuse != nil {
			if err := refuse(e.Name); err != nil {
				return true, nil, err
			}
		}
		if keep {
			return true, nil, nil
		}
		return true, nil, c.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), e.Namespace, e.Name)
	})
	c.PrependReactor("list", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		l := a.(clienttesting.ListActionImpl)
		node, ok := l.ListRestrictions.Fields.RequiresExactMatch("spec.nodeName")
		if !ok {
			return false, nil, nil
		}
		obj, err := c.Tracker().List(corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithKind("Pod"), a.GetNamespace())
		if err != nil {
			return true, nil, err
		}
		out := &corev1.PodList{}
		for _, p := range obj.(*corev1.PodList).Items {
			if p.Spec.NodeName == node {
				out.Items = append(out.Items, p)
			}
		}
		return true, out, nil
	})
	c.PrependReactor("patch", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.patches++
		if c.onPatch != nil {
			if err := c.onPatch(c.patches); err != nil {
				return true, nil, err
			}
		}
		return false, nil, nil
	})
	return c
}

func overBudget(pod string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause,
		Message: "The disruption budget web needs 1 healthy pods and has 1 currently"}}
	return err
}

func conflict() error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "a", fmt.Errorf("changed in between"))
}

func testNode(name string, edit ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), ResourceVersion: "1"},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	for _, e := range edit {
		e(n)
	}
	return n
}

func cordoned(n *corev1.Node) {
	n.Spec.Unschedulable = true
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
}

// testPod is a ready Pod of Deployment web.
func testPod(name, node string, edit ...func(*corev1.Pod)) *corev1.Pod {
	yes := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: types.UID("pod-" + name),
			Labels:          map[string]string{"app": "web", "pod-template-hash": "abc"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-abc", UID: "rs", Controller: &yes}}},
		Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Phase: corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, e := range edit {
		e(p)
	}
	return p
}
