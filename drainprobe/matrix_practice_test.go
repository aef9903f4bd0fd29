//go:build practice

package drainprobe

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// TestBudgetsOverUnreadyPodsOnThePracticeCluster plays every kind of budget
// over ready and unready Pods, here and elsewhere: all with -every, else a few.
func TestBudgetsOverUnreadyPodsOnThePracticeCluster(t *testing.T) {
	s := newStage(t)
	var jobs []func()
	n := 0
	for _, field := range []string{"min 0", "min 1", "min 2", "min 50%", "min 100%", "max 0", "max 1", "max 50%", "max 100%"} {
		for _, always := range []bool{false, true} {
			for _, mix := range []struct{ good, bad, elsewhere int32 }{{2, 1, 0}, {1, 2, 0}, {0, 2, 0}, {1, 1, 1}, {0, 1, 2}} {
				n++
				if !*everyCase && n%18 != 7 {
					continue
				}
				c := newCell(fmt.Sprintf("mx%d", n))
				c.node("a", "4").node("b", "4", label("other", "y"))
				here, x := on(corev1.LabelHostname, c.nodeName("a")), labelled("tier", "x")
				if mix.good > 0 {
					c.deploy("good", mix.good, here, x)
				}
				c.deploy("bad", mix.bad, here, x, behaves("never-ready"))
				if mix.elsewhere > 0 {
					c.deploy("far", mix.elsewhere, on("other", "y"), x)
				}
				var edits []func(*policyv1.PodDisruptionBudgetSpec)
				if always {
					edits = append(edits, alwaysAllow)
				}
				what, value, _ := strings.Cut(field, " ")
				c.budget("x", tier("x"), what, value, edits...)
				name := fmt.Sprintf("%s, AlwaysAllow %v, %+v", field, always, mix)
				jobs = append(jobs, func() {
					opts := Options{Timeout: 14 * time.Second, RetryDelay: time.Second}
					p, err := s.play(context.Background(), c, c.nodeName("a"), nil, opts)
					if err != nil {
						t.Errorf("%s: %v", name, err)
						return
					}
					t.Logf("%-60s forecast %-9s drained %v in %.1f s", name, p.forecast.Verdict, p.attempt.Drained, p.attempt.Seconds)
					sc := scenario{dir: name, Node: c.nodeName("a"), Why: name, Compare: "verdict"}
					checkAgainst(t, sc, p.forecast, &p.observed)
					if p.forecast.Verdict == VerdictUndecided {
						t.Logf("%s is undecided: %v", name, p.forecast.Reasons)
					}
				})
			}
		}
	}
	inParallel(*parallel, jobs)
}
