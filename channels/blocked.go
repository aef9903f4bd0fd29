package channels

import "github.com/k3sladder/k3sladder/skew"

// explain says why no path leads to the place target: the smallest set of rules
// without which one would, where they strike, and the nearest target instead.
func (g *graph) explain(target int, facts Facts) *PathError {
	e := &PathError{From: g.places[0].version, Target: g.places[target].version}
	blockers := g.blockers(target)
	for _, r := range blockers {
		e.Blockers = append(e.Blockers, *r)
	}
	e.Detail = g.strike(target, blockers)
	e.Nearest = g.nearest(target)
	e.IfKnown = g.alternatives(target, facts, nil)
	return e
}

// blockers is the smallest set of rules whose absence opens a path.
func (g *graph) blockers(target int) []*Constraint {
	n := len(g.rules)
	for size := 1; size <= n; size++ {
		var found []*Constraint
		choose(n, size, func(pick []int) bool {
			drop := make([]*Constraint, size)
			for i, p := range pick {
				drop[i] = g.rules[p]
			}
			if g.without(drop...).path(target) == nil {
				return false
			}
			found = drop
			return true
		})
		if found != nil {
			return found
		}
	}
	return nil
}

// choose calls f with every choice of size numbers below n until f returns true.
func choose(n, size int, f func([]int) bool) {
	pick := make([]int, 0, size)
	var rest func(from int) bool
	rest = func(from int) bool {
		if len(pick) == size {
			return f(pick)
		}
		for i := from; i < n; i++ {
			pick = append(pick, i)
			if rest(i + 1) {
				return true
			}
			pick = pick[:len(pick)-1]
		}
		return false
	}
	rest(0)
}

// strike describes the first step of the way without the blockers that one of
// them forbids.
func (g *graph) strike(target int, blockers []*Constraint) string {
	at := 0
	for _, i := range g.without(blockers...).path(target) {
		a, b := &g.places[at], &g.places[i]
		for _, r := range blockers {
			if r.judge(a, b, i == target) == forbidden {
				return r.describe(a, b)
			}
		}
		at = i
	}
	return ""
}

// nearest is the reachable release that is closest to the target: the next one
// above it in its minor, else the newest one below it.
func (g *graph) nearest(target int) skew.Version {
	dist := g.distances(-1)
	want := g.places[target].version
	for i := target + 1; i < len(g.places); i++ {
		if dist[i] != unreached && g.places[i].version.Minor() == want.Minor() {
			return g.places[i].version
		}
	}
	for i := target - 1; i > 0; i-- {
		if dist[i] != unreached {
			return g.places[i].version
		}
	}
	return skew.Version{}
}
