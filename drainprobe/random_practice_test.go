//go:build practice

package drainprobe

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestRandomClustersOnThePracticeCluster forecasts and drains random small
// clusters. A seed that fails is run again with -seed N -seeds 1.
func TestRandomClustersOnThePracticeCluster(t *testing.T) {
	s := newStage(t)
	var (
		mu                                      sync.Mutex
		drained, blocked, undecided, wrong, bad int
		jobs                                    []func()
	)
	for seed := *firstSeed; seed < *firstSeed+*seedCount; seed++ {
		jobs = append(jobs, func() {
			c := newRandomCell(seed)
			sc := scenario{Node: c.nodeName("a"), Flags: c.flags, Timeout: "20s", Compare: "verdict", dir: "seed " + strconv.Itoa(seed)}
			opts, _ := sc.options(t)
			opts.RetryDelay = time.Second
			p, err := s.play(context.Background(), c.cell, sc.Node, c.setup, opts)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				bad++
				t.Errorf("seed %d: %v", seed, err)
				return
			}
			t.Logf("seed %-4d forecast %-9s drained %-5v in %4.1f s (likely %.0f s), %d pods", seed, p.forecast.Verdict, p.attempt.Drained, p.attempt.Seconds, p.forecast.Time.Likely, len(p.forecast.Pods))
			before := t.Failed()
			checkAgainst(t, sc, p.forecast, &p.observed)
			switch p.forecast.Verdict {
			case VerdictUndecided:
				undecided++
				t.Logf("seed %d is undecided: %v", seed, p.forecast.Reasons)
			case VerdictDrains:
				drained++
			case VerdictBlocked:
				blocked++
			}
			if p.forecast.Verdict == VerdictDrains != p.attempt.Drained && p.forecast.Verdict != VerdictUndecided || t.Failed() && !before {
				wrong++
				t.Logf("seed %d:\n%s\n%s", seed, p.forecast, p.attempt.Output)
			}
			if p.attempt.Seconds > 23 {
				t.Logf("seed %d took long:\n%s", seed, p.attempt.Output)
			}
			if p.forecast.Verdict == VerdictUndecided || t.Failed() && !before {
				if dir := os.Getenv("DRAINPROBE_KEEP"); dir != "" {
					_ = os.WriteFile(filepath.Join(dir, strconv.Itoa(seed)+".json"), p.state, 0o644)
				}
			}
		})
	}
	inParallel(*parallel, jobs)
	t.Logf("%d seeds from %d: %d drains, %d blocked, %d undecided, %d wrong, %d not played", *seedCount, *firstSeed, drained, blocked, undecided, wrong, bad)
	if undecided*20 > *seedCount {
		t.Errorf("%d of %d are undecided, more than 5 %%", undecided, *seedCount)
	}
}
