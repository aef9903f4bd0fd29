package drainprobe_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/k3sladder/k3sladder/drainprobe"
)

func TestNothingIsDecidedFromNothing(t *testing.T) {
	t.Parallel()
	none, err := (&drainprobe.World{}).Forecast("typo", drainprobe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		from drainprobe.Evidence
		want string
	}{
		"no evidence":                     {nil, "nothing was forecast or tried"},
		"no forecast":                     {(*drainprobe.Forecasted)(nil), "nothing was forecast or tried"},
		"no attempt":                      {(*drainprobe.Attempted)(nil), "nothing was forecast or tried"},
		"the zero forecast":               {&drainprobe.Forecasted{}, "the forecast has no verdict"},
		"a node that the cluster has not": {none, `there is no node "typo"; there are: none`},
	} {
		for _, p := range []drainprobe.Policy{{}, {KeepBudgets: true}, {KeepServing: true}} {
			d := drainprobe.Decide(tt.from, p)
			if d.Action != "" || d.String() != "decision=none" || len(d.Reasons) != 1 || d.Reasons[0] != tt.want {
				t.Errorf("%s: %s %q", name, d, d.Reasons)
			}
		}
	}
	// An attempt that failed is one, also without a word about it.
	d := drainprobe.Decide(&drainprobe.Attempted{}, drainprobe.Policy{})
	if d.Action != drainprobe.ActionUpgradeWithoutDrain || strings.Contains(strings.Join(d.Reasons, " "), "a flag is missing") {
		t.Errorf("the zero attempt: %s %q", d, d.Reasons)
	}
	if text := (&drainprobe.Forecasted{}).String(); strings.Contains(text, "%!") {
		t.Errorf("the zero forecast: %q", text)
	}
}

func TestACancelledContextNoNodeAndNoClientAreErrors(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := drainprobe.Attempt(cancelled, client, "a", drainprobe.Options{}); !errors.Is(err, drainprobe.ErrInterrupted) || !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ended before the attempt: %v", err)
	}
	if _, err := drainprobe.Attempt(t.Context(), client, "", drainprobe.Options{}); !errors.Is(err, drainprobe.ErrNoNode) {
		t.Errorf("an attempt on no node: %v", err)
	}
	for name, f := range map[string]func() error{
		"Attempt":     func() error { _, err := drainprobe.Attempt(t.Context(), nil, "a", drainprobe.Options{}); return err },
		"Forecast":    func() error { _, err := drainprobe.Forecast(t.Context(), nil, "a", drainprobe.Options{}); return err },
		"ForecastAll": func() error { _, err := drainprobe.ForecastAll(t.Context(), nil, drainprobe.Options{}); return err },
		"Gather":      func() error { _, err := drainprobe.Gather(t.Context(), nil, "a", drainprobe.Options{}); return err },
		"GatherAll":   func() error { _, err := drainprobe.GatherAll(t.Context(), nil); return err },
	} {
		if f() == nil {
			t.Errorf("%s without a client: no error", name)
		}
	}
}
