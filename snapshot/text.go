package snapshot

import (
	"fmt"
	"io"
	"strings"

	"github.com/k3sladder/k3sladder/internal/columns"
)

// few is how many lines of one kind a text shows before it sums up the rest.
const few = 20

// String is the text of [Comparison.WriteText].
func (c *Comparison) String() string {
	var b strings.Builder
	_ = c.WriteText(&b)
	return b.String()
}

// WriteText writes the comparison for a person: the verdict, what it rests on,
// the nodes, what differs, and what was to be expected, by reason.
func (c *Comparison) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", c.Verdict, c.Headline)
	if c.Verdict == NotComparable || c.Verdict == OtherCluster {
		for _, r := range c.Reasons {
			fmt.Fprintf(&b, "  %s\n", r)
		}
	}
	if len(c.Nodes) > 0 {
		b.WriteString("\n")
		t := columns.New(&b)
		fmt.Fprintln(t, "NODE\tUID\tKUBELET\tREADY")
		for i, n := range c.Nodes {
			if i == few {
				fmt.Fprintf(t, "and %d more\n", len(c.Nodes)-few)
				break
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", n.Name, n.identity(), arrow(n.KubeletBefore, n.KubeletAfter), n.ready())
		}
		_ = t.Flush()
	}
	writeSome(&b, "losses", c.Losses())
	writeSome(&b, "other differences", c.Differences[len(c.Losses()):])
	if restarted := c.Restarted(); len(restarted) > 0 {
		fmt.Fprintf(&b, "\nrestarts (%d)\n", c.Counts.Restarts)
		for i, m := range restarted {
			if i == few {
				fmt.Fprintf(&b, "  and %d more workloads\n", len(restarted)-few)
				break
			}
			fmt.Fprintf(&b, "  %s %s/%s: %d", m.Kind, m.Namespace, m.Name, m.Restarts)
			if !m.LastRestart.IsZero() {
				fmt.Fprintf(&b, ", the last at %s", m.LastRestart.Format("2006-01-02 15:04:05Z07:00"))
			}
			b.WriteString("\n")
		}
	}
	if len(c.Gaps) > 0 {
		fmt.Fprintf(&b, "\nnot captured (%d)\n", len(c.Gaps))
		for i, g := range c.Gaps {
			if i == few {
				fmt.Fprintf(&b, "  and %d more\n", len(c.Gaps)-few)
				break
			}
			fmt.Fprintf(&b, "  %s %s: %s: %s\n", g.Side, g.Resource, g.State, g.Reason)
		}
	}
	if len(c.Expected) > 0 {
		fmt.Fprintf(&b, "\nexpected (%d)\n", len(c.Expected))
		for _, e := range c.ByReason() {
			fmt.Fprintf(&b, "  %d: %s\n", e.Count, e.Why)
		}
	}
	if c.Verdict == SameCluster || c.Verdict == SameClusterWithLosses {
		fmt.Fprintf(&b, "\n%s with the UID they had; Pods: %d kept, %d new.\n", plural(c.Counts.Same, "object", "objects"), c.Counts.PodsKept, c.Counts.PodsNew)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeSome(b *strings.Builder, title string, list []Difference) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s (%d)\n", title, len(list))
	for i, d := range list {
		if i == few {
			fmt.Fprintf(b, "  and %d more\n", len(list)-few)
			return
		}
		fmt.Fprintf(b, "  %s\n", d)
	}
}

// Restarted are the workloads with restarts between the snapshots.
func (c *Comparison) Restarted() []WorkloadMove {
	var out []WorkloadMove
	for _, m := range c.Workloads {
		if m.Restarts > 0 {
			out = append(out, m)
		}
	}
	return out
}

// Explained is how many differences one explanation covers.
type Explained struct {
	Why   string `json:"why"`
	Count int    `json:"count"`
}

// ByReason sums up what was expected, in the order of first appearance.
func (c *Comparison) ByReason() []Explained {
	var out []Explained
	at := map[string]int{}
	for _, d := range c.Expected {
		i, ok := at[d.Expected]
		if !ok {
			i = len(out)
			at[d.Expected] = i
			out = append(out, Explained{Why: d.Expected})
		}
		out[i].Count++
	}
	return out
}

func arrow(before, after string) string {
	switch {
	case before == after:
		return after
	case before == "":
		return after + " (new)"
	case after == "":
		return before + " (gone)"
	}
	return before + " -> " + after
}

func (n NodeMove) identity() string {
	switch {
	case n.UIDBefore == "":
		return "new"
	case n.UIDAfter == "":
		return "gone"
	case n.UIDBefore != n.UIDAfter:
		return "ANOTHER"
	}
	return "same"
}

func (n NodeMove) ready() string {
	switch {
	case n.UIDAfter == "":
		return "-"
	case !n.ReadyAfter:
		return "NO"
	case n.Rebooted:
		return "yes, rebooted"
	}
	return "yes"
}
