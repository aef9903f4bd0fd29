package channels_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
)

func TestEveryNoteIsCompleteAndHasASource(t *testing.T) {
	t.Parallel()
	notes := channels.Notes()
	if len(notes) < 100 {
		t.Errorf("only %d notes", len(notes))
	}
	seen := map[string]bool{}
	for _, n := range notes {
		if n.ID == "" || seen[n.ID] || n.Trigger == "" || n.Do == "" {
			t.Errorf("a note without id, trigger or advice, or twice: %+v", n)
		}
		seen[n.ID] = true
		if len(n.Sources) == 0 {
			t.Errorf("%s has no source", n.ID)
		}
		for _, s := range n.Sources {
			u, err := url.Parse(s)
			if err != nil || u.Scheme != "https" || u.Host == "" || len(s) > 92 {
				t.Errorf("%s: %q is no source", n.ID, s)
			}
		}
		if !n.Verified && n.Caveat == "" {
			t.Errorf("%s is not verified and does not say why", n.ID)
		}
		if !slices.IsSortedFunc(n.Arrives, skew.Compare) || !slices.IsSortedFunc(n.SafeFrom, skew.Compare) {
			t.Errorf("%s: its releases are out of order", n.ID)
		}
		for _, all := range n.When {
			if len(all) == 0 {
				t.Errorf("%s: an empty alternative", n.ID)
			}
		}
	}
}

func rungNotes(t *testing.T, from, to string, facts channels.Facts) map[string]channels.Applying {
	t.Helper()
	facts.Executor = channels.Script // no build months: any release may be the target
	climb, err := channels.Ladder(skew.MustParse(from), skew.MustParse(to), nil, facts)
	if err != nil {
		t.Fatal(err)
	}
	if len(climb.Rungs) != 1 {
		t.Fatalf("%s, want one rung", climb)
	}
	notes := map[string]channels.Applying{}
	for _, n := range climb.Rungs[0].Notes {
		notes[n.ID] = n
	}
	return notes
}

func TestNotesStandOnTheRungThatBringsThem(t *testing.T) {
	t.Parallel()
	sqlite := channels.Facts{Datastore: channels.SQLite, Agents: channels.No}
	etcd := channels.Facts{Datastore: channels.EmbeddedEtcd, Agents: channels.No}
	for _, tt := range []struct {
		name, from, to string
		facts          channels.Facts
		has, hasNot    string
	}{
		{"a minor step", "v1.34.11+k3s1", "v1.35.8+k3s1", sqlite, "cgroup-v1-refused feature-gate-dependencies", "gitrepo-volume-off master-label-gone traefik-chart-40"},
		{"a patch has no notes of its minor", "v1.35.6+k3s1", "v1.35.8+k3s1", sqlite, "", "cgroup-v1-refused traefik-chart-40"},
		{"a change that comes by patch", "v1.35.5+k3s1", "v1.35.6+k3s1", sqlite, "traefik-chart-40", "cgroup-v1-refused"},
		{"the same change by minor", "v1.33.12+k3s1", "v1.34.9+k3s1", sqlite, "traefik-chart-40 master-label-gone", ""},
		{"it is there already", "v1.33.13+k3s1", "v1.34.9+k3s1", sqlite, "master-label-gone", "traefik-chart-40"},
		{"containerd by patch", "v1.31.5+k3s1", "v1.31.6+k3s1", sqlite, "containerd-2", "traefik-v3"},
		{"Traefik comes in the third patch", "v1.31.14+k3s1", "v1.32.1+k3s1", sqlite, "flowcontrol-v1beta3", "traefik-v3"},
		{"and by patch", "v1.32.1+k3s1", "v1.32.2+k3s1", sqlite, "traefik-v3", "flowcontrol-v1beta3"},
		{"etcd inside 1.33, on SQLite", "v1.33.10+k3s1", "v1.33.11+k3s1", sqlite, "", "etcd-36-inside-133 etcd-no-binary-rollback"},
		{"etcd inside 1.33", "v1.33.10+k3s1", "v1.33.11+k3s1", etcd, "etcd-36-inside-133 etcd-no-binary-rollback etcd-v2-flags", "etcd-36-needs-3526"},
		{"etcd with 1.34", "v1.33.10+k3s1", "v1.34.5+k3s1", etcd, "etcd-36-needs-3526 etcd-no-binary-rollback", "etcd-36-inside-133"},
		{"etcd 3.6 is there already", "v1.33.12+k3s1", "v1.34.8+k3s1", etcd, "master-label-gone", "etcd-36-needs-3526 etcd-no-binary-rollback etcd-v2-flags"},
		{"etcd 3.7", "v1.36.5+k3s1", "v1.37.1+k3s1", etcd, "etcd-37-needs-3611 etcd-no-binary-rollback etcd-37-experimental-flags", "etcd-v2-flags"},
		{"a note about one release", "v1.27.16+k3s1", "v1.28.1+k3s1", sqlite, "init-container-regression", ""},
		{"not about the next", "v1.27.16+k3s1", "v1.28.2+k3s1", sqlite, "san-filter", "init-container-regression"},
		{"a gap that closed again", "v1.28.15+k3s1", "v1.29.2+k3s1", sqlite, "flowcontrol-v1beta2", "rotate-keys-missing multi-cluster-cidr"},
		{"the gap itself", "v1.28.5+k3s1", "v1.29.1+k3s2", sqlite, "rotate-keys-missing multi-cluster-cidr", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			notes := rungNotes(t, tt.from, tt.to, tt.facts)
			for _, id := range strings.Fields(tt.has) {
				if _, ok := notes[id]; !ok {
					t.Errorf("%s -> %s lacks %s", tt.from, tt.to, id)
				}
			}
			for _, id := range strings.Fields(tt.hasNot) {
				if _, ok := notes[id]; ok {
					t.Errorf("%s -> %s has %s", tt.from, tt.to, id)
				}
			}
		})
	}
}

func TestUnknownFactsKeepTheNoteAndSaySo(t *testing.T) {
	t.Parallel()
	climb, err := channels.Ladder(skew.MustParse("v1.34.11+k3s1"), skew.MustParse("v1.35.8+k3s1"), nil, channels.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	rung := climb.Rungs[0]
	find := func(ns []channels.Applying) *channels.Applying {
		i := slices.IndexFunc(ns, func(n channels.Applying) bool { return n.ID == "cgroup-v1-refused" })
		if i < 0 {
			return nil
		}
		return &ns[i]
	}
	if n := find(rung.Notes); n == nil || n.Certain || !slices.Equal(n.Unknown, []channels.Trait{channels.TraitCgroupV1}) {
		t.Errorf("unknown: %+v", n)
	}
	with := func(a channels.Answer) channels.Facts {
		return channels.Facts{Traits: map[channels.Trait]channels.Answer{channels.TraitCgroupV1: a}}
	}
	if n := find(rung.Applies(with(channels.Yes))); n == nil || !n.Certain || n.Unknown != nil {
		t.Errorf("yes: %+v", n)
	}
	if n := find(rung.Applies(with(channels.No))); n != nil {
		t.Errorf("no: %+v", n)
	}
}

func TestNotesFollowFromOtherFacts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		note    string
		facts   channels.Facts
		there   bool
		certain bool
	}{
		{"servers of one machine do not fight over Helm releases", "traefik-mixed-servers", channels.Facts{Datastore: channels.SQLite}, false, false},
		{"they may with etcd", "traefik-mixed-servers", channels.Facts{Datastore: channels.EmbeddedEtcd}, true, false},
		{"and do when it is known", "traefik-mixed-servers", channels.Facts{Datastore: channels.EmbeddedEtcd, Traits: map[channels.Trait]channels.Answer{
			channels.TraitHA: channels.Yes, channels.TraitPackagedTraefik: channels.Yes}}, true, true},
		{"one No is enough", "traefik-mixed-servers", channels.Facts{Traits: map[channels.Trait]channels.Answer{channels.TraitPackagedTraefik: channels.No}}, false, false},
		{"RKE2's notes are not k3s's", "rke2-traefik-default", channels.Facts{}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n, ok := rungNotes(t, "v1.35.8+k3s1", "v1.36.4+k3s1", tt.facts)[tt.note]
			if ok != tt.there || n.Certain != tt.certain {
				t.Errorf("there %v, certain %v", ok, n.Certain)
			}
		})
	}
	climb, err := channels.Ladder(skew.MustParse("v1.35.8+k3s1"), skew.MustParse("v1.36.4+k3s1"), nil, channels.Facts{Executor: channels.Script, Agents: channels.No})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range climb.Notes {
		if strings.HasPrefix(n.ID, "suc-") || n.ID == "agents-after-servers" {
			t.Errorf("%s concerns nobody here", n.ID)
		}
	}
}

func TestSafeStartIsHeldAgainstTheRung(t *testing.T) {
	t.Parallel()
	etcd := channels.Facts{Datastore: channels.EmbeddedEtcd, Agents: channels.No}
	if n := rungNotes(t, "v1.32.13+k3s1", "v1.33.13+k3s2", etcd)["etcd-36-inside-133"]; n.SafeStartMet != channels.Yes || !n.Certain {
		t.Errorf("%+v", n)
	}
	docker := channels.Facts{Agents: channels.No, Traits: map[channels.Trait]channels.Answer{channels.TraitDocker: channels.Yes}}
	if n := rungNotes(t, "v1.27.6+k3s1", "v1.28.15+k3s1", docker)["docker-25"]; n.SafeStartMet != channels.No {
		t.Errorf("%+v", n)
	}
	if n := rungNotes(t, "v1.27.16+k3s1", "v1.28.15+k3s1", docker)["docker-25"]; n.SafeStartMet != channels.Yes {
		t.Errorf("%+v", n)
	}
}

func TestFactsAreChecked(t *testing.T) {
	t.Parallel()
	for _, f := range []channels.Facts{
		{Datastore: "mysql"}, {Agents: "maybe"}, {Executor: "ansible"},
		{Traits: map[channels.Trait]channels.Answer{channels.TraitDocker: "perhaps"}},
		{Traits: map[channels.Trait]channels.Answer{"no-such-trait": channels.Yes}},
	} {
		if err := f.Validate(); err == nil {
			t.Errorf("%+v is valid", f)
		}
		if _, err := channels.Ladder(skew.MustParse("v1.34.11+k3s1"), skew.MustParse("v1.35.8+k3s1"), nil, f); err == nil {
			t.Errorf("a ladder for %+v", f)
		}
	}
	for _, trait := range channels.Traits() {
		if err := (channels.Facts{Traits: map[channels.Trait]channels.Answer{trait: channels.Yes}}).Validate(); err != nil {
			t.Error(err)
		}
	}
}
