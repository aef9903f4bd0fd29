package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

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

// awaitKinds reads the custom kinds that the API server takes up late, unless
// some kinds were asked for, which were there.
func (c *capture) awaitKinds(ctx context.Context, lists []List) ([]List, error) {
	if len(c.opts.Kinds) > 0 {
		return lists, nil
	}
	const pause = 250 * time.Millisecond
	for deadline := time.Now().Add(c.opts.Settle); ; {
		late := slices.DeleteFunc(unseen(c.out, lists), func(l List) bool { return l.Resource == "*" })
		if len(late) == 0 || !time.Now().Add(pause).Before(deadline) {
			return lists, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		apis, now, err := discover(c.clients.Kubernetes.Discovery())
		if err != nil {
			return nil, err
		}
		now = slices.DeleteFunc(now, func(l List) bool {
			return !slices.ContainsFunc(late, func(m List) bool { return m.Group == l.Group && m.Resource == l.Resource })
		})
		if len(now) == 0 {
			continue
		}
		if err := choose(now, c.opts); err != nil {
			return nil, err
		}
		if err := c.readAll(ctx, now); err != nil {
			return nil, err
		}
		c.out.APIs, lists = apis, append(lists, now...)
	}
}
