package drainprobe

import (
	"testing"
)

// TestForecastAgreesWithTheRecords judges every recorded state offline.
func TestForecastAgreesWithTheRecords(t *testing.T) {
	t.Parallel()
	list := scenarios(t, "cases")
	if len(list) < 43 {
		t.Fatalf("%d recorded cases, there were 43", len(list))
	}
	undecided := 0
	for _, s := range list {
		w := readState(t, s.dir)
		opts, _ := s.options(t)
		f, err := w.Forecast(s.Node, opts)
		if err != nil {
			t.Errorf("%s: %v", s.name(), err)
			continue
		}
		checkAgainst(t, s, f, s.Observed)
		if f.Verdict == VerdictUndecided {
			undecided++
			t.Logf("%s is undecided: %v", s.name(), f.Reasons)
		}
	}
	if undecided*20 >= len(list) {
		t.Errorf("%d of %d are undecided, which is 5 %% or more", undecided, len(list))
	}
}

// checkAgainst compares a forecast with what happened.
func checkAgainst(t *testing.T, s scenario, f *Forecasted, o *seen) {
	t.Helper()
	switch {
	case f.Verdict == VerdictDrains && !o.Finished:
		t.Errorf("%s: forecast drains, the drain did not finish (%s)\n%s", s.name(), s.Why, f)
	case f.Verdict == VerdictBlocked && o.Finished:
		t.Errorf("%s: forecast blocked, the drain finished (%s)\n%s", s.name(), s.Why, f)
	}
	if s.Verdict != "" && f.Verdict != s.Verdict {
		t.Errorf("%s: forecast %s, expected %s: %v", s.name(), f.Verdict, s.Verdict, f.Reasons)
	}
	if f.Verdict == VerdictUndecided || len(f.Pods) == 0 || s.Compare == "verdict" {
		return
	}
	got := tally(f)
	for what, want := range map[string][]ownerPods{"evicted": o.Evicted, "terminating": o.Terminating, "left": o.Left} {
		if what == "left" && len(s.Flags) > 0 {
			// Records count what a selector leaves out as left.
			continue
		}
		if s.Compare == "totals" {
			if totalOf(got[what]) != total(want) {
				t.Errorf("%s: %s %d, recorded %d", s.name(), what, totalOf(got[what]), total(want))
			}
			continue
		}
		if a, b := sumsOf(got[what]), sums(want); a != b {
			t.Errorf("%s: %s %q, recorded %q", s.name(), what, a, b)
		}
	}
}
