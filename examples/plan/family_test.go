package main

import (
	"testing"

	"github.com/k3sladder/k3sladder/examples/internal/helptext"
	"github.com/k3sladder/k3sladder/examples/internal/jsonkeys"
	"github.com/k3sladder/k3sladder/suc"
)

// A key is a promise: programs read it.
func TestJSONKeysAreThoseOfTheDocumentation(t *testing.T) {
	t.Parallel()
	jsonkeys.Check(t, "plan next", suc.Step{})
	jsonkeys.Check(t, "plan lint", suc.Findings{})
	jsonkeys.Check(t, "plan lint --rules", []suc.Rule{})
	jsonkeys.Check(t, "plan explain", []suc.Explanation{})
	jsonkeys.Check(t, "plan apply", suc.ApplyResult{})
	jsonkeys.Check(t, "plan watch, each event", suc.Event{})
	jsonkeys.Check(t, "plan watch, the result", suc.WatchResult{})
}

func TestHelpIsThatOfTheFamily(t *testing.T) {
	t.Parallel()
	helptext.Check(t, newCommand)
}
