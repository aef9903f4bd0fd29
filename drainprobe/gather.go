package drainprobe

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// pageSize is how many objects one list request brings.
const pageSize = 500

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
	if !opts.DisableEviction {
		g.webhooks()
	}
	return g.w, nil
}

// GatherAll reads what forecasts for all nodes need.
func GatherAll(ctx context.Context, client kubernetes.Interface) (*World, error) {
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
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	g.webhooks()
	return g.w, nil
}

type gatherer struct {
	ctx    context.Context
	client kubernetes.Interface
	w      *World
}

// must turns a refusal into the permission that is missing.
func must(err error, resource, namespace string) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return &AccessError{Verb: "list", Resource: resource, Namespace: namespace, Err: err}
	}
	return fmt.Errorf("list %s: %w", resource, err)
}

// may notes what cannot be read as a gap, and fails for other reasons.
func (g *gatherer) may(err error, resource string) error {
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		if _, known := g.w.gap(resource); !known {
			g.w.Gaps = append(g.w.Gaps, Gap{Resource: resource, Reason: "no permission to list " + resource})
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", resource, err)
	}
	return nil
}

// readAll reads a list page by page. thin makes of each object what is kept.
func readAll[T any](opts metav1.ListOptions, page func(metav1.ListOptions) (items []T, next string, err error), thin func(*T) *T) ([]*T, error) {
	var out []*T
	opts.Limit = pageSize
	for {
		items, next, err := page(opts)
		if apierrors.IsResourceExpired(err) && opts.Continue != "" {
			// The list outlived the server's history: read it in one go.
			out, opts.Continue, opts.Limit = nil, "", 0
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range items {
			out = append(out, thin(&items[i]))
		}
		if opts.Continue = next; next == "" {
			return out, nil
		}
	}
}

// readOnce reads a list in one request, however long it is.
func readOnce[T any](opts metav1.ListOptions, page func(metav1.ListOptions) ([]T, string, error), thin func(*T) *T) ([]*T, error) {
	items, _, err := page(opts)
	if err != nil {
		return nil, err
	}
	out := make([]*T, len(items))
	for i := range items {
		out[i] = thin(&items[i])
	}
	return out, nil
}

func whole[T any](o *T) *T { return o }

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

func readInto[T any](list *[]*T, page func(metav1.ListOptions) ([]T, string, error)) error {
	more, err := readAll(metav1.ListOptions{}, page, whole)
	*list = append(*list, more...)
	return err
}

func pointers[T any](list []*T, items []T) []*T {
	for i := range items {
		list = append(list, &items[i])
	}
	return list
}

func (g *gatherer) webhooks() {
	if l, err := g.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(g.ctx, metav1.ListOptions{}); err == nil {
		g.w.ValidatingWebhooks = pointers(g.w.ValidatingWebhooks, l.Items)
	} else {
		g.w.Gaps = append(g.w.Gaps, Gap{Resource: webhookGap, Reason: firstLine(err.Error())})
	}
	if l, err := g.client.AdmissionregistrationV1().MutatingWebhookConfigurations().List(g.ctx, metav1.ListOptions{}); err == nil {
		g.w.MutatingWebhooks = pointers(g.w.MutatingWebhooks, l.Items)
	} else if _, known := g.w.gap(webhookGap); !known {
		g.w.Gaps = append(g.w.Gaps, Gap{Resource: webhookGap, Reason: firstLine(err.Error())})
	}
}

// webhookGap is the resource of the gap that webhooks leave.
const webhookGap = "validatingwebhookconfigurations"

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
	if twin := t[key]; key != "" && twin != nil && !resizing(p) && !slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
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
		ResourceClaims: p.Spec.ResourceClaims, Resources: p.Spec.Resources, HostNetwork: p.Spec.HostNetwork}
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
