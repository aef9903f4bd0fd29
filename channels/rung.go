package channels

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/k3sladder/k3sladder/skew"
)

// rung describes the step from place i to place j; end is the target's.
func (g *graph) rung(i, j, end int, facts Facts) Rung {
	a, b := &g.places[i], &g.places[j]
	r := Rung{
		Version:         b.version,
		From:            a.version,
		InstallScript:   InstallScriptURL(b.version),
		Kubelet:         skew.Allowed(skew.Kubelet, b.version),
		Kubectl:         skew.Allowed(skew.Kubectl, b.version),
		Moves:           moves(a, b, facts),
		PointOfNoReturn: noReturn(a, b, facts),
	}
	if b.never != nil {
		r.Defect = b.never.Why
	}
	facts = facts.withDistribution(b.version)
	all := notes()
	for i := range all {
		n := &all[i]
		if !n.arrivesOn(a, b) {
			continue
		}
		if ap, ok := n.judge(facts); ok {
			ap.SafeStartMet = n.safeStart(a.version)
			r.Notes = append(r.Notes, ap)
		}
	}
	for _, p := range []*place{a, b} {
		if !p.exact() {
			r.Unchecked = append(r.Unchecked, "this module does not know "+p.version.String()+": neither what moves with it nor what breaks")
		}
	}
	for _, c := range g.rules {
		if c.judge(a, b, j == end) == unchecked {
			r.Unchecked = append(r.Unchecked, c.ID+": "+c.Text)
		}
	}
	return r
}

// doubt marks the rungs, but the target, that the module's table has and the
// catalog does not: a mirror may not carry them.
func (c *Catalog) doubt(rungs []Rung) {
	if c == nil {
		return
	}
	for i := range rungs[:len(rungs)-1] {
		r := &rungs[i]
		newest, err := c.NewestPatch(r.Version.Minor())
		switch {
		case err != nil:
			r.Unchecked = append(r.Unchecked, fmt.Sprintf("no channel points at a %s release: a mirror may not have %s", r.Version.Minor(), r.Version))
		case newest.Less(r.Version):
			r.Unchecked = append(r.Unchecked, fmt.Sprintf("the newest %s release that a channel points at is %s: a mirror may not have %s", r.Version.Minor(), newest, r.Version))
		}
	}
}

// climbNotes are the notes about every rung.
func climbNotes(from skew.Version, facts Facts) []Applying {
	facts = facts.withDistribution(from)
	var as []Applying
	all := notes()
	for i := range all {
		n := &all[i]
		if n.To.IsZero() && n.Etcd == "" {
			if a, ok := n.judge(facts); ok {
				as = append(as, a)
			}
		}
	}
	return as
}

// withDistribution adds what a version tells about the cluster.
func (f Facts) withDistribution(v skew.Version) Facts {
	if f.Traits[TraitRKE2] != Unknown {
		return f
	}
	traits := map[Trait]Answer{TraitRKE2: No}
	if v.Distribution() == "rke2" {
		traits[TraitRKE2] = Yes
	}
	for t, a := range f.Traits {
		if a != Unknown {
			traits[t] = a
		}
	}
	f.Traits = traits
	return f
}

// moves lists the components that differ, by name, without an etcd that the
// cluster does not run; nil unless both releases are in the table.
func moves(a, b *place, facts Facts) []Move {
	if !a.exact() || !b.exact() {
		return nil
	}
	var ms []Move
	for name, to := range b.release.Components {
		if name == "etcd" && !etcdMatters(facts) {
			continue
		}
		if from := a.release.Components[name]; from != to {
			ms = append(ms, Move{Component: name, From: from, To: to})
		}
	}
	slices.SortFunc(ms, func(x, y Move) int { return cmp.Compare(x.Component, y.Component) })
	return ms
}

func noReturn(a, b *place, facts Facts) string {
	if !etcdMatters(facts) || !a.etcd.known() || !b.etcd.known() || a.etcd.minor == b.etcd.minor {
		return ""
	}
	text := fmt.Sprintf("when the last server runs %s: etcd %s does not go back to %s, only a snapshot taken before does",
		b.version, b.etcd.minor, a.etcd.minor)
	if facts.Datastore == DatastoreUnknown {
		text = "with embedded etcd " + text
	}
	return text
}

// explainRungs says of each rung what it is for; at holds the rungs' places.
func (g *graph) explainRungs(rungs []Rung, at []int) {
	end := at[len(at)-1]
	from := 0
	for k := range rungs {
		a, b := &g.places[from], &g.places[at[k]]
		why := "one minor up"
		if a.minor == b.minor {
			why = "a patch of the same minor"
		}
		if at[k] == end {
			why += ", the target"
		} else {
			next := at[k+1]
			if c, at := g.whyNot(from, next, end); c != nil {
				why += fmt.Sprintf("; without it %s would break %s (%s)", g.places[next].version, c.ID, at)
			}
			if newer := g.newest(at[k]); newer != at[k] && newer != next {
				if c, at := g.whyNotStop(from, newer, next, end); c != nil {
					why += fmt.Sprintf("; %s is newer but breaks %s (%s)", g.places[newer].version, c.ID, at)
				}
			}
		}
		rungs[k].Why = why
		from = at[k]
	}
}

// explainBack says what would keep packaged components from going back, where
// the executor lets a release follow one that was made after it.
func (g *graph) explainBack(rungs []Rung, at []int, facts Facts) {
	facts.Executor = SUC // bound by build-month
	path := g.under(facts).path(at[len(at)-1])
	if len(path) != len(at) {
		return
	}
	for k := range rungs[:len(rungs)-1] {
		if path[k] != at[k] && slices.ContainsFunc(rungs[k+1].Moves, Move.back) {
			rungs[k].Why += fmt.Sprintf("; with %s instead no packaged component goes back on %s", g.places[path[k]].version, rungs[k+1].Version)
		}
	}
}

// whyNot is the rule that keeps the ladder from going from i to j at once, when
// their minors would let it.
func (g *graph) whyNot(i, j, end int) (*Constraint, string) {
	a, b := &g.places[i], &g.places[j]
	if !minorStep(a, b) {
		return nil, ""
	}
	c := g.blocker(a, b, j == end)
	if c == nil {
		return nil, ""
	}
	return c, c.describe(a, b)
}

// whyNotStop is the rule that keeps the ladder from stopping at place stop
// between i and j.
func (g *graph) whyNotStop(i, stop, j, end int) (*Constraint, string) {
	if c, at := g.whyNot(i, stop, end); c != nil {
		return c, at
	}
	return g.whyNot(stop, j, end)
}

// newest is the newest place of the same minor that is no prerelease.
func (g *graph) newest(i int) int {
	m := g.places[i].version.Minor()
	for j := i + 1; j < len(g.places) && g.places[j].version.Minor() == m; j++ {
		if g.places[j].version.Prerelease() == "" {
			i = j
		}
	}
	return i
}
