package report

import (
	"strings"
	"testing"
	"time"
)

func TestTook(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "", -1: "", time.Microsecond: "1 ms", 40 * time.Millisecond: "40 ms", 1440 * time.Millisecond: "1.4 s", 41500 * time.Millisecond: "42 s",
		185 * time.Second: "3 min 05 s", 59900 * time.Millisecond: "60 s", 3*time.Hour + 4*time.Minute + 31*time.Second: "3 h 05 min",
	} {
		if got := took(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestTheLadderSaysWhereTheChannelPoints(t *testing.T) {
	t.Parallel()
	rungs := []Rung{{Version: "v1.35.4+k3s1", State: Here}, {Version: "v1.36.5+k3s1", State: Next}}
	for channel, want := range map[string]string{
		"v1.36.5+k3s1": "the channel stable points here",
		"v1.36.4+k3s1": "the channel stable points at v1.36.4+k3s1",
		"v1.38.0+k3s1": "", "": "", "soon": "",
	} {
		d := Ladder{Channel: "stable", ChannelVersion: channel, Rungs: rungs}.draw()
		var got []string
		for _, n := range d.Rungs[0].Notes {
			if n.Class == "channel" {
				got = append(got, n.Text)
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %q, want %q", channel, text, want)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "one": "one", "one two three": "one two|three", "abcdefghijklmnop": "abcdefghij|klmnop", "a abcdefghijk": "a|abcdefghij|k", "äöüäöüäöüä öü": "äöüäöüäöüä|öü",
	} {
		if got := strings.Join(wrap(text, 10), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
