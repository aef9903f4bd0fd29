package main

import (
	"testing"

	"github.com/k3sladder/k3sladder/examples/internal/helptext"
	"github.com/k3sladder/k3sladder/examples/internal/jsonkeys"
)

// A key is a promise: programs read it.
func TestJSONKeysAreThoseOfTheDocumentation(t *testing.T) {
	t.Parallel()
	jsonkeys.Check(t, "ladder", report{})
	jsonkeys.Check(t, "ladder, where there is none", refusal{})
	jsonkeys.Check(t, "ladder check", verdict{})
}

func TestHelpIsThatOfTheFamily(t *testing.T) {
	t.Parallel()
	helptext.Check(t, newCommand)
}
