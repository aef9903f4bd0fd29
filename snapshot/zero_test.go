package snapshot_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/snapshot"
)

func TestWithoutClientsOrSnapshotsThereIsNoAnswer(t *testing.T) {
	t.Parallel()
	some := &snapshot.Snapshot{Format: snapshot.Format}
	for name, pair := range map[string][2]*snapshot.Snapshot{
		"none": {}, "nothing before": {nil, some}, "nothing after": {some, nil}, "the zero values": {{}, {}}, "nothing captured": {some, some},
	} {
		if c := snapshot.Compare(pair[0], pair[1], snapshot.CompareOptions{}); c.Verdict != snapshot.NotComparable || c.Same() || len(c.Reasons) == 0 {
			t.Errorf("%s: %s %q", name, c.Verdict, c.Reasons)
		}
	}
	if (&snapshot.Comparison{}).Same() {
		t.Error("the zero Comparison says same")
	}
	for name, f := range map[string]func() error{
		"no clients": func() error {
			_, err := snapshot.Capture(t.Context(), snapshot.Clients{}, snapshot.Options{})
			return err
		},
		"no configuration": func() error { _, err := snapshot.NewClients(nil); return err },
		"no add-on kinds":  func() error { _, err := some.Deployed("traefik"); return err },
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := snapshot.ReadFile(""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading no file: %v", err)
	}
	if err := some.WriteFile("", true); err == nil || !strings.Contains(err.Error(), "no file") {
		t.Errorf("writing no file: %v", err)
	}
	if _, err := snapshot.Read(strings.NewReader("{}")); !errors.Is(err, snapshot.ErrNotSnapshot) {
		t.Errorf("reading {}: %v", err)
	}
}
