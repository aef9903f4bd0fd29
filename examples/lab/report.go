package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/template"
	"time"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/drainprobe"
	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/suc"
)

//go:embed report.en.md
var reportEnglish string

//go:embed report.ja.md
var reportJapanese string

var reportTexts = map[string]*template.Template{
	"en": template.Must(template.New("en").Parse(reportEnglish)),
	"ja": template.Must(template.New("ja").Parse(reportJapanese)),
}

// reportFacts are what a report's text speaks of.
type reportFacts struct {
	Initial, Current, NextPlan, Stable skew.Version
	StableJump                         int
	Skip                               bool // stable is more than one minor away
	Origin                             string
	BundledOn                          string // the day, when the origin is this module
	Before                             beforeRecord
	After                              afterRecord
	SameNode, SameWorkload             bool
	LossKnown                          bool   // false: a snapshot is not there
	Loss                               error  // nil: all of the cluster is as it was
	Decision                           string // empty: no drain was tried
	Drained                            bool
	PolicySource                       string
}

// report writes down what happened and why a version was pinned.
func (l *lab) report(ctx context.Context, live *live) (string, error) {
	facts, err := l.reportFacts(ctx, live)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	if err := reportTexts[l.language].Execute(&text, facts); err != nil {
		return "", err
	}
	if err := l.write(reportFile, text.Bytes()); err != nil {
		return "", err
	}
	// The page compares snapshots; a climb that another program finished has
	// left none.
	err = l.writePage(facts)
	if errors.Is(err, os.ErrNotExist) {
		live.note("no page: %s", err)
	} else if err != nil {
		return "", err
	}
	l.result = facts
	return fmt.Sprintf("stable points at %s, %s from %s", facts.Stable, plural(facts.StableJump, "minor"), facts.Initial), nil
}

func (l *lab) reportFacts(ctx context.Context, live *live) (*reportFacts, error) {
	f := &reportFacts{PolicySource: skew.PolicySource}
	var workload workloadRecord
	var upgraded upgradeRecord
	for _, r := range []struct {
		name, writer string
		into         any
	}{
		{beforeFile, "before", &f.Before}, {workloadFile, "workload", &workload},
		{upgradeFile, "upgrade", &upgraded}, {afterFile, "after", &f.After},
	} {
		if err := l.read(r.name, r.writer, r.into); err != nil {
			return nil, err
		}
	}
	next, err := l.plannedVersion()
	if err != nil {
		return nil, err
	}
	catalog, err := l.versions(ctx, live)
	if err != nil {
		return nil, err
	}
	for _, v := range []struct {
		into *skew.Version
		from string
	}{{&f.Initial, f.Before.ServerVersion}, {&f.Current, f.After.ServerVersion}, {&f.NextPlan, next}} {
		if *v.into, err = skew.Parse(v.from); err != nil {
			return nil, err
		}
	}
	if f.Stable, err = catalog.Latest("stable"); err != nil {
		return nil, err
	}
	f.StableJump = channels.Jump(f.Initial, f.Stable)
	f.Skip = f.StableJump > 1
	decision, err := l.decided()
	if err != nil {
		return nil, err
	}
	f.Decision = string(decision)
	known, cordoned, gone := l.losses(f.Before)
	f.LossKnown, f.Loss = known, errors.Join(cordoned, gone)
	f.Origin = catalog.Origin()
	if catalog.Bundled {
		f.BundledOn = catalog.Date.Format(time.DateOnly)
	}
	f.SameNode = f.Before.NodeUID == upgraded.NodeUID && f.Before.NodeUID == f.After.NodeUID
	f.Drained = decision == drainprobe.ActionDrain
	f.SameWorkload = workload.DeploymentUID == f.After.DeploymentUID
	return f, nil
}

// plannedVersion is the version that plan.yaml pins.
func (l *lab) plannedVersion() (string, error) {
	content, err := os.ReadFile(l.path(planFile))
	if err != nil {
		return "", fmt.Errorf("%w; it must be written first: lab step plan --dir %s", err, l.dir)
	}
	plans, err := suc.Decode(content)
	if err != nil {
		return "", fmt.Errorf("%s: %w", l.path(planFile), err)
	}
	if len(plans) != 1 || plans[0].Spec.Version == "" {
		return "", fmt.Errorf("%s does not hold one Plan with a pinned version", l.path(planFile))
	}
	return plans[0].Spec.Version, nil
}

// LossText is the loss as one line.
func (f *reportFacts) LossText() string {
	return strings.NewReplacer(":\n", ": ", "\n", "; ").Replace(f.Loss.Error())
}

// reports are the files to read: the page, where there is one, needs no other.
func (l *lab) reports() string {
	if _, err := os.Stat(l.path(pageFile)); err == nil {
		return l.path(pageFile) + ", " + reportFile
	}
	return l.path(reportFile)
}

// summary prints the table that ends a run, and says whether all is as it was,
// as far as is known.
func (l *lab) summary(f *reportFacts) bool {
	same := map[bool]string{true: "yes", false: "NO"}
	nothingLost := "not known"
	if f.LossKnown {
		nothingLost = same[f.Loss == nil]
	}
	fmt.Fprintf(l.term.out, `
  from           %s
  to             %s
  same node      %s
  same workload  %s
  nothing lost   %s
  restarts       %d
  next rung      %s
  report         %s
`, f.Initial, f.Current, same[f.SameNode], same[f.SameWorkload], nothingLost, f.After.WebRestarts, f.NextPlan, l.reports())
	return f.SameNode && f.SameWorkload && f.Loss == nil
}
