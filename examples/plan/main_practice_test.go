//go:build practice

package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/k3sladder/k3sladder/internal/practice"
)

// The commands that need a cluster, on a real API server; no controller runs.
func TestScriptsOnACluster(t *testing.T) {
	c := practice.Start(t, practice.Options{})
	testscript.Run(t, testscript.Params{
		Dir: "testdata/practice",
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			env.Setenv("KUBECONFIG", c.Kubeconfig())
			return nil
		},
	})
}
