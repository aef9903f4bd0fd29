package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/k3sladder/k3sladder/snapshot"
	"github.com/k3sladder/k3sladder/snapshot/apiusage"
)

//go:embed page.css
var pageCSS string

//go:embed page.html.tmpl
var pageTemplate string

// page is what the template reads.
type page struct {
	Title       string
	CSS         template.CSS
	R           *Report
	Ladder      *drawing
	Deprecated  *Deprecated
	ChannelText string
	Identities  []Identity
	Left        int
	Asked       time.Time
	WhoToAsk    string
	Made        string
}

// WriteHTML writes one page that needs nothing else: no script, no font, no
// image from anywhere, and a content security policy that forbids them.
func (r *Report) WriteHTML(w io.Writer) error {
	rows, left := r.shown()
	longest := time.Duration(1)
	for _, s := range r.Steps {
		longest = max(longest, s.Took)
	}
	t, err := template.New("page").Funcs(template.FuncMap{
		"when": when, "noObject": noObject, "took": took, "size": size, "tone": tone, "judged": judged,
		"say":   func(s string) string { return strings.ReplaceAll(s, " -> ", " → ") },
		"plus":  func(a, b int) int { return a + b },
		"minus": func(a, b int) int { return a - b },
		"share": func(d time.Duration) int { return int(max(d, 0) * 100 / longest) },
		"idTone": func(i Identity) string {
			switch i.Word() {
			case "same":
				return "good"
			case "new":
				return "info"
			}
			return "bad"
		},
	}).Parse(pageTemplate)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	err = t.ExecuteTemplate(&b, "page", page{Title: r.title(), CSS: template.CSS(pageCSS), R: r, Made: r.made(), Ladder: r.Ladder.draw(), Deprecated: r.deprecated(),
		ChannelText: r.Ladder.channelText(), Identities: rows, Left: left, Asked: r.asked(), WhoToAsk: apiusage.WhoToAsk})
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// tone is the colour of a verdict.
func tone(v snapshot.Verdict) string {
	switch v {
	case snapshot.SameCluster:
		return "good"
	case snapshot.SameClusterWithLosses:
		return "warn"
	case snapshot.OtherCluster:
		return "bad"
	}
	return "info"
}

// judged: the counts mean something.
func judged(c *snapshot.Comparison) bool { return c.Counts.Same > 0 || len(c.Differences) > 0 }

func (l Ladder) channelText() string {
	if l.Channel == "" || l.ChannelVersion == "" {
		return ""
	}
	s := fmt.Sprintf("The channel %s points at %s", l.Channel, l.ChannelVersion)
	switch {
	case l.ChannelJump > 1:
		return s + fmt.Sprintf(": %d minors up from where this began. One step may climb one.", l.ChannelJump)
	case l.ChannelJump == 1:
		return s + ": one minor up from where this began."
	case l.ChannelJump == 0:
		return s + ", the minor this began on."
	}
	return s + "."
}
