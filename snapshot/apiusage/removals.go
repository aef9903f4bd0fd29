package apiusage

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/k3sladder/k3sladder/skew"
)

//go:embed removals.tsv
var removalsTSV string

// Removal is an API version that Kubernetes deprecated, and mostly a release
// that serves it no more.
type Removal struct {
	// Group is empty for the core group.
	Group   string `json:"group"`
	Version string `json:"version"`
	// Resource is the plural ("ingresses", "pods/eviction"), or "*" for every
	// resource of the group and version.
	Resource string `json:"resource"`
	// Deprecated and Removed are zero where no release is known. Releases that
	// are not out yet are announced and can move.
	Deprecated skew.Minor `json:"deprecated,omitzero"`
	Removed    skew.Minor `json:"removed,omitzero"`
	// Replacement is the apiVersion to use instead, with the resource where it
	// has another name; empty where nothing was told, "none..." where there is
	// none.
	Replacement string `json:"replacement,omitempty"`
}

// GroupVersion is the apiVersion of its objects.
func (r Removal) GroupVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

// Removals is the table, from Kubernetes' API lifecycle declarations, its
// deprecation guide and its release notes (sources in removals.tsv), in the
// order of their end. The caller may keep it.
func Removals() []Removal { return slices.Clone(table()) }

var table = sync.OnceValue(func() []Removal {
	t, err := parseTable(removalsTSV)
	if err != nil {
		panic("apiusage: removals.tsv: " + err.Error()) // built in, and read by a test
	}
	return t
})

func parseTable(text string) ([]Removal, error) {
	var out []Removal
	for n, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 6 {
			return nil, fmt.Errorf("line %d has %d fields, not 6", n+1, len(f))
		}
		for i := range f {
			if f[i] == "-" {
				f[i] = ""
			}
		}
		r := Removal{Group: strings.TrimPrefix(f[0], "core"), Version: f[1], Resource: f[2], Replacement: f[5]}
		for i, m := range []*skew.Minor{&r.Deprecated, &r.Removed} {
			if s := f[3+i]; s != "" {
				if err := m.UnmarshalText([]byte(s)); err != nil {
					return nil, fmt.Errorf("line %d: %w", n+1, err)
				}
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// Lookup finds what is known about a group, version and resource. The resource
// may have a subresource ("pods/eviction").
func Lookup(group, version, resource string) (Removal, bool) {
	for _, r := range table() {
		if r.Group == group && r.Version == version && (r.Resource == resource || r.Resource == "*") {
			return r, true
		}
	}
	return Removal{}, false
}

// lookUp fills in what the table knows.
func (a *API) lookUp() {
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	r, ok := Lookup(a.Group, a.Version, resource)
	if !ok {
		r, _ = Lookup(a.Group, a.Version, a.Resource)
	}
	a.Replacement = r.Replacement
}
