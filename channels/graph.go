package channels

import (
	"slices"

	"github.com/k3sladder/k3sladder/skew"
)

// graph is the releases between where a cluster is and where it shall go, and
// the rules that say which steps between them are possible.
type graph struct {
	// places in ascending order; the first is where the cluster is.
	places []place
	rules  []*Constraint
}

// newGraph gathers what the table and the catalog know above from, up to the
// newest release of to's minor. Prereleases are left out unless they are to.
func newGraph(t *table, from, to skew.Version, catalog *Catalog, facts Facts) *graph {
	g := (&graph{}).under(facts)
	candidate := func(v skew.Version) bool {
		return from.Less(v) && v.Minor().Compare(to.Minor()) <= 0 && v.Distribution() == from.Distribution() &&
			(v.Prerelease() == "" || v == to)
	}
	g.places = append(make([]place, 0, len(t.releases)+1), t.place(from))
	start, _ := t.find(from)
	for i := start; i < len(t.releases) && t.releases[i].Version.Minor().Compare(to.Minor()) <= 0; i++ {
		if r := &t.releases[i]; candidate(r.Version) {
			g.places = append(g.places, newPlace(r.Version, r, r.etcd, r.Date))
		}
	}
	inTable := len(g.places)
	add := func(v skew.Version) {
		if _, ok := t.find(v); !ok && candidate(v) {
			g.places = append(g.places, t.place(v))
		}
	}
	add(to)
	if catalog != nil {
		for _, ch := range catalog.Channels {
			add(ch.Latest)
		}
	}
	g.places = merge(g.places[:inTable], g.places[inTable:])
	return g
}

// merge puts more, in any order and with doubles, into places, which are in
// order. No version is in both.
func merge(places, more []place) []place {
	if len(more) == 0 {
		return places
	}
	order := func(a, b place) int { return skew.Compare(a.version, b.version) }
	slices.SortFunc(more, order)
	all := make([]place, 0, len(places)+len(more))
	for _, p := range more {
		for len(places) > 0 && order(places[0], p) < 0 {
			all, places = append(all, places[0]), places[1:]
		}
		if len(all) == 0 || all[len(all)-1].version != p.version {
			all = append(all, p)
		}
	}
	return append(all, places...)
}

// under is g with the rules that bind a cluster with these facts.
func (g *graph) under(facts Facts) *graph {
	h := &graph{places: g.places}
	for i := range constraints {
		if constraints[i].binds(facts) {
			h.rules = append(h.rules, &constraints[i])
		}
	}
	return h
}

// without is g with fewer rules.
func (g *graph) without(drop ...*Constraint) *graph {
	h := &graph{places: g.places}
	for _, r := range g.rules {
		if !slices.Contains(drop, r) {
			h.rules = append(h.rules, r)
		}
	}
	return h
}

// index is where v stands in g.places, or -1.
func (g *graph) index(v skew.Version) int {
	i, ok := slices.BinarySearchFunc(g.places, v, func(p place, v skew.Version) int { return skew.Compare(p.version, v) })
	if !ok {
		return -1
	}
	return i
}

// minorStep reports whether b is above a by at most one minor.
func minorStep(a, b *place) bool {
	return a.minor == b.minor || a.minor.Next() == b.minor
}

// allows reports whether every rule lets the cluster step from a to b.
func (g *graph) allows(a, b *place, last bool) bool {
	return minorStep(a, b) && g.blocker(a, b, last) == nil
}

// blocker is the first rule that forbids the step from a to b.
func (g *graph) blocker(a, b *place, last bool) *Constraint {
	for _, r := range g.rules {
		if r.judge(a, b, last) == forbidden {
			return r
		}
	}
	return nil
}

// unreached marks a place that no path leads to.
const unreached = -1

// distances counts the fewest steps from the first place to every other one;
// target (an index, or -1) is where the ladder ends.
func (g *graph) distances(target int) []int {
	n := len(g.places)
	dist := make([]int, n)
	// skip[j] leads from j to the first place from there on that is unreached.
	skip := make([]int, n+1)
	for i := range n {
		dist[i], skip[i] = unreached, i
	}
	skip[n] = n
	open := func(j int) int {
		for skip[j] != j {
			skip[j] = skip[skip[j]]
			j = skip[j]
		}
		return j
	}
	dist[0] = 0
	frontier, next := []int{0}, []int(nil)
	for d := 1; len(frontier) > 0; d++ {
		next = next[:0]
		for _, i := range frontier {
			for j := open(i + 1); j < n && minorStep(&g.places[i], &g.places[j]); j = open(j + 1) {
				if g.blocker(&g.places[i], &g.places[j], j == target) == nil {
					dist[j], skip[j] = d, j+1
					next = append(next, j)
				}
			}
		}
		frontier, next = next, frontier
	}
	return dist
}

// path is the way from the first place to target with the fewest rungs; among
// those, going backwards from the target, the one whose rungs are the newest.
// It gives the places after the first, or nil when there is none.
func (g *graph) path(target int) []int {
	dist := g.distances(target)
	if dist[target] == unreached {
		return nil
	}
	rungs := make([]int, dist[target])
	for j, d := target, dist[target]; d > 0; d-- {
		rungs[d-1] = j
		for i := j - 1; i >= 0; i-- {
			if dist[i] == d-1 && g.allows(&g.places[i], &g.places[j], j == target) {
				j = i
				break
			}
		}
	}
	return rungs
}
