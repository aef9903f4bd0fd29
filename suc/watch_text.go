package suc

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/k3sladder/k3sladder/internal/columns"
)

// String is what WriteText writes.
func (r *WatchResult) String() string {
	var b bytes.Buffer
	_ = r.WriteText(&b)
	return b.String()
}

// WriteText writes the result for a person: the outcome, the nodes, and what is
// left to do.
func (r *WatchResult) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s", r.Outcome)
	if r.Because != "" {
		fmt.Fprintf(&b, ": %s", r.Because)
	}
	b.WriteByte('\n')
	t := columns.New(&b)
	for _, n := range r.Nodes {
		notes := []string{}
		if !n.Ready {
			notes = append(notes, "not Ready")
		}
		if n.Cordoned {
			notes = append(notes, "cordoned")
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", n.Name, n.Phase, n.Kubelet, strings.Join(notes, ", "))
	}
	_ = t.Flush() // a strings.Builder takes everything
	if len(r.LeftCordoned) > 0 {
		fmt.Fprintf(&b, "left cordoned: %s\n", strings.Join(r.LeftCordoned, ", "))
	}
	if len(r.Commands) > 0 {
		b.WriteString("to put it right:\n")
		for _, c := range r.Commands {
			fmt.Fprintf(&b, "  %s\n", c)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
