package drainprobe

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzReadWorld: whatever a file holds, reading it and forecasting every node
// in it gives an answer or an error, never a panic, and the answer is text.
func FuzzReadWorld(f *testing.F) {
	for _, name := range []string{"01-single-min1-of-2", "24-two-spread-hostname", "27-two-local-volume", "29-two-preempts", "43-sts-max1-two-nodes", "48-completed-job-pods", "71-already-terminating-skipped"} {
		data, err := os.ReadFile(filepath.Join("testdata", "cases", name, "state.json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("kind: Node\napiVersion: v1\nmetadata: {name: a}\n---\nkind: Pod\napiVersion: v1\nmetadata: {name: p, namespace: x}\nspec: {nodeName: a}\n"))
	f.Add([]byte(`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"p"},"spec":{"nodeName":"a"}}]}`))
	f.Add([]byte(`{"kind":"List","items":[{"kind":"List","items":[{"kind":"List","items":[]}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := ReadWorld(bytes.NewReader(data))
		if err != nil {
			return
		}
		if len(w.Nodes) > 4 || len(w.Pods) > 30 {
			return // slow, and nothing new
		}
		for _, n := range w.Nodes {
			j := w.judge(n.Name, Options{Force: true, IgnoreDaemonSets: true, DeleteEmptyDirData: true, Timeout: 15 * time.Second})
			if got := j.describe(); got.Verdict == "" || got.String() == "" {
				t.Errorf("no verdict for %s", n.Name)
			}
		}
	})
}
