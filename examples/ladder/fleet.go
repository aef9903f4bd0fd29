package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
)

// hangURL explains why Pods hang on old agents.
const hangURL = "https://github.com/k3s-io/k3s/issues/11551"

// fleetReport is what the ladder means for the machines of a cluster.
type fleetReport struct {
	// Now lists what breaks the version skew policy already.
	Now []skew.Violation `json:"now"`
	// Hang lists agents whose new Pods hang already, although the policy allows
	// them.
	Hang []string `json:"hang,omitempty"`
	// Rungs say for each rung what raising the servers would strand, and the
	// order of the work that avoids it.
	Rungs []fleetRung `json:"rungs"`
}

type fleetRung struct {
	Version skew.Version     `json:"version"`
	Strands []skew.Violation `json:"strands,omitempty"`
	// Hang lists agents whose new Pods would hang under servers on this rung.
	Hang  []string    `json:"hang,omitempty"`
	Order []skew.Move `json:"order"`
	// Error says why there is no order.
	Error string `json:"error,omitempty"`
}

// along plays the ladder through on the fleet; without one it looks at the fleet
// as it is.
func (s *sighting) along(climb *channels.Climb) *fleetReport {
	fleet := s.fleet
	r := &fleetReport{Now: append([]skew.Violation{}, fleet.Violations()...), Rungs: []fleetRung{}}
	for _, server := range fleet.Servers {
		for _, n := range hanging(fleet, server.Version) {
			if !slices.Contains(r.Hang, n.Name) {
				r.Hang = append(r.Hang, n.Name)
			}
		}
	}
	if climb == nil {
		return r
	}
	for _, rung := range climb.Rungs {
		fr := fleetRung{Version: rung.Version, Strands: fleet.Strands(rung.Version)}
		before := raiseHanging(fleet, rung)
		for _, m := range before {
			fr.Hang = append(fr.Hang, m.Name)
			fleet = fleet.After(m)
		}
		moves, err := fleet.Order(rung.Version)
		moves = append(before, moves...)
		if err != nil {
			fr.Error = err.Error()
			r.Rungs = append(r.Rungs, fr)
			break
		}
		fr.Order = moves
		for _, m := range moves {
			fleet = fleet.After(m)
		}
		r.Rungs = append(r.Rungs, fr)
	}
	return r
}

// hanging are the agents whose new Pods hang under servers of that version.
func hanging(f skew.Fleet, server skew.Version) []skew.Node {
	var nodes []skew.Node
	for _, n := range f.Nodes {
		if n.Server == "" && channels.AgentHangs(server, n.Kubelet) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// raiseHanging takes agents that would hang to where the servers are, before
// these go on to the rung.
func raiseHanging(f skew.Fleet, rung channels.Rung) []skew.Move {
	var moves []skew.Move
	for _, n := range hanging(f, rung.Version) {
		if n.Kubelet.Less(rung.From) {
			moves = append(moves, skew.Move{Kind: skew.MoveNode, Name: n.Name, From: n.Kubelet, To: rung.From,
				Why: "its Pods would hang under servers at " + rung.Version.Minor().String()})
		}
	}
	return moves
}

func (r *fleetReport) writeText(w io.Writer) error {
	var b bytes.Buffer
	line := func(first, format string, args ...any) {
		_ = writeWrapped(&b, first, strings.Repeat(" ", len(first)+2), fmt.Sprintf(format, args...))
	}
	b.WriteString("\nMachines\n")
	if len(r.Now) == 0 {
		line("   ", "Now nothing breaks the version skew policy.")
	}
	for _, v := range r.Now {
		line("   ", "NOW %s", v)
	}
	for _, name := range r.Hang {
		line("   ", "NOW new Pods hang on node %s: %s", name, hangURL)
	}
	for _, rung := range r.Rungs {
		line("   ", "To %s", rung.Version)
		for _, name := range rung.Hang {
			line("      ", "raising the servers to %s hangs new Pods on node %s", rung.Version.Minor(), name)
		}
		for _, v := range rung.Strands {
			line("      ", "raising the servers to %s strands %s %s at %s", rung.Version.Minor(), v.Where, v.Name, v.Version.Minor())
		}
		for i, m := range rung.Order {
			line("      ", "%d. %s", i+1, m)
		}
		if rung.Error != "" {
			line("      ", "%s", rung.Error)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}
