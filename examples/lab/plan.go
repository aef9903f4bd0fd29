package main

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/client-go/dynamic"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/suc"
)

const planName = "k3s-server-next"

// plan pins the next rung in a Plan and applies it, with the CRD and the
// namespace it needs. Nothing runs it: the controller is not started, and where
// one is there already, which would go up at once, the Plan is only written; so
// is one that leads past stable.
func (l *lab) plan(ctx context.Context, live *live) (string, error) {
	server, err := l.server(ctx)
	if err != nil {
		return "", err
	}
	next, stable, err := l.planned(ctx, server, live)
	if err != nil {
		return "", err
	}
	plan := suc.ServerPlan(next, suc.Options{Name: planName})
	text, err := suc.Marshal(plan)
	if err != nil {
		return "", err
	}
	client, err := dynamic.NewForConfig(l.config)
	if err != nil {
		return "", err
	}
	facts, err := suc.ReadFacts(ctx, suc.Clients{Kube: l.client, Dynamic: client})
	if err != nil {
		return "", err
	}
	pinned := fmt.Sprintf("Plan %s/%s pinned to %s", plan.Namespace, plan.Name, next)
	if stable.Minor().Compare(next.Minor()) < 0 {
		note := fmt.Sprintf("%s, NOT applied\nstable points at %s: there is nothing to climb until it moves on", pinned, stable)
		if slices.Contains(facts.Plans, plan.Namespace+"/"+plan.Name) {
			note += fmt.Sprintf("; the Plan of the climb before is still there for any controller that comes: kubectl -n %s delete plan %s", plan.Namespace, plan.Name)
		}
		return note, l.write(planFile, text)
	}
	if facts.SUC != nil {
		return fmt.Sprintf("%s, NOT applied\nnamespace %s has system-upgrade-controller, which would go up at once; when the next rung has its backup: kubectl apply -f %s",
			pinned, facts.SUC.Namespace, l.path(planFile)), l.write(planFile, text)
	}
	crd, err := l.planCRD(ctx, live)
	if err != nil {
		return "", err
	}
	live.say("applying Plan %s", planName)
	// Force: a second run, or a person's edit, does not keep the lab from
	// writing its own Plan down.
	if _, err := suc.Apply(ctx, client, suc.ApplyOptions{CRD: crd, Plans: []*suc.Plan{plan}, Force: true}); err != nil {
		return "", fmt.Errorf("applying Plan %s: %w", planName, err)
	}
	return pinned + ", applied", l.write(planFile, text)
}

// planned is the ladder's rung of the minor above server, and where stable
// points. Where stable is not above that minor, or no ladder leads there, it is
// the newest patch. What the ladder asks for before it is said, since a Plan cannot.
func (l *lab) planned(ctx context.Context, server skew.Version, live *live) (next, stable skew.Version, err error) {
	catalog, err := l.versions(ctx, live)
	if err != nil {
		return next, stable, err
	}
	if next, err = catalog.NewestPatch(server.Minor().Next()); err != nil {
		return next, stable, fmt.Errorf("no next rung above %s: %w (%s)", server, err, catalog.Origin())
	}
	if stable, err = catalog.Latest("stable"); err != nil {
		return next, stable, fmt.Errorf("%w (%s)", err, catalog.Origin())
	}
	target := next
	if stable.Minor().Compare(next.Minor()) >= 0 {
		target = stable
	}
	climb, err := channels.Ladder(server, target, catalog, channels.Facts{Datastore: channels.SQLite, Executor: channels.SUC})
	if err != nil {
		live.note("the ladder from %s to %s: %s", server, target, err)
		return next, stable, nil
	}
	at := slices.IndexFunc(climb.Rungs, func(r channels.Rung) bool { return r.Version.Minor() == next.Minor() })
	// Of patches of one minor the last is what the Plan is for.
	for at+1 < len(climb.Rungs) && climb.Rungs[at+1].Version.Minor() == next.Minor() {
		at++
	}
	for _, rung := range climb.Rungs[:at] {
		live.note("before %s the ladder stops at %s", climb.Rungs[at].Version, rung.Version)
	}
	return climb.Rungs[at].Version, stable, nil
}

// planCRD is the controller's own CRD on a real cluster, and the one made from
// our types where nothing may be fetched.
func (l *lab) planCRD(ctx context.Context, live *live) ([]byte, error) {
	source := l.crd
	if source == "bundled" || source == "" && l.engine.offline() {
		return suc.CRD(), nil
	}
	if source == "" {
		source = suc.OfficialCRDURL
	}
	live.say("fetching %s", source)
	crd, err := fetch(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("%w; --crd takes a mirror's URL, a file, or \"bundled\"", err)
	}
	return crd, nil
}
