package report_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/k3sladder/k3sladder/internal/golden"
	"github.com/k3sladder/k3sladder/snapshot/apiusage"
	"github.com/k3sladder/k3sladder/snapshot/report"
)

func TestReportsInEveryForm(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*report.Report{"full": full(t), "lossy": lossy()} {
		for ext, write := range map[string]func(*report.Report, io.Writer) error{
			"txt": (*report.Report).WriteText, "md": (*report.Report).WriteMarkdown, "json": (*report.Report).WriteJSON, "html": (*report.Report).WriteHTML,
		} {
			var b bytes.Buffer
			if err := write(r, &b); err != nil {
				t.Errorf("%s.%s: %v", name, ext, err)
				continue
			}
			golden.Check(t, name+"."+ext, b.Bytes())
		}
	}
}

func TestJSONReadsBack(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := full(t).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(b.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := r.WriteJSON(&again); err != nil {
		t.Fatal(err)
	}
	if b.String() != again.String() {
		t.Error("a report does not survive JSON")
	}
}

func TestThePageIsSelfContainedAndOutsideTextStaysText(t *testing.T) {
	t.Parallel()
	r := full(t)
	r.Title = `</title><script>alert(1)</script>`
	r.Steps[0].Name = `<img src=x onerror=alert(1)>`
	r.Plan.YAML = "</pre><iframe src=https://example.test></iframe>"
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, bad := range []string{"<script", "<img", "<iframe", "src=\"", "@import", "url(", "href=\"http"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %s", bad)
		}
	}
	var md bytes.Buffer
	if err := r.WriteMarkdown(&md); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.Split(md.String(), "```")[0], "<script") {
		t.Error("the Markdown has markup from outside")
	}
}

func TestAnEmptyReportIsStillAPage(t *testing.T) {
	t.Parallel()
	for _, write := range []func(*report.Report, io.Writer) error{
		(*report.Report).WriteText, (*report.Report).WriteMarkdown, (*report.Report).WriteJSON, (*report.Report).WriteHTML} {
		var b bytes.Buffer
		if err := write(&report.Report{Deprecated: &report.Deprecated{}}, &b); err != nil || b.Len() == 0 {
			t.Errorf("%d bytes, %v", b.Len(), err)
		}
	}
}

func TestWhatCouldNotBeReadIsInEveryForm(t *testing.T) {
	t.Parallel()
	for form, write := range map[string]func(*report.Report, io.Writer) error{
		"text": (*report.Report).WriteText, "Markdown": (*report.Report).WriteMarkdown, "HTML": (*report.Report).WriteHTML} {
		r := full(t)
		r.Deprecated.Found = &apiusage.Found{NotRead: []string{"jobs.batch: forbidden"}}
		var b bytes.Buffer
		if err := write(r, &b); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Of what could be read, no object is tied to a version that 1.35 removes.", "ot read: jobs.batch: forbidden"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s lacks %q", form, want)
			}
		}
	}
}

// A page outlives the server that counted: it says for how long that one had
// counted when it was asked, not when the page was made.
func TestTheMetricsMemoryIsAsOldAsTheAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(r *report.Report)
		want   string
	}{
		"asked before the upgrade":         {func(*report.Report) {}, " 10s before this answer"},
		"asked when the report was made":   {func(r *report.Report) { r.Deprecated.AskedAt = time.Time{} }, " 15m10s before this answer"},
		"nobody said when either happened": {func(r *report.Report) { r.Deprecated.AskedAt, r.Generated = time.Time{}, time.Time{} }, " 14m10s before this answer"},
	} {
		r := full(t)
		c.change(r)
		for _, write := range []func(*report.Report, io.Writer) error{(*report.Report).WriteText, (*report.Report).WriteMarkdown, (*report.Report).WriteHTML} {
			var out bytes.Buffer
			if err := write(r, &out); err != nil || !strings.Contains(out.String(), c.want) {
				t.Errorf("%s (%v): no %q", name, err, c.want)
			}
		}
	}
}
