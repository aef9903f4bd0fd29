package practice

import (
	"strings"
	"testing"
)

func TestACrashedComponentIsNamed(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	start := func(name, binary string, args ...string) *process {
		p, err := startProcess(logs, command{name: name, binary: binary, args: args})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.stop(0) })
		return p
	}
	c := &Cluster{kine: start("kine", "sh", "-c", "exit 3"), kwok: start("kwok", "cat")}
	<-c.kine.done
	if got := c.ended(); len(got) != 1 || !strings.Contains(got[0], "kine ended (exit status 3)") {
		t.Error(got)
	}
	if got := (&Cluster{}).ended(); got != nil {
		t.Error(got)
	}
	if err := (&Cluster{version: From}).Upgrade(t.Context(), To); err == nil || !strings.Contains(err.Error(), "bin/practice start --version "+To) {
		t.Errorf("the upgrade of a stopped cluster: %v", err)
	}
	if c.stopped() || !(&Cluster{}).stopped() {
		t.Error("what has no process is stopped, what has one is not")
	}
}
