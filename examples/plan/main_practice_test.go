//go:build practice

package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/k3sladder/k3sladder/internal/practice"
)

// The commands that need a cluster, on a real API server; no controller runs.
func TestScriptsOnACluster(t *testing.T) {
	c := practice.Start(t, practice.Options{})
	stable := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/releases/v1.36.4+k3s1", http.StatusFound)
	}))
	t.Cleanup(stable.Close)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/practice",
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			env.Setenv("KUBECONFIG", c.Kubeconfig())
			env.Setenv("STABLE", stable.URL)
			return nil
		},
	})
}
