package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"snapshot": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: func(e *testscript.Env) error {
		e.Setenv("HOME", e.WorkDir)
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
