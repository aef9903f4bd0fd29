package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/examples/internal/scripts"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"plan": main})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	scripts.Run(t, testscript.Params{})
}

// Every real mistake has its known severity and exit status on the command
// line too.
func TestLintOnTheCommandLine(t *testing.T) {
	t.Parallel()
	dir := "../../suc/testdata/plans"
	b, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		File     string          `json:"file"`
		Facts    json.RawMessage `json:"facts"`
		Severity string          `json:"severity"`
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 78 {
		t.Fatalf("only %d cases", len(cases))
	}
	rank := map[string]int{"ok": 0, "note": 1, "warning": 2, "error": 3}
	for _, c := range cases {
		facts := filepath.Join(t.TempDir(), "facts.json")
		if err := os.WriteFile(facts, c.Facts, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, strict := range []bool{false, true} {
			args := []string{"lint", "-o", "json", "--facts", facts, filepath.Join(dir, filepath.Base(c.File))}
			if strict {
				args = append(args, "--strict")
			}
			var stdout, stderr bytes.Buffer
			code := cli.Run(t.Context(), newCommand(), args, &stdout, &stderr)
			var found []struct{ File, Code, Severity, Path, Message, Fix, Source string }
			if err := json.Unmarshal(stdout.Bytes(), &found); err != nil || found == nil {
				t.Fatalf("%s: %v\n%s%s", c.File, err, &stdout, &stderr)
			}
			highest := "ok"
			for _, f := range found {
				if rank[f.Severity] > rank[highest] {
					highest = f.Severity
				}
			}
			want := 0
			if c.Severity == "error" || strict && c.Severity == "warning" {
				want = 1
			}
			if highest != c.Severity || code != want {
				t.Errorf("%s (strict %v): %s and exit %d, want %s and exit %d", c.File, strict, highest, code, c.Severity, want)
			}
		}
	}
}
