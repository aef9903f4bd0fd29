package practice

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
)

// What kwok makes nodes and Pods do. Annotations choose other behaviour:
//
//   - drain.test/behave on a Pod: never-ready (runs, fails readiness),
//     stay-pending (bound, never starts), succeed, fail, ignore-sigterm (lives
//     through its whole grace period), never-ends (deleted, but no kubelet
//     removes it). Otherwise a Pod becomes ready after half a second and goes
//     half a second after its deletion.
//   - drain.test/not-ready on a Node: its heartbeats stop and its Ready
//     condition is left alone, so the control plane calls it Unknown after
//     50 seconds; its Pods no longer end.
//
//go:embed stages/*.yaml
var stageFiles embed.FS

const notReadyAnnotation = "drain.test/not-ready"

func stageNames() []string {
	entries, err := fs.ReadDir(stageFiles, "stages")
	if err != nil {
		panic(err) // embedded
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names
}

// writeStages puts the files where kwok can read them.
func (l layout) writeStages() error {
	if err := os.MkdirAll(l.stages(), 0o700); err != nil {
		return diskError(err, l.root)
	}
	for _, name := range stageNames() {
		content, err := fs.ReadFile(stageFiles, "stages/"+name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(l.stages(), name), content, 0o600); err != nil {
			return diskError(err, l.root)
		}
	}
	return nil
}
