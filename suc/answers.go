package suc

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Questions that [Explain] answers, from reports of upgrades that hurt.
const (
	QuestionController = "can the controller be scheduled again while its node is cordoned?"
	QuestionDeadline   = "is the Job's deadline enough?"
	QuestionWindow     = "do all nodes fit into one opening of the window?"
	QuestionServers    = "does the Plan take a server as an agent?"
	QuestionCordoned   = "was a selected node cordoned before, and will be uncordoned?"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (e *Explanation) say(question, answer, format string, args ...any) {
	e.Answers = append(e.Answers, Answer{question, answer, fmt.Sprintf(format, args...)})
}

func (e *Explanation) answer(s *subject, opts ExplainOptions) {
	e.answerController(s, opts.Facts)
	e.answerDeadline(s, opts)
	e.answerWindow(s, opts)
	e.answerServers(s)
	e.answerCordoned(s)
}

// answerController: the shipped Deployment demands a control-plane node and
// does not tolerate a cordoned one. A running Pod stays (the drain leaves it
// alone); one that must start again does not
// (https://github.com/vitobotta/hetzner-k3s/issues/769).
func (e *Explanation) answerController(s *subject, facts *Facts) {
	touches := s.plan.Spec.Cordon || s.plan.Spec.Drain != nil
	servers, known := facts.servers()
	switch {
	case !touches:
		e.say(QuestionController, "yes", "the Plan cordons no node")
		return
	case !known || len(servers) == 0:
		e.say(QuestionController, "undecided", "the servers are not known")
		return
	}
	selected := map[string]bool{}
	for _, n := range e.Nodes {
		selected[n.Name] = n.Server && (n.State == "todo" || n.State == "applying")
	}
	var open, cordoned []string
	taken := int64(0)
	for _, n := range servers {
		if n.Unschedulable {
			cordoned = append(cordoned, n.Name)
			continue
		}
		open = append(open, n.Name)
		if selected[n.Name] {
			taken++
		}
	}
	left := int64(len(open)) - min(taken, max(e.Concurrency, 0))
	switch {
	case len(open) == 0:
		e.say(QuestionController, "no", "every server is cordoned already (%s): a controller that is not running stays Pending; uncordon one first", strings.Join(cordoned, ", "))
	case left > 0:
		e.say(QuestionController, "yes", "%d of %d servers stay schedulable meanwhile", left, len(servers))
	case facts.SUC == nil:
		e.say(QuestionController, "no", "no controller is known to run; one that has to start while %s is cordoned stays Pending, since no other server is schedulable, and the node stays cordoned", strings.Join(open, ", "))
	default:
		stays := "stays"
		if s.plan.Spec.Drain != nil {
			stays = "stays, since the drain leaves it alone"
		}
		e.say(QuestionController, "no", "while %s is cordoned no other server is schedulable: a running controller %s, but one that has to start again (a reboot, an eviction) stays Pending, and the node stays cordoned", strings.Join(open, ", "), stays)
	}
}

// answerDeadline adds up what a Job has to wait for and to do.
func (e *Explanation) answerDeadline(s *subject, opts ExplainOptions) {
	if e.DeadlineSeconds == 0 {
		e.say(QuestionDeadline, "yes", "the Job has none")
		return
	}
	deadline := time.Duration(e.DeadlineSeconds) * time.Second
	needs, parts := perNode(s.plan, opts.PerNode)
	remedy := "raise jobActiveDeadlineSecs"
	if s.waiting {
		remedy += ", or apply this Plan when the servers are done"
		var server *Plan
		for _, p := range opts.Plans {
			if p.Name == s.waits && p.Namespace == s.plan.Namespace {
				server = p
			}
		}
		servers, known := opts.Facts.servers()
		if !known || server == nil {
			e.say(QuestionDeadline, "undecided", "prepare waits for Plan %s inside the Job's %s, and its servers are not known; the Job of an agent that waits longer fails and is not made again", s.waits, deadline)
			return
		}
		each, how := perNode(server, opts.PerNode)
		rounds := (len(servers) + int(max(server.Spec.Concurrency, 1)) - 1) / int(max(server.Spec.Concurrency, 1))
		wait := time.Duration(rounds) * (each + postDelay(server))
		needs += wait
		parts = fmt.Sprintf("waiting for %s, %d at a time, at %s each (%s), and then %s", counted(len(servers), "server"), max(server.Spec.Concurrency, 1), each, how, parts)
	}
	source := ""
	if e.DeadlineAssumed {
		source = ", assuming what the controller ships with"
	}
	if needs >= deadline { // a Job that has run for its deadline has failed
		e.say(QuestionDeadline, "no", "it is %s%s, and a Job may take %s: %s. A Job that fails is not made again until the Plan is edited; %s", deadline, source, needs, parts, remedy)
		return
	}
	e.say(QuestionDeadline, "yes", "it is %s%s, and a Job whose images come quickly takes about %s: %s", deadline, source, needs, parts)
}

func postDelay(p *Plan) time.Duration {
	if p.Spec.PostCompleteDelay == nil {
		return 0
	}
	return p.Spec.PostCompleteDelay.Duration
}

// perNode is how long a Job works on its own node, with the reckoning.
func perNode(p *Plan, upgrade time.Duration) (time.Duration, string) {
	if p.Spec.Drain == nil {
		return upgrade, fmt.Sprintf("%s for the upgrade", upgrade)
	}
	drain := 2 * time.Minute
	how := "a usual drain"
	if t := p.Spec.Drain.Timeout; t != nil {
		if d, err := time.ParseDuration(t.StrVal); err == nil && d > 0 {
			drain, how = d, "the drain's timeout"
		}
	}
	return upgrade + drain, fmt.Sprintf("%s for the upgrade, %s for %s", upgrade, drain, how)
}

// answerWindow: the window limits only the first start; with nodes under way
// the controller goes on after it
// (https://github.com/rancher/system-upgrade-controller/issues/63).
func (e *Explanation) answerWindow(s *subject, opts ExplainOptions) {
	if e.Window == nil {
		return
	}
	todo := 0
	for _, n := range e.Nodes {
		if n.State == "todo" || n.State == "applying" {
			todo++
		}
	}
	switch {
	case e.Window.Invalid != "":
		e.say(QuestionWindow, "no", "the controller refuses the window: %s", e.Window.Invalid)
	case e.Window.Opening == nil:
		e.say(QuestionWindow, "no", "the window never opens")
	case e.Nodes == nil || e.Concurrency == 0:
		e.say(QuestionWindow, "undecided", "the nodes are not known")
	default:
		each, how := perNode(s.plan, opts.PerNode)
		rounds := (todo + int(e.Concurrency) - 1) / int(e.Concurrency)
		needs := time.Duration(rounds) * (each + postDelay(s.plan))
		from := e.Window.Opening.Start
		if opts.Now.After(from) {
			from = opts.Now
		}
		length := e.Window.Opening.End.Sub(from).Truncate(time.Minute)
		if needs > length {
			e.say(QuestionWindow, "no", "it takes about %s for %s, %d at a time (%s), and %s are left: once begun the controller goes on after the window closes", needs, counted(todo, "node"), e.Concurrency, how, length)
			return
		}
		e.say(QuestionWindow, "yes", "it takes about %s for %s, %d at a time (%s), and %s are left", needs, counted(todo, "node"), e.Concurrency, how, length)
	}
}

func (e *Explanation) answerServers(s *subject) {
	if !s.waiting {
		return
	}
	if e.Nodes == nil {
		e.say(QuestionServers, "undecided", "the nodes are not known")
		return
	}
	var servers []string
	for _, n := range e.Nodes {
		if n.controlPlane && n.State != "not-selected" {
			servers = append(servers, n.Name)
		}
	}
	if len(servers) > 0 {
		e.say(QuestionServers, "yes", "it selects %s, which then waits for itself", strings.Join(servers, ", "))
		return
	}
	e.say(QuestionServers, "no", "no selected node is a server")
}

func (e *Explanation) answerCordoned(s *subject) {
	if e.Nodes == nil {
		return
	}
	var names []string
	for _, n := range e.Nodes {
		if n.Cordoned && n.State == "todo" {
			names = append(names, n.Name)
		}
	}
	switch {
	case len(names) == 0:
		e.say(QuestionCordoned, "no", "no node that is still to be done is cordoned")
	case s.plan.Spec.Cordon || s.plan.Spec.Drain != nil:
		e.say(QuestionCordoned, "yes", "%s: the controller does not remember who cordoned it. Keep it out with kubectl label node NODE %s%s=disabled, or cordon it again afterwards", strings.Join(names, ", "), LabelPlanPrefix, s.plan.Name)
	default:
		e.say(QuestionCordoned, "no", "%s stays cordoned, since the Plan neither cordons nor drains", strings.Join(names, ", "))
	}
}

// counted is "1 node", "2 nodes".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
