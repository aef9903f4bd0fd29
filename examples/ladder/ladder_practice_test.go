//go:build practice

package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/internal/practice"
)

// Without --from the program asks a real API server.
func TestLadderAsksTheCluster(t *testing.T) {
	t.Parallel()
	c := practice.Start(t, practice.Options{})
	run := func(args ...string) (int, string, string) {
		var stdout, stderr bytes.Buffer
		code := cli.Run(t.Context(), newCommand(), append([]string{"--kubeconfig", c.Kubeconfig(), "--channels", "testdata/k3s.json"}, args...), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	code, stdout, stderr := run("-o", "json")
	var out struct {
		From  string
		Facts struct{ Agents string }
		Rungs []struct{ Version string }
		Fleet struct {
			Now   []any
			Rungs []struct{ Order []any }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != 0 {
		t.Fatalf("exit %d, %v\n%s%s", code, err, stdout, stderr)
	}
	if out.From != practice.From || out.Facts.Agents != "no" || len(out.Rungs) != 2 || len(out.Fleet.Now) != 0 || len(out.Fleet.Rungs) != 2 || len(out.Fleet.Rungs[0].Order) != 1 {
		t.Errorf("%+v", out)
	}
	// A kubelet that is too old is seen, now and on the way.
	if err := c.AddNode(t.Context(), practice.Node{Name: "edge-7"}); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr = run("-o", "json"); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || out.Facts.Agents != "yes" {
		t.Errorf("%v: %+v", err, out)
	}
	// A cluster that is gone is a failure that says whom it asked.
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run(); code != 2 || !bytes.Contains([]byte(stderr), []byte("asking https://127.0.0.1")) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
