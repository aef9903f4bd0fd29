package suc

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a machine without a zone database must not change a verdict
)

// window is a time window as the controller reads it, by
// github.com/kubereboot/kured/pkg/timewindow v1.13.1.
type window struct {
	days       [7]bool
	zone       *time.Location
	start, end time.Time // only the clock counts
}

// clockFormats are tried in this order.
var clockFormats = []string{"15:04", "15:04:05", "03:04pm", "15", "03pm", "3pm"}

func parseClock(s string) (time.Time, error) {
	for _, f := range clockFormats {
		if t, err := time.Parse(f, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s is no time of day", quote(s))
}

var weekdays = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// weekday reads what the CRD lets pass as a day.
func (d Day) weekday() (time.Weekday, error) {
	s := strings.ToLower(string(d))
	if n, err := strconv.Atoi(s); err == nil && n >= 0 && n < 7 {
		return time.Weekday(n), nil
	}
	for i, name := range weekdays {
		if s == name || s == name[:2] || s == name[:3] {
			return time.Weekday(i), nil
		}
	}
	return 0, fmt.Errorf("%s is no day", quote(string(d)))
}

// zone reads a time zone name; "Local" is the controller's own zone, UTC in its
// image.
func zone(name string) (*time.Location, error) {
	if name == "Local" {
		return time.UTC, nil
	}
	l, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%s is no zone of the IANA database", quote(name))
	}
	return l, nil
}

// open reads the window. The error is the first of what the controller would
// object to.
func (w *TimeWindowSpec) open() (*window, error) {
	out := &window{}
	for _, d := range w.Days {
		day, err := d.weekday()
		if err != nil {
			return nil, err
		}
		out.days[day] = true
	}
	var err error
	if out.zone, err = zone(w.TimeZone); err != nil {
		return nil, err
	}
	if out.start, err = parseClock(w.StartTime); err != nil {
		return nil, err
	}
	if out.end, err = parseClock(w.EndTime); err != nil {
		return nil, err
	}
	return out, nil
}

// Contains reports whether the controller starts work at t. A window that it
// cannot read contains nothing. A window over midnight is judged by the day of
// t: "saturday 22:00-04:00" is open on Saturday until 04:00 and from 22:00 on,
// and closed on Sunday.
func (w *TimeWindowSpec) Contains(t time.Time) bool {
	win, err := w.open()
	return err == nil && win.contains(t)
}

func (w *window) contains(t time.Time) bool {
	t = t.In(w.zone)
	if !w.days[t.Weekday()] {
		return false
	}
	y, m, d := t.Date()
	start := time.Date(y, m, d, w.start.Hour(), w.start.Minute(), w.start.Second(), 0, w.zone)
	end := time.Date(y, m, d, w.end.Hour(), w.end.Minute(), w.end.Second(), 1e9-1, w.zone)
	if w.start.After(w.end) {
		return t.Before(end) || !t.Before(start)
	}
	return !t.Before(start) && !t.After(end)
}

// Opening is a stretch of time in which work may start. End is the last moment
// that counts.
type Opening struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// Next is the opening that t lies in, from its start, or the first one after t.
// It is nil when the window never opens.
func (w *TimeWindowSpec) Next(t time.Time) (*Opening, error) {
	win, err := w.open()
	if err != nil {
		return nil, err
	}
	if win.days == ([7]bool{}) {
		return nil, nil
	}
	// Stretches within one local day each; those that meet at midnight are one.
	var current *Opening
	y, m, d := t.In(win.zone).Date()
	for i := -8; i <= 9; i++ {
		for _, s := range win.stretches(y, m, d+i) {
			switch {
			case current != nil && !s.Start.After(current.End.Add(time.Nanosecond)):
				current.End = s.End
				continue
			case current != nil && !current.End.Before(t):
				return current, nil
			}
			current = &s
		}
	}
	if current != nil && !current.End.Before(t) {
		return current, nil
	}
	return nil, nil
}

// stretches are the openings of one local day.
func (w *window) stretches(y int, m time.Month, d int) []Opening {
	midnight := time.Date(y, m, d, 0, 0, 0, 0, w.zone)
	if !w.days[midnight.Weekday()] {
		return nil
	}
	last := time.Date(y, m, d+1, 0, 0, 0, 0, w.zone).Add(-1)
	start := time.Date(y, m, d, w.start.Hour(), w.start.Minute(), w.start.Second(), 0, w.zone)
	end := time.Date(y, m, d, w.end.Hour(), w.end.Minute(), w.end.Second(), 1e9-1, w.zone)
	if !w.start.After(w.end) {
		return []Opening{{start, end}}
	}
	return []Opening{{midnight, end.Add(-1)}, {start, last}}
}
