package apiusage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"github.com/k3sladder/k3sladder/internal/columns"
	"github.com/k3sladder/k3sladder/skew"
)

// How says what ties an object to a removed version.
type How string

const (
	// OnlyThere: no version that stays serves the object; it is out of reach
	// once the version is gone, and must be moved or deleted before.
	OnlyThere How = "only-there"
	// WrittenThrough: a manager wrote it through the version, and will fail the
	// next time. The object itself stays.
	WrittenThrough How = "written-through"
	// AppliedFrom: it was applied with kubectl from a manifest in the version,
	// which will be refused the next time.
	AppliedFrom How = "applied-from"
)

// Object is one object tied to a version that the target removes.
type Object struct {
	// GroupVersion is the removed one.
	GroupVersion string     `json:"groupVersion"`
	Removed      skew.Minor `json:"removed"`
	Replacement  string     `json:"replacement,omitempty"`
	Resource     string     `json:"resource"`
	Namespace    string     `json:"namespace,omitempty"`
	Name         string     `json:"name"`
	How          How        `json:"how"`
	// Manager is who wrote it, by its own name for itself, and At when.
	Manager string    `json:"manager,omitempty"`
	At      time.Time `json:"at,omitzero"`
}

// Object names it: "ingresses default/web".
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Resource + " " + o.Name
	}
	return o.Resource + " " + o.Namespace + "/" + o.Name
}

// Found is what [FindObjects] found.
type Found struct {
	Objects []Object `json:"objects"`
	// NotRead are the resources that could not be listed, with the reason.
	NotRead []string `json:"notRead"`
}

// Any reports whether there is something to do; without, NotRead says what that
// leaves open.
func (f *Found) Any() bool { return f != nil && len(f.Objects) > 0 }

// passing are resources whose objects come and go by themselves.
var passing = map[string]bool{"events": true, "endpointslices": true, "leases": true, "csistoragecapacities": true, "volumeattachments": true, "csinodes": true,
	"certificatesigningrequests": true}

// FindObjects looks for what the metric cannot know: objects that lie in the
// cluster under a version that the target removes, or were last written through
// one, also if that was before the API server started. It reads the metadata of
// the resources in the table of [Removals] and writes nothing. A resource that
// may not be listed is named in NotRead.
func FindObjects(ctx context.Context, d discovery.DiscoveryInterface, m metadata.Interface, target skew.Minor) (*Found, error) {
	if d == nil || m == nil {
		return nil, errors.New("looking for objects needs a discovery and a metadata client")
	}
	served, err := servedVersions(d)
	if err != nil {
		return nil, err
	}
	// By resource: the versions that go, and the table's row for each.
	going := map[schema.GroupResource]map[string]Removal{}
	add := func(gr schema.GroupResource, r Removal) {
		if _, ok := served[gr]; !ok || strings.Contains(gr.Resource, "/") || passing[gr.Resource] {
			return
		}
		if going[gr] == nil {
			going[gr] = map[string]Removal{}
		}
		going[gr][r.GroupVersion()] = r
	}
	for _, r := range table() {
		if r.Removed.IsZero() || r.Removed.Compare(target) > 0 {
			continue
		}
		if r.Resource == "*" {
			for gr := range served {
				if gr.Group == r.Group {
					add(gr, r)
				}
			}
			continue
		}
		add(schema.GroupResource{Group: r.Group, Resource: r.Resource}, r)
		// Its objects may live in another group today: extensions' Ingresses do.
		if gv, err := schema.ParseGroupVersion(r.Replacement); err == nil && gv.Group != r.Group {
			add(schema.GroupResource{Group: gv.Group, Resource: r.Resource}, r)
		}
	}
	f := &Found{Objects: []Object{}, NotRead: []string{}}
	for _, gr := range sortedResources(going) {
		if err := f.read(ctx, m, gr, served[gr], going[gr]); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func servedVersions(d discovery.DiscoveryInterface) (map[schema.GroupResource][]string, error) {
	_, lists, err := d.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("asking what the API server serves: %w", err)
	}
	served := map[schema.GroupResource][]string{}
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range l.APIResources {
			if slices.Contains(r.Verbs, "list") {
				gr := gv.WithResource(r.Name).GroupResource()
				served[gr] = append(served[gr], gv.Version)
			}
		}
	}
	return served, nil
}

// read lists one resource in a version that stays, or else in one that goes.
func (f *Found) read(ctx context.Context, m metadata.Interface, gr schema.GroupResource, versions []string, going map[string]Removal) error {
	version, only := "", Removal{}
	for _, v := range versions {
		if r, goes := going[(schema.GroupVersion{Group: gr.Group, Version: v}).String()]; goes {
			only = r
			if version == "" {
				version = v
			}
			continue
		}
		version, only = v, Removal{}
		break
	}
	opts := metav1.ListOptions{Limit: 500}
	start := len(f.Objects)
	for tries := 0; ; {
		l, err := m.Resource(gr.WithVersion(version)).List(ctx, opts)
		switch {
		case apierrors.IsResourceExpired(err) && tries < 3:
			tries++
			f.Objects, opts.Continue = f.Objects[:start], ""
			continue
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
			f.NotRead = append(f.NotRead, gr.String()+": "+err.Error())
			return nil
		case err != nil:
			return fmt.Errorf("listing %s: %w", gr, err)
		}
		for i := range l.Items {
			f.judge(&l.Items[i], gr, only, going)
		}
		if opts.Continue = l.Continue; opts.Continue == "" {
			return nil
		}
	}
}

func (f *Found) judge(o *metav1.PartialObjectMetadata, gr schema.GroupResource, only Removal, going map[string]Removal) {
	add := func(r Removal, how How, manager string, at time.Time) {
		f.Objects = append(f.Objects, Object{GroupVersion: r.GroupVersion(), Removed: r.Removed, Replacement: r.Replacement, Resource: gr.Resource,
			Namespace: o.Namespace, Name: o.Name, How: how, Manager: manager, At: at})
	}
	if only.Version != "" {
		add(only, OnlyThere, "", time.Time{})
		return
	}
	seen := map[string]bool{}
	for _, e := range o.ManagedFields {
		r, ok := going[e.APIVersion]
		if !ok || seen[e.APIVersion+e.Manager] {
			continue
		}
		seen[e.APIVersion+e.Manager] = true
		var at time.Time
		if e.Time != nil {
			at = e.Time.UTC()
		}
		add(r, WrittenThrough, e.Manager, at)
	}
	var applied struct {
		APIVersion string `json:"apiVersion"`
	}
	if text := o.Annotations["kubectl.kubernetes.io/last-applied-configuration"]; text != "" && json.Unmarshal([]byte(text), &applied) == nil {
		if r, ok := going[applied.APIVersion]; ok {
			add(r, AppliedFrom, "kubectl", time.Time{})
		}
	}
}

func sortedResources[T any](m map[schema.GroupResource]T) []schema.GroupResource {
	out := make([]schema.GroupResource, 0, len(m))
	for gr := range m {
		out = append(out, gr)
	}
	slices.SortFunc(out, func(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// WriteText writes the objects as a table, with what could not be read.
func (f *Found) WriteText(w io.Writer, target skew.Minor) error {
	var b strings.Builder
	if len(f.Objects) == 0 && len(f.NotRead) > 0 {
		fmt.Fprintf(&b, "Of what could be read, no object is tied to a version that %s removes.\n", target)
	} else if len(f.Objects) == 0 {
		fmt.Fprintf(&b, "No object is tied to a version that %s removes.\n", target)
	} else {
		t := columns.New(&b)
		fmt.Fprintf(t, "OBJECT\tVERSION\tREMOVED IN\tHOW\tMANAGER\tUSE INSTEAD\n")
		for _, o := range f.Objects {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", o, o.GroupVersion, o.Removed, o.How, dash(o.Manager), dash(o.Replacement))
		}
		_ = t.Flush()
	}
	for _, n := range f.NotRead {
		fmt.Fprintf(&b, "not read: %s\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
