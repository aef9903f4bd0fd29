package report

import (
	"strings"

	"github.com/k3sladder/k3sladder/skew"
)

// The ladder as drawn. One unit is a pixel on a narrow phone, where the drawing
// is as wide as the screen; text that is readable there is readable anywhere.
const (
	ladderWide = 340
	railLeft   = 14
	railRight  = 70
	labelAt    = railRight + 20
	ladderTop  = 40
	lineHigh   = 17
	// noteChars is how many letters of a note fit beside the ladder.
	noteChars = 34
)

// drawing is the ladder ready for the template, the highest rung first.
type drawing struct {
	Width, Height       int
	RailLeft, RailRight int
	RailTop, RailBottom int
	LabelX              int
	Rungs               []drawnRung
	Climb               bool
	ClimbX              int
	ClimbFrom, ClimbTo  int
	Title               string
}

type drawnRung struct {
	Version string
	Class   string
	Y       int
	Notes   []drawnNote
}

type drawnNote struct {
	Text, Class string
	Y           int
}

// draw lays the rungs out. It gives nil when there are none.
func (l Ladder) draw() *drawing {
	if len(l.Rungs) == 0 {
		return nil
	}
	d := &drawing{Width: ladderWide, RailLeft: railLeft, RailRight: railRight, LabelX: labelAt,
		RailTop: ladderTop - 28, ClimbX: (railLeft + railRight) / 2}
	var words []string
	from, to := 0, 0
	y := ladderTop
	for i := len(l.Rungs) - 1; i >= 0; i-- {
		r := l.Rungs[i]
		g := drawnRung{Version: r.Version, Class: string(r.State), Y: y}
		at := y + 1 + lineHigh
		add := func(text, class string) {
			for _, line := range wrap(text, noteChars) {
				g.Notes = append(g.Notes, drawnNote{line, class, at})
				at += lineHigh
			}
		}
		add(label(r), "note")
		switch {
		case l.ChannelVersion == "":
		case r.Version == l.ChannelVersion:
			add("the channel "+l.Channel+" points here", "channel")
		case i == l.channelRung():
			add("the channel "+l.Channel+" points at "+l.ChannelVersion, "channel")
		}
		switch r.State {
		case Here:
			to = y
		case Climbed:
			if from == 0 {
				from = y
			}
		}
		d.Rungs = append(d.Rungs, g)
		y = max(y+62, at+24)
	}
	d.RailBottom = y - 22
	d.Height = y - 10
	if to > 0 && from > to {
		d.Climb, d.ClimbFrom, d.ClimbTo = true, from-8, to+14
	}
	for _, r := range l.Rungs {
		words = append(words, r.Version+" ("+string(r.State)+")")
	}
	d.Title = "The ladder, from the lowest rung: " + strings.Join(words, ", ")
	return d
}

// channelRung is the rung of the minor that the channel points at when no rung
// has that very version; -1 when there is none.
func (l Ladder) channelRung() int {
	at := -1
	c, err := skew.Parse(l.ChannelVersion)
	if err != nil {
		return at
	}
	for i, r := range l.Rungs {
		if r.Version == l.ChannelVersion {
			return -1
		}
		if v, err := skew.Parse(r.Version); err == nil && v.Minor() == c.Minor() {
			at = i
		}
	}
	return at
}

// wrap breaks a text into lines of at most n letters, at blanks where it can.
func wrap(s string, n int) []string {
	var lines []string
	line := []rune{}
	for _, word := range strings.Fields(s) {
		w := []rune(word)
		if len(line) > 0 && len(line)+1+len(w) > n {
			lines, line = append(lines, string(line)), line[:0]
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		for line = append(line, w...); len(line) > n; line = line[n:] {
			lines = append(lines, string(line[:n]))
		}
	}
	if len(line) > 0 {
		lines = append(lines, string(line))
	}
	return lines
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
