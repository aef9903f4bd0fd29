package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/examples/internal/scripts"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"drainprobe": main})
}

// Scripts judge the recorded states of package drainprobe.
func TestScripts(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Abs("../../drainprobe/testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	scripts.Run(t, testscript.Params{
		Setup: func(env *testscript.Env) error {
			env.Setenv("CASES", cases)
			return os.Symlink(cases, filepath.Join(env.Cd, "cases"))
		},
	})
}

func TestExitStatusIsTheVerdict(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]int{
		"forecast n11-a --timeout=30s --state ../../drainprobe/testdata/cases/11-two-fits-min1-of-2/state.json": cli.ExitOK,
		"forecast n01-a --timeout=15s --state ../../drainprobe/testdata/cases/01-single-min1-of-2/state.json":   cli.ExitNegative,
		"forecast n67-a --timeout=15s --state ../../drainprobe/testdata/cases/67-long-grace/state.json":         cli.ExitFailed,
		"forecast n67-a --state none": cli.ExitFailed,
	} {
		var out, errs bytes.Buffer
		if got := cli.Run(t.Context(), newCommand(), strings.Fields(args), &out, &errs); got != want {
			t.Errorf("%s: exit %d, want %d\n%s%s", args, got, want, out.String(), errs.String())
		}
	}
}
