package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/k3sladder/k3sladder/skew"
)

// CompareOptions narrow a comparison. The zero value judges everything, so that
// a snapshot from which something was left out gives no "same-cluster".
type CompareOptions struct {
	// Kinds are those to judge, named as in [Options.Kinds]; empty means all.
	Kinds []string
	// Namespaces are those to judge; empty means all. Kinds without namespace
	// are always judged.
	Namespaces []string
}

// Compare says whether after is the cluster that before was, and what became of
// it. It reads nothing but its arguments and changes neither.
//
// The same cluster is the same UID of kube-system, which a restored datastore
// keeps and a rebuilt cluster does not. A loss is what was there and is not,
// under its UID, as ready as it was. What comes and goes by itself and what
// others keep in order by themselves is told apart as expected, each with the
// reason.
func Compare(before, after *Snapshot, opts CompareOptions) *Comparison {
	if before == nil || after == nil {
		why := "there are not two snapshots"
		return &Comparison{Verdict: NotComparable, Headline: "not comparable: " + why, Reasons: []string{why}}
	}
	c := &Comparison{Before: side(before), After: side(after),
		Differences: []Difference{}, Expected: []Difference{}, Gaps: []Gap{}, Reasons: []string{}}
	w := newWorld(before, after, opts)

	if why := w.notComparable(); why != "" {
		c.Verdict, c.Headline = NotComparable, "not comparable: "+why
		c.Reasons = append(c.Reasons, why)
		return c
	}
	c.Step = step(c.Before.ServerVersion, c.After.ServerVersion)
	if before.ClusterUID != after.ClusterUID {
		c.Verdict, c.Headline = OtherCluster, "another cluster: the namespace kube-system has another UID"
		c.Reasons = append(c.Reasons, fmt.Sprintf("kube-system had UID %s and has %s", before.ClusterUID, after.ClusterUID))
		return c
	}
	w.moved = c.Step.Kind != skew.NoOp
	w.match()
	w.restored()
	w.objects()
	w.apis()
	w.versions(&c.Step)
	w.notes = w.mixed()
	c.Nodes, c.Workloads = w.nodes(), w.workloads()
	c.Gaps = w.gaps()
	c.decide(w)
	return c
}

func side(s *Snapshot) Side {
	out := Side{TakenAt: s.TakenAt, ServerVersion: s.ServerVersion(), ClusterUID: s.ClusterUID, Nodes: len(s.Nodes), Objects: s.Objects()}
	for _, n := range s.Nodes {
		if n.Ready {
			out.NodesReady++
		}
	}
	return out
}

// step judges the server's move.
func step(from, to string) Step {
	s := Step{From: from, To: to}
	a, errA := skew.Parse(from)
	b, errB := skew.Parse(to)
	if err := cmp.Or(errA, errB); err != nil {
		if from == to {
			s.Kind = skew.NoOp
			return s
		}
		s.Illegal = err.Error()
		return s
	}
	u, err := skew.CheckUpgrade(a, b)
	if err != nil {
		s.Illegal = err.Error()
		return s
	}
	s.Kind = u.Kind
	return s
}

// decide turns the differences into the verdict and says what it rests on.
func (c *Comparison) decide(w *world) {
	for _, d := range w.found {
		if d.Expected != "" {
			d.Loss = false
			c.Expected = append(c.Expected, d)
			continue
		}
		c.Differences = append(c.Differences, d)
		if d.Loss {
			c.Counts.Losses++
		}
		switch d.What {
		case Missing:
			c.Counts.Missing++
		case Recreated:
			c.Counts.Recreated++
		case Added, CameBack:
			c.Counts.Added++
		case Changed, SetBack:
			c.Counts.Changed++
		}
	}
	c.Counts.Same, c.Counts.Expected = w.same, len(c.Expected)
	for _, m := range c.Workloads {
		c.Counts.Restarts += m.Restarts
		c.Counts.PodsKept += m.PodsKept
		c.Counts.PodsNew += m.PodsNew
	}
	order(c.Differences)
	order(c.Expected)

	c.Reasons = append(c.Reasons, "kube-system has the same UID: the same datastore, or one restored from it")
	for _, d := range c.Losses() {
		c.Reasons = append(c.Reasons, d.String())
	}
	for _, g := range c.Gaps {
		c.Reasons = append(c.Reasons, fmt.Sprintf("not captured %s: %s (%s)", g.Side, g.Resource, g.Reason))
	}
	c.Reasons = append(c.Reasons, w.notes...)
	switch {
	case c.Counts.Losses > 0:
		c.Verdict = SameClusterWithLosses
	case len(c.Gaps) > 0:
		c.Verdict = NotComparable
	default:
		c.Verdict = SameCluster
		c.Reasons = append(c.Reasons, fmt.Sprintf("%d objects have the UID they had, and none that was there is gone", w.same))
	}
	c.Headline = c.headline()
}

func (c *Comparison) headline() string {
	var parts []string
	switch c.Verdict {
	case NotComparable:
		return fmt.Sprintf("no loss found, but not all was captured: %s", c.Gaps[0].Resource+" "+c.Gaps[0].Side+more(len(c.Gaps)-1))
	case SameClusterWithLosses:
		parts = append(parts, "same cluster, "+c.Step.words(), plural(c.Counts.Losses, "loss", "losses"))
		if n := len(c.Gaps); n > 0 {
			parts = append(parts, plural(n, "list", "lists")+" not captured")
		}
	default:
		parts = append(parts, "same cluster, "+c.Step.words(), "nothing lost")
	}
	switch n := c.Counts.Restarts; {
	case n > 0:
		parts = append(parts, plural(n, "restart", "restarts"))
	case slices.ContainsFunc(c.Gaps, func(g Gap) bool { return g.Resource == "pods" }):
		parts = append(parts, "restarts unknown")
	case c.Counts.PodsNew == 0:
		parts = append(parts, "nothing restarted")
	}
	if n := c.Counts.PodsNew; n > 0 {
		parts = append(parts, plural(n, "new Pod", "new Pods"))
	}
	if n := len(c.Differences) - c.Counts.Losses; n > 0 {
		parts = append(parts, plural(n, "other difference", "other differences"))
	}
	return strings.Join(parts, ", ")
}

// words says the step in words.
func (s Step) words() string {
	arrow := " (" + s.From + " -> " + s.To + ")"
	switch s.Kind {
	case skew.NoOp:
		return "same version (" + s.To + ")"
	case skew.Patch:
		return "a newer patch" + arrow
	case skew.Step:
		return "one minor up" + arrow
	default:
		return "not one legal step" + arrow
	}
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// order puts losses first, then what a person looks for first.
func order(list []Difference) {
	slices.SortStableFunc(list, func(a, b Difference) int {
		if a.Loss != b.Loss {
			if a.Loss {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(rank(a.What), rank(b.What)), strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

func rank(w What) int {
	return slices.Index([]What{Restored, NotAStep, BrokenSkew, Missing, Recreated, SetBack, Unwell, Unreadable, Gone, CameBack, Moved, Changed, Added}, w)
}

// String is one line: "missing: Deployment upg/web".
func (d Difference) String() string {
	s := string(d.What) + ": " + d.Kind + " "
	if d.Namespace != "" {
		s += d.Namespace + "/"
	}
	s += d.Name
	if d.Field != "" {
		s += fmt.Sprintf(", %s %s -> %s", d.Field, orNone(d.Before), orNone(d.After))
	}
	if d.Detail != "" {
		s += ": " + d.Detail
	}
	return s
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
