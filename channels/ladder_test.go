package channels_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
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
