package drainprobe

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// String is the forecast as text.
func (f *Forecasted) String() string {
	var b strings.Builder
	_ = f.WriteText(&b)
	return b.String()
}

// WriteText writes the forecast for a person who has ten seconds: the verdict
// and why, what stays and what finds no place, what would help.
func (f *Forecasted) WriteText(w io.Writer) error {
	b := &strings.Builder{}
	head, ok := map[Verdict]string{
		VerdictDrains:    "DRAINS: a drain of %s finishes",
		VerdictBlocked:   "BLOCKED: a drain of %s does not finish",
		VerdictUndecided: "UNDECIDED: whether a drain of %s finishes",
	}[f.Verdict]
	if !ok {
		head = "no forecast of a drain of %q"
	}
	fmt.Fprintf(b, head, f.Node)
	if f.Verdict == VerdictDrains && f.Time.Likely > 0 {
		fmt.Fprintf(b, " in about %s (at most %s)", seconds(f.Time.Likely), seconds(f.Time.Most))
	}
	b.WriteString("\n")
	for _, r := range f.Reasons {
		fmt.Fprintf(b, "  - %s\n", r)
	}
	f.writePods(b)
	if len(f.Services) > 0 {
		b.WriteString("ready Pods on the way:\n")
		for _, s := range f.Services {
			note := ""
			if s.AtEnd == 0 {
				note = ", none left ready"
			} else if s.Lowest == 0 {
				note = ", down for a moment"
			}
			fmt.Fprintf(b, "  %s: %d, at worst %d, at the end %d%s\n", s.Name, s.Before, s.Lowest, s.AtEnd, note)
		}
	}
	if len(f.Unblock) > 0 {
		b.WriteString("any one of these unblocks it:\n")
		for _, x := range f.Unblock {
			fmt.Fprintf(b, "  * %s\n", strings.Join(x.Changes, ", and "))
		}
	}
	for _, h := range f.Hints {
		fmt.Fprintf(b, "%s: %s (%s)\n", h.Operator, h.Advice, h.URL)
	}
	for _, g := range f.Gaps {
		fmt.Fprintf(b, "not read: %s (%s)\n", g.Resource, g.Reason)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writePods writes one line for all Pods of a workload that share a fate.
func (f *Forecasted) writePods(b *strings.Builder) {
	type row struct {
		text string
		n    int
	}
	var rows []row
	index := map[string]int{}
	for _, p := range f.Pods {
		text := fmt.Sprintf("%s  %s", p.Fate, p.WorkloadKey())
		if p.Reason != "" {
			text += ": " + p.Reason
		}
		if r := p.Replacement; r != nil {
			switch r.State {
			case "ready":
				text += ", replaced on " + orElsewhere(r.Node)
			case "unready":
				text += ", replaced on " + r.Node + " but not ready there"
			case "pending":
				text += ", replacement pending: " + rejected(r.Rejected)
			case "refused":
				text += ", its replacement is refused: " + r.Rejected[0].Reason
			case "none":
				text += ", nothing replaces it"
			}
		}
		i, ok := index[text]
		if !ok {
			i = len(rows)
			index[text] = i
			rows = append(rows, row{text: text})
		}
		rows[i].n++
	}
	const most = 20
	if len(rows) > 0 {
		fmt.Fprintf(b, "pods on the node: %d\n", len(f.Pods))
	}
	for i, r := range rows {
		if i == most {
			fmt.Fprintf(b, "  and %d more lines; -o json has all\n", len(rows)-most)
			break
		}
		fmt.Fprintf(b, "  %3d x %s\n", r.n, r.text)
	}
}

func orElsewhere(node string) string {
	if node == "" {
		return "another node"
	}
	return node
}

func rejected(list []Rejection) string {
	var out []string
	for _, r := range list {
		out = append(out, fmt.Sprintf("%s (%s)", r.Reason, someOf(r.Nodes, r.Count)))
	}
	return strings.Join(out, "; ")
}

func someOf(names []string, count int) string {
	text := strings.Join(names, ", ")
	if count > len(names) {
		text += fmt.Sprintf(" and %d more", count-len(names))
	}
	return text
}

func seconds(s float64) string {
	return (time.Duration(s*float64(time.Second)) + 500*time.Millisecond).Truncate(time.Second).String()
}
