// Command picture draws docs/ladder.svg: the accident that k3sladder prevents.
//
//	go run ./docs/picture > docs/ladder.svg
package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"
)

func main() {
	if _, err := os.Stdout.WriteString(draw()); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(2)
	}
}

// A rung is one minor of the ladder, the lowest first.
type rung struct{ version, note, colour string }

var rungs = []rung{
	{"1.34", "your cluster", "#1a7f37"},
	{"1.35", "the next rung", "#1f2328"},
	{"1.36", "where stable points", "#cf222e"},
}

const (
	width, height = 830, 330
	left, right   = 200, 330 // the ladder's rails
	bottom, gap   = 260, 90  // of the rungs
)

func rungY(i int) int { return bottom - i*gap }

func draw() string {
	var s strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&s, format+"\n", args...) }
	p(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="-apple-system,Segoe UI,Helvetica,Arial,sans-serif">`, width, height, width, height)
	p(`<title>A ladder with the rungs 1.34, 1.35 and 1.36: stable points two rungs above the cluster, and the jump is forbidden</title>`)
	p(`<rect width="%d" height="%d" rx="10" fill="#ffffff" stroke="#d0d7de"/>`, width, height)
	for _, x := range []int{left, right} {
		p(`<line x1="%d" y1="28" x2="%d" y2="%d" stroke="#8c959f" stroke-width="9" stroke-linecap="round"/>`, x, x, height-28)
	}
	for i, r := range rungs {
		y := rungY(i)
		p(`<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="8"/>`, left, y, right, y, r.colour)
		p(`<text x="%d" y="%d" text-anchor="end" font-size="26" font-weight="700" fill="%s">%s</text>`, left-24, y+2, r.colour, escape(r.version))
		p(`<text x="%d" y="%d" text-anchor="end" font-size="14" fill="#57606a">%s</text>`, left-24, y+22, escape(r.note))
	}
	// The way up, a rung at a time.
	for i := range len(rungs) - 1 {
		arrow(p, (left+right)/2, rungY(i)-12, rungY(i+1)+12)
	}
	// The jump, crossed out.
	from, to := rungY(0), rungY(len(rungs)-1)
	p(`<path d="M %d %d C %d %d, %d %d, %d %d" fill="none" stroke="#cf222e" stroke-width="4" stroke-dasharray="9 7"/>`,
		right+14, from, right+130, from-20, right+130, to+20, right+26, to)
	p(`<path d="M %d %d l 20 -10 l -4 21 z" fill="#cf222e"/>`, right+10, to)
	middle := (from + to) / 2
	for _, slope := range []int{-1, 1} {
		p(`<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#cf222e" stroke-width="7" stroke-linecap="round"/>`,
			right+84, middle-16*slope, right+116, middle+16*slope)
	}
	lines := []struct {
		text, colour string
		bold         bool
	}{
		{"Following stable", "#cf222e", true},
		{"skips 1.35. The version skew policy", "#57606a", false},
		{"forbids it, and nothing stops it.", "#57606a", false},
		{"", "", false},
		{"k3sladder", "#1a7f37", true},
		{"pins the next rung, backs up, climbs,", "#57606a", false},
		{"and proves it is the same cluster.", "#57606a", false},
	}
	for i, l := range lines {
		weight := "400"
		if l.bold {
			weight = "700"
		}
		p(`<text x="%d" y="%d" font-size="16" font-weight="%s" fill="%s">%s</text>`, right+150, 98+i*25, weight, l.colour, escape(l.text))
	}
	p(`</svg>`)
	return s.String()
}

// arrow points up from one rung to the next.
func arrow(p func(string, ...any), x, from, to int) {
	p(`<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#1a7f37" stroke-width="5"/>`, x, from, x, to+12)
	p(`<path d="M %d %d l 11 18 l -22 0 z" fill="#1a7f37"/>`, x, to)
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
	return b.String()
}
