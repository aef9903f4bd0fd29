package suc

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// planCase is a Plan file with the cluster it is meant for and the highest
// severity that must be found.
type planCase struct {
	File     string          `json:"file"`
	Facts    json.RawMessage `json:"facts"`
	Severity string          `json:"severity"`
	Fault    string          `json:"fault"`
}

func planCases(t testing.TB) []planCase {
	t.Helper()
	b, err := os.ReadFile("testdata/plans/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []planCase
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// codes says which rule finds which fault.
var codes = map[string]string{
	"bad-operator": "bad-selector", "delay-unit": "delay-unit", "drain-timeout-unit": "drain-timeout",
	"drain-null": "null-field", "image-tag-plus": "image-reference", "window-day": "not-allowed",
	"version-label-invalid": "version-label", "version-label-too-long": "version-label",
	"yaml": "yaml",
}

func TestRealMistakes(t *testing.T) {
	t.Parallel()
	cases := planCases(t)
	if len(cases) < 78 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		name := strings.TrimSuffix(filepath.Base(c.File), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts, err := ParseFacts(c.Facts)
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(filepath.Join("testdata/plans", filepath.Base(c.File)))
			if err != nil {
				t.Fatal(err)
			}
			found := Lint([]File{{Name: c.File, Data: data}}, LintOptions{Facts: facts})
			want := Severity(c.Severity)
			if want == "ok" {
				want = ""
			}
			if got := found.Highest(); got != want {
				t.Errorf("%s: highest severity is %q, want %q:\n%s", c.Fault, got, want, found)
			}
			slug, _, _ := strings.Cut(c.Fault, ":")
			code := slug
			if m, ok := codes[slug]; ok {
				code = m
			}
			hit := want == ""
			for _, f := range found {
				hit = hit || strings.HasPrefix(f.Code, code) && f.Severity == want
				if f.Line == 0 || f.Source == "" || f.Message == "" {
					t.Errorf("a finding without line, source or message: %+v", f)
				}
			}
			if !hit {
				t.Errorf("%s: found, but for another reason than %s:\n%s", c.Fault, code, found)
			}
		})
	}
}

// Sizes that nobody writes by hand must not take for ever.
func TestLintOfHugeFilesEnds(t *testing.T) {
	t.Parallel()
	var row, values strings.Builder
	for i := range 5000 {
		text := agents(fmt.Sprintf("prepare: {image: rancher/k3s-upgrade, args: [prepare, p%d]}", i+1))
		row.WriteString(strings.Replace(text, "name: k3s-agent,", fmt.Sprintf("name: p%d,", i), 1))
	}
	for i := range 50000 {
		fmt.Fprintf(&values, "v%d,", i)
	}
	for name, text := range map[string]string{
		"a row of Plans":  row.String(),
		"a long selector": edit(fmt.Sprintf("nodeSelector: {matchExpressions: [{key: a, operator: In, values: [%s]}, {key: a, operator: NotIn, values: [%s]}]}", values.String(), values.String())),
		"a deep document": plan("  x: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n"),
		"a long key":      plan("  " + strings.Repeat("a", 1<<20) + ": 1\n"),
		"many documents":  strings.Repeat("---\na: 1\n", 50000),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			Lint([]File{{"huge.yaml", []byte(text)}}, LintOptions{Facts: facts(t, "")})
			if d := time.Since(start); d > 30*time.Second {
				t.Errorf("it took %s", d)
			}
		})
	}
}
