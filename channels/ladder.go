package channels

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/k3sladder/k3sladder/skew"
)

// Climb is a ladder from where a cluster is to where it shall go.
type Climb struct {
	From   skew.Version `json:"from"`
	Target skew.Version `json:"target"`
	// Facts are what the ladder was computed for.
	Facts Facts `json:"facts"`
	// Rungs are the releases to install, in this order; the last one is the
	// target. Empty, never nil, when the cluster is there already.
	Rungs []Rung `json:"rungs"`
	// Notes say what to mind on every rung.
	Notes []Applying `json:"notes,omitempty"`
	// IfKnown says how the ladder would differ if an unknown fact were known.
	IfKnown []Alternative `json:"ifKnown,omitempty"`
	// Origin says where the channels came from ([Catalog.Origin]); empty when
	// no catalog was given.
	Origin string `json:"origin,omitempty"`
}

// Rung is one release on the ladder.
type Rung struct {
	Version skew.Version `json:"version"`
	From    skew.Version `json:"from"`
	// InstallScript is the URL of this release's own install.sh.
	InstallScript string `json:"installScript,omitempty"`
	// Kubelet and Kubectl are the minors allowed while the servers are on this
	// rung, oldest first.
	Kubelet []skew.Minor `json:"kubelet"`
	Kubectl []skew.Minor `json:"kubectl"`
	// Why says what this rung is for: a step, a patch that a later rung needs,
	// and why it is not the newest patch of its minor where it is not.
	Why string `json:"why"`
	// Moves are the packed components that change, by name.
	Moves []Move `json:"moves,omitempty"`
	// Defect says why nobody should stay on this release: it is one of
	// [NeverStops], and the target that somebody named. Empty for all others.
	Defect string `json:"defect,omitempty"`
	// PointOfNoReturn says from when on there is no way back but a snapshot
	// taken before; empty where there is no such point.
	PointOfNoReturn string `json:"pointOfNoReturn,omitempty"`
	// Notes say what can break on this rung, as far as the facts do not rule it
	// out. [Rung.Applies] filters them anew.
	Notes []Applying `json:"notes,omitempty"`
	// Unchecked says what could not be checked about this rung: the release is
	// newer than this module, or no channel of the catalog points at it or above.
	Unchecked []string `json:"unchecked,omitempty"`
}

// Move is a component that changes from one release to the next.
type Move struct {
	Component string `json:"component"`
	From      string `json:"from"`
	To        string `json:"to"`
}

// Applies says which notes of the rung concern a cluster with these facts.
// Notes that the facts rule out are gone; a note that hangs on something unknown
// stays and says on what.
func (r Rung) Applies(f Facts) []Applying {
	f = f.withDistribution(r.Version)
	var as []Applying
	for _, n := range r.Notes {
		if a, ok := n.judge(f); ok {
			a.SafeStartMet = n.safeStart(r.From)
			as = append(as, a)
		}
	}
	return as
}

// Alternative is the ladder for one value of a fact that is not known.
type Alternative struct {
	Fact  string `json:"fact"`
	Value string `json:"value"`
	// Rungs is that ladder; nil when there is none.
	Rungs []skew.Version `json:"rungs"`
}

// ErrNoPath: no ladder satisfies all constraints.
var ErrNoPath = errors.New("no ladder leads there")

// ErrUnknownRelease: the target lies between releases that are known, and is
// not among them.
var ErrUnknownRelease = errors.New("no such release known")

// PathError says why no ladder leads to a target; it unwraps to [ErrNoPath].
type PathError struct {
	From   skew.Version `json:"from"`
	Target skew.Version `json:"target"`
	// Blockers are the rules that stand in the way: without them there would be
	// a ladder.
	Blockers []Constraint `json:"blockers"`
	// Detail says where the first of them strikes.
	Detail string `json:"detail"`
	// Nearest is the nearest release to the target that a ladder leads to; zero
	// when there is none.
	Nearest skew.Version `json:"nearest,omitzero"`
	// IfKnown lists the values of unknown facts with which there is a ladder.
	IfKnown []Alternative `json:"ifKnown,omitempty"`
}

// Error names the rules and the nearest target.
func (e *PathError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no ladder leads from %s to %s", e.From, e.Target)
	for i, r := range e.Blockers {
		sep := "; rule "
		if i > 0 {
			sep = "; and rule "
		}
		fmt.Fprintf(&b, "%s%s: %s", sep, r.ID, r.Text)
	}
	if e.Detail != "" {
		fmt.Fprintf(&b, " (%s)", e.Detail)
	}
	if !e.Nearest.IsZero() {
		fmt.Fprintf(&b, "; the nearest target that has one is %s", e.Nearest)
	}
	for _, a := range e.IfKnown {
		fmt.Fprintf(&b, "; with %s %s there is one: %s", a.Fact, a.Value, a.text())
	}
	return b.String()
}

// Unwrap gives [ErrNoPath].
func (e *PathError) Unwrap() error { return ErrNoPath }

// Target finds what a word stands for: a version in any form that [skew.Parse]
// reads, or the release that the channel of that name points at. The channel of a
// minor, "v1.35", may also be written "1.35".
func (c *Catalog) Target(word string) (skew.Version, error) {
	v, err := skew.Parse(word)
	if err == nil {
		return v, nil
	}
	if _, cerr := c.Channel(word); cerr != nil {
		if _, err := c.Channel("v" + word); err == nil {
			return c.Latest("v" + word)
		}
		return skew.Version{}, fmt.Errorf("%w, and %w", cerr, err)
	}
	return c.Latest(word)
}

// Ladder gives the way from a running version to the target, one pinned release
// a rung.
//
// "The newest patch of each minor" is not it. The ladder is the shortest path
// over the known releases ([Releases] and what the catalog's channels point at)
// that keeps the version skew policy and every one of [Constraints] that binds a
// cluster with these facts; among the shortest paths, going backwards from the
// target, the one with the newest releases. Where a rule needs it, the first
// rung is a patch of the running minor. A fact that is not known narrows the
// ladder to what is safe for all its values, and Climb.IfKnown says what knowing
// it would change.
//
// Releases that the module does not know yet may be used; what could not be
// checked about them is said on the rung. A nil catalog means the module's own
// table alone.
//
// Errors: a [*skew.UpgradeError] when the target lies below the running version
// (channels have moved backwards) or is another distribution; [ErrNoRelease]
// when no release of a minor on the way is known; [ErrUnknownRelease]; a
// [*PathError] when the rules leave no way.
func Ladder(from, target skew.Version, catalog *Catalog, facts Facts) (*Climb, error) {
	return known().ladder(from, target, catalog, facts)
}

func (t *table) ladder(from, target skew.Version, catalog *Catalog, facts Facts) (*Climb, error) {
	if err := facts.Validate(); err != nil {
		return nil, err
	}
	if _, err := skew.CheckUpgrade(from, target); err != nil && !errors.Is(err, skew.ErrSkip) {
		return nil, err
	}
	if d := from.Distribution(); d != "k3s" && d != "rke2" {
		return nil, fmt.Errorf("%w: %s is neither k3s nor RKE2 (write v1.34.11+k3s1, not 1.34.11)", ErrNoRelease, from)
	}
	climb := &Climb{From: from, Target: target, Facts: facts, Rungs: []Rung{}}
	if catalog != nil {
		climb.Origin = catalog.Origin()
	}
	if from == target {
		return climb, nil
	}
	if err := t.checkTarget(target, catalog); err != nil {
		return nil, err
	}
	g := newGraph(t, from, target, catalog, facts)
	if err := g.checkMinors(target); err != nil {
		return nil, err
	}
	end := g.index(target)
	rungs := g.path(end)
	if rungs == nil {
		return nil, g.explain(end, facts)
	}
	at := 0
	for _, i := range rungs {
		climb.Rungs = append(climb.Rungs, g.rung(at, i, end, facts))
		at = i
	}
	g.explainRungs(climb.Rungs, rungs)
	g.explainBack(climb.Rungs, rungs, facts)
	catalog.doubt(climb.Rungs)
	climb.Notes = climbNotes(from, facts)
	climb.IfKnown = g.alternatives(end, facts, rungs)
	return climb, nil
}

// checkTarget refuses a target that neither the table nor the catalog knows
// although the table knows a newer release of its minor: it was never released.
func (t *table) checkTarget(target skew.Version, catalog *Catalog) error {
	i, ok := t.find(target)
	if ok || target.Prerelease() != "" || catalog != nil && slices.ContainsFunc(catalog.Channels, func(c Channel) bool { return c.Latest == target }) {
		return nil
	}
	if i == len(t.releases) || t.releases[i].Version.Minor() != target.Minor() || t.releases[i].Version.Distribution() != target.Distribution() {
		return nil
	}
	near := t.releases[i].Version.String()
	if i > 0 && t.releases[i-1].Version.Minor() == target.Minor() {
		near = t.releases[i-1].Version.String() + " and " + near
	}
	return fmt.Errorf("%w: %s (known are %s)", ErrUnknownRelease, target, near)
}

// checkMinors finds the first minor on the way of which no release is known.
func (g *graph) checkMinors(target skew.Version) error {
	have := g.places[0].version.Minor()
	for i := range g.places {
		m := g.places[i].version.Minor()
		if m.Compare(have.Next()) > 0 {
			break
		}
		have = m
	}
	if have.Compare(target.Minor()) < 0 {
		return fmt.Errorf("%w: the way from %s to %s needs a %s release", ErrNoRelease, g.places[0].version, target, have.Next())
	}
	return nil
}

// alternatives computes the ladder for every value of every unknown fact and
// keeps those that differ from the one found.
func (g *graph) alternatives(target int, facts Facts, found []int) []Alternative {
	var alternatives []Alternative
	bound := g.rules
	try := func(fact, value string, f Facts) {
		h := g.under(f)
		if slices.Equal(h.rules, bound) {
			return // an unknown fact binds what its strictest value binds
		}
		path := h.path(target)
		if slices.Equal(path, found) {
			return
		}
		a := Alternative{Fact: fact, Value: value}
		for _, i := range path {
			a.Rungs = append(a.Rungs, g.places[i].version)
		}
		alternatives = append(alternatives, a)
	}
	if facts.Datastore == DatastoreUnknown {
		for _, d := range []Datastore{SQLite, EmbeddedEtcd, ExternalDatastore} {
			f := facts
			f.Datastore = d
			try("datastore", string(d), f)
		}
	}
	if facts.Agents == Unknown {
		for _, a := range []Answer{No, Yes} {
			f := facts
			f.Agents = a
			try("agents", string(a), f)
		}
	}
	if facts.Executor == ExecutorUnknown {
		for _, e := range []Executor{Script, SUC} {
			f := facts
			f.Executor = e
			try("executor", string(e), f)
		}
	}
	return alternatives
}
