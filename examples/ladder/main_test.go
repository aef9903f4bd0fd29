package main

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/examples/internal/scripts"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ladder": main})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	scripts.Run(t, testscript.Params{
		Setup: func(env *testscript.Env) error {
			body, err := os.ReadFile("testdata/k3s.json")
			if err != nil {
				return err
			}
			return os.WriteFile(env.Cd+"/k3s.json", body, 0o644)
		},
	})
}

// Every answer of the independent solver comes out of the program.
func TestLadderPrintsTheSolversAnswers(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("testdata/ladders.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		From, Target, Datastore, Agents, Executor string
		Rungs                                     []string
	}
	if err := json.Unmarshal(body, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 10 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, tt := range cases {
		var stdout, stderr bytes.Buffer
		code := cli.Run(t.Context(), newCommand(), []string{
			"--channels", "testdata/k3s.json", "--from", tt.From, "--to", tt.Target,
			"--datastore", tt.Datastore, "--agents", tt.Agents, "--executor", tt.Executor, "-o", "json",
		}, &stdout, &stderr)
		var out struct {
			Rungs   []struct{ Version string }
			Rules   []string
			Nearest string
		}
		if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
			t.Fatalf("%s -> %s: %v\n%s%s", tt.From, tt.Target, err, &stdout, &stderr)
		}
		if tt.Rungs == nil {
			if code != 1 || out.Rungs != nil || len(out.Rules) == 0 || out.Nearest == "" || !strings.Contains(stderr.String(), out.Nearest) {
				t.Errorf("%s -> %s: exit %d, %s%s", tt.From, tt.Target, code, &stdout, &stderr)
			}
			continue
		}
		got := []string{}
		for _, r := range out.Rungs {
			got = append(got, r.Version)
		}
		if code != 0 || out.Rungs == nil || !slices.Equal(got, tt.Rungs) {
			t.Errorf("%s -> %s: exit %d, %v, want %v\n%s", tt.From, tt.Target, code, got, tt.Rungs, &stderr)
		}
	}
}
