package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/k3sladder/k3sladder/skew"
)

// world is what the comparison works on.
type world struct {
	before, after *Snapshot
	kinds         map[string]bool
	namespaces    map[string]bool

	a, b index // before, after
	// keep: judged, and captured on both sides.
	keep   func(*Object) bool
	uids   [2]map[string]bool // of objects and Pods before and after, once they are asked for
	moved  bool               // the server's version did
	backed bool               // the datastore's revision went back

	served map[[2]string]bool // group and kind, before
	helm   map[string]bool    // releases after, once they were asked for

	found    []Difference
	nameless []Gap    // objects without UID
	notes    []string // for the reasons
	same     int
}

func newWorld(before, after *Snapshot, opts CompareOptions) *world {
	w := &world{before: before, after: after, kinds: map[string]bool{}, namespaces: map[string]bool{}}
	for _, k := range opts.Kinds {
		w.kinds[strings.ToLower(k)] = true
	}
	for _, n := range opts.Namespaces {
		w.namespaces[n] = true
	}
	return w
}

// notComparable is what stands in the way before anything is looked at.
func (w *world) notComparable() string {
	for _, s := range []struct {
		side string
		*Snapshot
	}{{"before", w.before}, {"after", w.after}} {
		switch {
		case s.Format != Format:
			return fmt.Sprintf("the snapshot %s has format %q, not %q", s.side, s.Format, Format)
		case s.ClusterUID == "":
			return fmt.Sprintf("the snapshot %s has no cluster identity: the namespace kube-system could not be read", s.side)
		case s.ServerVersion() == "":
			return fmt.Sprintf("the snapshot %s has no server version", s.side)
		case len(s.Lists) == 0:
			return fmt.Sprintf("the snapshot %s does not say what was captured", s.side)
		}
	}
	if w.after.TakenAt.Before(w.before.TakenAt) {
		return fmt.Sprintf("the snapshot after is from %s, the one before from %s: they are swapped, or a clock is wrong",
			w.after.TakenAt.Format("2006-01-02 15:04:05Z07:00"), w.before.TakenAt.Format("2006-01-02 15:04:05Z07:00"))
	}
	return ""
}

// judged reports whether the options want a kind.
func (w *world) judged(group, kind, resource string) bool {
	if len(w.kinds) == 0 {
		return true
	}
	for _, name := range []string{kind, resource, kind + "." + group, resource + "." + group} {
		if w.kinds[strings.ToLower(strings.TrimSuffix(name, "."))] {
			return true
		}
	}
	return false
}

// match indexes what both sides captured. A kind that one side lacks though the
// cluster serves it is a gap, and its objects are not held against it.
func (w *world) match() {
	drop := map[[2]string]bool{}
	resources := map[[2]string]string{}
	for _, s := range []*Snapshot{w.before, w.after} {
		for _, l := range s.Lists {
			resources[[2]string{l.Group, l.Kind}] = l.Resource
			if l.State != Captured {
				drop[[2]string{l.Group, l.Kind}] = true
			}
		}
	}
	w.served = map[[2]string]bool{}
	for _, l := range w.before.Lists {
		w.served[[2]string{l.Group, l.Kind}] = true
	}
	w.keep = func(o *Object) bool {
		k := [2]string{o.Group, o.Kind}
		// "*" is a group whose server is away, with whatever kinds it has.
		return !drop[k] && !drop[[2]string{o.Group, "*"}] && w.judged(o.Group, o.Kind, resources[k]) &&
			(o.Namespace == "" || len(w.namespaces) == 0 || w.namespaces[o.Namespace])
	}
	w.a, w.b = w.before.index(w.keep), w.after.index(w.keep)
}

// had and has: an object or a Pod of this UID was there before, is there after.
func (w *world) had(uid string) bool { return w.known(0, w.before)[uid] }
func (w *world) has(uid string) bool { return w.known(1, w.after)[uid] }

func (w *world) known(side int, s *Snapshot) map[string]bool {
	if w.uids[side] == nil {
		m := make(map[string]bool, s.Objects())
		for it := range s.index(nil).all() {
			m[it.UID] = true
		}
		for i := range s.Pods {
			m[s.Pods[i].UID] = true
		}
		w.uids[side] = m
	}
	return w.uids[side]
}

// everywhere are the kinds that no cluster is without: a snapshot that does not
// name them was cut, or is of something else.
var everywhere = []List{
	{Resource: "nodes", Kind: "Node"}, {Resource: "namespaces", Kind: "Namespace"}, {Resource: "pods", Kind: "Pod"},
	{Resource: "services", Kind: "Service"}, {Resource: "secrets", Kind: "Secret"}, {Resource: "configmaps", Kind: "ConfigMap"},
	{Resource: "persistentvolumes", Kind: "PersistentVolume"}, {Resource: "persistentvolumeclaims", Kind: "PersistentVolumeClaim"},
	{Group: "apps", Resource: "deployments", Kind: "Deployment"}, {Group: "apps", Resource: "statefulsets", Kind: "StatefulSet"},
	{Group: "apps", Resource: "daemonsets", Kind: "DaemonSet"},
	{Group: "batch", Resource: "jobs", Kind: "Job"}, {Group: "batch", Resource: "cronjobs", Kind: "CronJob"},
}

// gaps are the lists that a side lacks: the reasons for which nobody can say
// "same".
func (w *world) gaps() []Gap {
	out := []Gap{}
	for _, s := range []struct {
		side  string
		lists []List
	}{{"before", w.before.Lists}, {"after", w.after.Lists}} {
		for _, l := range s.lists {
			if !w.judged(l.Group, l.Kind, l.Resource) {
				continue
			}
			g := Gap{Resource: l.name(), Side: s.side, State: l.State, Reason: l.Reason}
			switch {
			case l.State != Captured:
			case len(l.Namespaces) == 0:
				continue
			case len(w.namespaces) > 0 && !slices.ContainsFunc(sortedKeys(w.namespaces), func(n string) bool { return !slices.Contains(l.Namespaces, n) }):
				continue
			default:
				g.State, g.Reason = Excluded, "only the namespaces "+strings.Join(l.Namespaces, ", ")
			}
			out = append(out, g)
		}
		for _, l := range everywhere {
			if w.judged(l.Group, l.Kind, l.Resource) && !slices.ContainsFunc(s.lists, func(m List) bool { return m.Group == l.Group && m.Resource == l.Resource }) {
				out = append(out, Gap{Resource: l.name(), Side: s.side, State: Failed, Reason: "the snapshot does not name it"})
			}
		}
	}
	out = append(out, w.nameless...)
	slices.SortStableFunc(out, func(a, b Gap) int {
		return cmp.Or(strings.Compare(a.Resource, b.Resource), strings.Compare(b.Side, a.Side))
	})
	return out
}

// unnamed notes an object without the UID that would tell whether it is the same
// one. Aggregated APIs may serve such objects; the API server's own kinds never
// do.
func (w *world) unnamed(side string, o *Object) {
	if o.UID != "" || !builtIn(o.Group) {
		return
	}
	name := List{Group: o.Group, Resource: o.Kind}.name()
	if slices.ContainsFunc(w.nameless, func(g Gap) bool { return g.Side == side && g.Resource == name }) {
		return
	}
	w.nameless = append(w.nameless, Gap{Resource: name, Side: side, State: Failed, Reason: path(o) + " has no UID"})
}

func sortedKeys(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// restored looks for a datastore whose revision went back. Revisions of the
// built-in kinds only grow, with every write
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions).
func (w *world) restored() {
	top := func(s *Snapshot) uint64 {
		var n uint64
		for _, l := range s.Lists {
			if v, err := strconv.ParseUint(l.Revision, 10, 64); err == nil && builtIn(l.Group) && l.State == Captured {
				n = max(n, v)
			}
		}
		return n
	}
	a, b := top(w.before), top(w.after)
	if a == 0 || b == 0 || b >= a {
		return
	}
	w.backed = true
	w.found = append(w.found, Difference{What: Restored, Kind: "Datastore", Name: "revision", Field: "revision",
		Before: strconv.FormatUint(a, 10), After: strconv.FormatUint(b, 10),
		Detail: "it was restored from a backup, or moved to another datastore; what was written in between is lost"})
}

// versions judges the server's step and each kubelet against the policy.
func (w *world) versions(s *Step) {
	if s.Illegal != "" {
		w.found = append(w.found, Difference{What: NotAStep, Kind: "API server", Name: "version",
			Before: s.From, After: s.To, Detail: s.Illegal})
	}
	server, err := skew.Parse(s.To)
	if err != nil {
		return
	}
	for i := range w.after.Nodes {
		n := &w.after.Nodes[i]
		if v, err := skew.Parse(n.Kubelet); err == nil {
			if err := skew.Check(skew.Kubelet, v, server); err != nil {
				w.found = append(w.found, Difference{What: BrokenSkew, Kind: "Node", Name: n.Name, Detail: err.Error()})
			}
		}
	}
}
