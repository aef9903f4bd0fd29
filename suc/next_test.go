package suc

import (
	"errors"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
)

func TestNextIsOneRungUpForServersAndAgents(t *testing.T) {
	t.Parallel()
	step, err := Next(skew.MustParse("v1.34.11+k3s1"), channels.Bundled(), NextOptions{
		Facts: channels.Facts{Datastore: channels.SQLite}, Server: Options{Stage: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if step.To.Minor() != (skew.Minor{Major: 1, Minor: 35}) || len(step.Plans) != 2 {
		t.Fatalf("to %s with %d Plans", step.To, len(step.Plans))
	}
	server, agent := step.Plans[0], step.Plans[1]
	if server.Spec.Version != step.To.String() || agent.Spec.Version != server.Spec.Version || agent.Spec.Prepare.Args[1] != server.Name || server.Spec.Channel != "" {
		t.Errorf("the pair does not fit:\n%+v\n%+v", server.Spec, agent.Spec)
	}
	if found := LintPlans(step.Plans, LintOptions{Facts: &Facts{ServerVersion: "v1.34.11+k3s1", Datastore: "sqlite"}}); len(found) > 0 {
		t.Errorf("the linter objects:\n%s", found)
	}
	if got := step.FileName(2); got != "02-"+step.To.ImageTag()+".yaml" {
		t.Error(got)
	}
}

func TestLadderReplacesThePlansStepByStep(t *testing.T) {
	t.Parallel()
	from, to := skew.MustParse("v1.32.10+k3s1"), skew.MustParse("v1.35.9+k3s1")
	steps, err := Ladder(from, to, channels.Bundled(), NextOptions{Facts: channels.Facts{Datastore: channels.SQLite}, NoAgents: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) < 3 || steps[0].From != from || steps[len(steps)-1].To != to {
		t.Fatalf("%d steps", len(steps))
	}
	for i, s := range steps {
		if len(s.Plans) != 1 || s.Plans[0].Name != steps[0].Plans[0].Name {
			t.Errorf("step %d has other Plans", i)
		}
		if i > 0 && s.From != steps[i-1].To {
			t.Errorf("step %d does not begin where the one before ends", i)
		}
		if found := LintPlans(s.Plans, LintOptions{Facts: &Facts{ServerVersion: s.From.String(), Datastore: "sqlite"}}); len(found) > 0 {
			t.Errorf("step %d: the linter objects:\n%s", i, found)
		}
	}
}

func TestNextAtTheTop(t *testing.T) {
	t.Parallel()
	_, err := Next(skew.MustParse("v1.99.0+k3s1"), channels.Bundled(), NextOptions{})
	if !errors.Is(err, ErrTop) || !strings.Contains(err.Error(), "v1.99.0+k3s1") {
		t.Errorf("got %v", err)
	}
}

func TestNextWithoutACatalogKnowsNothingAbove(t *testing.T) {
	t.Parallel()
	if _, err := Next(skew.MustParse("v1.34.4+k3s1"), nil, NextOptions{}); !errors.Is(err, ErrTop) {
		t.Error(err)
	}
}
