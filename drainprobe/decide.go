package drainprobe

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Action is what to do with a node before its Kubernetes version changes.
type Action string

// The three ways to take a node up.
const (
	// ActionDrain: drain, upgrade, uncordon, as upstream asks.
	ActionDrain Action = "drain"
	// ActionUpgradeWithoutDrain: restart k3s at the new version under its
	// running containers.
	ActionUpgradeWithoutDrain Action = "upgrade-without-drain"
	// ActionAddNodeFirst: give the evicted Pods somewhere to run, then drain.
	ActionAddNodeFirst Action = "add-node-first"
)

// Policy is what the user will not give up. The zero value gives up a drain
// that cannot finish.
type Policy struct {
	// KeepBudgets: the disruption budgets must hold even if the machine
	// reboots. Only a drain that finishes gives that, so where none can, a
	// node has to be added.
	KeepBudgets bool `json:"keepBudgets"`
	// KeepServing: no service may lose its last ready Pod for the sake of the
	// upgrade. Without it a drain that leaves replacements Pending is fine:
	// down when drained, down again until the node is back.
	KeepServing bool `json:"keepServing"`
}

// Decision is an action with its reasons.
type Decision struct {
	Action  Action   `json:"action"`
	Reasons []string `json:"reasons"`
}

// String is the decision as one line, decision=ACTION, and decision=none where
// nothing could be decided.
func (d *Decision) String() string { return "decision=" + string(cmp.Or(d.Action, "none")) }

// WriteText writes the decision and one reason a line.
func (d *Decision) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintln(&b, d)
	for _, r := range d.Reasons {
		fmt.Fprintf(&b, "  - %s\n", r)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Evidence is what Decide judges: an *Attempted or a *Forecasted.
type Evidence interface{ evidence() evidence }

// evidence is what both kinds say that matters for a decision.
type evidence struct {
	finishes   string // in words: that it does
	doesNot    string // and that it does not
	verdict    Verdict
	missing    bool // there is no such node
	why        []string
	lost       []string // services without a ready Pod while the node is empty
	otherNodes int      // Ready and schedulable; -1 unknown
	flags      bool     // held by a missing flag alone
	nodeHelps  bool     // one more node of this size would let it finish
	helpKnown  bool     // nodeHelps was worked out
}

// Reasons that name what upstream says. Sources:
// https://kubernetes.io/releases/version-skew-policy/#kubelet
// https://docs.k3s.io/upgrades/killall
const (
	reasonUpstream   = "what is given up: upstream asks for a drain before a kubelet changes its minor version and does not support doing it in place (version skew policy, section kubelet)"
	reasonContainers = "k3s leaves containers running when its service restarts, so Pods stay up through the upgrade itself; a reboot or a kubelet that restarts Pods would not respect any budget"
	reasonOneNode    = "there is no other node that takes Pods: an evicted Pod's replacement stays Pending, so no drain under a budget that has to keep a Pod can finish"
)

// Decide chooses how to take the node up, from an attempt or a forecast and
// what the user will not give up:
//
//   - A drain that finishes is taken, unless it leaves a service without a
//     ready Pod and the policy forbids that.
//   - On a single node where it does not finish, the default is
//     upgrade-without-drain; KeepBudgets makes it add-node-first.
//   - With other nodes, the default is add-node-first where more room would
//     help, and upgrade-without-drain where it would not (a budget that can
//     never allow a disruption).
//   - Undecided counts as blocked, and the reasons say so.
//
// Without evidence, with a forecast that has no verdict, and for a node that the
// cluster does not have the Action is empty, and the reason says so.
func Decide(from Evidence, p Policy) *Decision {
	if v := reflect.ValueOf(from); !v.IsValid() || v.IsNil() {
		return &Decision{Reasons: []string{"nothing was forecast or tried"}}
	}
	e := from.evidence()
	switch {
	case e.missing:
		return &Decision{Reasons: e.why}
	case e.verdict == "":
		return &Decision{Reasons: []string{"the forecast has no verdict"}}
	}
	d := &Decision{}
	add := func(format string, args ...any) { d.Reasons = append(d.Reasons, fmt.Sprintf(format, args...)) }
	alone := e.otherNodes == 0
	room := !e.helpKnown || e.nodeHelps

	if e.verdict == VerdictDrains && (!p.KeepServing || len(e.lost) == 0) {
		d.Action = ActionDrain
		add("%s: upstream asks for a drain before a kubelet changes its minor version", e.finishes)
		if len(e.lost) > 0 {
			add("left without a ready Pod: %s", strings.Join(e.lost, ", "))
		}
		return d
	}
	if alone && e.verdict != VerdictDrains && !e.flags {
		add(reasonOneNode)
	}
	switch {
	case e.verdict == VerdictDrains:
		add("%s, but leaves without a ready Pod: %s", e.finishes, strings.Join(e.lost, ", "))
	case e.verdict == VerdictBlocked:
		add("%s", e.doesNot)
	default:
		add("the forecast is undecided, which counts as blocked here")
	}
	for _, w := range e.why {
		add("%s", w)
	}
	if e.flags {
		add("a flag is missing, not room: probe again with it before settling for less")
	}
	switch {
	case p.KeepBudgets && !room:
		d.Action = ActionAddNodeFirst
		add("the policy keeps budgets through a reboot, but one more node alone does not unblock this drain: change what blocks it as well")
	case p.KeepBudgets:
		d.Action = ActionAddNodeFirst
		add("the policy keeps budgets through a reboot: give the evicted Pods a node to run on, then drain")
	case !alone && room && !e.flags:
		d.Action = ActionAddNodeFirst
		add("other nodes are there but do not take what this one holds: add one of its size, then drain")
	default:
		d.Action = ActionUpgradeWithoutDrain
		add(reasonContainers)
		add(reasonUpstream)
	}
	return d
}

// evidence of an attempt is what was seen.
func (a *Attempted) evidence() evidence {
	e := evidence{finishes: "the drain was tried and finished", doesNot: "the drain was tried and did not finish", verdict: VerdictBlocked, otherNodes: a.OtherNodes}
	if a.Drained {
		e.verdict = VerdictDrains
	} else if a.Reason != "" {
		e.why = append(e.why, a.Reason)
	} else if len(a.Pending) == 0 {
		e.why = append(e.why, "the attempt does not say why")
	}
	e.flags = !a.Drained && a.Reason != "" && len(a.Evicted)+len(a.Pending) == 0
	seen := map[string]bool{}
	for _, p := range a.Pending {
		if line := fmt.Sprintf("%s: %s", p.WorkloadKey(), p.Reason); !seen[line] {
			seen[line] = true
			e.why = append(e.why, line)
		}
	}
	for _, w := range a.Workloads {
		if w.ReadyBefore > 0 && w.ReadyAtEnd == 0 {
			e.lost = append(e.lost, w.Name)
		}
	}
	return e
}
