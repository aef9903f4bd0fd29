package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/k3sladder/k3sladder/examples/internal/scripts"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"snapshot": main})
}

func TestScripts(t *testing.T) {
	scripts.Run(t, testscript.Params{Setup: func(e *testscript.Env) error {
		for _, name := range []string{"before.json", "after.json", "lost.json", "gap.json", "other.json"} {
			b, err := os.ReadFile("testdata/" + name)
			if err != nil {
				return err
			}
			if err := os.WriteFile(e.WorkDir+"/"+name, b, 0o600); err != nil {
				return err
			}
		}
		return nil
	}})
}
