package snapshot

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// key names an object on either side.
type key struct{ group, kind, namespace, name string }

func (k key) compare(o *Object) int {
	return cmp.Or(strings.Compare(k.group, o.Group), strings.Compare(k.kind, o.Kind),
		strings.Compare(k.namespace, o.Namespace), strings.Compare(k.name, o.Name))
}

func byKey(a, b item) int {
	return key{a.Group, a.Kind, a.Namespace, a.Name}.compare(b.Object)
}

// item is an object with the rest of what is known about it.
type item struct {
	*Object
	body any
}

// index is one side's objects, by kind of record and sorted within, so that two
// sides are compared by walking along both.
type index [][]item

// index gives the objects that keep wants; nil means all. The snapshot's own
// lists may be in any order and stay in it.
func (s *Snapshot) index(keep func(*Object) bool) index {
	return index{
		items(s.Nodes, keep, func(x *Node) *Object { return &x.Object }),
		items(s.Workloads, keep, func(x *Workload) *Object { return &x.Object }),
		items(s.Claims, keep, func(x *Claim) *Object { return &x.Object }),
		items(s.Volumes, keep, func(x *Volume) *Object { return &x.Object }),
		items(s.Services, keep, func(x *Service) *Object { return &x.Object }),
		items(s.Ingresses, keep, func(x *Ingress) *Object { return &x.Object }),
		items(s.Data, keep, func(x *Data) *Object { return &x.Object }),
		items(s.CRDs, keep, func(x *CRD) *Object { return &x.Object }),
		items(s.HelmCharts, keep, func(x *HelmChart) *Object { return &x.Object }),
		items(s.Addons, keep, func(x *Addon) *Object { return &x.Object }),
		items(s.Autoscalers, keep, func(x *Autoscaler) *Object { return &x.Object }),
		items(s.Webhooks, keep, func(x *Webhook) *Object { return &x.Object }),
		items(s.Others, keep, func(x *Object) *Object { return x }),
	}
}

func items[T any](list []T, keep func(*Object) bool, object func(*T) *Object) []item {
	out := make([]item, 0, len(list))
	for i := range list {
		if o := object(&list[i]); keep == nil || keep(o) {
			out = append(out, item{o, &list[i]})
		}
	}
	if !slices.IsSortedFunc(out, byKey) {
		slices.SortStableFunc(out, byKey)
	}
	return out
}

// all gives every object.
func (x index) all() iter.Seq[item] {
	return func(yield func(item) bool) {
		for _, list := range x {
			for _, it := range list {
				if !yield(it) {
					return
				}
			}
		}
	}
}

// find looks one object up.
func (x index) find(k key) (item, bool) {
	for _, list := range x {
		i, ok := slices.BinarySearchFunc(list, k, func(it item, k key) int { return -k.compare(it.Object) })
		if ok {
			return list[i], true
		}
	}
	return item{}, false
}

// has reports whether an object is there.
func (x index) has(k key) bool {
	_, ok := x.find(k)
	return ok
}

// pairs walks along both sides: each object of either comes once, with its
// counterpart of the same name or an empty item.
func pairs(a, b index) iter.Seq2[item, item] {
	return func(yield func(item, item) bool) {
		for n := range a {
			x, y := a[n], b[n]
			for len(x) > 0 || len(y) > 0 {
				var c int
				switch {
				case len(x) == 0:
					c = 1
				case len(y) == 0:
					c = -1
				default:
					c = byKey(x[0], y[0])
				}
				var l, r item
				if c <= 0 {
					l, x = x[0], x[1:]
				}
				if c >= 0 {
					r, y = y[0], y[1:]
				}
				if !yield(l, r) {
					return
				}
			}
		}
	}
}
