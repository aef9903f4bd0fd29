package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/k3sladder/k3sladder/drainprobe"
	"github.com/k3sladder/k3sladder/snapshot"
	"github.com/k3sladder/k3sladder/snapshot/apiusage"
	"github.com/k3sladder/k3sladder/snapshot/report"
)

// course is what the steps of one process know and no file keeps; a step that
// runs alone has none of it, and the page leaves it out.
type course struct {
	steps     []report.Step
	usage     *apiusage.Usage
	askedAt   time.Time // for usage
	attempted *drainprobe.Attempted
	decided   *drainprobe.Decision
	how       string
}

// writePage writes report.html: the comparison of the snapshots taken right
// before and after the upgrade, with the procedure around it.
func (l *lab) writePage(f *reportFacts) error {
	before, err := snapshot.ReadFile(l.path(snapshotBefore))
	if err != nil {
		return err
	}
	after, err := snapshot.ReadFile(l.path(snapshotAfter))
	if err != nil {
		return err
	}
	r := report.New(before, after, snapshot.CompareOptions{})
	r.Title = fmt.Sprintf("%s to %s", f.Initial, f.Current)
	r.Generated, r.Tool = time.Now(), "k3sladder lab"
	if l.engine.offline() {
		r.Notes = append(r.Notes, "Practice cluster: control plane and datastore are real, kubelets and containers are simulated.")
	}
	r.Notes = append(r.Notes, "Channels: "+f.Origin+".")
	r.Ladder = l.ladder(f)
	r.Steps = l.course.steps
	if r.Deprecated, err = l.pageDeprecated(f); err != nil {
		return err
	}
	if r.Backup, err = l.pageBackup(); err != nil {
		return err
	}
	if f.Decision != "" {
		if r.Drain, err = l.pageDrain(f); err != nil {
			return err
		}
	}
	if !f.Drained {
		r.GiveUp("The drain: upstream asks for one before a kubelet changes its minor version, and does not support the change under running Pods.")
	}
	r.Upgrade = &report.Upgrade{From: f.Initial.String(), To: f.Current.String(), Node: f.Before.NodeName, How: l.course.how}
	plan, err := os.ReadFile(l.path(planFile))
	if err != nil {
		return err
	}
	r.Plan = &report.Plan{Version: f.NextPlan.String(), Name: planName, YAML: string(plan), Reasons: []string{
		fmt.Sprintf("the stable channel points at %s, %s from where this cluster began, of which it knows nothing", f.Stable, plural(f.StableJump, "minor"))}}
	var page bytes.Buffer
	if err := r.WriteHTML(&page); err != nil {
		return err
	}
	return l.write(pageFile, page.Bytes())
}

// ladder is where the cluster was, is and goes next, up to where stable points.
func (l *lab) ladder(f *reportFacts) report.Ladder {
	ladder := report.Ladder{
		Channel: "stable", ChannelVersion: f.Stable.String(), ChannelJump: f.StableJump,
		Rungs: []report.Rung{
			{Version: f.Initial.String(), State: report.Climbed},
			{Version: f.Current.String(), State: report.Here},
			{Version: f.NextPlan.String(), State: report.Next, Note: "pinned in a Plan"},
		},
	}
	for m := f.NextPlan.Minor().Next(); m.Compare(f.Stable.Minor()) <= 0; m = m.Next() {
		if v, err := l.catalog.NewestPatch(m); err == nil {
			ladder.Rungs = append(ladder.Rungs, report.Rung{Version: v.String(), State: report.Ahead})
		}
	}
	return ladder
}

// pageDeprecated is what step deprecated read in this process, or what it left
// in its file: the lines, not since when they were counted.
func (l *lab) pageDeprecated(f *reportFacts) (*report.Deprecated, error) {
	d := &report.Deprecated{Target: f.Current.Minor(), Usage: l.course.usage, AskedAt: l.course.askedAt}
	if d.Usage != nil {
		return d, nil
	}
	text, err := os.ReadFile(l.path(deprecatedFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines, _, several := cutLast(strings.TrimRight(string(text), "\n"), "\n")
	if !several { // Scan takes no page of metrics without a line of one
		d.Usage = &apiusage.Usage{}
		return d, nil
	}
	if d.Usage, err = apiusage.Scan(strings.NewReader(lines+"\n"), ""); err != nil {
		return nil, fmt.Errorf("%s: %w", l.path(deprecatedFile), err)
	}
	return d, nil
}

func (l *lab) pageBackup() (*report.Backup, error) {
	var record backupRecord
	if err := l.read(backupFile, "backup", &record); err != nil {
		return nil, err
	}
	at, err := time.Parse(time.RFC3339Nano, record.RecordedAt)
	if err != nil {
		return nil, fmt.Errorf("%s: recorded_at: %w", l.path(backupFile), err)
	}
	return &report.Backup{
		Path: backupDatabase, Bytes: record.Bytes, TokenSHA256: record.TokenSHA256, Version: record.K3sVersion,
		TakenAt: at, Verified: record.TokenOpens == "yes",
	}, nil
}

func (l *lab) pageDrain(f *reportFacts) (*report.Drain, error) {
	text, err := os.ReadFile(l.path(drainFile))
	if err != nil {
		return nil, err
	}
	output, _, _ := cutLast(strings.TrimRight(string(text), "\n"), "\n")
	d := &report.Drain{Node: f.Before.NodeName, Decision: f.Decision, Output: output, GivenBack: strings.Contains(output, "uncordoned")}
	if a := l.course.attempted; a != nil {
		d.Finished, d.GivenBack, d.Timeout = a.Drained, a.Restored, l.drainTimeout
		d.Took = time.Duration(a.Seconds * float64(time.Second))
		d.Reasons = l.course.decided.Reasons
	}
	return d, nil
}
