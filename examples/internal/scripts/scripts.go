// Package scripts runs the scripts of an example program's tests, the same way
// for each program.
package scripts

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Run runs testdata/script/*.txtar. Scripts see an own, empty home, no cluster
// (KUBECONFIG names a file that is not there) and no colours; then p.Setup runs.
func Run(t *testing.T, p testscript.Params) {
	t.Helper()
	own := p.Setup
	p.Dir = "testdata/script"
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("HOME", env.WorkDir)
		env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "none"))
		env.Setenv("NO_COLOR", "1")
		if own == nil {
			return nil
		}
		return own(env)
	}
	testscript.Run(t, p)
}
