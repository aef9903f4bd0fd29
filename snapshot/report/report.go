package report

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/snapshot"
	"github.com/k3sladder/k3sladder/snapshot/apiusage"
)

// Report is one procedure. Every field but Comparison may be empty.
type Report struct {
	// Title is the page's; empty means "k3s cluster upgrade".
	Title string `json:"title"`
	// Generated is when the report was made, and Tool what made it: the
	// caller's to set, at the foot of the page and of the Markdown.
	Generated time.Time `json:"generated"`
	Tool      string    `json:"tool,omitempty"`
	// Notes are said at the head of the page, such as what was simulated.
	Notes []string `json:"notes,omitempty"`

	Comparison *snapshot.Comparison `json:"comparison"`
	Versions   []Version            `json:"versions,omitempty"`
	Identities []Identity           `json:"identities,omitempty"`

	Ladder     Ladder      `json:"ladder"`
	Steps      []Step      `json:"steps,omitempty"`
	Deprecated *Deprecated `json:"deprecated,omitempty"`
	Backup     *Backup     `json:"backup,omitempty"`
	Drain      *Drain      `json:"drain,omitempty"`
	Upgrade    *Upgrade    `json:"upgrade,omitempty"`
	// GivenUp is what the procedure did without, in sentences.
	GivenUp []string `json:"givenUp,omitempty"`
	Plan    *Plan    `json:"plan,omitempty"`
}

// RungState says where the cluster is to a rung.
type RungState string

const (
	// Climbed: the cluster was there.
	Climbed RungState = "climbed"
	// Here: the cluster is there.
	Here RungState = "here"
	// Next: the one to climb next.
	Next RungState = "next"
	// Ahead: further up.
	Ahead RungState = "ahead"
)

// Ladder is the way up, the lowest rung first.
type Ladder struct {
	Rungs []Rung `json:"rungs,omitempty"`
	// Channel names a release channel, ChannelVersion where it points, and
	// ChannelJump how many minors that is from where the procedure began.
	Channel        string `json:"channel,omitempty"`
	ChannelVersion string `json:"channelVersion,omitempty"`
	ChannelJump    int    `json:"channelJump,omitempty"`
}

// Rung is one version on the ladder.
type Rung struct {
	Version string    `json:"version"`
	State   RungState `json:"state"`
	Note    string    `json:"note,omitempty"`
}

// Version is one component before and after.
type Version struct {
	Component string `json:"component"`
	Before    string `json:"before"`
	After     string `json:"after"`
}

// Identity is one object before and after.
type Identity struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Before    string `json:"before"`
	After     string `json:"after"`
	// Ready is "2/2" for a workload, "Ready" for a node.
	Ready string `json:"ready,omitempty"`
	// Restarts are those between the snapshots, LastRestart when the last one
	// was that is known.
	Restarts    int       `json:"restarts"`
	LastRestart time.Time `json:"lastRestart,omitzero"`
	// Pods is "2 kept", "2 new", for a workload.
	Pods string `json:"pods,omitempty"`
}

// Same reports whether the object is the one it was.
func (i Identity) Same() bool { return i.Before != "" && i.Before == i.After }

// Word says it in a word: same, new, gone, recreated.
func (i Identity) Word() string {
	switch {
	case i.Same():
		return "same"
	case i.Before == "":
		return "new"
	case i.After == "":
		return "gone"
	}
	return "recreated"
}

// Step is one step of the procedure.
type Step struct {
	Name string        `json:"name"`
	Took time.Duration `json:"tookNanoseconds"`
	Note string        `json:"note,omitempty"`
}

// Deprecated is what the API servers said about deprecated APIs.
type Deprecated struct {
	Target skew.Minor      `json:"target"`
	Usage  *apiusage.Usage `json:"usage"`
	// AskedAt is when the servers gave Usage; zero: when the report was made.
	AskedAt time.Time `json:"askedAt,omitzero"`
	// Found are objects tied to versions that the target removes, where they
	// were looked for.
	Found *apiusage.Found `json:"found,omitempty"`
}

// made is the foot of a page.
func (r *Report) made() string {
	parts := []string{r.Tool, when(r.Generated)}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// asked is when the servers that counted gave their answer.
func (r *Report) asked() time.Time {
	if d := r.deprecated(); d != nil && !d.AskedAt.IsZero() {
		return d.AskedAt
	}
	if r.Generated.IsZero() && r.Comparison != nil {
		return r.Comparison.After.TakenAt
	}
	return r.Generated
}

// deprecated is the part on deprecated APIs, where there is one.
func (r *Report) deprecated() *Deprecated {
	if r.Deprecated == nil || r.Deprecated.Usage == nil {
		return nil
	}
	return r.Deprecated
}

// Removed are the APIs that the target takes away.
func (d *Deprecated) Removed() []apiusage.API {
	if d.Usage == nil {
		return nil
	}
	return d.Usage.Removed(d.Target)
}

// Gone reports whether the target takes one API away.
func (d *Deprecated) Gone(a apiusage.API) bool {
	m, ok := a.RemovedIn()
	return ok && m.Compare(d.Target) <= 0
}

// Backup is the copy that the way back needs.
type Backup struct {
	Path string `json:"path"`
	// Bytes is the size of the datastore's copy.
	Bytes int64 `json:"bytes"`
	// SHA256 is of the copy, TokenSHA256 of the token file's bytes, in hex.
	SHA256      string        `json:"sha256,omitempty"`
	TokenSHA256 string        `json:"tokenSHA256,omitempty"`
	Version     string        `json:"version,omitempty"`
	TakenAt     time.Time     `json:"takenAt,omitzero"`
	Took        time.Duration `json:"tookNanoseconds,omitempty"`
	// Verified: the copy was opened, and the token opens it.
	Verified bool     `json:"verified"`
	Notes    []string `json:"notes,omitempty"`
}

// Drain is the drain of one node.
type Drain struct {
	Node string `json:"node"`
	// Decision is what was done about it: "drain", "upgrade-without-drain",
	// "add-node-first".
	Decision string        `json:"decision"`
	Reasons  []string      `json:"reasons,omitempty"`
	Timeout  time.Duration `json:"timeoutNanoseconds,omitempty"`
	Took     time.Duration `json:"tookNanoseconds,omitempty"`
	// Finished: the drain came to its end.
	Finished bool `json:"finished"`
	// GivenBack: the node is schedulable as it was.
	GivenBack bool `json:"givenBack"`
	// Output is the drain's own.
	Output string `json:"output,omitempty"`
}

// Upgrade is the step itself.
type Upgrade struct {
	From string        `json:"from"`
	To   string        `json:"to"`
	Node string        `json:"node,omitempty"`
	How  string        `json:"how,omitempty"`
	Took time.Duration `json:"tookNanoseconds,omitempty"`
}

// Plan is the next rung, written down.
type Plan struct {
	Version string   `json:"version"`
	Name    string   `json:"name,omitempty"`
	YAML    string   `json:"yaml,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
}

// maxIdentities bounds the table of identities; what is not the same comes
// first, so that nothing of that is cut off unseen.
const maxIdentities = 60

// New compares two snapshots and fills in what they tell. Without one of them
// the verdict is not-comparable.
func New(before, after *snapshot.Snapshot, opts snapshot.CompareOptions) *Report {
	if before == nil || after == nil {
		return FromComparison(snapshot.Compare(before, after, opts))
	}
	return FromComparison(snapshot.Compare(before, after, opts), versions(before, after)...)
}

// FromComparison makes a report of a comparison; the versions are shown as they
// are given.
func FromComparison(c *snapshot.Comparison, versions ...Version) *Report {
	r := &Report{Comparison: c, Versions: versions}
	if c == nil {
		return r
	}
	if len(versions) == 0 && c.Before.ServerVersion != "" {
		r.Versions = []Version{{"API server", c.Before.ServerVersion, c.After.ServerVersion}}
	}
	r.Identities = identities(c)
	return r
}

// GiveUp adds a sentence on something that the procedure did without.
func (r *Report) GiveUp(sentence string) { r.GivenUp = append(r.GivenUp, sentence) }

// WriteJSON writes the report as indented JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

func (r *Report) title() string {
	if r.Title == "" {
		return "k3s cluster upgrade"
	}
	return r.Title
}
