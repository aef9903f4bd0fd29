package suc

import (
	"fmt"
	"strings"
	"time"
)

func (s *subject) judgeWindow() {
	w, at := s.plan.Spec.Window, spec("window")
	if w == nil {
		return
	}
	if len(w.Days) == 0 {
		s.add("window-field", at.at("days"), "is missing: no day matches, and the Plan waits for ever", "days: [saturday, sunday]")
	}
	for i, d := range w.Days {
		if _, err := d.weekday(); err != nil {
			s.add("not-allowed", at.at("days", i), err.Error()+": the API server refuses the Plan", "")
		}
	}
	start, okStart := s.clock(w.StartTime, at.at("startTime"))
	end, okEnd := s.clock(w.EndTime, at.at("endTime"))
	if _, err := zone(w.TimeZone); err != nil {
		s.add("window-zone", at.at("timeZone"), err.Error()+": the Plan is invalid and no Job is made", zoneFix(w.TimeZone))
	} else if w.TimeZone == "Local" {
		s.addAs(Warning, "window-zone", at.at("timeZone"), "is the controller's own zone, which is UTC in its image", "name the zone, such as Europe/Vienna")
	}
	if !okStart || !okEnd || len(w.Days) == 0 {
		return
	}
	switch {
	case start.Equal(end):
		s.add("window-empty", at, "opens and closes at the same time: work can start in one second a day, and the controller looks once a minute", "set endTime to when the last node may start")
	case start.After(end):
		days := map[time.Weekday]bool{}
		for _, d := range w.Days {
			if day, err := d.weekday(); err == nil {
				days[day] = true
			}
		}
		midnight := end.Hour() == 0 && end.Minute() == 0 && end.Second() == 0
		if len(days) < 7 && !midnight {
			s.add("window-wrap", at, fmt.Sprintf("goes over midnight: the hours until %s count on the days named, not on the days after, so it opens there at 00:00 and again at %s", w.EndTime, w.StartTime),
				"make two Plans, or a window within one day; or name all seven days")
		}
	}
}

func (s *subject) clock(text string, at path) (time.Time, bool) {
	if text == "" {
		s.add("window-field", at, "is missing: the Plan is invalid and no Job is made", "")
		return time.Time{}, false
	}
	t, err := parseClock(text)
	if err != nil {
		s.add("window-time", at, err.Error()+": the Plan is invalid and no Job is made", "write it as 22:00, 22:00:00, 22 or 10:00pm")
	}
	return t, err == nil
}

// zoneFix helps with what people write instead of a zone.
func zoneFix(name string) string {
	switch strings.ToUpper(name) {
	case "CEST", "MESZ":
		return "Europe/Berlin, or another city of the zone"
	case "EDT", "EST/EDT":
		return "America/New_York"
	case "CDT", "CST":
		return "America/Chicago"
	case "MDT":
		return "America/Denver"
	case "PST", "PDT":
		return "America/Los_Angeles"
	case "BST":
		return "Europe/London"
	case "JST":
		return "Asia/Tokyo"
	case "IST":
		return "Asia/Kolkata"
	}
	return "use a name such as Europe/Vienna, or UTC"
}
