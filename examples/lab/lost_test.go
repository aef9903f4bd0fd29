package main

import (
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/snapshot"
)

func TestLostIsWhatTheWholeClusterMisses(t *testing.T) {
	t.Parallel()
	loss := func(what snapshot.What, field string) snapshot.Difference {
		return snapshot.Difference{What: what, Kind: "Deployment", Namespace: "default", Name: "mine", Field: field, Loss: true}
	}
	for name, c := range map[string]struct {
		verdict snapshot.Verdict
		losses  []snapshot.Difference
		want    string // empty: nothing is lost
		mends   bool
	}{
		"the same":                        {snapshot.SameCluster, nil, "", false},
		"a Deployment is gone for good":   {snapshot.SameClusterWithLosses, []snapshot.Difference{loss(snapshot.Missing, "")}, "default/mine", false},
		"a Deployment is not ready yet":   {snapshot.SameClusterWithLosses, []snapshot.Difference{loss(snapshot.Unwell, "ready")}, "lab step after --force --dir climb looks again", true},
		"a node that was left cordoned":   {snapshot.SameClusterWithLosses, []snapshot.Difference{loss(snapshot.Unwell, "schedulable")}, "", false},
		"another cluster":                 {snapshot.OtherCluster, nil, "headline", false},
		"a kind that could not be listed": {snapshot.NotComparable, nil, "cannot be said: reason", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := &snapshot.Comparison{Verdict: c.verdict, Headline: "headline", Reasons: []string{"reason"}, Differences: c.losses}
			err := lost(got, "lab step after --force --dir climb")
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if mends(got) != c.mends {
				t.Errorf("mends: got %v", !c.mends)
			}
		})
	}
}

func TestAPlanIsNotJudgedAgainstAVersionThatIsNotKnown(t *testing.T) {
	t.Parallel()
	next := skew.MustParse("v1.36.5+k3s1")
	if err := minorAbove(next, skew.Version{}); err == nil || !strings.Contains(err.Error(), "without the version in after.json") {
		t.Errorf("got %v", err)
	}
	if err := minorAbove(next, skew.MustParse("v1.35.4+k3s1")); err != nil {
		t.Error(err)
	}
	if minorAbove(next, skew.MustParse("v1.34.4+k3s1")) == nil {
		t.Error("a Plan two minors up passes")
	}
}
