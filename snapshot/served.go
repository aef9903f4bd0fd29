package snapshot

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// noMoreServed are the kinds that the cluster after serves in no version.
func (w *world) noMoreServed() map[[2]string]bool {
	out := map[[2]string]bool{}
	for _, l := range w.before.Lists {
		if !slices.ContainsFunc(w.after.Lists, func(m List) bool { return m.Group == l.Group && m.Kind == l.Kind }) {
			out[[2]string{l.Group, l.Kind}] = true
		}
	}
	return out
}

// apis compares the group-versions served, and names the objects that used one
// that is gone: those that are served in no other version, and those that a
// manager wrote through it.
func (w *world) apis() {
	after := map[string]API{}
	served := map[schema.GroupResource]bool{}
	for _, a := range w.after.APIs {
		after[a.GroupVersion] = a
		gv, _ := schema.ParseGroupVersion(a.GroupVersion)
		for _, r := range a.Resources {
			served[gv.WithResource(r).GroupResource()] = true
		}
	}
	users := w.users()
	kinds := map[schema.GroupResource]string{}
	for _, l := range w.before.Lists {
		kinds[schema.GroupResource{Group: l.Group, Resource: l.Resource}] = l.Kind
	}
	for _, a := range w.before.APIs {
		b, ok := after[a.GroupVersion]
		gv, _ := schema.ParseGroupVersion(a.GroupVersion)
		d := Difference{What: Gone, Group: gv.Group, Kind: "API", Name: a.GroupVersion}
		if ok {
			if a.Unavailable == "" && b.Unavailable != "" {
				d.What, d.Loss, d.Detail = Unwell, true, "it does not answer any more: "+b.Unavailable
				w.found = append(w.found, d)
			}
			continue
		}
		var lost []string
		for _, r := range a.Resources {
			gr := schema.GroupResource{Group: gv.Group, Resource: r}
			if served[gr] || kinds[gr] == "" {
				continue
			}
			for it := range w.a.all() {
				if it.Group == gr.Group && it.Kind == kinds[gr] {
					lost = append(lost, it.Kind+" "+path(it.Object))
				}
			}
		}
		slices.Sort(lost)
		writers := users[a.GroupVersion]
		switch {
		case len(lost) > 0:
			d.Loss, d.Detail = true, "no other version serves "+sample(lost)
		case len(writers) > 0:
			d.Detail = "somebody wrote through it to " + sample(writers)
		case w.moved:
			d.Expected = "no longer served by the new version, and nothing captured used it"
		default:
			d.Detail = "nothing captured used it"
		}
		w.found = append(w.found, d)
	}
}

// users are the objects that were written through another version than the one
// they are read in, by that version.
func (w *world) users() map[string][]string {
	out := map[string][]string{}
	for it := range w.a.all() {
		for _, v := range it.WrittenAs {
			out[v] = append(out[v], it.Kind+" "+path(it.Object))
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

func path(o *Object) string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// sample names a few of many.
func sample(list []string) string {
	const few = 5
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
}
