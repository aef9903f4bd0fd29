package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Options choose what [Capture] reads. The zero value reads everything.
type Options struct {
	// Kinds are those to read, by kind or resource name, with or without group
	// ("Deployment", "deployments", "plans.upgrade.cattle.io"); empty means
	// all. The others are marked [Excluded]. A name that the cluster does not
	// serve is an error. A workload's kind brings Pods and ReplicaSets with it,
	// for its restarts are theirs.
	Kinds []string
	// Namespaces are those whose objects are read; empty means all. Kinds
	// without namespace are read whole.
	Namespaces []string
	// PageSize is how many objects one request asks for; zero means 500.
	// Secrets and ConfigMaps, which can have 1 MiB each, come in pages of a
	// tenth of it.
	PageSize int64
	// Concurrency is how many lists are read at a time; zero means 4.
	Concurrency int
	// AskKubelets has each node's kubelet asked through the API server which
	// cgroup version it runs on; that needs the right to get nodes/proxy. A
	// kubelet that does not answer leaves [Node.Cgroup] zero. Kubelets tell
	// from Kubernetes 1.31 on, in their metric kubelet_cgroup_version
	// (https://kubernetes.io/docs/concepts/architecture/cgroups/).
	AskKubelets bool
	// Progress, where set, is called after each list. Calls do not overlap.
	Progress func(done, total int, l List)
}

type capture struct {
	clients Clients
	opts    Options

	mu     sync.Mutex
	out    *Snapshot
	pods   []podRecord
	owners map[string]Ref // by UID of a ReplicaSet
}

// Capture reads the cluster. What the user may not list is marked in
// [Snapshot.Lists] and the rest is read; so is a custom or aggregated kind that
// its server cannot list. When the API server cannot be reached, or fails to
// list a kind of its own, at any point, the result is an error: a Snapshot is
// never the part that was read until then. It writes nothing to the cluster.
func Capture(ctx context.Context, clients Clients, opts Options) (*Snapshot, error) {
	if err := clients.check(); err != nil {
		return nil, err
	}
	if opts.PageSize <= 0 {
		opts.PageSize = 500
	}
	if opts.Concurrency <= 0 {
		opts.Concurrency = 4
	}
	c := &capture{clients: clients, opts: opts, owners: map[string]Ref{},
		out: &Snapshot{Format: Format, TakenAt: time.Now().UTC().Truncate(time.Millisecond)}}

	v, err := clients.Kubernetes.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking the API server for its version: %w", err)
	}
	c.out.Servers = []Server{{Version: v.GitVersion}}
	c.askServers(ctx)
	// The cluster's identity, which the hashes are keyed with, so it comes first.
	ns, err := clients.Kubernetes.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	switch {
	case err == nil:
		c.out.ClusterUID = string(ns.UID)
	case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("reading the namespace kube-system: %w", err)
	}
	apis, lists, err := discover(clients.Kubernetes.Discovery())
	if err != nil {
		return nil, err
	}
	c.out.APIs = apis
	lists = slices.DeleteFunc(lists, passes)
	if err := choose(lists, opts); err != nil {
		return nil, err
	}
	if err := c.readAll(ctx, lists); err != nil {
		return nil, err
	}
	c.out.Lists = append(lists, unseen(c.out, lists)...)
	if opts.AskKubelets {
		if err := c.askKubelets(ctx); err != nil {
			return nil, err
		}
	}
	c.settle()
	return c.out, nil
}

// choose marks what the options leave out.
func choose(lists []List, opts Options) error {
	wanted := map[string]bool{}
	for _, k := range opts.Kinds {
		wanted[strings.ToLower(k)] = false
	}
	// A workload's restarts are its Pods', and ReplicaSets lead from one to the
	// other.
	withPods := false
	for i := range lists {
		l := &lists[i]
		if l.Namespaced {
			l.Namespaces = slices.Compact(slices.Sorted(slices.Values(opts.Namespaces)))
		}
		in := len(opts.Kinds) == 0
		for _, name := range []string{l.Resource, l.Kind, l.Resource + "." + l.Group, l.Kind + "." + l.Group} {
			name = strings.ToLower(strings.TrimSuffix(name, "."))
			if _, ok := wanted[name]; ok {
				wanted[name], in = true, true
			}
		}
		switch gr := (schema.GroupResource{Group: l.Group, Resource: l.Resource}); {
		case !in:
			l.State, l.Reason = Excluded, "not among the kinds that were asked for"
		case gr.Resource == "pods" && gr.Group == "", hasPods[gr]:
			withPods = true
		}
	}
	for i := range lists {
		l := &lists[i]
		if withPods && (l.Resource == "pods" && l.Group == "" || l.Resource == "replicasets" && l.Group == "apps") {
			l.State, l.Reason = "", ""
		}
	}
	for _, k := range opts.Kinds {
		if !wanted[strings.ToLower(k)] {
			return fmt.Errorf("no kind %q to capture: the cluster does not serve it, or it is one that comes and goes by itself", k)
		}
	}
	return nil
}

// readAll reads the lists, several at a time.
func (c *capture) readAll(ctx context.Context, lists []List) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.opts.Concurrency)
	var progress sync.Mutex
	done := 0
	// The longest list first.
	order := make([]int, 0, len(lists))
	for i := range lists {
		order = append(order, i)
	}
	order = slices.DeleteFunc(order, func(i int) bool { return lists[i].State == Excluded })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight(lists[a]), weight(lists[b])) })
	for _, i := range order {
		l := &lists[i]
		g.Go(func() error {
			if err := c.readOne(ctx, l); err != nil {
				return fmt.Errorf("listing %s: %w", l.name(), err)
			}
			if c.opts.Progress != nil {
				progress.Lock()
				defer progress.Unlock()
				done++
				c.opts.Progress(done, len(order), *l)
			}
			return nil
		})
	}
	return g.Wait()
}

func weight(l List) int {
	switch l.Resource {
	case "pods":
		return 0
	case "secrets", "configmaps", "replicasets", "jobs":
		return 1
	}
	return 2
}

func (c *capture) readOne(ctx context.Context, l *List) error {
	read, ok := readers[schema.GroupResource{Group: l.Group, Resource: l.Resource}]
	if !ok {
		read = readMetadata
	} else {
		l.Version = readerVersion[l.Group]
	}
	namespaces := l.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for i, ns := range namespaces {
		revision, err := read(ctx, c, l, ns)
		if err != nil {
			return l.fail(err)
		}
		if i == 0 {
			l.Revision = revision
		} else {
			l.Revision = older(l.Revision, revision)
		}
	}
	l.State = Captured
	return nil
}

// fail marks a list that could not be read, or gives the error back when it
// puts the whole snapshot in doubt.
func (l *List) fail(err error) error {
	var status apierrors.APIStatus
	isStatus := errors.As(err, &status) || errors.Is(err, errPaging)
	switch {
	case apierrors.IsForbidden(err):
		l.State = Forbidden
	case isStatus && !builtIn(l.Group):
		// Its own server, its conversion webhook or its CRD is away.
		l.State = Failed
	case isStatus && (apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)):
		l.State = Failed
	default:
		return err
	}
	l.Reason, l.Count = firstLine(err), 0
	return nil
}

// builtIn: the API server itself stores the group.
func builtIn(group string) bool {
	return group == "" || scheme.Scheme.IsGroupRegistered(group) || group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io"
}

func (l List) name() string {
	if l.Group == "" {
		return l.Resource
	}
	return l.Resource + "." + l.Group
}

func (c *capture) pageSize(l *List) int64 {
	if l.Resource == "secrets" || l.Resource == "configmaps" {
		return max(c.opts.PageSize/10, 1)
	}
	return c.opts.PageSize
}

// unseen are kinds that exist and are in no list: those of an API whose server
// is away, and custom ones that discovery had not taken up yet, as just after a
// start of the API server.
func unseen(s *Snapshot, lists []List) []List {
	has := func(group, resource string) bool {
		return slices.ContainsFunc(lists, func(l List) bool { return l.Group == group && (l.Resource == resource || resource == "*") })
	}
	var out []List
	for _, a := range s.APIs {
		gv, err := schema.ParseGroupVersion(a.GroupVersion)
		if a.Unavailable == "" || err != nil {
			continue
		}
		l := List{Group: gv.Group, Version: gv.Version, Resource: "*", Kind: "*", State: Failed, Reason: "the API does not answer: " + a.Unavailable}
		if !passes(l) && !has(gv.Group, "*") {
			out = append(out, l)
		}
	}
	for _, d := range s.CRDs {
		i := slices.IndexFunc(d.Versions, func(v CRDVersion) bool { return v.Served })
		if i < 0 || !d.Established || has(d.ResourceGroup, d.Resource) {
			continue
		}
		l := List{Group: d.ResourceGroup, Version: d.Versions[i].Name, Resource: d.Resource, Kind: d.ResourceKind, State: Failed,
			Reason: "the API server does not list it among what it serves, though its CRD is established"}
		if !passes(l) {
			out = append(out, l)
		}
	}
	return out
}

// settle gives Pods to their workloads and puts everything in order.
func (c *capture) settle() {
	s := c.out
	s.Pods = make([]Pod, 0, len(c.pods))
	jobs := map[string]*Object{}
	at := map[string]int{}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		at[w.UID] = i
		if w.Kind == "Job" {
			jobs[w.UID] = &w.Object
		}
	}
	var bare []Workload
	for i := range c.pods {
		p := &c.pods[i]
		if p.bare != nil {
			bare = append(bare, *p.bare)
			continue
		}
		if o, ok := c.owners[p.Owner.UID]; ok {
			p.Owner = o
		}
		// The Job first, then the CronJob above it: both have restarted.
		for ref := p.Owner; ; {
			if j, ok := at[ref.UID]; ok {
				w := &s.Workloads[j]
				w.Restarts += p.Restarts
				if p.LastRestart.After(w.LastRestart) {
					w.LastRestart = p.LastRestart
				}
			}
			j, ok := jobs[ref.UID]
			if !ok || j.Owner == nil {
				break
			}
			ref = *j.Owner
		}
		s.Pods = append(s.Pods, p.Pod)
	}
	s.Workloads = append(s.Workloads, bare...)
	s.sort()
}

func (s *Snapshot) sort() {
	sortObjects(s.Nodes, func(x *Node) *Object { return &x.Object })
	sortObjects(s.Workloads, func(x *Workload) *Object { return &x.Object })
	sortObjects(s.Claims, func(x *Claim) *Object { return &x.Object })
	sortObjects(s.Volumes, func(x *Volume) *Object { return &x.Object })
	sortObjects(s.Services, func(x *Service) *Object { return &x.Object })
	sortObjects(s.Ingresses, func(x *Ingress) *Object { return &x.Object })
	sortObjects(s.Data, func(x *Data) *Object { return &x.Object })
	sortObjects(s.CRDs, func(x *CRD) *Object { return &x.Object })
	sortObjects(s.HelmCharts, func(x *HelmChart) *Object { return &x.Object })
	sortObjects(s.Addons, func(x *Addon) *Object { return &x.Object })
	sortObjects(s.Autoscalers, func(x *Autoscaler) *Object { return &x.Object })
	sortObjects(s.Webhooks, func(x *Webhook) *Object { return &x.Object })
	sortObjects(s.Others, func(x *Object) *Object { return x })
	slices.SortFunc(s.Pods, func(a, b Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

func sortObjects[T any](list []T, o func(*T) *Object) {
	slices.SortFunc(list, func(x, y T) int {
		a, b := o(&x), o(&y)
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}
