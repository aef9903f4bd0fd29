package main

import (
	"testing"

	"github.com/k3sladder/k3sladder/examples/internal/helptext"
	"github.com/k3sladder/k3sladder/examples/internal/jsonkeys"
	"github.com/k3sladder/k3sladder/snapshot"
)

// A key is a promise: programs read it.
func TestJSONKeysAreThoseOfTheDocumentation(t *testing.T) {
	t.Parallel()
	jsonkeys.Check(t, "snapshot capture, the file", snapshot.Snapshot{})
	jsonkeys.Check(t, "snapshot compare", snapshot.Comparison{})
	jsonkeys.Check(t, "snapshot apiusage", answer{})
}

func TestHelpIsThatOfTheFamily(t *testing.T) {
	t.Parallel()
	helptext.Check(t, newCommand)
}
