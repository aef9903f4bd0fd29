package channels_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
)

// ladderCase is one answer of an independent solver.
type ladderCase struct {
	From, Target                skew.Version
	Datastore, Agents, Executor string
	Rungs                       []skew.Version
	Error                       string
}

func ladderCases(t testing.TB) []ladderCase {
	t.Helper()
	b, err := os.ReadFile("testdata/ladders.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []ladderCase
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 10 {
		t.Fatalf("only %d cases", len(cases))
	}
	return cases
}

func known(s string) string {
	if s == "unknown" {
		return ""
	}
	return s
}

func TestLadderGivesTheSolversAnswers(t *testing.T) {
	t.Parallel()
	catalog, err := channels.Read(t.Context(), "testdata/k3s.json", channels.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range ladderCases(t) {
		facts := channels.Facts{
			Datastore: channels.Datastore(known(tt.Datastore)),
			Agents:    channels.Answer(known(tt.Agents)),
			Executor:  channels.Executor(known(tt.Executor)),
		}
		climb, err := channels.Ladder(tt.From, tt.Target, catalog, facts)
		if tt.Rungs == nil {
			var blocked *channels.PathError
			if !errors.As(err, &blocked) || !errors.Is(err, channels.ErrNoPath) || len(blocked.Blockers) == 0 || blocked.Nearest.IsZero() {
				t.Errorf("%s -> %s: %v, want a PathError with rule and nearest target", tt.From, tt.Target, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s -> %s: %v", tt.From, tt.Target, err)
			continue
		}
		got := []skew.Version{}
		for _, r := range climb.Rungs {
			got = append(got, r.Version)
		}
		if !slices.Equal(got, tt.Rungs) {
			t.Errorf("%s -> %s with %+v: %v, want %v", tt.From, tt.Target, facts, got, tt.Rungs)
		}
	}
}

// catalogOf is a catalog whose channels point at these releases.
func catalogOf(latest ...string) *channels.Catalog {
	c := &channels.Catalog{Source: "test"}
	for _, l := range latest {
		v := skew.MustParse(l)
		c.Channels = append(c.Channels, channels.Channel{Name: v.String(), Latest: v})
	}
	return c
}

func climbTo(t *testing.T, from, to string, c *channels.Catalog, f channels.Facts) *channels.Climb {
	t.Helper()
	climb, err := channels.Ladder(skew.MustParse(from), skew.MustParse(to), c, f)
	if err != nil {
		t.Fatal(err)
	}
	return climb
}

func TestReleasesNewerThanTheModuleAreUsableAndMarked(t *testing.T) {
	t.Parallel()
	// A patch that the module does not know, from the catalog.
	climb := climbTo(t, "v1.34.12+k3s1", "v1.36.9+k3s1", catalogOf("v1.35.14+k3s1", "v1.36.9+k3s1"), channels.Facts{})
	if climb.String() != "v1.34.12+k3s1 -> v1.35.14+k3s1 -> v1.36.9+k3s1" {
		t.Error(climb)
	}
	for _, r := range climb.Rungs {
		if len(r.Unchecked) == 0 || r.Moves != nil {
			t.Errorf("%s is not marked: %+v", r.Version, r)
		}
	}
	// A minor that the module does not know.
	climb = climbTo(t, "v1.36.5+k3s1", "v1.38.0+k3s1", catalogOf("v1.37.1+k3s1", "v1.38.0+k3s1"), channels.Facts{})
	if climb.String() != "v1.36.5+k3s1 -> v1.37.1+k3s1 -> v1.38.0+k3s1" || len(climb.Rungs[0].Unchecked) != 0 || len(climb.Rungs[1].Unchecked) == 0 {
		t.Errorf("%s: %+v", climb, climb.Rungs)
	}
	// A running version newer than the module.
	climb = climbTo(t, "v1.36.8+k3s1", "v1.37.1+k3s1", nil, channels.Facts{Datastore: channels.EmbeddedEtcd})
	if climb.String() != "v1.36.8+k3s1 -> v1.37.1+k3s1" || len(climb.Rungs[0].Unchecked) == 0 {
		t.Errorf("%s: %+v", climb, climb.Rungs)
	}
	// What is known of the releases around an unknown one still forbids: 1.37 has
	// etcd 3.7 from its first patch on.
	if _, err := channels.Ladder(skew.MustParse("v1.36.1+k3s1"), skew.MustParse("v1.37.9+k3s1"), catalogOf(), channels.Facts{Datastore: channels.EmbeddedEtcd, Executor: channels.Script}); err != nil {
		t.Errorf("through 1.36.2 or later: %v", err)
	}
	climb = climbTo(t, "v1.36.1+k3s1", "v1.37.9+k3s1", nil, channels.Facts{Datastore: channels.EmbeddedEtcd, Executor: channels.Script})
	if len(climb.Rungs) != 2 || climb.Rungs[0].Version != skew.MustParse("v1.36.5+k3s1") {
		t.Error(climb)
	}
	// A candidate of the first release of a minor has no release before it, but
	// the one after bounds its etcd from above.
	_, err := channels.Ladder(skew.MustParse("v1.33.0-rc1+k3s1"), skew.MustParse("v1.33.13+k3s2"), nil, channels.Facts{Datastore: channels.EmbeddedEtcd, Executor: channels.Script})
	climb = climbTo(t, "v1.33.0-rc1+k3s1", "v1.33.13+k3s2", nil, channels.Facts{Datastore: channels.EmbeddedEtcd, Executor: channels.Script})
	if err != nil || climb.String() != "v1.33.0-rc1+k3s1 -> v1.33.10+k3s1 -> v1.33.13+k3s2" {
		t.Errorf("%s, %v", climb, err)
	}
	// A running version older than the module.
	climb = climbTo(t, "v1.23.17+k3s1", "v1.24.17+k3s1", nil, channels.Facts{})
	if len(climb.Rungs) != 1 || len(climb.Rungs[0].Unchecked) == 0 {
		t.Errorf("%+v", climb.Rungs)
	}
}

func TestRungsThatTheCatalogLacksAreMarked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, channel, says string }{
		{"a mirror without the minor", "v1.36.5+k3s1", "no channel points at a 1.35 release"},
		{"a mirror that stopped", "v1.35.4+k3s1", "the newest 1.35 release that a channel points at is v1.35.4+k3s1"},
		{"a full one", "v1.35.9+k3s1", ""},
	} {
		climb := climbTo(t, "v1.34.12+k3s1", "v1.36.5+k3s1", catalogOf(tt.channel), channels.Facts{})
		got := strings.Join(climb.Rungs[0].Unchecked, "; ")
		if climb.Rungs[0].Version != skew.MustParse("v1.35.9+k3s1") || (got == "") != (tt.says == "") || !strings.Contains(got, tt.says) {
			t.Errorf("%s: %s, %q", tt.name, climb, got)
		}
	}
}

func TestPrereleasesOnlyWhenNamed(t *testing.T) {
	t.Parallel()
	c := catalogOf("v1.35.10-rc1+k3s1", "v1.36.6-rc1+k3s1")
	climb := climbTo(t, "v1.34.12+k3s1", "v1.36.5+k3s1", c, channels.Facts{})
	if climb.Rungs[0].Version.Prerelease() != "" {
		t.Error(climb)
	}
	climb = climbTo(t, "v1.34.12+k3s1", "v1.36.6-rc1+k3s1", c, channels.Facts{})
	if len(climb.Rungs) != 2 || climb.Rungs[0].Version != skew.MustParse("v1.35.9+k3s1") {
		t.Error(climb)
	}
}

func TestLadderRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, from, to string
		want           error
	}{
		{"a channel that moved backwards", "v1.36.5+k3s1", "v1.36.4+k3s1", skew.ErrDowngrade},
		{"a lower minor", "v1.36.5+k3s1", "v1.34.12+k3s1", skew.ErrDowngrade},
		{"another distribution", "v1.34.12+k3s1", "v1.35.9+rke2r1", skew.ErrOtherDistribution},
		{"plain Kubernetes", "v1.34.12", "v1.35.9", channels.ErrNoRelease},
		{"a minor of which no release is known", "v1.37.1+k3s1", "v1.39.0+k3s1", channels.ErrNoRelease},
		{"minors before the module's", "v1.22.3+k3s1", "v1.24.17+k3s1", channels.ErrNoRelease},
		{"a release that never was", "v1.34.1+k3s1", "v1.34.3+k3s2", channels.ErrUnknownRelease},
		{"another major", "v1.37.1+k3s1", "v2.0.0+k3s1", skew.ErrOtherMajor},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			climb, err := channels.Ladder(skew.MustParse(tt.from), skew.MustParse(tt.to), nil, channels.Facts{})
			if !errors.Is(err, tt.want) {
				t.Errorf("%v, %v, want %v", climb, err, tt.want)
			}
		})
	}
	if _, err := channels.Ladder(skew.Version{}, skew.MustParse("v1.35.9+k3s1"), nil, channels.Facts{}); err == nil {
		t.Error("a ladder from nothing")
	}
	// A release that only the catalog knows exists.
	if _, err := channels.Ladder(skew.MustParse("v1.34.1+k3s1"), skew.MustParse("v1.34.3+k3s2"), catalogOf("v1.34.3+k3s2"), channels.Facts{}); err != nil {
		t.Error(err)
	}
}

func TestBlockedLadderNamesRuleStrikeAndNearest(t *testing.T) {
	t.Parallel()
	_, err := channels.Ladder(skew.MustParse("v1.34.12+k3s1"), skew.MustParse("v1.36.4+k3s1"), nil, channels.Facts{Executor: channels.SUC})
	var blocked *channels.PathError
	if !errors.As(err, &blocked) {
		t.Fatal(err)
	}
	if len(blocked.Blockers) != 1 || blocked.Blockers[0].ID != "build-month" || blocked.Nearest != skew.MustParse("v1.36.5+k3s1") ||
		blocked.Detail != "v1.35.9+k3s1 is of 2026-09, v1.36.4+k3s1 of 2026-08" {
		t.Errorf("%+v", blocked)
	}
}

func TestIfKnownSaysWhatAFactWouldChange(t *testing.T) {
	t.Parallel()
	climb := climbTo(t, "v1.32.10+k3s1", "v1.33.13+k3s2", nil, channels.Facts{})
	got := map[string]int{}
	for _, a := range climb.IfKnown {
		got[a.Fact+" "+a.Value] = len(a.Rungs)
	}
	if len(climb.Rungs) != 2 || got["datastore sqlite"] != 1 || got["datastore external"] != 1 || got["executor script"] != 0 {
		t.Errorf("%s, %v", climb, got)
	}
}

func TestNeverStopsMayBeNamed(t *testing.T) {
	t.Parallel()
	for _, n := range channels.NeverStops() {
		if n.Version.Distribution() != "k3s" {
			continue
		}
		below := skew.MustParse("v1.24.1+k3s1")
		if n.Version.Minor().Minor > 24 {
			below = skew.MustParse("v1." + strconv.Itoa(n.Version.Minor().Minor-1) + ".1+k3s1")
		}
		climb, err := channels.Ladder(below, n.Version, nil, channels.Facts{Executor: channels.Script})
		if err != nil || climb.Rungs[len(climb.Rungs)-1].Version != n.Version {
			t.Errorf("to %s: %v, %v", n.Version, climb, err)
			continue
		}
		if climb.Rungs[len(climb.Rungs)-1].Defect != n.Why {
			t.Errorf("nothing warns of %s", n.Version)
		}
	}
}

func TestRKE2TakesItsStopsToo(t *testing.T) {
	t.Parallel()
	c := catalogOf("v1.32.13+rke2r1", "v1.33.13+rke2r2", "v1.34.12+rke2r1")
	climb := climbTo(t, "v1.32.10+rke2r1", "v1.34.12+rke2r1", c, channels.Facts{Datastore: channels.EmbeddedEtcd})
	if climb.String() != "v1.32.10+rke2r1 -> v1.32.13+rke2r1 -> v1.33.13+rke2r2 -> v1.34.12+rke2r1" {
		t.Error(climb)
	}
	// +rke2r1 of 1.32.11 came before etcd 3.5.26, +rke2r3 with it.
	if _, err := channels.Ladder(skew.MustParse("v1.32.11+rke2r1"), skew.MustParse("v1.33.13+rke2r2"), catalogOf("v1.33.13+rke2r2"), channels.Facts{}); !errors.Is(err, channels.ErrNoPath) {
		t.Errorf("%v", err)
	}
	if _, err := channels.Ladder(skew.MustParse("v1.32.11+rke2r3"), skew.MustParse("v1.33.13+rke2r2"), catalogOf("v1.33.13+rke2r2"), channels.Facts{}); err != nil {
		t.Errorf("%v", err)
	}
}

func BenchmarkLadder(b *testing.B) {
	// 200 channels, thirteen minors, nothing known: the most work there is.
	c := channels.Bundled()
	for i := 0; len(c.Channels) < 200; i++ {
		c.Channels = append(c.Channels, channels.Channel{
			Name:   "extra-" + strconv.Itoa(i),
			Latest: skew.MustParse("v1." + strconv.Itoa(24+i%14) + "." + strconv.Itoa(100+i) + "+k3s1"),
		})
	}
	from, to := skew.MustParse("v1.24.10+k3s1"), skew.MustParse("v1.37.1+k3s1")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := channels.Ladder(from, to, c, channels.Facts{}); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzLadder: any two versions give a ladder that keeps the policy, or an error.
func FuzzLadder(f *testing.F) {
	f.Add("v1.34.11+k3s1", "v1.36.4+k3s1", uint8(0))
	f.Add("v1.24.10+k3s1", "v1.37.1+k3s1", uint8(7))
	f.Add("v1.32.10+rke2r1", "v1.33.13+rke2r2", uint8(1))
	f.Add("v1.36.8+k3s1", "v1.38.0-rc1+k3s1", uint8(13))
	f.Add("v1.0.0+k3s1", "v1.999999999.0+k3s1", uint8(2))
	f.Fuzz(func(t *testing.T, from, to string, facts uint8) {
		a, err := skew.Parse(from)
		if err != nil {
			return
		}
		b, err := skew.Parse(to)
		if err != nil {
			return
		}
		climb, err := channels.Ladder(a, b, channels.Bundled(), channels.Facts{
			Datastore: []channels.Datastore{"", channels.SQLite, channels.EmbeddedEtcd, channels.ExternalDatastore}[facts&3],
			Agents:    []channels.Answer{"", channels.Yes, channels.No, ""}[facts>>2&3],
			Executor:  []channels.Executor{"", channels.SUC, channels.Script, ""}[facts>>4&3],
		})
		if err != nil {
			return
		}
		at := a
		for _, r := range climb.Rungs {
			if r.From != at {
				t.Fatalf("%s: a rung from %s", climb, r.From)
			}
			if u, err := skew.CheckUpgrade(at, r.Version); err != nil || u.Kind == skew.NoOp {
				t.Fatalf("%s: %s -> %s: %v", climb, at, r.Version, err)
			}
			if r.Why == "" || len(r.Kubelet) == 0 || len(r.Kubectl) == 0 || r.InstallScript == "" {
				t.Fatalf("an incomplete rung: %+v", r)
			}
			at = r.Version
		}
		if at != b {
			t.Fatalf("%s does not end at %s", climb, b)
		}
	})
}
