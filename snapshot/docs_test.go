package snapshot

import (
	"os"
	"strings"
	"testing"
)

// TestTheDocumentHasEveryExplanation keeps docs/snapshot.md true.
func TestTheDocumentHasEveryExplanation(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../docs/snapshot.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range explanations {
		if !strings.Contains(string(b), "| "+e.why+" |") {
			t.Errorf("%q is not in docs/snapshot.md", e.why)
		}
		if seen[e.why] {
			t.Errorf("%q stands for two explanations", e.why)
		}
		seen[e.why] = true
	}
	for _, v := range []Verdict{SameCluster, SameClusterWithLosses, OtherCluster, NotComparable} {
		if !strings.Contains(string(b), "`"+string(v)+"`") {
			t.Errorf("verdict %s is not in docs/snapshot.md", v)
		}
	}
}
