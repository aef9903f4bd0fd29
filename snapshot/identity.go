package snapshot

import (
	"fmt"
	"slices"
	"time"
)

// String says in a line what it is a snapshot of.
func (s *Snapshot) String() string {
	text := fmt.Sprintf("%s, %s, %s, cluster %s, taken at %s", orWord(s.ServerVersion(), "unknown version"), plural(len(s.Nodes), "node", "nodes"),
		plural(s.Objects(), "object", "objects"), orWord(s.ClusterUID, "unknown"), s.TakenAt.Format(time.RFC3339))
	if n := len(s.NotCaptured()); n > 0 {
		text += ", " + plural(n, "kind", "kinds") + " not captured"
	}
	return text
}

// ServerVersion is the version of the API server that was asked, such as
// "v1.34.4+k3s1".
func (s *Snapshot) ServerVersion() string {
	for _, x := range s.Servers {
		if x.Version != "" {
			return x.Version
		}
	}
	return ""
}

// Node finds a node by its name.
func (s *Snapshot) Node(name string) (*Node, bool) {
	return find(s.Nodes, func(n *Node) bool { return n.Name == name })
}

// Workload finds a workload: Workload("Deployment", "default", "web").
func (s *Snapshot) Workload(kind, namespace, name string) (*Workload, bool) {
	return find(s.Workloads, func(w *Workload) bool {
		return w.Name == name && w.Namespace == namespace && w.Kind == kind
	})
}

// List finds what became of a resource, such as List("apps", "deployments"). A
// resource that the cluster does not serve has none.
func (s *Snapshot) List(group, resource string) (*List, bool) {
	return find(s.Lists, func(l *List) bool { return l.Resource == resource && l.Group == group })
}

// Deployed says whether a packaged add-on such as "traefik" is deployed: a
// HelmChart, an Addon or a Deployment of that name in kube-system. It is an
// error when it is not seen and one of these kinds was not captured.
func (s *Snapshot) Deployed(addon string) (bool, error) {
	const ns = "kube-system"
	if _, ok := s.Workload("Deployment", ns, addon); ok {
		return true, nil
	}
	if _, ok := find(s.HelmCharts, func(h *HelmChart) bool { return h.Name == addon && h.Namespace == ns }); ok {
		return true, nil
	}
	if _, ok := find(s.Addons, func(a *Addon) bool { return a.Name == addon && a.Namespace == ns }); ok {
		return true, nil
	}
	for _, r := range [][2]string{{"apps", "deployments"}, {"helm.cattle.io", "helmcharts"}, {"k3s.cattle.io", "addons"}} {
		l, served := s.List(r[0], r[1])
		switch {
		case !served && r[0] != "apps": // the cluster has no such kind
		case !served:
			return false, fmt.Errorf("cannot tell whether %s is deployed: no list of %s was captured", addon, r[1])
		case l.State != Captured:
			return false, fmt.Errorf("cannot tell whether %s is deployed: %s are not captured (%s)", addon, r[1], l.Reason)
		case len(l.Namespaces) > 0 && !slices.Contains(l.Namespaces, ns):
			return false, fmt.Errorf("cannot tell whether %s is deployed: %s were captured without namespace %s", addon, r[1], ns)
		}
	}
	return false, nil
}

// Objects counts the captured objects, Pods of workloads among them.
func (s *Snapshot) Objects() int {
	return len(s.Nodes) + len(s.Workloads) + len(s.Pods) + len(s.Claims) + len(s.Volumes) + len(s.Services) +
		len(s.Ingresses) + len(s.Data) + len(s.CRDs) + len(s.HelmCharts) + len(s.Addons) + len(s.Webhooks) + len(s.Autoscalers) + len(s.Others)
}

// NotCaptured are the lists that the snapshot lacks.
func (s *Snapshot) NotCaptured() []List {
	var out []List
	for _, l := range s.Lists {
		if l.State != Captured {
			out = append(out, l)
		}
	}
	return out
}

func find[T any](list []T, match func(*T) bool) (*T, bool) {
	for i := range list {
		if match(&list[i]) {
			return &list[i], true
		}
	}
	return nil, false
}
