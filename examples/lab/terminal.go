package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// terminal prints a line a step, and what moves meanwhile: as a live counter
// where a person watches, as a line now and then where a log does.
type terminal struct {
	out, err io.Writer
	watched  bool
	width    int // of the moving line
	current  atomic.Pointer[live]
}

// say tells something about the step that is under way.
func (t *terminal) say(line string) {
	if l := t.current.Load(); l != nil {
		l.say("%s", line)
	}
}

func newTerminal(out, err io.Writer) *terminal {
	t := &terminal{out: out, err: err, width: 96}
	if file, ok := err.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		t.watched = true
		// A line that wraps could not be taken away again; the spinner needs
		// some room of its own.
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 20 {
			t.width = min(t.width, columns-6)
		}
	}
	return t
}

// logEvery is how often a log gets a line about something that moves.
const logEvery = 10 * time.Second

// live is a step that is under way.
type live struct {
	t     *terminal
	name  string
	began time.Time

	mu    sync.Mutex
	bar   *progressbar.ProgressBar
	text  string
	shown time.Time
	stop  chan struct{}
	done  sync.WaitGroup
}

// begin starts a step's line.
func (t *terminal) begin(name string) *live {
	l := &live{t: t, name: name, began: time.Now(), shown: time.Now(), stop: make(chan struct{})}
	if t.watched {
		l.bar = progressbar.NewOptions(-1, progressbar.OptionSetWriter(t.err), progressbar.OptionSpinnerType(14),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetElapsedTime(false), progressbar.OptionSetDescription(name))
		l.done.Go(l.tick)
	}
	t.current.Store(l)
	return l
}

func (l *live) tick() {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-ticker.C:
			l.mu.Lock()
			l.bar.Describe(l.line())
			_ = l.bar.Add(1)
			l.mu.Unlock()
		}
	}
}

func (l *live) line() string {
	return clip(fmt.Sprintf("%-11s %7s  %s", l.name, time.Since(l.began).Round(time.Second), l.text), l.t.width)
}

// say replaces what the line tells.
func (l *live) say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	if l.bar == nil && time.Since(l.shown) >= logEvery {
		l.shown = time.Now()
		fmt.Fprintln(l.t.err, l.line())
	}
}

// note prints text that stays, above the moving line and under the step's name:
// the line above it is another step's.
func (l *live) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bar != nil {
		_ = l.bar.Clear()
	}
	l.t.indented(l.name, fmt.Sprintf(format, args...))
}

// indented prints text beside a step's name, or none, wrapped; an item's lines
// hang below its text.
func (t *terminal) indented(name, text string) {
	indent := fmt.Sprintf("%-21s", name)
	hang := strings.Repeat(" ", len(indent))
	if strings.HasPrefix(text, "- ") {
		hang += "  "
	}
	fmt.Fprintln(t.out, indent+strings.Join(wrap(text, 100-len(hang)), "\n"+hang))
}

// end takes the moving line away. The result stands in its place: its first
// line beside the step's name, the others below.
func (l *live) end(result string) {
	close(l.stop)
	l.done.Wait()
	l.t.current.CompareAndSwap(l, nil)
	if l.bar != nil {
		_ = l.bar.Finish()
	}
	if result == "" {
		return
	}
	first, more, _ := strings.Cut(result, "\n")
	fmt.Fprintf(l.t.out, "%-11s %7s  %s\n", l.name, seconds(time.Since(l.began)), first)
	for line := range strings.Lines(more) {
		l.t.indented("", "- "+strings.TrimSpace(line))
	}
}

// wrap breaks text at blanks into lines of at most width characters; a longer
// word has a line of its own.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

func clip(s string, width int) string {
	if runes := []rune(s); len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return s
}
