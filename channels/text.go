package channels

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/k3sladder/k3sladder/skew"
)

// textWidth is how wide the text of a ladder gets.
const textWidth = 100

// String is the ladder in one line: "v1.34.11+k3s1 -> v1.35.8+k3s1 -> v1.36.4+k3s1".
func (c *Climb) String() string {
	var b strings.Builder
	b.WriteString(c.From.String())
	for _, r := range c.Rungs {
		b.WriteString(" -> " + r.Version.String())
	}
	return b.String()
}

// WriteText writes the ladder as a person would put it into a ticket, at most
// 100 columns wide.
func (c *Climb) WriteText(w io.Writer) error { return c.write(w, false) }

// WriteShort writes what WriteText does, and of notes that may apply only when
// they would, or their IDs alone where they are about every rung.
func (c *Climb) WriteShort(w io.Writer) error { return c.write(w, true) }

func (c *Climb) write(w io.Writer, short bool) error {
	t := &textWriter{w: bufio.NewWriter(w), short: short}
	switch len(c.Rungs) {
	case 0:
		t.line("Nothing to do: %s runs already.", c.Target)
	case 1:
		t.line("Ladder from %s to %s: 1 rung", c.From, c.Target)
	default:
		t.line("Ladder from %s to %s: %d rungs", c.From, c.Target, len(c.Rungs))
	}
	if c.Origin != "" {
		t.wrap("", "  ", "Channels: "+c.Origin)
	}
	if unknown := c.Facts.unknown(); len(unknown) > 0 && len(c.Rungs) > 0 {
		t.wrap("", "  ", "Not known: "+strings.Join(unknown, ", ")+". The ladder is safe for every value.")
		t.alternatives(c.IfKnown)
	}
	if c.noted() {
		t.line("Notes: ! applies, ? applies if what it names is so here.")
	}
	for i, r := range c.Rungs {
		t.rung(i+1, r)
	}
	if len(c.Notes) > 0 && len(c.Rungs) > 0 {
		t.line("")
		t.line("On every rung")
		t.common(c.Notes)
	}
	return t.w.Flush()
}

// noted: there are notes to print.
func (c *Climb) noted() bool {
	n := len(c.Notes)
	for _, r := range c.Rungs {
		n += len(r.Notes)
	}
	return n > 0 && len(c.Rungs) > 0
}

// unknown names the facts that bear on the path and are not known.
func (f Facts) unknown() []string {
	var names []string
	if f.Datastore == DatastoreUnknown {
		names = append(names, "datastore")
	}
	if f.Agents == Unknown {
		names = append(names, "agents")
	}
	if f.Executor == ExecutorUnknown {
		names = append(names, "executor")
	}
	return names
}

type textWriter struct {
	w     *bufio.Writer
	short bool
}

func (t *textWriter) line(format string, args ...any) { fmt.Fprintf(t.w, format+"\n", args...) }

// wrap writes text in lines of at most textWidth columns.
func (t *textWriter) wrap(first, rest, text string) {
	line := first
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && len(line)+1+len(word) > textWidth {
			t.line("%s", line)
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	t.line("%s", line)
}

func (t *textWriter) alternatives(as []Alternative) {
	for _, a := range as {
		t.wrap("  ", "    ", fmt.Sprintf("If %s is %s: %s", a.Fact, a.Value, a.text()))
	}
}

func (a Alternative) text() string {
	if len(a.Rungs) == 0 {
		return "no ladder"
	}
	return join(a.Rungs, " -> ")
}

func join(vs []skew.Version, sep string) string {
	texts := make([]string, len(vs))
	for i, v := range vs {
		texts[i] = v.String()
	}
	return strings.Join(texts, sep)
}

func (t *textWriter) rung(n int, r Rung) {
	t.line("")
	t.line("%d. %s", n, r.Version)
	t.wrap("   ", "   ", upper(r.Why)+".")
	if r.InstallScript != "" {
		t.line("   install: %s", r.InstallScript)
	}
	t.line("   allowed: kubelet %s, kubectl %s", span(r.Kubelet), span(r.Kubectl))
	if len(r.Moves) > 0 {
		var moves []string
		for _, m := range r.Moves {
			move := fmt.Sprintf("%s %s -> %s", m.Component, m.From, m.To)
			if m.back() {
				move += " (older)"
			}
			moves = append(moves, move)
		}
		t.wrap("   moves:   ", "            ", strings.Join(moves, ", "))
	}
	if r.Defect != "" {
		t.wrap("   DO NOT STAY HERE ", "   ", r.Defect+".")
	}
	if r.PointOfNoReturn != "" {
		t.wrap("   NO WAY BACK ", "   ", r.PointOfNoReturn+".")
	}
	for _, u := range r.Unchecked {
		t.wrap("   NOT CHECKED ", "   ", u+".")
	}
	t.notes(r.Notes)
}

// back: the component is older on the rung than below it, as happens on the way
// to a release that was made before the one below. Revisions of one version are
// not compared.
func (m Move) back() bool {
	plain := func(version string) (skew.Version, error) {
		number, _, _ := strings.Cut(version, "-")
		return skew.Parse(number)
	}
	from, err := plain(m.From)
	if err != nil {
		return false
	}
	to, err := plain(m.To)
	return err == nil && to.Less(from)
}

// notes writes those that apply before those that may.
func (t *textWriter) notes(ns []Applying) {
	for _, certain := range []bool{true, false} {
		for _, n := range ns {
			if n.Certain == certain {
				t.note(n)
			}
		}
	}
}

// common writes the notes about every rung; short names those that may apply.
func (t *textWriter) common(ns []Applying) {
	if !t.short {
		t.notes(ns)
		return
	}
	var certain []Applying
	var may []string
	for _, n := range ns {
		if n.Certain {
			certain = append(certain, n)
		} else {
			may = append(may, n.ID)
		}
	}
	t.notes(certain)
	if len(may) > 0 {
		t.wrap("   ? ", "     ", strings.Join(may, ", "))
	}
}

func (t *textWriter) note(n Applying) {
	head := "   ! "
	if !n.Certain {
		head = "   ? "
	}
	if t.short && !n.Certain {
		t.wrap(head, "     ", n.ID+": "+n.Trigger)
		return
	}
	text := n.ID + ": " + n.Trigger + ". " + upper(n.Do) + "."
	if n.SafeStart != "" {
		text += " Safe start: " + n.SafeStart
		switch n.SafeStartMet {
		case Yes:
			text += " (met)"
		case No:
			text += " (NOT met)"
		}
		text += "."
	}
	if !n.Verified {
		text += " (Not verified: " + n.Caveat + ".)"
	}
	t.wrap(head, "     ", text)
	if len(n.Sources) > 0 {
		t.line("     %s", n.Sources[0])
	}
}

// span is a list of minors as people write it: "1.32 to 1.35".
func span(ms []skew.Minor) string {
	switch len(ms) {
	case 0:
		return "none"
	case 1:
		return ms[0].String()
	default:
		return ms[0].String() + " to " + ms[len(ms)-1].String()
	}
}

// upper starts a sentence, unless it starts with a name that is written small.
func upper(s string) string {
	for _, name := range []string{"k3s", "etcd", "kubectl"} {
		if strings.HasPrefix(s, name) {
			return s
		}
	}
	return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):]
}
