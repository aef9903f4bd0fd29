package drainprobe

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// daemonSets reads those that Pods on the node name: kubectl's filter asks for
// each of them.
func (g *gatherer) daemonSets(pods []*corev1.Pod) error {
	need := []string{}
	for _, p := range pods {
		if isDaemonSetPod(p) && !slices.Contains(need, p.Namespace) {
			need = append(need, p.Namespace)
		}
	}
	if len(need) > fewNamespaces {
		need = []string{metav1.NamespaceAll}
	}
	for _, ns := range need {
		sets, err := readAll(metav1.ListOptions{}, func(o metav1.ListOptions) ([]appsv1.DaemonSet, string, error) {
			l, err := g.client.AppsV1().DaemonSets(ns).List(g.ctx, o)
			return l.Items, l.Continue, err
		}, whole)
		if err != nil {
			return must(err, "daemonsets.apps", ns)
		}
		g.w.DaemonSets = append(g.w.DaemonSets, sets...)
	}
	return nil
}

// owners reads the controllers of the Pods in these namespaces, kind by kind.
func (g *gatherer) owners(scope []string) error {
	kinds := map[string]bool{}
	for _, p := range g.w.Pods {
		if ref := metav1.GetControllerOf(p); ref != nil && (slices.Contains(scope, metav1.NamespaceAll) || slices.Contains(scope, p.Namespace)) {
			kinds[ref.Kind] = true
		}
	}
	apps, batch, core := g.client.AppsV1(), g.client.BatchV1(), g.client.CoreV1()
	for _, ns := range scope {
		for _, r := range []struct {
			kind, resource string
			read           func() error
		}{
			{"ReplicaSet", "replicasets", func() error {
				return readInto(&g.w.ReplicaSets, func(o metav1.ListOptions) ([]appsv1.ReplicaSet, string, error) {
					l, err := apps.ReplicaSets(ns).List(g.ctx, o)
					return l.Items, l.Continue, err
				})
			}},
			{"ReplicaSet", "deployments", func() error {
				return readInto(&g.w.Deployments, func(o metav1.ListOptions) ([]appsv1.Deployment, string, error) {
					l, err := apps.Deployments(ns).List(g.ctx, o)
					return l.Items, l.Continue, err
				})
			}},
			{"StatefulSet", "statefulsets", func() error {
				return readInto(&g.w.StatefulSets, func(o metav1.ListOptions) ([]appsv1.StatefulSet, string, error) {
					l, err := apps.StatefulSets(ns).List(g.ctx, o)
					return l.Items, l.Continue, err
				})
			}},
			{"Job", "jobs", func() error {
				return readInto(&g.w.Jobs, func(o metav1.ListOptions) ([]batchv1.Job, string, error) {
					l, err := batch.Jobs(ns).List(g.ctx, o)
					return l.Items, l.Continue, err
				})
			}},
			{"ReplicationController", "replicationcontrollers", func() error {
				return readInto(&g.w.ReplicationControllers, func(o metav1.ListOptions) ([]corev1.ReplicationController, string, error) {
					l, err := core.ReplicationControllers(ns).List(g.ctx, o)
					return l.Items, l.Continue, err
				})
			}},
		} {
			if kinds[r.kind] {
				if err := g.may(r.read(), r.resource); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
