package apiusage

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/k3sladder/k3sladder/internal/columns"
	"github.com/k3sladder/k3sladder/skew"
)

// WhoToAsk is where the caller of a deprecated API is found, for the metric does
// not name it.
// Source: https://kubernetes.io/docs/reference/labels-annotations-taints/audit-annotations/
const WhoToAsk = `The metric names no caller. The API server's audit log does: look for events with the annotation ` +
	`k8s.io/deprecated: "true" (and k8s.io/removed-release) and read their user and userAgent; without an audit log, ` +
	`the objects' managedFields name the manager that wrote through the old version.`

// Usage is what one or more API servers said about deprecated APIs.
type Usage struct {
	// Lines are the sample lines of [Metric], verbatim and in the servers'
	// order; after [Merge] one line for each API.
	Lines []string `json:"lines"`
	// APIs are the same, read; APIs[i] is what Lines[i] says.
	APIs []API `json:"apis"`
	// Servers are those that were asked.
	Servers []Server `json:"servers"`
}

// API is one deprecated API that somebody called.
type API struct {
	// Group is empty for the core group.
	Group       string `json:"group"`
	Version     string `json:"version"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	// RemovedRelease is the server's own word: the minor that serves it no
	// more, such as "1.25", or empty where no release is set.
	RemovedRelease string `json:"removedRelease"`
	// Replacement is what to use instead, from the package's table of
	// removals; empty where the table has none.
	Replacement string `json:"replacement,omitempty"`
	// Servers are the names of those that saw the calls.
	Servers []string `json:"servers,omitempty"`

	removed skew.Minor
	line    string
}

// Server is one API server that was asked.
type Server struct {
	Name string `json:"name"`
	// Started is when its process began, and with it the metric's memory; zero
	// where the stream did not say.
	Started time.Time `json:"started,omitzero"`
	// Lines is how many lines it had.
	Lines int `json:"lines"`
}

// String is the form kubectl uses: "ingresses.v1beta1.networking.k8s.io".
func (a API) String() string {
	s := a.Resource
	if a.Subresource != "" {
		s += "/" + a.Subresource
	}
	s += "." + a.Version
	if a.Group != "" {
		s += "." + a.Group
	}
	return s
}

// GroupVersion is the apiVersion of its objects: "policy/v1beta1", "v1".
func (a API) GroupVersion() string {
	if a.Group == "" {
		return a.Version
	}
	return a.Group + "/" + a.Version
}

// RemovedIn is RemovedRelease as a version; ok is false where none is set.
func (a API) RemovedIn() (m skew.Minor, ok bool) {
	if a.RemovedRelease == "" {
		return skew.Minor{}, false
	}
	if !a.removed.IsZero() {
		return a.removed, true
	}
	m, err := skew.ParseMinor(a.RemovedRelease)
	return m, err == nil
}

// Removed gives the APIs that target serves no more: those with a removed
// release that is not newer, compared as versions (1.9 comes before 1.35).
func (u *Usage) Removed(target skew.Minor) []API {
	var out []API
	for _, a := range u.APIs {
		if m, ok := a.RemovedIn(); ok && m.Compare(target) <= 0 {
			out = append(out, a)
		}
	}
	return out
}

// RemovedBy counts the lines whose API target serves no more.
func (u *Usage) RemovedBy(target skew.Minor) int { return len(u.Removed(target)) }

// WriteLines writes the lines as the server wrote them, then
// "removed_by_target=N" for the target.
func (u *Usage) WriteLines(w io.Writer, target skew.Minor) error {
	var b strings.Builder
	for _, l := range u.Lines {
		b.WriteString(l)
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "removed_by_target=%d\n", u.RemovedBy(target))
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteText writes for a person: each API with its end and its replacement,
// since when the servers count, and who can be asked. Now is when the servers
// gave their answer.
func (u *Usage) WriteText(w io.Writer, target skew.Minor, now time.Time) error {
	var b strings.Builder
	if len(u.APIs) == 0 {
		fmt.Fprintf(&b, "No call of a deprecated API since the server started.\n")
	} else {
		tw := columns.New(&b)
		fmt.Fprintf(tw, "API\tREMOVED IN\tBY %s\tUSE INSTEAD\n", target)
		for _, a := range u.APIs {
			release, gone, instead := "no release set", "stays", "not in the table"
			if m, ok := a.RemovedIn(); ok {
				release = m.String()
				if m.Compare(target) <= 0 {
					gone = "REMOVED"
				}
			}
			if a.Replacement != "" {
				instead = a.Replacement
			}
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", a, release, gone, instead)
		}
		_ = tw.Flush()
	}
	for _, s := range u.Servers {
		fmt.Fprintf(&b, "%s\n", s.Memory(now))
	}
	if len(u.APIs) > 0 {
		fmt.Fprintf(&b, "%s\n", WhoToAsk)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// String says in a line what was called.
func (u *Usage) String() string {
	names := make([]string, len(u.APIs))
	for i, a := range u.APIs {
		names[i] = a.String()
	}
	switch len(names) {
	case 0:
		return "no deprecated API called"
	case 1:
		return "1 deprecated API called: " + names[0]
	}
	return fmt.Sprintf("%d deprecated APIs called: %s", len(names), strings.Join(names, ", "))
}

// Memory says since when the server counts; asked is when it gave its answer.
func (s Server) Memory(asked time.Time) string {
	name := "The server"
	if s.Name != "" {
		name = "Server " + s.Name
	}
	if s.Started.IsZero() {
		return name + " counts from its last start only, and when that was is not known."
	}
	up := asked.Sub(s.Started)
	if up < 0 {
		return fmt.Sprintf("%s counts since its start at %s, which by this clock has not come yet.", name, s.Started.Format(time.RFC3339))
	}
	unit := time.Second
	if up > 24*time.Hour {
		unit = time.Minute
	}
	return fmt.Sprintf("%s counts since its start at %s, %s before this answer; older calls are forgotten.", name, s.Started.Format(time.RFC3339), up.Round(unit))
}

// Merge puts the answers of several API servers together: an API that more than
// one of them saw is there once, with the line of the first and the names of all.
// Where they differ on the removed release (servers of two versions), the
// earlier one stays.
func Merge(usages ...*Usage) *Usage {
	out := &Usage{}
	at := map[string]int{}
	for _, u := range usages {
		if u == nil {
			continue
		}
		out.Servers = append(out.Servers, u.Servers...)
		for i, a := range u.APIs {
			k := a.String()
			j, seen := at[k]
			if !seen {
				at[k] = len(out.APIs)
				a.Servers = slices.Clone(a.Servers)
				out.APIs, out.Lines = append(out.APIs, a), append(out.Lines, u.Lines[i])
				continue
			}
			b := &out.APIs[j]
			m, ok := a.RemovedIn()
			n, had := b.RemovedIn()
			if ok && (!had || m.Compare(n) < 0) {
				a.Servers = append(slices.Clone(b.Servers), a.Servers...)
				*b, out.Lines[j] = a, u.Lines[i]
			} else {
				b.Servers = append(b.Servers, a.Servers...)
			}
		}
	}
	return out
}
