package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
)

// fleetReport is what the ladder means for the machines of a cluster.
type fleetReport struct {
	// Now lists what breaks the version skew policy already.
	Now []skew.Violation `json:"now"`
	// Rungs say for each rung what raising the servers would strand, and the
	// order of the work that avoids it.
	Rungs []fleetRung `json:"rungs"`
}

type fleetRung struct {
	Version skew.Version     `json:"version"`
	Strands []skew.Violation `json:"strands,omitempty"`
	Order   []skew.Move      `json:"order"`
	// Error says why there is no order.
	Error string `json:"error,omitempty"`
}

// along plays the ladder through on the fleet; without one it looks at the fleet
// as it is.
func (s *sighting) along(climb *channels.Climb) *fleetReport {
	fleet := s.fleet
	r := &fleetReport{Now: append([]skew.Violation{}, fleet.Violations()...), Rungs: []fleetRung{}}
	if climb == nil {
		return r
	}
	for _, rung := range climb.Rungs {
		fr := fleetRung{Version: rung.Version, Strands: fleet.Strands(rung.Version)}
		moves, err := fleet.Order(rung.Version)
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
	for _, rung := range r.Rungs {
		line("   ", "To %s", rung.Version)
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
