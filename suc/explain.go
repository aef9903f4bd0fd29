package suc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/k3sladder/k3sladder/skew"
)

// KubectlImage is what the shipped controller cordons and drains with.
const KubectlImage = "rancher/kubectl:v1.30.3"

// Forecaster says whether a drain of a node would finish; of package drainprobe
// it is made as in
// https://github.com/k3sladder/k3sladder/blob/main/examples/plan/drain.go.
type Forecaster interface {
	// Forecast never writes to the cluster.
	Forecast(ctx context.Context, node string, drain *DrainSpec) (*DrainForecast, error)
}

// DrainForecast is one node's.
type DrainForecast struct {
	// Verdict is drains, blocked or undecided.
	Verdict string   `json:"verdict"`
	Reasons []string `json:"reasons,omitempty"`
}

// ExplainOptions say what is known besides the Plan.
type ExplainOptions struct {
	// Facts about the cluster. Nil: nodes and order stay unknown.
	Facts *Facts
	// Plans are others that the Plan may wait for.
	Plans []*Plan
	// Now is when the window is asked about. Zero: the present.
	Now time.Time
	// SecretHashes are those of the Plan's Secrets, see [Hash].
	SecretHashes []string
	// Drain forecasts drains. Nil: no forecast.
	Drain Forecaster
	// PerNode is how long one node takes without its drain, for the question
	// whether the deadline is enough. Zero: 5 minutes.
	PerNode time.Duration
}

// Explain says what the controller will do with a Plan, node by node, and
// writes nothing. What cannot be known from the facts is left empty or said to
// be undecided. The error is the Forecaster's or the context's.
//
// The Plan's UID, which the order of the nodes depends on, is taken from its
// metadata: a Plan that is not applied yet has none.
func Explain(ctx context.Context, plan *Plan, opts ExplainOptions) (*Explanation, error) {
	if plan == nil || plan.Spec.Upgrade == nil {
		return nil, errors.New("the Plan has no spec.upgrade: no API server takes it")
	}
	if opts.Now.IsZero() {
		opts.Now = time.Now()
	}
	if opts.PerNode == 0 {
		opts.PerNode = 5 * time.Minute
	}
	s := &subject{plan: plan, doc: &document{}}
	s.learn(opts.Facts)
	e := &Explanation{Plan: strings.TrimPrefix(plan.Namespace+"/"+plan.Name, "/"), Concurrency: max(plan.Spec.Concurrency, 0)}
	e.resolve(s)
	if e.Version != "" {
		e.Hash = Hash(plan, e.Version, opts.SecretHashes)
	}
	e.containers(s)
	deadline, ends, assumed := plan.deadline(opts.Facts)
	if ends {
		e.DeadlineSeconds, e.DeadlineAssumed = int64(deadline/time.Second), assumed
	}
	if w := plan.Spec.Window; w != nil {
		e.Window = &PlannedWindow{Open: w.Contains(opts.Now)}
		next, err := w.Next(opts.Now)
		if err != nil {
			e.Window.Invalid = err.Error()
		}
		e.Window.Opening = next
	}
	e.nodes(s, opts)
	if opts.Drain != nil && plan.Spec.Drain != nil {
		for i := range e.Nodes {
			n := &e.Nodes[i]
			if n.State != "todo" && n.State != "applying" {
				continue
			}
			f, err := opts.Drain.Forecast(ctx, n.Name, plan.Spec.Drain)
			if err != nil {
				return nil, fmt.Errorf("forecasting the drain of node %s: %w", n.Name, err)
			}
			n.Drain = f
		}
	}
	e.answer(s, opts)
	return e, ctx.Err()
}

func (e *Explanation) resolve(s *subject) {
	sp := &s.plan.Spec
	switch {
	case sp.Version != "":
		e.Version, e.ResolvedBy = munge(sp.Version), "spec.version"
	case sp.Channel == "":
		e.Unresolved = "neither version nor channel is set: no Job is made"
	case s.resolved != "":
		e.Version, e.ResolvedBy = munge(s.resolved), "spec.channel "+sp.Channel
	default:
		e.Unresolved = "the channel " + sp.Channel + " was not asked"
	}
}

// nodeName stands for the node in arguments that are the same for all.
const nodeName = "NODE"

// containers are those of the Job, in order:
// https://github.com/rancher/system-upgrade-controller/blob/v0.20.1/pkg/upgrade/job/job.go
func (e *Explanation) containers(s *subject) {
	sp := &s.plan.Spec
	image := func(img image) string {
		if e.Version == "" {
			return img.raw
		}
		return img.tagged(e.Version)
	}
	if p := sp.Prepare; p != nil {
		does := "runs before the node is touched"
		switch {
		case s.waiting:
			does = fmt.Sprintf("waits until Plan %s works on no node and every server runs %s", s.waits, or(e.Version, "the version"))
		case image(s.prepare) == image(s.image):
			does = "pulls the upgrade's image before the node is touched"
		}
		e.Containers = append(e.Containers, PlannedContainer{"prepare", image(s.prepare), p.Command, p.Args, does})
	}
	switch {
	case sp.Drain != nil:
		e.DrainArgs = DrainArgs(nodeName, sp.Drain)
		e.Containers = append(e.Containers, PlannedContainer{"drain", KubectlImage, nil, e.DrainArgs, "cordons the node and evicts its Pods"})
	case sp.Cordon:
		e.Containers = append(e.Containers, PlannedContainer{"cordon", KubectlImage, nil, []string{"cordon", nodeName}, "keeps new Pods off the node"})
	}
	e.Containers = append(e.Containers, PlannedContainer{"upgrade", image(s.image), sp.Upgrade.Command, sp.Upgrade.Args, "upgrades the node"})
}

// nodes sorts the cluster's nodes into what happens to them.
func (e *Explanation) nodes(s *subject, opts ExplainOptions) {
	if opts.Facts == nil || opts.Facts.Nodes == nil {
		return
	}
	var todo, applying, rest []PlannedNode
	keyed := map[string]string{}
	e.OrderKnown = e.Hash != "" && s.plan.UID != ""
	applies := s.plan.Status.Applying
	for i := range opts.Facts.Nodes {
		n := &opts.Facts.Nodes[i]
		p := e.node(s, n)
		if p.State == "todo" && slices.Contains(applies, n.hostname()) {
			p.State = "applying"
		}
		e.OrderKnown = e.OrderKnown && (n.UID != "" || p.State != "todo")
		sum := sha256.Sum256([]byte(n.UID + string(s.plan.UID) + e.Hash))
		keyed[n.Name] = hex.EncodeToString(sum[:])
		switch p.State {
		case "applying":
			applying = append(applying, p)
		case "todo":
			todo = append(todo, p)
		default:
			rest = append(rest, p)
		}
	}
	if e.OrderKnown {
		slices.SortFunc(todo, func(a, b PlannedNode) int { return strings.Compare(keyed[a.Name], keyed[b.Name]) })
	}
	e.Nodes = slices.Concat(applying, todo, rest)
	if e.Concurrency == 0 {
		for i := range e.Nodes {
			if e.Nodes[i].State == "todo" {
				e.Nodes[i].State, e.Nodes[i].Why = "never", append(e.Nodes[i].Why, "concurrency is not above 0, so no node is ever taken")
			}
		}
		return
	}
	for i := range e.Nodes[:len(applying)+len(todo)] {
		if e.OrderKnown || int64(len(applying)+len(todo)) <= e.Concurrency {
			e.Nodes[i].Batch = i/int(min(e.Concurrency, 1<<30)) + 1
		}
	}
}

func (e *Explanation) node(s *subject, n *Node) PlannedNode {
	p := PlannedNode{Name: n.Name, State: "todo", Server: n.server(), Kubelet: n.KubeletVersion, Cordoned: n.Unschedulable, controlPlane: n.controlPlane()}
	if why := s.outside(n); why != "" {
		p.State, p.Why = "not-selected", []string{why}
		return p
	}
	mark := n.Labels[LabelPlanPrefix+s.plan.Name]
	switch {
	case mark == "disabled":
		p.State, p.Why = "never", []string{"its label " + LabelPlanPrefix + s.plan.Name + " is disabled"}
		return p
	case e.Hash != "" && mark == e.Hash:
		p.State, p.Why = "done", []string{"its label " + LabelPlanPrefix + s.plan.Name + " has this Plan's hash"}
	case mark != "" && e.Hash != "":
		p.Why = append(p.Why, "it was done for another version of the Plan, and is taken again")
	}
	if e.Unresolved != "" && s.plan.Spec.Channel == "" && p.State == "todo" {
		p.State, p.Why = "never", append(p.Why, e.Unresolved)
	}
	if e.Hash != "" {
		p.Job = JobName(s.plan.Name, n.Name, e.Hash)
	}
	if v := n.version(); !v.IsZero() && !s.target.IsZero() {
		u, err := skew.CheckUpgrade(v, s.target)
		p.Skew = string(u.Kind)
		if err != nil && !(errors.Is(err, skew.ErrSkip) && !n.server()) {
			p.Skew, p.SkewReason = "refused", err.Error()
		} else if err != nil {
			p.Skew = "step" // a kubelet may catch up with its servers at once
		}
		if p.State == "todo" && p.Skew == string(skew.NoOp) {
			p.Why = append(p.Why, "it runs the version already: the Job ends without a restart")
		}
		if m := olderBuild(v, s.target); m != "" && p.Skew != "refused" && p.State == "todo" {
			p.Why = append(p.Why, fmt.Sprintf("the upgrade image refuses: %s is %s", s.target, fmt.Sprintf(m, "the node")))
		}
	}
	for _, t := range untolerated(s.plan, n) {
		p.Why = append(p.Why, "its taint "+taintText(t)+" is not tolerated: the Job's Pod stays Pending")
	}
	if h := n.hostname(); h != n.Name {
		p.Why = append(p.Why, "its hostname label is "+h+": its unfinished Job is deleted again and again")
	}
	if n.Unschedulable && p.State == "todo" && (s.plan.Spec.Cordon || s.plan.Spec.Drain != nil) {
		p.Why = append(p.Why, "it is cordoned already, and the controller will uncordon it")
	}
	return p
}

// outside says why the selector does not take a node, "" when it does.
func (s *subject) outside(n *Node) string {
	sel := s.plan.Spec.NodeSelector
	switch {
	case sel == nil:
		return "the Plan has no nodeSelector, and selects nothing"
	case s.selector == nil:
		return "the nodeSelector is none, and selects nothing"
	case s.selector.Matches(labels.Set(n.Labels)):
		return ""
	}
	for _, k := range sortedKeys(s.demands) {
		d := s.demands[k]
		v, has := n.Labels[k]
		switch {
		case !has && d.present:
			return "it has no label " + k
		case has && d.absent:
			return "it has the label " + k
		case has && d.excludes(v):
			return fmt.Sprintf("its label %s is %q", k, v)
		}
	}
	return "it has no hostname label"
}
