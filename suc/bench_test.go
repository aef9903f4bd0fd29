package suc

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

// tenThousand are 10,000 Plans in one file: pairs of servers and agents.
func tenThousand(tb testing.TB) []byte {
	pair, err := os.ReadFile("testdata/plans/ok-k3s-pair-pinned.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	var b bytes.Buffer
	for i := range 5000 {
		b.WriteString("---\n")
		b.Write(bytes.ReplaceAll(pair, []byte("lab-"), fmt.Appendf(nil, "lab-%d-", i)))
	}
	return b.Bytes()
}

// BenchmarkLint10000 reads and judges 10,000 Plans without facts: it must stay
// under a second.
func BenchmarkLint10000(b *testing.B) {
	data := tenThousand(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if found := Lint([]File{{"plans.yaml", data}}, LintOptions{}); len(found) > 0 {
			b.Fatal(found[:1])
		}
	}
}
