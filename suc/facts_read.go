package suc

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubectl/pkg/util/hash"
)

// Clients are the two ways into a cluster: Plans are no built-in kind.
type Clients struct {
	Kube    kubernetes.Interface
	Dynamic dynamic.Interface
}

// errNoClient says that a cluster cannot be asked.
var errNoClient = errors.New("no client of the cluster was given")

// ReadFacts reads the facts of a cluster; it writes nothing. What the account
// may not read stays unknown: names of Secrets, for instance. Channels are not
// asked. Without a controller in the cluster the accounts stay unknown too.
func ReadFacts(ctx context.Context, c Clients) (*Facts, error) {
	if c.Kube == nil || c.Dynamic == nil {
		return nil, errNoClient
	}
	f := &Facts{}
	v, err := c.Kube.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking the API server for its version: %w", err)
	}
	f.ServerVersion = v.GitVersion
	nodes, err := c.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the nodes: %w", err)
	}
	f.Nodes = make([]Node, 0, len(nodes.Items))
	for i := range nodes.Items {
		f.Nodes = append(f.Nodes, readNode(&nodes.Items[i]))
	}
	f.Datastore = datastore(nodes.Items)
	if err := f.readController(ctx, c.Kube); err != nil {
		return nil, err
	}
	plans, err := c.Dynamic.Resource(Resource).List(ctx, metav1.ListOptions{})
	switch {
	case err == nil:
		f.Plans = []string{}
		for i := range plans.Items {
			f.Plans = append(f.Plans, plans.Items[i].GetNamespace()+"/"+plans.Items[i].GetName())
		}
	case apierrors.IsNotFound(err): // no CRD, so no Plans
		f.Plans = []string{}
	case !apierrors.IsForbidden(err):
		return nil, fmt.Errorf("listing the Plans: %w", err)
	}
	if f.SUC == nil {
		// The controller's manifest, which is still to come, brings its account.
	} else if accounts, err := c.Kube.CoreV1().ServiceAccounts("").List(ctx, metav1.ListOptions{}); err == nil {
		f.ServiceAccounts = []string{}
		for _, a := range accounts.Items {
			f.ServiceAccounts = append(f.ServiceAccounts, a.Namespace+"/"+a.Name)
		}
	} else if !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("listing the service accounts: %w", err)
	}
	if err := f.readSecrets(ctx, c.Kube); err != nil {
		return nil, err
	}
	namespaces, err := c.Kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err == nil {
		f.Namespaces = []string{}
		for _, n := range namespaces.Items {
			f.Namespaces = append(f.Namespaces, n.Name)
		}
	} else if !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("listing the namespaces: %w", err)
	}
	return f, nil
}

// readSecrets keeps the names of Secrets, a page at a time: some are large.
func (f *Facts) readSecrets(ctx context.Context, kube kubernetes.Interface) error {
	names := []string{}
	opts := metav1.ListOptions{Limit: 250}
	for {
		page, err := kube.CoreV1().Secrets("").List(ctx, opts)
		if apierrors.IsForbidden(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing the names of Secrets: %w", err)
		}
		for i := range page.Items {
			names = append(names, page.Items[i].Namespace+"/"+page.Items[i].Name)
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			f.Secrets = names
			return nil
		}
	}
}

func readNode(n *corev1.Node) Node {
	out := Node{
		Name: n.Name, UID: string(n.UID), KubeletVersion: n.Status.NodeInfo.KubeletVersion,
		Labels: n.Labels, Taints: n.Spec.Taints, Unschedulable: n.Spec.Unschedulable,
	}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			ready := c.Status == corev1.ConditionTrue
			out.Ready = &ready
		}
	}
	return out
}

// datastore concludes from what k3s writes on its servers: the etcd role, and
// the arguments each was started with
// (https://docs.k3s.io/datastore). Without either it stays unknown.
func datastore(nodes []corev1.Node) string {
	servers, args := 0, 0
	external := false
	for i := range nodes {
		n := &nodes[i]
		if _, ok := n.Labels[etcdLabel]; ok {
			return "etcd"
		}
		if _, ok := n.Labels[ControlPlaneLabel]; !ok {
			continue
		}
		servers++
		if a, ok := n.Annotations["k3s.io/node-args"]; ok {
			args++
			external = external || strings.Contains(a, "--datastore-endpoint")
		}
	}
	switch {
	case external:
		return "external"
	case servers == 1 && args == 1: // k3s servers without etcd cannot be several on SQLite
		return "sqlite"
	}
	return ""
}

// controllerName is the last part of the image name, in the shipped
// manifest, in Rancher and in Harvester.
const controllerName = "system-upgrade-controller"

// readController finds the controller by its image.
func (f *Facts) readController(ctx context.Context, kube kubernetes.Interface) error {
	deployments, err := kube.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for the controller: %w", err)
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		for _, c := range d.Spec.Template.Spec.Containers {
			img := parseImage(c.Image)
			if img.err != nil || img.name() != controllerName {
				continue
			}
			f.SUC = &Controller{Namespace: d.Namespace}
			if semverTag.MatchString(img.tag) {
				f.SUC.Version = img.tag
			}
			f.SUC.JobDeadlineSeconds = jobDeadline(ctx, kube, d, c)
			f.SUC.Node = controllerNode(ctx, kube, d)
			return nil
		}
	}
	return nil
}

var semverTag = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+`)

const deadlineVariable = "SYSTEM_UPGRADE_JOB_ACTIVE_DEADLINE_SECONDS"

// jobDeadline is the controller's default; the binary's own is 600.
func jobDeadline(ctx context.Context, kube kubernetes.Interface, d *appsv1.Deployment, c corev1.Container) *int64 {
	text, binary := "", int64(600)
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef == nil {
			continue
		}
		m, err := kube.CoreV1().ConfigMaps(d.Namespace).Get(ctx, from.ConfigMapRef.Name, metav1.GetOptions{})
		if err != nil {
			if apierrors.IsNotFound(err) {
				continue
			}
			return nil // it may be there
		}
		text = or(m.Data[strings.TrimPrefix(deadlineVariable, from.Prefix)], text)
	}
	for _, e := range c.Env {
		if e.Name == deadlineVariable && e.ValueFrom == nil {
			text = e.Value
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return &n
	}
	return &binary
}

// controllerNode is where the controller's Pod runs, "" when it does not or it
// may not be asked.
func controllerNode(ctx context.Context, kube kubernetes.Interface, d *appsv1.Deployment) string {
	sel, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return ""
	}
	pods, err := kube.CoreV1().Pods(d.Namespace).List(ctx, metav1.ListOptions{LabelSelector: sel.String()})
	if err != nil {
		return ""
	}
	for _, p := range pods.Items {
		if p.Spec.NodeName != "" && p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning {
			return p.Spec.NodeName
		}
	}
	return ""
}

// SecretHashes are the hashes of the Plan's Secrets that count for [Hash], as
// the controller computes them; nothing else of a Secret is kept.
func SecretHashes(ctx context.Context, kube kubernetes.Interface, p *Plan) ([]string, error) {
	if p == nil {
		return nil, nil
	}
	if kube == nil {
		return nil, errNoClient
	}
	var out []string
	for _, s := range p.Spec.Secrets {
		if s.IgnoreUpdates {
			continue
		}
		secret, err := kube.CoreV1().Secrets(p.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("reading Secret %s/%s: %w", p.Namespace, s.Name, err)
		}
		h, err := hash.SecretHash(secret)
		if err != nil {
			return nil, fmt.Errorf("hashing Secret %s/%s: %w", p.Namespace, s.Name, err)
		}
		out = append(out, h)
	}
	return out, nil
}

// GetPlan reads a Plan from the cluster. A Plan that cannot be decoded, because
// of a duration without a unit for instance, is an error that says so. In a
// cluster that does not know Plans the error is [ErrNoCRD].
func GetPlan(ctx context.Context, client dynamic.Interface, namespace, name string) (*Plan, error) {
	if client == nil {
		return nil, errNoClient
	}
	o, err := client.Resource(Resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) && apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: %w", ErrNoCRD, err) // the answer for a path that is not served
	}
	if err != nil {
		return nil, err
	}
	p := &Plan{}
	if err := convert(o.Object, p); err != nil {
		return nil, fmt.Errorf("plan %s/%s cannot be decoded, by this program or by the controller: %w", namespace, name, err)
	}
	return p, nil
}
