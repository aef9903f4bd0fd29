package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	// Settle is how long to wait for custom kinds that are defined and not
	// served yet, as just after a start of the API server; zero means 10
	// seconds, a negative value not to wait. What does not come is [Failed].
	Settle time.Duration
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
	if opts.Settle == 0 {
		opts.Settle = 10 * time.Second
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
	if lists, err = c.awaitKinds(ctx, lists); err != nil {
		return nil, err
	}
	c.out.Lists = append(lists, unseen(c.out, lists)...)
	if opts.AskKubelets {
		if err := c.askKubelets(ctx); err != nil {
			return nil, err
		}
	}
	again, err := clients.Kubernetes.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking the API server for its version again: %w", err)
	}
	if again.GitVersion != v.GitVersion {
		return nil, fmt.Errorf("the API server was replaced during the capture: it was %s and is %s; capture again", v.GitVersion, again.GitVersion)
	}
	c.settle()
	return c.out, nil
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

func (c *capture) pageSize(l *List) int64 {
	if l.Resource == "secrets" || l.Resource == "configmaps" {
		return max(c.opts.PageSize/10, 1)
	}
	return c.opts.PageSize
}
