package suc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
