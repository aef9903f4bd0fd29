package suc

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func seeds(f *testing.F) {
	files, err := filepath.Glob("testdata/plans/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(plan("  postCompleteDelay: 1h\n  drain: {timeout: 5m, podSelector: {matchLabels: {a: b}}}\n")))
	f.Add([]byte(`{"apiVersion":"upgrade.cattle.io/v1","kind":"Plan","spec":{"upgrade":{"image":"a"}}}{"kind":"List","items":[{}]}`))
}

// FuzzDecode: no bytes make the decoder panic, and what it takes it can write
// and read again without a change.
func FuzzDecode(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { roundTrip(t, data) })
}

// FuzzLint: no bytes make the linter panic, with and without facts, and every
// finding is complete.
func FuzzLint(f *testing.F) {
	seeds(f)
	facts := &Facts{
		ServerVersion: "v1.34.11+k3s1", Datastore: "etcd",
		Nodes: []Node{
			{Name: "srv-1", KubeletVersion: "v1.34.11+k3s1", Labels: map[string]string{"kubernetes.io/hostname": "srv-1", ControlPlaneLabel: "true", etcdLabel: "true"}},
			{Name: "agt-1", KubeletVersion: "v1.33.5+k3s1", Labels: map[string]string{"kubernetes.io/hostname": "agt-1"}},
		},
		SUC:      &Controller{Version: "v0.14.0", Namespace: "system-upgrade"},
		Channels: map[string]string{"https://update.k3s.io/v1-release/channels/stable": "v1.36.4+k3s1"},
		Plans:    []string{"system-upgrade/a"}, ServiceAccounts: []string{}, Secrets: []string{},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, facts := range []*Facts{nil, facts} {
			for _, found := range Lint([]File{{"a", data}, {"b", data}}, LintOptions{Facts: facts}) {
				if found.Line < 1 || found.Code == "" || found.Severity.rank() == 0 || found.Message == "" || found.Source == "" {
					t.Errorf("incomplete: %+v", found)
				}
				_ = found.String()
			}
		}
	})
}

// FuzzFacts: no bytes make the reader of facts panic.
func FuzzFacts(f *testing.F) {
	f.Add([]byte(`{"serverVersion":"v1.34.11+k3s1","nodes":[{"name":"a","taints":[{"key":"a"}]}]}`))
	f.Add([]byte("serverVersion: v1.34.11+k3s1\nsuc: {jobDeadlineSeconds: 900}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if facts, err := ParseFacts(data); err == nil {
			Lint([]File{{"a", []byte(plan(""))}}, LintOptions{Facts: facts})
		}
	})
}

// FuzzExplain: no Plan that can be decoded makes Explain panic.
func FuzzExplain(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		plans, _ := Decode(data)
		for _, p := range plans {
			p.UID = "u"
			for _, facts := range []*Facts{nil, {}, odd()} {
				e, err := Explain(t.Context(), p, ExplainOptions{Facts: facts, Plans: plans, Now: time.Unix(1796000000, 0)})
				if err == nil && e.String() == "" {
					t.Error("an empty explanation")
				}
			}
		}
	})
}
