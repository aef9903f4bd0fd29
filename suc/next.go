package suc

import (
	"errors"
	"fmt"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
)

// ErrTop: no release above the running one is known.
var ErrTop = errors.New("no newer release is known")

// NextOptions shape what [Next] and [Ladder] make.
type NextOptions struct {
	// Facts narrow the way: an unknown datastore keeps every etcd stop in it.
	// The executor is always the controller. Of what [ReadFacts] gives, the
	// datastore is channels.Datastore(facts.Datastore).
	Facts channels.Facts
	// NoAgents leaves the agent Plan out, as a cluster without agents needs it:
	// there the agent Plan selects no node, and [Apply] with facts refuses it.
	NoAgents bool
	// Server and Agent shape the two Plans.
	Server, Agent Options
}

// Step is one rung with the Plans that climb it.
type Step struct {
	From skew.Version `json:"from"`
	To   skew.Version `json:"to"`
	// Plans are the server Plan and, unless left out, the agent Plan that waits
	// for it.
	Plans []*Plan `json:"plans"`
}

// FileName is the step's name in a numbered row of files:
// "02-v1.35.9-k3s1.yaml".
func (s *Step) FileName(n int) string { return fmt.Sprintf("%02d-%s.yaml", n, s.To.ImageTag()) }

// Next gives the Plans for the next rung above the running version: one minor
// up, to the newest release that the way allows; where no release of the next
// minor can be reached, to a newer patch of this one. The catalog is that of
// the distribution's channel server.
//
// The error is [ErrTop] when there is nothing above, [skew.ErrNoVersion] for the
// zero Version, or what [channels.Ladder] returns. Without a catalog nothing is known above.
func Next(current skew.Version, catalog *channels.Catalog, opts NextOptions) (*Step, error) {
	if current.IsZero() {
		return nil, skew.ErrNoVersion
	}
	if catalog == nil {
		return nil, fmt.Errorf("%w than %s: no catalog was given; see channels.Read and channels.Bundled", ErrTop, current)
	}
	target, err := catalog.NewestPatch(current.Minor().Next())
	if errors.Is(err, channels.ErrNoRelease) {
		target, err = catalog.NewestPatch(current.Minor())
	}
	if err != nil {
		return nil, fmt.Errorf("%w than %s: %w", ErrTop, current, err)
	}
	if !current.Less(target) {
		return nil, fmt.Errorf("%w than %s in %s", ErrTop, current, catalog.Origin())
	}
	steps, err := Ladder(current, target, catalog, opts)
	var path *channels.PathError
	if errors.As(err, &path) && current.Less(path.Nearest) {
		steps, err = Ladder(current, path.Nearest, catalog, opts)
	}
	if err != nil {
		return nil, err
	}
	return steps[0], nil
}

// Ladder gives the Plans for the whole way to the target, a step each. They are
// to be applied one after the other, when the step before is done on every
// node; the Plans of all steps have the same names, so that each step replaces
// the one before.
func Ladder(current, target skew.Version, catalog *channels.Catalog, opts NextOptions) ([]*Step, error) {
	facts := opts.Facts
	facts.Executor = channels.SUC
	climb, err := channels.Ladder(current, target, catalog, facts)
	if err != nil {
		return nil, err
	}
	if len(climb.Rungs) == 0 {
		return nil, fmt.Errorf("%w: the cluster runs %s already", ErrTop, target)
	}
	var steps []*Step
	for _, r := range climb.Rungs {
		steps = append(steps, opts.step(r.From, r.Version))
	}
	return steps, nil
}

func (o NextOptions) step(from, to skew.Version) *Step {
	s := &Step{From: from, To: to}
	server, agent := ServerPlan, AgentPlan
	if to.Distribution() == "rke2" {
		server, agent = RKE2ServerPlan, RKE2AgentPlan
	}
	plan := server(to, o.Server)
	s.Plans = append(s.Plans, plan)
	if !o.NoAgents {
		s.Plans = append(s.Plans, agent(plan, o.Agent))
	}
	return s
}
