//go:build practice

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/internal/practice"
)

// TestTheProgramOnACluster runs what a person would type.
func TestTheProgramOnACluster(t *testing.T) {
	c := practice.Start(t, practice.Options{})
	dir := t.TempDir()
	kubeconfig := c.Kubeconfig()
	run := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		if got := cli.Run(t.Context(), newCommand(), args, &out, &errs); got != want {
			t.Errorf("snapshot %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, want, out.String(), errs.String())
		}
		return out.String(), errs.String()
	}
	before, after := filepath.Join(dir, "before.json.gz"), filepath.Join(dir, "after.json.gz")
	if out, errs := run(0, "capture", "--kubeconfig", kubeconfig, "--out", before, "--ask-kubelets"); !strings.Contains(out, practice.From) || errs != "" {
		t.Errorf("capture said %q, %q", out, errs)
	}
	run(2, "capture", "--kubeconfig", kubeconfig, "--out", before)
	usage, _ := run(0, "apiusage", "--kubeconfig", kubeconfig, "--target", "1.35")
	if !regexp.MustCompile(`^(apiserver_requested_deprecated_apis\{.*\} 1\n)*removed_by_target=0\n$`).MatchString(usage) {
		t.Errorf("apiusage said %q", usage)
	}
	// A call of a deprecated API is in the next answer.
	if _, err := c.Client().CoreV1().ComponentStatuses().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	called, _ := run(0, "apiusage", "--kubeconfig", kubeconfig, "--target", "1.35")
	if strings.Contains(usage, "componentstatuses") || !strings.Contains(called, `apiserver_requested_deprecated_apis{group="",removed_release="",resource="componentstatuses",subresource="",version="v1"} 1`) {
		t.Errorf("apiusage said %q, then %q", usage, called)
	}
	table, _ := run(0, "apiusage", "--kubeconfig", kubeconfig, "--target", "1.35", "--objects", "-o", "table", "--also", c.Config().Host)
	if !strings.Contains(table, "No object is tied to a version that 1.35 removes.") || strings.Count(table, "counts since its start at") != 2 {
		t.Errorf("apiusage said %q", table)
	}
	if err := c.Upgrade(t.Context(), practice.To); err != nil {
		t.Fatal(err)
	}
	run(0, "capture", "--kubeconfig", kubeconfig, "--out", after)
	if text, _ := run(0, "compare", before, after); !strings.HasPrefix(text, "same-cluster\nsame cluster, one minor up") {
		t.Errorf("compare said %q", text)
	}
	page, _ := run(0, "compare", before, after, "-o", "html")
	if err := os.WriteFile(filepath.Join(dir, "report.html"), []byte(page), 0o600); err != nil || !strings.Contains(page, "same-cluster") {
		t.Errorf("no page: %v", err)
	}
	run(2, "compare", after, before)
}
