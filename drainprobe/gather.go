package drainprobe

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// fewNamespaces is up to how many namespaces are read one by one; more are
// read in one list over all.
const fewNamespaces = 3

// Gather reads what a forecast for the node needs, and no more: Pods of other
// nodes only in the namespaces concerned, unless another node could take a Pod
// and its room matters. It only gets and lists.
//
// Nodes, Pods and PodDisruptionBudgets must be readable: *AccessError says
// what is missing. What else may not be read becomes a Gap.
func Gather(ctx context.Context, client kubernetes.Interface, node string, opts Options) (*World, error) {
	if client == nil {
		return nil, errNoClient
	}
	g := &gatherer{ctx: ctx, client: client, w: &World{Taken: time.Now()}}
	if err := g.nodes(); err != nil {
		return nil, err
	}
	if g.w.node(node) == nil {
		return g.w, nil
	}
	mine, err := g.pods(metav1.NamespaceAll, fields.OneTermEqualSelector("spec.nodeName", node).String(), false)
	if err != nil {
		return nil, err
	}
	g.w.Pods = mine
	scope := g.scope(mine)
	if err := g.budgets(scope); err != nil {
		return nil, err
	}
	if err := g.daemonSets(mine); err != nil {
		return nil, err
	}
	if err := g.namespaces(); err != nil {
		return nil, err
	}
	if err := g.volumes(mine, scope); err != nil {
		return nil, err
	}
	wide := g.roomMatters(node, mine)
	if err := g.others(node, scope, wide); err != nil {
		return nil, err
	}
	if wide && g.canPreempt(mine) {
		// Preempted Pods have budgets and controllers of their own.
		scope = []string{metav1.NamespaceAll}
		g.w.Budgets = nil
		if err := g.budgets(scope); err != nil {
			return nil, err
		}
	}
	if err := g.owners(scope); err != nil {
		return nil, err
	}
	if (wide || g.templatesNameNodes()) && len(g.w.Budgets) > 0 { // or it does not matter whether new Pods are made
		if err := g.quotas(scope); err != nil {
			return nil, err
		}
	}
	g.admission()
	return g.w, nil
}

// GatherAll reads what forecasts for all nodes need.
func GatherAll(ctx context.Context, client kubernetes.Interface) (*World, error) {
	if client == nil {
		return nil, errNoClient
	}
	g := &gatherer{ctx: ctx, client: client, w: &World{Taken: time.Now()}}
	all := []string{metav1.NamespaceAll}
	var err error
	if err = g.nodes(); err != nil {
		return nil, err
	}
	if g.w.Pods, err = g.pods(metav1.NamespaceAll, "", true); err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		func() error { return g.budgets(all) },
		func() error { return g.daemonSets(g.w.Pods) },
		g.namespaces,
		func() error { return g.volumes(g.w.Pods, all) },
		func() error { return g.owners(all) },
		func() error { return g.quotas(all) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	g.admission()
	return g.w, nil
}

type gatherer struct {
	ctx    context.Context
	client kubernetes.Interface
	w      *World
}

func (g *gatherer) nodes() (err error) {
	g.w.Nodes, err = readAll(metav1.ListOptions{}, func(o metav1.ListOptions) ([]corev1.Node, string, error) {
		l, err := g.client.CoreV1().Nodes().List(g.ctx, o)
		return l.Items, l.Continue, err
	}, func(n *corev1.Node) *corev1.Node {
		n.ManagedFields, n.Status.Images = nil, nil
		return n
	})
	return must(err, "nodes", "")
}

// pods lists Pods, trimmed to what a forecast looks at when they are many.
func (g *gatherer) pods(namespace, field string, trim bool) ([]*corev1.Pod, error) {
	t := trimmer{}
	all := readAll[corev1.Pod]
	if namespace != metav1.NamespaceAll {
		all = readOnce[corev1.Pod] // a namespace's Pods are few enough
	}
	out, err := all(metav1.ListOptions{FieldSelector: field}, func(o metav1.ListOptions) ([]corev1.Pod, string, error) {
		l, err := g.client.CoreV1().Pods(namespace).List(g.ctx, o)
		return l.Items, l.Continue, err
	}, func(p *corev1.Pod) *corev1.Pod {
		if trim {
			return t.trim(p)
		}
		p.ManagedFields = nil
		return p
	})
	return out, must(err, "pods", namespace)
}

// scope are the namespaces whose Pods the drain can move.
func (g *gatherer) scope(pods []*corev1.Pod) []string {
	var out []string
	for _, p := range pods {
		if !isDaemonSetPod(p) && !hasKey(p.Annotations, corev1.MirrorPodAnnotationKey) && !slices.Contains(out, p.Namespace) {
			out = append(out, p.Namespace)
		}
	}
	if len(out) > fewNamespaces {
		return []string{metav1.NamespaceAll}
	}
	slices.Sort(out)
	return out
}

func (g *gatherer) budgets(scope []string) error {
	for _, ns := range scope {
		list, err := g.client.PolicyV1().PodDisruptionBudgets(ns).List(g.ctx, metav1.ListOptions{})
		if err != nil {
			return must(err, "poddisruptionbudgets.policy", ns)
		}
		for i := range list.Items {
			g.w.Budgets = append(g.w.Budgets, &list.Items[i])
		}
	}
	return nil
}

func (g *gatherer) namespaces() error {
	list, err := g.client.CoreV1().Namespaces().List(g.ctx, metav1.ListOptions{})
	if err != nil {
		return g.may(err, "namespaces")
	}
	for i := range list.Items {
		g.w.Namespaces = append(g.w.Namespaces, &list.Items[i])
	}
	return nil
}

func (g *gatherer) volumes(pods []*corev1.Pod, scope []string) error {
	if !slices.ContainsFunc(pods, usesClaims) {
		return nil
	}
	for _, ns := range scope {
		claims, err := g.client.CoreV1().PersistentVolumeClaims(ns).List(g.ctx, metav1.ListOptions{})
		if err != nil {
			if err := g.may(err, "persistentvolumeclaims"); err != nil {
				return err
			}
			continue
		}
		for i := range claims.Items {
			g.w.Claims = append(g.w.Claims, &claims.Items[i])
		}
	}
	if volumes, err := g.client.CoreV1().PersistentVolumes().List(g.ctx, metav1.ListOptions{}); err != nil {
		if err := g.may(err, "persistentvolumes"); err != nil {
			return err
		}
	} else {
		for i := range volumes.Items {
			g.w.Volumes = append(g.w.Volumes, &volumes.Items[i])
		}
	}
	classes, err := g.client.StorageV1().StorageClasses().List(g.ctx, metav1.ListOptions{})
	if err != nil {
		return g.may(err, "storageclasses")
	}
	for i := range classes.Items {
		g.w.StorageClasses = append(g.w.StorageClasses, &classes.Items[i])
	}
	return nil
}

func usesClaims(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil })
}

// roomMatters: some node besides the drained one could take some Pod of it, as
// far as nodes alone tell.
func (g *gatherer) roomMatters(node string, pods []*corev1.Pod) bool {
	m := newModel(g.w, node, Options{})
	for _, p := range pods {
		if isDaemonSetPod(p) || hasKey(p.Annotations, corev1.MirrorPodAnnotationKey) {
			continue
		}
		c := m.classOf(&m.pods[m.byUID[p.UID]])
		for i := range m.nodes {
			if m.bars(c, i) == "" {
				return true
			}
		}
	}
	return false
}

// others adds Pods that are not on the node: of the namespaces concerned, or
// all of them.
func (g *gatherer) others(node string, scope []string, wide bool) error {
	if wide {
		scope = []string{metav1.NamespaceAll}
	}
	have := map[types.UID]bool{}
	for _, p := range g.w.Pods {
		have[p.UID] = true
	}
	for _, ns := range scope {
		list, err := g.pods(ns, fields.OneTermNotEqualSelector("spec.nodeName", node).String(), true)
		if err != nil {
			return err
		}
		for _, p := range list {
			if !have[p.UID] {
				g.w.Pods = append(g.w.Pods, p)
			}
		}
	}
	return nil
}

// templatesNameNodes: some new Pod goes to a node past the scheduler.
func (g *gatherer) templatesNameNodes() bool {
	return slices.ContainsFunc(g.w.ReplicaSets, func(r *appsv1.ReplicaSet) bool { return r.Spec.Template.Spec.NodeName != "" }) ||
		slices.ContainsFunc(g.w.StatefulSets, func(s *appsv1.StatefulSet) bool { return s.Spec.Template.Spec.NodeName != "" }) ||
		slices.ContainsFunc(g.w.ReplicationControllers, func(r *corev1.ReplicationController) bool {
			return r.Spec.Template != nil && r.Spec.Template.Spec.NodeName != ""
		})
}

// canPreempt: a Pod of the node is more important than one elsewhere.
func (g *gatherer) canPreempt(mine []*corev1.Pod) bool {
	priority := func(p *corev1.Pod) int32 {
		if p.Spec.Priority == nil {
			return 0
		}
		return *p.Spec.Priority
	}
	top := int32(-1 << 31)
	for _, p := range mine {
		if !isDaemonSetPod(p) && !hasKey(p.Annotations, corev1.MirrorPodAnnotationKey) {
			top = max(top, priority(p))
		}
	}
	return slices.ContainsFunc(g.w.Pods, func(p *corev1.Pod) bool { return priority(p) < top })
}
