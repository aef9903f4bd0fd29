//go:build practice

package drainprobe

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestOwnScenariosOnThePracticeCluster forecasts and really drains this
// package's own scenarios, and compares both with the records (or, with
// -record, writes them).
func TestOwnScenariosOnThePracticeCluster(t *testing.T) {
	s := newStage(t)
	var jobs []func()
	for i, o := range ownScenarios {
		if i+1 < *from || *only != "" && !strings.Contains(o.name, *only) || !*everyCase && !*recordOwn && *only == "" && i%4 != 0 {
			continue
		}
		jobs = append(jobs, func() { s.own(t, i, o) })
	}
	inParallel(*parallel, jobs)
}

func (s *stage) own(t *testing.T, i int, o ownScenario) {
	c := newCell(fmt.Sprintf("own%02d", i+1))
	o.build(c)
	sc := scenario{dir: filepath.Join("testdata", "own", fmt.Sprintf("%02d-%s", i+1, o.name)), Node: c.nodeName("a"), Flags: o.flags,
		Timeout: o.timeout, Kind: "own", Why: o.why, Setup: o.setup, Verdict: o.verdict}
	if sc.Timeout == "" {
		sc.Timeout = "15s"
	}
	if o.totals {
		sc.Compare = "totals"
	}
	opts, _ := sc.options(t)
	if !*recordOwn {
		opts.RetryDelay = time.Second
	}
	p, err := s.play(context.Background(), c, sc.Node, o.setup, opts)
	if err != nil {
		t.Errorf("%s: %v", o.name, err)
		return
	}
	t.Logf("%-40s forecast %-9s drained %-5v in %.1f s (forecast %v) total %.0f s", o.name, p.forecast.Verdict, p.attempt.Drained, p.attempt.Seconds, p.forecast.Time, p.took.Seconds())
	checkAgainst(t, sc, p.forecast, &p.observed)
	if *recordOwn {
		sc.Observed = &p.observed
		writeRecord(t, sc.dir, sc, p.state)
		return
	}
	if o.verdict == VerdictUndecided { // a race, perhaps: the record is one way it went
		return
	}
	record := readScenario(t, sc.dir)
	if record.Observed.Finished != p.observed.Finished {
		t.Errorf("%s: recorded finished=%v, now %v\n%s", o.name, record.Observed.Finished, p.observed.Finished, p.attempt.Output)
	}
}

// quickCases are recorded scenarios of different kinds that take little time.
var quickCases = []string{"01", "07", "11", "13", "15", "17", "21", "24", "27", "29", "34", "43", "50", "58", "60", "64", "69", "71", "78", "82"}

// TestRecordedScenariosOnThePracticeCluster plays recorded cluster.yaml files
// again: forecast, reality and record have to agree.
func TestRecordedScenariosOnThePracticeCluster(t *testing.T) {
	s := newStage(t)
	var jobs []func()
	undecided, n := 0, 0
	var mu sync.Mutex
	for _, sc := range scenarios(t, "cases") {
		quick := false
		for _, q := range quickCases {
			quick = quick || strings.HasPrefix(sc.name(), q+"-")
		}
		if *only != "" && !strings.Contains(sc.name(), *only) || *only == "" && !*everyCase && !quick || sc.Node == "" {
			continue
		}
		n++
		jobs = append(jobs, func() {
			c := cellFrom(t, sc.dir)
			opts, _ := sc.options(t)
			opts.RetryDelay = time.Second
			p, err := s.play(context.Background(), c, sc.Node, sc.Setup, opts)
			if err != nil {
				if sc.Kind == "no-such-node" && p != nil && p.forecast.Missing {
					return
				}
				t.Errorf("%s: %v", sc.name(), err)
				return
			}
			t.Logf("%-32s forecast %-9s drained %-5v in %.1f s (forecast %v) total %.0f s", sc.name(), p.forecast.Verdict, p.attempt.Drained, p.attempt.Seconds, p.forecast.Time, p.took.Seconds())
			checkAgainst(t, sc, p.forecast, &p.observed)
			if p.observed.Finished != sc.Observed.Finished {
				t.Errorf("%s: recorded finished=%v, now %v\n%s", sc.name(), sc.Observed.Finished, p.observed.Finished, p.attempt.Output)
			}
			mu.Lock()
			defer mu.Unlock()
			if p.forecast.Verdict == VerdictUndecided {
				undecided++
			}
		})
	}
	inParallel(*parallel, jobs)
	t.Logf("%d scenarios, %d undecided", n, undecided)
}
