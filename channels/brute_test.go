package channels

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/k3sladder/k3sladder/skew"
)

// toy is a release as the rules of the README of the ladder cases speak of it,
// for a search that shares nothing with the library's.
type toy struct {
	minor, patch, rev    int
	month                int
	etcdMinor, etcdPatch int
}

func (r toy) name() string { return fmt.Sprintf("v1.%d.%d+k3s%d", r.minor, r.patch, r.rev) }

func (r toy) above(o toy) bool {
	return slices.Compare([]int{r.minor, r.patch, r.rev}, []int{o.minor, o.patch, o.rev}) > 0
}

var toyNeverStops = strings.Fields("v1.24.9+k3s1 v1.25.5+k3s1 v1.26.0+k3s1 v1.27.7+k3s1 v1.28.1+k3s1 v1.28.3+k3s1")

// toyStep says whether the rules let a cluster go from a to b.
func toyStep(a, b, target toy, f Facts) bool {
	if !b.above(a) || b.minor > a.minor+1 {
		return false
	}
	if b != target && slices.Contains(toyNeverStops, b.name()) {
		return false
	}
	if f.Datastore == EmbeddedEtcd || f.Datastore == DatastoreUnknown {
		switch b.etcdMinor - a.etcdMinor {
		case 0:
		case 1:
			if a.etcdMinor == 5 && a.etcdPatch < 26 || a.etcdMinor == 6 && a.etcdPatch < 11 {
				return false
			}
		default:
			return false
		}
	}
	if f.Executor != Script && b.month < a.month {
		return false
	}
	if f.Agents != No && b.minor >= 32 && a.minor < 32 {
		floor, ok := map[int]int{31: 5, 30: 9, 29: 13}[a.minor]
		if !ok || a.patch < floor {
			return false
		}
	}
	return true
}

// toySearch tries every way and gives the best: the fewest rungs, then, from the
// target backwards, the newest release that can precede.
func toySearch(all []toy, from, target toy, f Facts) []toy {
	var best []toy
	better := func(way []toy) bool {
		if best == nil || len(way) != len(best) {
			return best == nil || len(way) < len(best)
		}
		for i := len(way) - 1; i >= 0; i-- {
			if way[i] != best[i] {
				return way[i].above(best[i])
			}
		}
		return false
	}
	var walk func(at toy, way []toy)
	walk = func(at toy, way []toy) {
		if at == target {
			if better(way) {
				best = append([]toy{}, way...)
			}
			return
		}
		for _, next := range all {
			if toyStep(at, next, target, f) && !next.above(target) {
				walk(next, append(way, next))
			}
		}
	}
	walk(from, nil)
	return best
}

func randomTable(r *rand.Rand) []toy {
	// Windows that hold the interesting minors: 1.24 to 1.28 have the releases
	// never to stop at, 1.29 to 1.33 the floor for agents.
	first := 23 + r.IntN(9)
	etcds := [][2]int{{5, 21}, {5, 25}, {5, 26}, {5, 27}, {6, 7}, {6, 10}, {6, 11}, {6, 14}, {7, 1}}
	patches := []int{0, 1, 3, 4, 5, 7, 9, 12, 13}
	all := map[string]toy{}
	for range 5 + r.IntN(8) {
		t := toy{minor: first + r.IntN(4), patch: patches[r.IntN(len(patches))], rev: 1 + r.IntN(2), month: r.IntN(6)}
		// Mostly rising, sometimes odd.
		e := min(len(etcds)-1, (t.minor-first)*2+r.IntN(4))
		t.etcdMinor, t.etcdPatch = etcds[e][0], etcds[e][1]
		if r.IntN(3) > 0 {
			t.month = min(11, (t.minor-first)*2+r.IntN(3))
		}
		all[t.name()] = t
	}
	var list []toy
	for _, t := range all {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b toy) int {
		if a.above(b) {
			return 1
		}
		return -1
	})
	return list
}

func TestLadderIsWhatBruteForceFinds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	pick := func(n int) int { return r.IntN(n) }
	found, blocked, longest := 0, 0, 0
	for range 20_000 {
		toys := randomTable(r)
		var releases []Release
		for _, x := range toys {
			releases = append(releases, Release{
				Version: skew.MustParse(x.name()),
				Date:    time.Date(2026, time.Month(1+x.month), 1+pick(27), 0, 0, 0, 0, time.UTC),
				etcd:    etcdVersion{skew.Minor{Major: 3, Minor: x.etcdMinor}, x.etcdPatch},
			})
		}
		i := pick(len(toys))
		j := i + pick(len(toys)-i)
		facts := Facts{
			Datastore: []Datastore{DatastoreUnknown, SQLite, EmbeddedEtcd, ExternalDatastore}[pick(4)],
			Agents:    []Answer{Unknown, Yes, No}[pick(3)],
			Executor:  []Executor{ExecutorUnknown, SUC, Script}[pick(3)],
		}
		from, target := toys[i], toys[j]
		want := toySearch(toys, from, target, facts)
		climb, err := newTable(releases).ladder(releases[i].Version, releases[j].Version, nil, facts)
		if from == target {
			if err != nil || len(climb.Rungs) != 0 {
				t.Fatalf("%s to itself: %v", from.name(), err)
			}
			continue
		}
		if want == nil {
			blocked++
			var path *PathError
			if err == nil || !errors.As(err, &path) && !errors.Is(err, ErrNoRelease) {
				t.Fatalf("%s -> %s with %+v in %+v: %v, brute force finds nothing", from.name(), target.name(), facts, toys, err)
			}
			if path != nil {
				checkRefusal(t, path, toys, from, target, facts)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s -> %s with %+v in %+v: %v, brute force finds %+v", from.name(), target.name(), facts, toys, err, want)
		}
		var got, best []string
		for _, x := range climb.Rungs {
			got = append(got, x.Version.String())
		}
		for _, x := range want {
			best = append(best, x.name())
		}
		if !slices.Equal(got, best) {
			t.Fatalf("%s -> %s with %+v in %+v: %v, brute force finds %v", from.name(), target.name(), facts, toys, got, best)
		}
		found, longest = found+1, max(longest, len(best))
	}
	if found < 3000 || blocked < 1000 || longest < 4 {
		t.Errorf("the tables are too tame: %d ladders, %d blocked, the longest has %d rungs", found, blocked, longest)
	}
}

// checkRefusal: the nearest target has a ladder indeed, nothing between it and
// the target has one, and rules are named.
func checkRefusal(t *testing.T, e *PathError, toys []toy, from, target toy, f Facts) {
	t.Helper()
	if len(e.Blockers) == 0 {
		t.Fatalf("%s -> %s with %+v in %+v: no rule is named", from.name(), target.name(), f, toys)
	}
	var near toy
	reachable := func(x toy) bool {
		return x.above(from) && !slices.Contains(toyNeverStops, x.name()) && toySearch(toys, from, x, f) != nil
	}
	for _, x := range toys { // the next one above in the minor
		if near == (toy{}) && x.above(target) && x.minor == target.minor && reachable(x) {
			near = x
		}
	}
	if near == (toy{}) { // else the newest below
		for _, x := range toys {
			if target.above(x) && reachable(x) {
				near = x
			}
		}
	}
	want := ""
	if near != (toy{}) {
		want = near.name()
	}
	if e.Nearest.String() != want {
		t.Fatalf("%s -> %s with %+v in %+v: nearest %s, want %s", from.name(), target.name(), f, toys, e.Nearest, want)
	}
}

func TestNewestIsByRevision(t *testing.T) {
	t.Parallel()
	var releases []Release
	for _, v := range []string{"v1.33.1+k3s1", "v1.34.3+k3s10", "v1.34.3+k3s1", "v1.34.3+k3s2", "v1.35.0+k3s1"} {
		releases = append(releases, Release{Version: skew.MustParse(v)})
	}
	climb, err := newTable(releases).ladder(releases[0].Version, releases[4].Version, nil, Facts{})
	if err != nil || climb.String() != "v1.33.1+k3s1 -> v1.34.3+k3s10 -> v1.35.0+k3s1" {
		t.Errorf("%v, %v", climb, err)
	}
}

func TestTheReleaseTableIsWhole(t *testing.T) {
	t.Parallel()
	all := Releases()
	if len(all) < 200 {
		t.Errorf("only %d releases", len(all))
	}
	for i, r := range all {
		if i > 0 && skew.Compare(all[i-1].Version, r.Version) >= 0 {
			t.Errorf("%s does not come after %s", r.Version, all[i-1].Version)
		}
		if r.Date.IsZero() || !r.etcd.known() || len(r.Components) != len(componentNames) || r.Version.Distribution() != "k3s" {
			t.Errorf("%+v", r)
		}
	}
	for _, c := range Bundled().Channels {
		if _, ok := known().find(c.Latest); !ok && !c.Latest.IsZero() {
			t.Errorf("the table lacks %s of channel %s", c.Latest, c.Name)
		}
	}
	if _, err := parseReleases("version\tdate\nv1.34.1+k3s1\n"); err == nil {
		t.Error("a short line was read")
	}
	if _, err := parseReleases("version\tdate\nv1.34.1+k3s1\tyesterday\n"); err == nil {
		t.Error("a broken date was read")
	}
}

func TestEveryConstraintHasIdTextAndSource(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range Constraints() {
		if c.ID == "" || seen[c.ID] || c.Text == "" || !strings.HasPrefix(c.Source, "https://") {
			t.Errorf("%+v", c)
		}
		seen[c.ID] = true
	}
	for _, n := range NeverStops() {
		if n.Why == "" || !strings.HasPrefix(n.Source, "https://") {
			t.Errorf("%+v", n)
		}
	}
}

// A fact that is unknown binds every rule that any of its values binds.
func TestUnknownFactsAreSafeForAll(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	all := known().releases
	for range 300 {
		i := r.IntN(len(all))
		j := i + r.IntN(len(all)-i)
		climb, err := Ladder(all[i].Version, all[j].Version, nil, Facts{})
		if err != nil {
			continue
		}
		for _, d := range []Datastore{SQLite, EmbeddedEtcd, ExternalDatastore} {
			for _, a := range []Answer{Yes, No} {
				for _, e := range []Executor{SUC, Script} {
					for k, rung := range climb.Rungs {
						for _, o := range Objections(rung.From, rung.Version, Facts{Datastore: d, Agents: a, Executor: e}) {
							t.Fatalf("%s, rung %d with %s, %s, %s: %+v", climb, k, d, a, e, o)
						}
					}
				}
			}
		}
	}
}
