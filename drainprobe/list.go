package drainprobe

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pageSize is how many objects one list request brings.
const pageSize = 500

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
