package main

import (
	"testing"

	"github.com/k3sladder/k3sladder/backup"
	"github.com/k3sladder/k3sladder/examples/internal/helptext"
	"github.com/k3sladder/k3sladder/examples/internal/jsonkeys"
)

// A key is a promise: programs read it.
func TestJSONKeysAreThoseOfTheDocumentation(t *testing.T) {
	t.Parallel()
	jsonkeys.Check(t, "backup save", saveOutput{})
	jsonkeys.Check(t, "backup verify", backup.Verification{})
	jsonkeys.Check(t, "backup restore", restoreOutput{})
	jsonkeys.Check(t, "backup undo", undoOutput{})
	jsonkeys.Check(t, "backup list", listOutput{})
	jsonkeys.Check(t, "backup detect", backup.Detection{})
}

func TestHelpIsThatOfTheFamily(t *testing.T) {
	t.Parallel()
	helptext.Check(t, newCommand)
}
