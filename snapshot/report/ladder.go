package report

import "strings"

// The ladder as drawn: one unit is a CSS pixel of the SVG's own space.
const (
	rungGap    = 64
	ladderTop  = 40
	railLeft   = 24
	railRight  = 104
	ladderWide = 440
)

// drawing is the ladder ready for the template, the highest rung first.
type drawing struct {
	Width, Height       int
	RailLeft, RailRight int
	RailTop, RailBottom int
	Rungs               []drawnRung
	Climb               bool
	ClimbX              int
	ClimbFrom, ClimbTo  int
	Channel             string
	Title               string
}

type drawnRung struct {
	Rung
	Y       int
	Label   string
	Class   string
	Channel string
}

// draw lays the rungs out. It gives nil when there are none.
func (l Ladder) draw() *drawing {
	n := len(l.Rungs)
	if n == 0 {
		return nil
	}
	d := &drawing{Width: ladderWide, Height: ladderTop + (n-1)*rungGap + 52, RailLeft: railLeft, RailRight: railRight,
		RailTop: ladderTop - 28, ClimbX: (railLeft + railRight) / 2}
	d.RailBottom = d.Height - 16
	var words []string
	from, to := -1, -1
	for i := n - 1; i >= 0; i-- {
		r := l.Rungs[i]
		y := ladderTop + (n-1-i)*rungGap
		dr := drawnRung{Rung: r, Y: y, Class: string(r.State), Label: label(r)}
		if l.ChannelVersion != "" && r.Version == l.ChannelVersion {
			dr.Channel = "channel " + l.Channel + " points here"
		}
		switch r.State {
		case Here:
			to = y
		case Climbed:
			if from < 0 {
				from = y
			}
		}
		d.Rungs = append(d.Rungs, dr)
	}
	if from > to && to >= 0 {
		d.Climb, d.ClimbFrom, d.ClimbTo = true, from-8, to+14
	}
	for _, r := range l.Rungs {
		words = append(words, r.Version+" ("+string(r.State)+")")
	}
	d.Title = "The ladder, from the lowest rung: " + strings.Join(words, ", ")
	return d
}

func label(r Rung) string {
	if r.Note != "" {
		return r.Note
	}
	switch r.State {
	case Climbed:
		return "where it was"
	case Here:
		return "where it is"
	case Next:
		return "the next rung"
	}
	return ""
}
