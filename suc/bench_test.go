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

// BenchmarkExplain explains a Plan against 1,000 nodes.
func BenchmarkExplain(b *testing.B) {
	facts := &Facts{ServerVersion: "v1.34.11+k3s1"}
	for i := range 1000 {
		name := fmt.Sprintf("node-%d", i)
		facts.Nodes = append(facts.Nodes, Node{Name: name, UID: name, KubeletVersion: "v1.34.11+k3s1", Labels: map[string]string{"kubernetes.io/hostname": name, ControlPlaneLabel: "true"}})
	}
	plans, err := Decode([]byte(plan("")))
	if err != nil {
		b.Fatal(err)
	}
	plans[0].UID = "u"
	for b.Loop() {
		if e, err := Explain(b.Context(), plans[0], ExplainOptions{Facts: facts}); err != nil || !e.OrderKnown {
			b.Fatal(err)
		}
	}
}

// BenchmarkLint10000WithFacts judges the same with a cluster of 50 nodes.
func BenchmarkLint10000WithFacts(b *testing.B) {
	data := tenThousand(b)
	facts := &Facts{ServerVersion: "v1.34.11+k3s1", Datastore: "etcd", Plans: []string{}, Secrets: []string{}, ServiceAccounts: []string{"system-upgrade/system-upgrade"}}
	for i := range 50 {
		l := map[string]string{}
		if i < 3 {
			l[ControlPlaneLabel], l[etcdLabel] = "true", "true"
		}
		name := fmt.Sprintf("node-%d", i)
		l["kubernetes.io/hostname"] = name
		facts.Nodes = append(facts.Nodes, Node{Name: name, KubeletVersion: "v1.34.11+k3s1", Labels: l})
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		Lint([]File{{"plans.yaml", data}}, LintOptions{Facts: facts}) // all of them overlap, so there are findings
	}
}
