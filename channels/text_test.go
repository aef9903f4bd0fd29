package channels_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/internal/golden"
	"github.com/k3sladder/k3sladder/skew"
)

func textOf(t *testing.T, from, to string, facts channels.Facts) []byte {
	t.Helper()
	climb, err := channels.Ladder(skew.MustParse(from), skew.MustParse(to), channels.Bundled(), facts)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := climb.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTextFitsAHundredColumns(t *testing.T) {
	t.Parallel()
	text := textOf(t, "v1.24.10+k3s1", "v1.37.1+k3s1", channels.Facts{})
	for _, line := range strings.Split(string(text), "\n") {
		if utf8.RuneCountInString(line) > 100 || strings.TrimRight(line, " ") != line {
			t.Errorf("%q", line)
		}
	}
}

func TestTextOfALadder(t *testing.T) {
	t.Parallel()
	golden.Check(t, "stable-from-1.34.golden", textOf(t, "v1.34.11+k3s1", "v1.36.4+k3s1", channels.Facts{}))
	golden.Check(t, "etcd-known.golden", textOf(t, "v1.32.10+k3s1", "v1.33.13+k3s2",
		channels.Facts{Datastore: channels.EmbeddedEtcd, Agents: channels.Yes, Executor: channels.Script}))
	golden.Check(t, "components-go-back.golden", textOf(t, "v1.34.11+k3s1", "v1.36.4+k3s1",
		channels.Facts{Datastore: channels.SQLite, Agents: channels.No, Executor: channels.Script}))
	climb, err := channels.Ladder(skew.MustParse("v1.34.11+k3s1"), skew.MustParse("v1.36.4+k3s1"), nil, channels.Facts{})
	var short bytes.Buffer
	if err != nil || climb.WriteShort(&short) != nil {
		t.Fatal(err)
	}
	golden.Check(t, "short.golden", short.Bytes())
	golden.Check(t, "nothing-to-do.golden", textOf(t, "v1.36.4+k3s1", "v1.36.4+k3s1", channels.Facts{}))
	golden.Check(t, "newer-than-the-module.golden", textOf(t, "v1.37.1+k3s1", "v1.38.0+k3s1",
		channels.Facts{Datastore: channels.SQLite, Agents: channels.No, Executor: channels.Script}))
}
