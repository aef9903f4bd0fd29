package channels

import (
	"fmt"
	"strings"
	"time"

	"github.com/k3sladder/k3sladder/skew"
)

// Constraint is a rule that a ladder keeps besides the version skew policy.
type Constraint struct {
	// ID is stable and names the constraint in errors and reports.
	ID string `json:"id"`
	// Text says the rule in a sentence.
	Text string `json:"text"`
	// Source is the URL the rule was taken from.
	Source string `json:"source"`

	// binds says whether a cluster with these facts must keep the rule; it does
	// so also when the deciding fact is unknown.
	binds func(Facts) bool
	// judge says whether the rule lets a cluster step from a to b; last: b is
	// where the ladder ends.
	judge func(a, b *place, last bool) ruling
}

// ruling is what one constraint says about one step.
type ruling int

const (
	allowed ruling = iota
	// unchecked: the rule speaks of something that is not known about one of
	// the releases.
	unchecked
	forbidden
)

// place is a release as the constraints see it.
type place struct {
	version skew.Version
	// release is the table's row, nil when the table has none.
	release *Release
	// etcd is the version of the embedded etcd and date the day of the release.
	// Of releases that are not in the table only bounds are known: the lower ones
	// from the release before them in their minor; where there is none (a
	// candidate of the first release), the upper one of etcd from the release
	// after. The zero values mean that nothing is known.
	etcd etcdVersion
	date time.Time
	// minor, month and rke2 are what the search asks of version and date again
	// and again; month is zero where date is.
	minor skew.Minor
	month int
	rke2  bool
	// never is why the release must not be a stop.
	never *NeverStop
}

// exact reports whether the table has the release.
func (p *place) exact() bool { return p.release != nil }

// etcdStop is a rule of etcd's about one of its minor upgrades.
type etcdStop struct {
	to    skew.Minor
	floor etcdVersion
}

var (
	etcd36 = etcdStop{skew.Minor{Major: 3, Minor: 6}, etcdVersion{skew.Minor{Major: 3, Minor: 5}, 26}}
	etcd37 = etcdStop{skew.Minor{Major: 3, Minor: 7}, etcdVersion{skew.Minor{Major: 3, Minor: 6}, 11}}
)

// agentFloors are the releases of January 2025 that gave older agents the rights
// which servers from 1.32 on take away: agents below them hang their Pods.
var agentFloors = []skew.Version{
	skew.MustParse("v1.31.5+k3s1"), skew.MustParse("v1.30.9+k3s1"), skew.MustParse("v1.29.13+k3s1"),
}

var v132 = skew.Minor{Major: 1, Minor: 32}

// AgentHangs reports whether new Pods hang on a k3s agent of that version under
// servers of the other: servers from 1.32 on withhold from agents older than
// 1.31.5, 1.30.9 and 1.29.13 the right to list nodes, and flannel on them never
// becomes ready (https://github.com/k3s-io/k3s/issues/11551). The version skew
// policy allows such agents. RKE2 packs another network plugin. Of a zero Version
// nothing is known, and nothing is reported.
func AgentHangs(server, agent skew.Version) bool {
	if agent.IsZero() || server.Minor().Compare(v132) < 0 || agent.Minor().Compare(v132) >= 0 || server.Distribution() == "rke2" {
		return false
	}
	for _, floor := range agentFloors {
		if floor.Minor() == agent.Minor() {
			return agent.Less(floor)
		}
	}
	return true
}

var constraints = []Constraint{
	{
		ID:     "etcd-36-needs-3526",
		Text:   "etcd goes from 3.5 to 3.6 only from 3.5.26 or later: members that were removed long ago can come back and cost the quorum",
		Source: "https://etcd.io/blog/2025/zombie_members_upgrade/",
		binds:  etcdMatters,
		judge:  etcd36.judge,
	},
	{
		ID:     "etcd-37-needs-3611",
		Text:   "etcd goes from 3.6 to 3.7 only from 3.6.11 or later",
		Source: "https://etcd.io/docs/v3.7/upgrades/upgrade_3_7/",
		binds:  etcdMatters,
		judge:  etcd37.judge,
	},
	{
		ID:     "etcd-one-minor",
		Text:   "etcd goes up one minor at a time and never down",
		Source: "https://etcd.io/docs/v3.6/upgrades/upgrade_3_6/",
		binds:  etcdMatters,
		judge: func(a, b *place, _ bool) ruling {
			switch {
			case !a.etcd.known() || !b.etcd.known():
				return unchecked
			case a.etcd.minor != b.etcd.minor && a.etcd.minor.Next() != b.etcd.minor:
				return forbidden
			case !b.exact():
				return unchecked
			}
			return allowed
		},
	},
	{
		ID:     "build-month",
		Text:   "the k3s-upgrade image refuses a release that was built in an earlier month than the running one",
		Source: "https://github.com/k3s-io/k3s-upgrade/blob/master/scripts/upgrade.sh",
		binds:  func(f Facts) bool { return f.Executor != Script },
		judge:  judgeMonth,
	},
	{
		ID:     "agents-january-2025",
		Text:   "servers go to 1.32 or later only when the agents are on 1.31.5, 1.30.9, 1.29.13 or later: the Pods of older agents hang",
		Source: "https://github.com/k3s-io/k3s/issues/11551",
		binds:  func(f Facts) bool { return f.Agents != No },
		judge: func(a, b *place, _ bool) ruling {
			// The agents are on a when the servers go to b.
			if a.minor.Compare(v132) < 0 && AgentHangs(b.version, a.version) {
				return forbidden
			}
			return allowed
		},
	},
	{
		ID:     "never-stop",
		Text:   "some releases are never a stop on the way: they were withdrawn or broke workloads, and a fixed one followed",
		Source: "https://docs.k3s.io/release-notes/v1.25.X",
		binds:  func(Facts) bool { return true },
		judge: func(_, b *place, last bool) ruling {
			if b.never != nil && !last {
				return forbidden
			}
			return allowed
		},
	},
}

// Constraints lists the rules of a ladder as data. The slice is the caller's.
func Constraints() []Constraint { return append([]Constraint(nil), constraints...) }

func etcdMatters(f Facts) bool { return f.Datastore == EmbeddedEtcd || f.Datastore == DatastoreUnknown }

func (s etcdStop) judge(a, b *place, _ bool) ruling {
	switch {
	case b.etcd.known() && b.etcd.minor.Compare(s.to) < 0 && b.exact():
		return allowed
	case !a.etcd.known() || !b.etcd.known():
		return unchecked
	case a.etcd.minor.Compare(s.to) < 0 && b.etcd.minor.Compare(s.to) >= 0 && a.etcd.less(s.floor):
		return forbidden
	}
	return allowed
}

// judgeMonth compares the months of release, which stand for the months of the
// build that the image compares.
func judgeMonth(a, b *place, _ bool) ruling {
	if a.rke2 {
		return allowed // the rke2-upgrade image has no such check
	}
	if a.month == 0 || b.month == 0 {
		return unchecked
	}
	earlier := b.month < a.month
	switch {
	case earlier && b.exact():
		return forbidden // a is of that month at least
	case earlier || !a.exact():
		return unchecked
	}
	return allowed
}

// newPlace fills in what follows from the other fields.
func newPlace(v skew.Version, r *Release, etcd etcdVersion, date time.Time) place {
	p := place{version: v, release: r, etcd: etcd, date: date, minor: v.Minor(), rke2: v.Distribution() == "rke2", never: neverStop(v)}
	if !date.IsZero() {
		p.month = date.Year()*12 + int(date.Month())
	}
	return p
}

// place looks a version up in the table. What the table does not have is given
// the bounds that follow from the releases around it.
func (t *table) place(v skew.Version) place {
	// RKE2 packs etcd in the same patches as k3s, revision by revision:
	// https://docs.rke2.io/release-notes/v1.33.X.
	w := v
	if n, ok := strings.CutPrefix(v.Build(), "rke2r"); ok {
		if twin, err := skew.Parse(v.Kubernetes().String() + "+k3s" + n); err == nil {
			w = twin
		}
	}
	i, ok := t.find(w)
	if ok && w == v {
		r := &t.releases[i]
		return newPlace(v, r, r.etcd, r.Date)
	}
	if ok {
		i++ // the twin bounds v from below
	}
	before := i > 0 && t.releases[i-1].Version.Minor() == v.Minor()
	after := i < len(t.releases) && t.releases[i].Version.Minor() == v.Minor()
	var etcd etcdVersion
	var date time.Time
	if before {
		etcd, date = t.releases[i-1].etcd, t.releases[i-1].Date
	} else if after {
		etcd = t.releases[i].etcd
	}
	if !after && (before || i == len(t.releases)) {
		date = t.date // newer than the module
	}
	return newPlace(v, nil, etcd, date)
}

// NeverStop is a release that must not be a stop on the way.
type NeverStop struct {
	Version skew.Version `json:"version"`
	// Why says what is wrong with it.
	Why    string `json:"why"`
	Source string `json:"source"`
}

const containerd7843 = "restarting k3s restarts every Pod (containerd issue 7843); withdrawn from the channels, a second revision followed"

var neverStops = []NeverStop{
	{skew.MustParse("v1.24.9+k3s1"), containerd7843, "https://github.com/k3s-io/k3s/releases/tag/v1.24.9+k3s1"},
	{skew.MustParse("v1.25.5+k3s1"), containerd7843, "https://github.com/k3s-io/k3s/releases/tag/v1.25.5+k3s1"},
	{skew.MustParse("v1.26.0+k3s1"), containerd7843, "https://github.com/k3s-io/k3s/releases/tag/v1.26.0+k3s1"},
	{skew.MustParse("v1.24.9+rke2r1"), strings.Replace(containerd7843, "k3s", "RKE2", 1), "https://docs.rke2.io/release-notes/v1.24.X"},
	{skew.MustParse("v1.27.7+k3s1"), "the packaged Traefik lacks the CRDs it needs; fixed in +k3s2", "https://github.com/k3s-io/k3s/issues/8755"},
	{skew.MustParse("v1.28.1+k3s1"), "after a node restart init containers run together with the app's (Kubernetes regression); fixed in 1.28.2", "https://github.com/k3s-io/k3s/releases/tag/v1.28.1+k3s1"},
	{skew.MustParse("v1.28.3+k3s1"), "the packaged Traefik lacks the CRDs it needs; fixed in +k3s2", "https://github.com/k3s-io/k3s/issues/8755"},
}

// NeverStops lists the releases that are never a stop. The slice is the caller's.
func NeverStops() []NeverStop { return append([]NeverStop(nil), neverStops...) }

func neverStop(v skew.Version) *NeverStop {
	for i := range neverStops {
		if neverStops[i].Version == v {
			return &neverStops[i]
		}
	}
	return nil
}

// describe says what a constraint sees in a step: "v1.34.12+k3s1 is of 2026-09,
// v1.35.8+k3s1 of 2026-08".
func (c *Constraint) describe(a, b *place) string {
	switch c.ID {
	case "build-month":
		return fmt.Sprintf("%s is of %s, %s of %s", a.version, a.date.Format("2006-01"), b.version, b.date.Format("2006-01"))
	case "agents-january-2025":
		return fmt.Sprintf("agents on %s, servers on %s", a.version, b.version)
	case "never-stop":
		return fmt.Sprintf("%s: %s", b.version, b.never.Why)
	default:
		return fmt.Sprintf("%s carries etcd %s, %s etcd %s", a.version, a.etcd, b.version, b.etcd)
	}
}
