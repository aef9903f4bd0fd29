package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/k3sladder/k3sladder/snapshot"
)

func TestLeftCordonedBlamesOnlyWhatTheClimbLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after bool // whether the node takes Pods
		drained       string
		first         bool // whether it took Pods when before.json was written
		want          string
	}{
		"takes Pods before and after":                    {true, true, "", false, ""},
		"was cordoned before and still is":               {false, false, "", false, ""},
		"was cordoned before and takes Pods":             {false, true, "", false, ""},
		"took Pods before and was left cordoned now":     {true, false, "", false, "kubectl uncordon server-1"},
		"was cordoned by hand between drain and upgrade": {false, false, "node/server-1 cordoned\nnode/server-1 uncordoned\n", false, "kubectl uncordon server-1"},
		"was cordoned before the drain already":          {false, false, "node/server-1 already cordoned\n", false, ""},
		"was left cordoned by a drain that was killed":   {false, false, "node/server-1 already cordoned\n", true, "kubectl uncordon server-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := func(schedulable bool) *snapshot.Snapshot {
				return &snapshot.Snapshot{Nodes: []snapshot.Node{{Object: snapshot.Object{Name: "server-1"}, Schedulable: schedulable}}}
			}
			err := leftCordoned(of(c.before), of(c.after), c.drained, beforeRecord{NodeName: "server-1", NodeTookPods: c.first}, "lab step after --force --dir climb")
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// What a person who recorded before.json too late reads first is why no
// repeated step helps.
func TestCheckSaysThatBeforeWasRecordedAfterTheUpgrade(t *testing.T) {
	t.Parallel()
	l := &lab{folder: folder{dir: t.TempDir()}}
	write(t, l.path(upgradeFile), `{"from": "v1.34.4+k3s1", "to": "v1.35.4+k3s1", "node_uid": "n"}`)
	for before, late := range map[string]bool{"v1.34.4+k3s1": false, "v1.35.4+k3s1": true} {
		g := &Grade{OK: true}
		l.checkUpgrade(g, &evidence{before: beforeRecord{ServerVersion: before, NodeUID: "n"}})
		said := false
		for _, f := range g.Findings {
			said = said || f.File == beforeFile && !f.OK && strings.Contains(f.Text, "written after the upgrade")
		}
		if said != late || g.OK == late {
			t.Errorf("before.json of %s: %+v", before, g.Findings)
		}
		var out bytes.Buffer
		if err := g.writeText(&out); err != nil || strings.Contains(out.String(), "repeat a step") || late && !strings.Contains(out.String(), "only make the files agree") {
			t.Errorf("before.json of %s (%v):\n%s", before, err, out.String())
		}
	}
}

// Who repeats a step learns in one go which others are to follow.
func TestAStepThatWasRepeatedNamesThoseThatFollow(t *testing.T) {
	t.Parallel()
	for repeated, want := range map[string]struct{ file, todo string }{
		beforeFile: {upgradeFile, ""}, // no repeated step makes up for it
		afterFile:  {planFile, "repeat lab step plan --force --dir DIR, then report ("},
		planFile:   {"order", ""},
	} {
		l := &lab{folder: folder{dir: t.TempDir()}}
		for _, name := range []string{beforeFile, workloadFile, upgradeFile, afterFile, planFile, reportFile} {
			write(t, l.path(name), "")
			at := time.Unix(1, 0)
			if name == repeated {
				at = time.Unix(2, 0)
			}
			if err := os.Chtimes(l.path(name), at, at); err != nil {
				t.Fatal(err)
			}
		}
		g := &Grade{OK: true}
		l.checkOrder(g)
		text := strings.ReplaceAll(g.Findings[0].Text, l.dir, "DIR")
		if len(g.Findings) != 1 || g.Findings[0].File != want.file || !strings.Contains(text, want.todo) || want.todo == "" && strings.Contains(text, "repeat") {
			t.Errorf("%s repeated: %+v", repeated, g.Findings)
		}
	}
}

func TestAFileThatIsNotThereIsSaidOnce(t *testing.T) {
	t.Parallel()
	l := &lab{folder: folder{dir: t.TempDir()}}
	write(t, l.path(beforeFile), `{"server_version": "v1.34.4+k3s1", "kubelet_version": "v1.34.4+k3s1", "node_name": "n", "node_uid": "u"}`)
	g, err := l.check(t.Context())
	if err != nil || g.OK {
		t.Fatalf("got %+v, %v", g, err)
	}
	said := map[string][]string{}
	for _, f := range g.Findings {
		said[f.File] = append(said[f.File], f.Text)
	}
	if said[backupDir] != nil {
		t.Errorf("that there is no backup is said again: %q", said[backupDir])
	}
	for file, step := range map[string]string{upgradeFile: "upgrade", afterFile: "after", planFile: "plan", backupFile: "backup"} {
		want := "is not there; lab step " + step + " --dir " + l.dir + " writes it"
		if diff := cmp.Diff([]string{want}, said[file]); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

func TestWhatHangsOnBeforeJSONSaysSoWhenItIsNotThere(t *testing.T) {
	t.Parallel()
	if err := equal("from", "v1.34.4+k3s1", "before.json's server_version", ""); err.Error() != "from is v1.34.4+k3s1, before.json's server_version is not known" {
		t.Error(err)
	}
	if err := drainOf("node/server-1 cordoned\nnode/server-1 uncordoned\n", ""); err == nil || !strings.Contains(err.Error(), "before.json") {
		t.Error(err)
	}
}

func TestABackupWithoutItsDatabaseFails(t *testing.T) {
	t.Parallel()
	l := &lab{folder: folder{dir: t.TempDir()}}
	write(t, l.path(backupFile), `{"k3s_version": "v1.34.4+k3s1", "token_sha256": "t"}`)
	g := &Grade{Dir: l.dir, OK: true}
	l.checkBackup(t.Context(), g, &evidence{before: beforeRecord{ServerVersion: "v1.34.4+k3s1"}})
	if last := g.Findings[len(g.Findings)-1]; g.OK || last.File != backupDir || last.Text != "state.db is not there" {
		t.Errorf("got %+v", g.Findings)
	}
}

// A drain tried after the upgrade would only look as if it had come before it.
func TestAFileOfBeforeIsNotAskedForAfterTheUpgrade(t *testing.T) {
	t.Parallel()
	l := &lab{folder: folder{dir: t.TempDir()}}
	write(t, l.path(upgradeFile), `{"from": "v1.34.4+k3s1", "to": "v1.35.4+k3s1", "node_uid": "u"}`)
	g, err := l.check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range g.Findings {
		before := f.File == drainFile || f.File == workloadFile
		if f.OK || !before && f.File != planFile {
			continue
		}
		if strings.Contains(f.Text, "no step makes up for it") != before || f.late != before {
			t.Errorf("%s: %s", f.File, f.Text)
		}
	}
}

func TestAnItemsLinesHangBelowItsText(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	(&terminal{out: &out}).indented("", "- "+strings.Repeat("word ", 20))
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	if len(lines) != 2 || strings.Index(lines[0], "word") != strings.Index(lines[1], "word") {
		t.Errorf("got\n%s", out.String())
	}
}

// A note comes before its step's result, below another step's.
func TestANoteBearsTheNameOfItsStep(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	live := newTerminal(&out, io.Discard).begin("plan")
	live.note("channels: bundled snapshot")
	live.end("pinned")
	note, result, _ := strings.Cut(out.String(), "\n")
	if !strings.HasPrefix(note, "plan  ") || strings.Index(note, "channels") != strings.Index(result, "pinned") {
		t.Errorf("got\n%s", out.String())
	}
}
