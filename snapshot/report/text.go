package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/k3sladder/k3sladder/internal/columns"
	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/snapshot/apiusage"
)

// String is the text of [Report.WriteText].
func (r *Report) String() string {
	var b strings.Builder
	_ = r.WriteText(&b)
	return b.String()
}

// WriteText writes the report for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.title())
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "%s\n", n)
	}
	if len(r.Ladder.Rungs) > 0 {
		b.WriteString("\nladder\n")
		t := columns.New(&b)
		for i := len(r.Ladder.Rungs) - 1; i >= 0; i-- {
			g := r.Ladder.Rungs[i]
			mark := map[RungState]string{Climbed: "|==|", Here: "|##|", Next: "|--|", Ahead: "|  |"}[g.State]
			fmt.Fprintf(t, "  %s  %s\t%s\n", mark, g.Version, label(g))
		}
		_ = t.Flush()
		if s := r.Ladder.channelText(); s != "" {
			fmt.Fprintf(&b, "  %s\n", s)
		}
	}
	if r.Comparison != nil {
		b.WriteString("\n")
		if err := r.Comparison.WriteText(&b); err != nil {
			return err
		}
	}
	list := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s\n", title)
		for _, l := range lines {
			fmt.Fprintf(&b, "  %s\n", l)
		}
	}
	list("given up", r.GivenUp)
	if len(r.Steps) > 0 {
		b.WriteString("\nsteps\n")
		t := columns.New(&b)
		for _, s := range r.Steps {
			fmt.Fprintf(t, "  %s\t%s\t%s\n", s.Name, took(s.Took), s.Note)
		}
		_ = t.Flush()
	}
	if d := r.Drain; d != nil {
		list("drain of "+d.Node+": "+d.Decision, d.Reasons)
		if len(d.Reasons) == 0 {
			fmt.Fprintf(&b, "\ndrain of %s: %s\n", d.Node, d.Decision)
		}
	}
	if k := r.Backup; k != nil {
		fmt.Fprintf(&b, "\nbackup %s, %s, %s\n", k.Path, size(k.Bytes), map[bool]string{true: "verified: its token opens it", false: "NOT verified"}[k.Verified])
	}
	if d := r.deprecated(); d != nil {
		b.WriteString("\ndeprecated APIs\n")
		if err := d.Usage.WriteText(&b, d.Target, r.asked()); err != nil {
			return err
		}
		if d.Found != nil {
			if err := d.Found.WriteText(&b, d.Target); err != nil {
				return err
			}
		}
	}
	if p := r.Plan; p != nil {
		list("next rung: "+p.Version, p.Reasons)
		if len(p.Reasons) == 0 {
			fmt.Fprintf(&b, "\nnext rung: %s\n", p.Version)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the report as GitHub-flavoured Markdown.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	h := func(title string) { fmt.Fprintf(&b, "\n## %s\n\n", title) }
	bullets := func(lines []string) {
		for _, l := range lines {
			fmt.Fprintf(&b, "- %s\n", cell(l))
		}
	}
	row := func(cells ...string) {
		for _, c := range cells {
			fmt.Fprintf(&b, "| %s ", cell(c))
		}
		b.WriteString("|\n")
	}
	head := func(cells ...string) {
		row(cells...)
		b.WriteString(strings.Repeat("| --- ", len(cells)) + "|\n")
	}
	fmt.Fprintf(&b, "# %s\n\n", cell(r.title()))
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "%s\n\n", cell(n))
	}
	if c := r.Comparison; c != nil {
		fmt.Fprintf(&b, "**%s**: %s\n", c.Verdict, cell(c.Headline))
		if !c.Before.TakenAt.IsZero() {
			fmt.Fprintf(&b, "\nBefore: %s, after: %s.\n", when(c.Before.TakenAt), when(c.After.TakenAt))
		}
	}
	if len(r.Ladder.Rungs) > 0 {
		h("The ladder")
		head("rung", "version", "")
		for i := len(r.Ladder.Rungs) - 1; i >= 0; i-- {
			g := r.Ladder.Rungs[i]
			row(string(g.State), code(g.Version), label(g))
		}
		if s := r.Ladder.channelText(); s != "" {
			fmt.Fprintf(&b, "\n%s\n", cell(s))
		}
	}
	if len(r.GivenUp) > 0 {
		h("What was given up")
		bullets(r.GivenUp)
	}
	if len(r.Versions) > 0 {
		h("Versions")
		head("component", "before", "after")
		for _, v := range r.Versions {
			row(v.Component, code(v.Before), code(v.After))
		}
	}
	if rows, left := r.shown(); len(rows) > 0 {
		h("Identities")
		head("object", "UID", "is it", "ready", "restarts", "Pods")
		for _, i := range rows {
			uid := code(i.After)
			if !i.Same() {
				uid = code(i.Before) + " → " + code(i.After)
			}
			name := i.Name
			if i.Namespace != "" {
				name = i.Namespace + "/" + name
			}
			restarts := fmt.Sprint(i.Restarts)
			if i.Kind == "Cluster" {
				restarts = ""
			}
			row(i.Kind+" "+name, uid, i.Word(), i.Ready, restarts, i.Pods)
		}
		if left > 0 {
			fmt.Fprintf(&b, "\n%d more objects are the same and were not restarted.\n", left)
		}
	}
	if c := r.Comparison; c != nil && len(c.Differences)+len(c.Gaps)+len(c.Expected) > 0 {
		h("What differs")
		for _, d := range c.Differences {
			loss := ""
			if d.Loss {
				loss = "**loss** "
			}
			fmt.Fprintf(&b, "- %s%s\n", loss, cell(d.String()))
		}
		if len(c.Differences) == 0 {
			b.WriteString("Nothing but what was to be expected.\n")
		}
		for _, g := range c.Gaps {
			fmt.Fprintf(&b, "- not captured %s: %s: %s\n", g.Side, code(g.Resource), cell(g.Reason))
		}
		if len(c.Expected) > 0 {
			b.WriteString("\n")
			head("expected", "why")
			for _, e := range c.ByReason() {
				row(fmt.Sprint(e.Count), e.Why)
			}
		}
	}
	if len(r.Steps) > 0 {
		h("The steps")
		head("step", "took", "")
		for _, s := range r.Steps {
			row(s.Name, took(s.Took), s.Note)
		}
	}
	if d := r.Drain; d != nil {
		h("The drain of " + cell(d.Node))
		fmt.Fprintf(&b, "Decision: %s.\n\n", code(d.Decision))
		bullets(d.Reasons)
		if d.Output != "" {
			fmt.Fprintf(&b, "\n%s", fenced(d.Output, ""))
		}
	}
	if k := r.Backup; k != nil {
		h("The way back")
		head("", "")
		row("datastore", code(k.Path)+", "+size(k.Bytes))
		row("token's SHA-256", code(k.TokenSHA256))
		row("belongs to", code(k.Version))
		row("verified", map[bool]string{true: "yes: this token opens this database", false: "no"}[k.Verified])
		bullets(k.Notes)
	}
	if d := r.deprecated(); d != nil {
		h("Deprecated APIs that clients still call")
		if len(d.Usage.APIs) == 0 {
			b.WriteString("None since the server started.\n")
		} else {
			fmt.Fprintf(&b, "%d of %d are removed by %s.\n\n", len(d.Removed()), len(d.Usage.APIs), d.Target)
			head("API", "removed in", "use instead")
			for _, a := range d.Usage.APIs {
				row(code(a.String()), cmp.Or(a.RemovedRelease, "no release set"), cmp.Or(a.Replacement, "not in the table"))
			}
			fmt.Fprintf(&b, "\n%s\n", cell(apiusage.WhoToAsk))
		}
		for _, s := range d.Usage.Servers {
			fmt.Fprintf(&b, "\n%s\n", cell(s.Memory(r.asked())))
		}
		if f := d.Found; f != nil {
			b.WriteString("\n")
			if f.Any() {
				head("object", "version", "how", "manager", "use instead")
				for _, o := range f.Objects {
					row(o.String(), code(o.GroupVersion), string(o.How), o.Manager, cmp.Or(o.Replacement, "not in the table"))
				}
			} else {
				b.WriteString(noObject(f, d.Target) + "\n")
			}
			for _, n := range f.NotRead {
				fmt.Fprintf(&b, "\nNot read: %s\n", cell(n))
			}
		}
	}
	if p := r.Plan; p != nil {
		h("The next rung")
		fmt.Fprintf(&b, "%s\n\n", code(p.Version))
		bullets(p.Reasons)
		if p.YAML != "" {
			fmt.Fprintf(&b, "\n%s", fenced(p.YAML, "yaml"))
		}
	}
	if s := r.made(); s != "" {
		fmt.Fprintf(&b, "\n%s\n", cell(s))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// noObject says that none was found, and of what when not everything was read.
func noObject(f *apiusage.Found, target skew.Minor) string {
	if len(f.NotRead) > 0 {
		return fmt.Sprintf("Of what could be read, no object is tied to a version that %s removes.", target)
	}
	return fmt.Sprintf("No object is tied to a version that %s removes.", target)
}

// cell keeps outside text from breaking a table or becoming markup.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\r", "", "\n", " ", "<", "&lt;").Replace(s)
}

func code(s string) string {
	if s == "" {
		return "–"
	}
	if strings.ContainsAny(s, "`") {
		return s
	}
	return "`" + s + "`"
}

// fenced is a block of code whose fence the text cannot close.
func fenced(text, lang string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + lang + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}
