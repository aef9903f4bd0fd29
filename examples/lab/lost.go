package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/k3sladder/k3sladder/snapshot"
)

// losses are the nodes left cordoned and what else of the whole cluster was lost,
// known once the snapshots of before and after are there.
func (l *lab) losses(first beforeRecord) (known bool, cordoned, gone error) {
	before, beforeErr := snapshot.ReadFile(l.path(snapshotBefore))
	after, afterErr := snapshot.ReadFile(l.path(snapshotAfter))
	if beforeErr != nil || afterErr != nil {
		return false, nil, nil
	}
	drained, _ := os.ReadFile(l.path(drainFile))
	return true,
		leftCordoned(before, after, string(drained), first, l.again("after")),
		lost(snapshot.Compare(before, after, snapshot.CompareOptions{}), l.again("after"))
}

// lost is nil when nothing of the whole cluster was lost between two snapshots,
// and when nothing kept the comparison from saying so; again is the command that
// looks again. Nodes left cordoned are for leftCordoned, which knows of the drain.
func lost(c *snapshot.Comparison, again string) error {
	var what []string
	for _, d := range c.Losses() {
		if d.Field != "schedulable" {
			what = append(what, d.String())
		}
	}
	const most = 10
	switch {
	case c.Verdict == snapshot.OtherCluster:
		return errors.New(c.Headline)
	case len(what) > most:
		what = append(what[:most], fmt.Sprintf("and %d more: snapshot compare lists them", len(what)-most))
	case len(what) == 0 && c.Verdict == snapshot.NotComparable:
		return fmt.Errorf("whether something was lost cannot be said: %s; when that is put right: %s", strings.Join(c.Reasons, "; "), again)
	case len(what) == 0:
		return nil
	}
	if mends(c) {
		what = append(what, fmt.Sprintf("(what was only slow to start is ready later: %s looks again)", again))
	}
	return fmt.Errorf("not as it was before the upgrade:\n%s", strings.Join(what, "\n"))
}

// mends says whether what is not as it was may come back by itself: Pods that
// are not ready yet, an API that another program serves.
func mends(c *snapshot.Comparison) bool {
	for _, d := range c.Losses() {
		if d.What == snapshot.Unwell && d.Field != "schedulable" || d.What == snapshot.Gone {
			return true
		}
	}
	return c.Verdict == snapshot.NotComparable
}

// settled captures the cluster after the upgrade, once what had to start again
// is ready or has had its time. What is lost then is told.
func (l *lab) settled(ctx context.Context, live *live) (*snapshot.Snapshot, error) {
	before, beforeErr := snapshot.ReadFile(l.path(snapshotBefore))
	for began := time.Now(); ; {
		snap, err := l.capture(ctx, live)
		if err != nil || beforeErr != nil { // a climb that another program did leaves no snapshot
			return snap, err
		}
		c := snapshot.Compare(before, snap, snapshot.CompareOptions{})
		err = lost(c, l.again("after"))
		if err == nil {
			return snap, nil
		}
		// k3s replaces its packaged add-ons only after the upgrade.
		if !mends(c) || time.Since(began) > 3*l.settle {
			live.note("%s", err)
			return snap, nil
		}
		live.say("waiting for what started again: %s", c.Headline)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}
