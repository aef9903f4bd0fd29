package suc

import (
	"testing"
	"time"
)

func TestWindowCountsByTheDayItIs(t *testing.T) {
	t.Parallel()
	vienna, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		t.Fatal(err)
	}
	at := func(day, hour, minute int) time.Time { // 5 December 2026 is a Saturday
		return time.Date(2026, 12, day, hour, minute, 0, 0, vienna)
	}
	for name, c := range map[string]struct {
		window TimeWindowSpec
		at     time.Time
		want   bool
	}{
		"inside":                          {TimeWindowSpec{[]Day{"sat"}, "02:00", "05:30", "Europe/Vienna"}, at(5, 2, 0), true},
		"the last second still counts":    {TimeWindowSpec{[]Day{"sat"}, "02:00", "05:30", "Europe/Vienna"}, at(5, 5, 30), true},
		"after it":                        {TimeWindowSpec{[]Day{"sat"}, "02:00", "05:30", "Europe/Vienna"}, at(5, 5, 31), false},
		"other day":                       {TimeWindowSpec{[]Day{"sat"}, "02:00", "05:30", "Europe/Vienna"}, at(6, 3, 0), false},
		"another zone":                    {TimeWindowSpec{[]Day{"6"}, "02:00", "05:30", ""}, at(5, 2, 30), false},
		"over midnight, before it":        {TimeWindowSpec{[]Day{"saturday"}, "22:00", "04:00", "Europe/Vienna"}, at(5, 23, 0), true},
		"over midnight, early that day":   {TimeWindowSpec{[]Day{"saturday"}, "22:00", "04:00", "Europe/Vienna"}, at(5, 3, 0), true},
		"over midnight, the day after":    {TimeWindowSpec{[]Day{"saturday"}, "22:00", "04:00", "Europe/Vienna"}, at(6, 3, 0), false},
		"afternoon clock":                 {TimeWindowSpec{[]Day{"sa"}, "03pm", "04:30pm", "Europe/Vienna"}, at(5, 16, 0), true},
		"hour alone":                      {TimeWindowSpec{[]Day{"sa"}, "3", "4", "Europe/Vienna"}, at(5, 3, 30), true},
		"no days":                         {TimeWindowSpec{nil, "00:00", "23:59", "Europe/Vienna"}, at(5, 3, 0), false},
		"a window that cannot be read":    {TimeWindowSpec{[]Day{"sa"}, "00:00", "24:00", "Europe/Vienna"}, at(5, 3, 0), false},
		"the controller's own zone (UTC)": {TimeWindowSpec{[]Day{"sa"}, "02:00", "02:59", "Local"}, at(5, 3, 30), true},
	} {
		if got := c.window.Contains(c.at); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWindowNextOpening(t *testing.T) {
	t.Parallel()
	day := func(d, h, m, s, ns int) time.Time { return time.Date(2026, 12, d, h, m, s, ns, time.UTC) }
	for name, c := range map[string]struct {
		window     TimeWindowSpec
		at         time.Time
		start, end time.Time
	}{
		"later this week":      {TimeWindowSpec{[]Day{"sat"}, "02:00", "05:30", ""}, day(1, 0, 0, 0, 0), day(5, 2, 0, 0, 0), day(5, 5, 30, 0, 999999999)},
		"already open":         {TimeWindowSpec{[]Day{"sat"}, "02:00", "05:30", ""}, day(5, 3, 0, 0, 0), day(5, 2, 0, 0, 0), day(5, 5, 30, 0, 999999999)},
		"next week":            {TimeWindowSpec{[]Day{"sat"}, "02:00", "05:30", ""}, day(5, 6, 0, 0, 0), day(12, 2, 0, 0, 0), day(12, 5, 30, 0, 999999999)},
		"over midnight, whole": {TimeWindowSpec{[]Day{"sa", "su"}, "22:00", "04:00", ""}, day(5, 12, 0, 0, 0), day(5, 22, 0, 0, 0), day(6, 4, 0, 0, 999999998)},
		"over midnight, cut":   {TimeWindowSpec{[]Day{"sa"}, "22:00", "04:00", ""}, day(5, 12, 0, 0, 0), day(5, 22, 0, 0, 0), day(6, 0, 0, 0, -1)},
	} {
		got, err := c.window.Next(c.at)
		if err != nil || got == nil || !got.Start.Equal(c.start) || !got.End.Equal(c.end) {
			t.Errorf("%s: %v, %v; want %v to %v", name, got, err, c.start, c.end)
			continue
		}
		for _, at := range []time.Time{got.Start, got.End} {
			if !c.window.Contains(at) {
				t.Errorf("%s: closed at %v", name, at)
			}
		}
		if c.window.Contains(got.End.Add(time.Second)) {
			t.Errorf("%s: still open after %v", name, got.End)
		}
	}
	never := TimeWindowSpec{nil, "02:00", "05:30", ""}
	if got, err := never.Next(day(1, 0, 0, 0, 0)); got != nil || err != nil {
		t.Errorf("a window without days opens: %v, %v", got, err)
	}
	bad := TimeWindowSpec{[]Day{"sa"}, "02:00", "05:30", "CEST"}
	if _, err := bad.Next(day(1, 0, 0, 0, 0)); err == nil {
		t.Error("a window in no zone opens")
	}
}
