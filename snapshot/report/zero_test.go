package report_test

import (
	"io"
	"testing"

	"github.com/k3sladder/k3sladder/snapshot"
	"github.com/k3sladder/k3sladder/snapshot/apiusage"
	"github.com/k3sladder/k3sladder/snapshot/report"
)

func TestAReportOfNothingIsWrittenAndClaimsNothing(t *testing.T) {
	t.Parallel()
	some := &snapshot.Snapshot{Format: snapshot.Format}
	for name, r := range map[string]*report.Report{
		"no snapshots":     report.New(nil, nil, snapshot.CompareOptions{}),
		"nothing before":   report.New(nil, some, snapshot.CompareOptions{}),
		"nothing after":    report.New(some, nil, snapshot.CompareOptions{}),
		"no comparison":    report.FromComparison(nil),
		"the zero Report":  {},
		"parts of nothing": {Comparison: &snapshot.Comparison{}, Deprecated: &report.Deprecated{}, Backup: &report.Backup{}, Drain: &report.Drain{}, Upgrade: &report.Upgrade{}, Plan: &report.Plan{}},
	} {
		for form, write := range map[string]func(io.Writer) error{"text": r.WriteText, "Markdown": r.WriteMarkdown, "HTML": r.WriteHTML, "JSON": r.WriteJSON} {
			if err := write(io.Discard); err != nil {
				t.Errorf("%s as %s: %v", name, form, err)
			}
		}
		if c := r.Comparison; c != nil && c.Verdict != "" && c.Verdict != snapshot.NotComparable {
			t.Errorf("%s: verdict %s", name, c.Verdict)
		}
		if len(r.Identities) != 0 {
			t.Errorf("%s: identities %+v", name, r.Identities)
		}
	}
	if d := (&report.Deprecated{}); d.Removed() != nil || d.Gone(apiusage.API{}) {
		t.Error("something is removed that nobody named")
	}
}
