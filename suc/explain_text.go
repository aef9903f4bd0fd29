package suc

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/k3sladder/k3sladder/internal/columns"
)

// String is what WriteText writes.
func (e *Explanation) String() string {
	var b bytes.Buffer
	_ = e.WriteText(&b)
	return b.String()
}

// WriteText writes the explanation for a person.
func (e *Explanation) WriteText(w io.Writer) error {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("Plan %s\n", e.Plan)
	if e.Version != "" {
		p("  version    %s, from %s\n", e.Version, e.ResolvedBy)
	} else {
		p("  version    unknown: %s\n", e.Unresolved)
	}
	if e.Hash != "" {
		p("  hash       %s\n", e.Hash)
	}
	p("  at once    %d\n", e.Concurrency)
	switch {
	case e.DeadlineSeconds == 0:
		p("  deadline   none\n")
	case e.DeadlineAssumed:
		p("  deadline   %s for each node's Job (the controller's default as shipped)\n", time.Duration(e.DeadlineSeconds)*time.Second)
	default:
		p("  deadline   %s for each node's Job\n", time.Duration(e.DeadlineSeconds)*time.Second)
	}
	if win := e.Window; win != nil {
		const layout = "Mon 2006-01-02 15:04:05 MST"
		switch {
		case win.Invalid != "":
			p("  window     refused: %s\n", win.Invalid)
		case win.Opening == nil:
			p("  window     never opens\n")
		case win.Open:
			p("  window     open until %s\n", win.Opening.End.Format(layout))
		default:
			p("  window     opens %s, until %s\n", win.Opening.Start.Format(layout), win.Opening.End.Format(layout))
		}
	}
	p("\nOn each node, in this order:\n")
	for i, c := range e.Containers {
		p("  %d. %-8s %s  %s\n", i+1, c.Name, c.Image, c.Does)
		if line := commandLine(c); line != "" {
			p("              %s\n", line)
		}
	}
	e.writeNodes(&b)
	p("\n")
	for _, a := range e.Answers {
		p("%-9s %s\n          %s\n", strings.ToUpper(a.Answer), a.Question, a.Because)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func commandLine(c PlannedContainer) string {
	var words []string
	for _, a := range append(append([]string{}, c.Command...), c.Args...) {
		if a == "" || strings.ContainsAny(a, " !'\"$") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

func (e *Explanation) writeNodes(b *strings.Builder) {
	if e.Nodes == nil {
		fmt.Fprintf(b, "\nThe nodes are not known.\n")
		return
	}
	order := "in the controller's order"
	if !e.OrderKnown {
		order = "the controller's order depends on the UIDs of Plan and nodes, which are not known"
	}
	fmt.Fprintf(b, "\nNodes (%s):\n", order)
	t := columns.New(b)
	for _, n := range e.Nodes {
		batch := ""
		if n.Batch > 0 {
			batch = fmt.Sprint(n.Batch)
		}
		kind := "agent"
		if n.Server {
			kind = "server"
		}
		verdict := n.Skew
		if n.SkewReason != "" {
			verdict += ": " + n.SkewReason
		}
		if n.State == "not-selected" {
			verdict = ""
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\n", batch, n.Name, n.State, kind, n.Kubelet, verdict)
		for _, why := range n.Why {
			fmt.Fprintf(t, "  \t\t%s\n", why)
		}
		if n.Drain != nil {
			fmt.Fprintf(t, "  \t\tdrain: %s%s\n", n.Drain.Verdict, suffix(strings.Join(n.Drain.Reasons, "; ")))
		}
		if n.Job != "" && (n.State == "todo" || n.State == "applying") {
			fmt.Fprintf(t, "  \t\tJob %s\n", n.Job)
		}
	}
	_ = t.Flush() // a strings.Builder takes everything
}

func suffix(s string) string {
	if s == "" {
		return ""
	}
	return ", " + s
}
