package suc

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/k3sladder/k3sladder/skew"
)

// wrapped finds the upgrade image's "prepare" in a shell's command line.
var wrapped = regexp.MustCompile(`(?:^|[\s/;&|])upgrade\.sh\s+prepare(?:\s+["']?([^\s"';&|]+))?`)

// waitsFor says whether a prepare container runs the upgrade image's "prepare",
// and for which Plan it waits. Another command does something else.
func waitsFor(c *ContainerSpec) (plan string, waiting bool) {
	args := c.Args
	if len(c.Command) > 0 {
		if filepath.Base(c.Command[0]) != "upgrade.sh" {
			for _, a := range slices.Concat(c.Command[1:], args) {
				if m := wrapped.FindStringSubmatch(a); m != nil {
					return m[1], true
				}
			}
			return "", false
		}
		args = slices.Concat(c.Command[1:], args)
	}
	if len(args) == 0 || args[0] != "prepare" {
		return "", false
	}
	if len(args) > 1 {
		plan = args[1]
	}
	return plan, true
}

func (s *subject) judgePrepare(l *linter) {
	upgrades := s.family == "k3s" || s.family == "rke2"
	s.judgeCommands()
	if p := s.plan.Spec.Prepare; p != nil && !s.waiting && len(p.Command) == 0 && (s.prepare.family() == "k3s" || s.prepare.family() == "rke2") {
		s.judgeOtherArgs(p)
		return
	}
	if upgrades && s.role == agentRole && !s.waiting {
		s.judgeUnwaiting(l)
	}
	if !s.waiting {
		return
	}
	at := spec("prepare", "args")
	ns := s.plan.Namespace
	switch {
	case s.waits == "":
		s.add("prepare-no-name", at, "names no Plan to wait for: prepare ends with an error, and the Job with it", "args: [prepare, NAME-OF-THE-SERVER-PLAN]")
	case placeholder(s.waits):
		s.add("placeholder", at, quote(s.waits)+" is a placeholder that nothing filled in", "render the file before it is applied")
	case s.waits == s.plan.Name:
		s.add("prepare-cycle", at, "names this Plan itself, which is not done before its own Jobs are", "name the server Plan")
	case len(l.byName[ns+"/"+s.waits]) > 0:
		s.judgePair(l)
		if cycle := l.cycle(s); cycle != "" {
			s.add("prepare-cycle", at, "waits in a circle: "+cycle, "let agents wait for servers, and servers for nothing")
		}
	case l.broken[ns+"/"+s.waits]:
	case l.facts != nil && slices.Contains(l.facts.Plans, ns+"/"+s.waits):
		s.judgeServersAhead(l)
	default:
		s.judgeMissing(l)
	}
}

// judgeOtherArgs looks at a prepare container that runs the upgrade image's
// entry point with something else than "prepare".
func (s *subject) judgeOtherArgs(p *ContainerSpec) {
	at := spec("prepare", "args")
	switch {
	case len(p.Args) == 0:
		s.add("prepare-runs-upgrade", spec("prepare"), "has no args, and the image's default is upgrade: the node is upgraded in the prepare step, before the cordon and before the servers", "args: [prepare, NAME-OF-THE-SERVER-PLAN]")
	case p.Args[0] == "upgrade":
		s.add("prepare-runs-upgrade", at, "upgrade the node in the prepare step, before the cordon and before the servers", "args: [prepare, NAME-OF-THE-SERVER-PLAN]")
	default:
		fix := "args: [prepare, NAME-OF-THE-SERVER-PLAN]"
		if rest, ok := strings.CutPrefix(p.Args[0], "prepare "); ok {
			fix = fmt.Sprintf("args: [prepare, %s]", strings.TrimSpace(rest))
		} else if len(p.Args) == 1 {
			fix = fmt.Sprintf("args: [prepare, %s]", p.Args[0])
		}
		s.add("prepare-args", at, fmt.Sprintf("begin with %s, which the image takes for a command and does not have: prepare fails, and the Job with it", quote(p.Args[0])), fix)
	}
}

// judgeCommands finds the words of the upgrade image's entry point where they
// replace it, and an upgrade container that only waits.
func (s *subject) judgeCommands() {
	for _, c := range []struct {
		at   path
		spec *ContainerSpec
		img  image
		word string
	}{
		{spec("prepare"), s.plan.Spec.Prepare, s.prepare, "prepare"},
		{spec("upgrade"), s.plan.Spec.Upgrade, s.image, "upgrade"},
	} {
		if f := c.img.family(); c.spec == nil || f != "k3s" && f != "rke2" {
			continue
		}
		if cmd := c.spec.Command; len(cmd) > 0 {
			if first, _, _ := strings.Cut(cmd[0], " "); first == "prepare" || first == "upgrade" {
				s.add("prepare-args", c.at.at("command"), fmt.Sprintf("replaces the image's entry point, and the image has no program %s: the container fails, and the Job with it", quote(cmd[0])),
					"write args instead of command")
			}
		} else if a := c.spec.Args; c.word == "upgrade" && len(a) > 0 && a[0] == "prepare" {
			s.add("prepare-args", c.at.at("args"), "make the upgrade container wait and install nothing: nodes are marked as done and run what they ran", "leave args out of upgrade; waiting belongs into spec.prepare")
		}
	}
}

// judgeMissing: the Plan to wait for is neither in the files nor known to be in
// the cluster.
func (s *subject) judgeMissing(l *linter) {
	at, ns := spec("prepare", "args"), s.plan.Namespace
	const effect = ": prepare waits until the Job's deadline"
	var here []string
	elsewhere := ""
	look := func(key string) {
		switch n, name, _ := strings.Cut(key, "/"); {
		case n == ns && name != s.plan.Name:
			here = append(here, name)
		case n != ns && name == s.waits:
			elsewhere = n
		}
	}
	var known []string
	if l.facts != nil {
		known = l.facts.Plans
	}
	for _, k := range slices.Concat(known, slices.Sorted(maps.Keys(l.byName))) {
		look(k)
	}
	servers := l.servers[ns]
	switch {
	case elsewhere != "":
		s.add("prepare-missing-plan", at, fmt.Sprintf("name Plan %s, which is in namespace %s; the Job looks in its own, %s", quote(s.waits), elsewhere, ns)+effect, "put both Plans into the controller's namespace")
	case known != nil || len(servers) > 0:
		fix := ""
		if len(servers) > 0 {
			fix = "did you mean " + servers[0].plan.Name + "?"
		} else if near := nearest(s.waits, here); near != "" {
			fix = "did you mean " + near + "?"
		}
		s.add("prepare-missing-plan", at, fmt.Sprintf("name Plan %s, which does not exist in namespace %s", quote(s.waits), ns)+effect, fix)
	default:
		s.judgeServersAhead(l)
	}
}

// longestRow bounds how far a row of Plans that wait for each other is followed.
const longestRow = 50

// first is the Plan at the beginning of a row of Plans that wait for each
// other, the servers' as a rule; nil when the row is a circle or leads out of
// the files.
func (l *linter) first(s *subject) *subject {
	for range longestRow {
		if !s.waiting {
			return s
		}
		next := l.byName[s.plan.Namespace+"/"+s.waits]
		if len(next) == 0 {
			return nil
		}
		// Files of one way up have Plans of the same names.
		at := slices.IndexFunc(next, func(other *subject) bool { return other.index == s.index })
		s = next[max(at, 0)]
	}
	return nil
}

// judgePair compares the version with that of the server Plan it waits for,
// directly or behind other agents: prepare waits for the servers in the end.
func (s *subject) judgePair(l *linter) {
	if other := l.first(s); other != nil {
		a, b := s.plan.Spec, other.plan.Spec
		at := spec("version")
		if a.Version == "" {
			at = spec("channel")
		}
		switch {
		case s.resolved != "" && other.resolved != "":
			if munge(s.resolved) != munge(other.resolved) {
				s.add("pair-version-mismatch", at, fmt.Sprintf("is for %s, and Plan %s takes the servers to %s: prepare waits until the Job's deadline", s.resolved, other.plan.Name, other.resolved), "give both Plans the same version")
			}
		case a.Version == "" && b.Version == "" && strings.TrimSuffix(a.Channel, "/") == strings.TrimSuffix(b.Channel, "/"):
		case a.Version == "" && b.Version == "" && apart(a.Channel, b.Channel):
			s.add("pair-version-mismatch", at, fmt.Sprintf("follows %s, and Plan %s follows %s: prepare waits until the Job's deadline", a.Channel, other.plan.Name, b.Channel), "give both Plans the same channel, or pin the same version")
		default:
			s.addAs(Warning, "pair-version-mismatch", at, fmt.Sprintf("follows %s, and Plan %s follows %s: as soon as they differ, prepare waits until the Job's deadline", or(a.Version, a.Channel), other.plan.Name, or(b.Version, b.Channel)), "give both Plans the same version")
		}
	}
}

// apart reports whether two channels can never resolve to one version: they
// are of different minors.
func apart(a, b string) bool {
	name := func(s string) string {
		s = strings.TrimRight(s, "/")
		m := minorChannel.FindStringSubmatch(s[strings.LastIndexByte(s, '/')+1:])
		if m == nil {
			return ""
		}
		return m[1]
	}
	x, y := name(a), name(b)
	return x != "" && y != "" && x != y
}

// judgeServersAhead: prepare waits until all servers report exactly this
// version. Servers that are past it never will.
func (s *subject) judgeServersAhead(l *linter) {
	servers, known := l.facts.servers()
	if !known || s.target.IsZero() || len(servers) == 0 {
		return
	}
	for _, n := range servers {
		if v := n.version(); s.target.Less(v) {
			s.add("pair-version-mismatch", spec("version"), fmt.Sprintf("is %s, and server %s runs %s already: prepare waits until all servers report exactly %s, which they never will", s.target, n.Name, v, s.target), "pin the version that the servers run")
			return
		}
	}
}

// judgeUnwaiting: an agent Plan that does not wait. That is right when the
// servers are there already.
func (s *subject) judgeUnwaiting(l *linter) {
	servers, known := l.facts.servers()
	if known && len(servers) > 0 && !s.target.IsZero() && !slices.ContainsFunc(servers, func(n *Node) bool {
		return n.version().IsZero() || n.version().Less(s.target)
	}) {
		return
	}
	if !known && l.facts != nil && l.facts.ServerVersion != "" && !s.target.IsZero() {
		if v, err := skew.Parse(l.facts.ServerVersion); err == nil && !v.Less(s.target) {
			return
		}
	}
	name := "NAME-OF-THE-SERVER-PLAN"
	if list := l.servers[s.plan.Namespace]; len(list) > 0 {
		name = list[0].plan.Name
	}
	message := "is missing, so nothing makes the agents wait for the servers: a kubelet may never be newer than the API server"
	at := spec("prepare")
	if s.plan.Spec.Prepare != nil {
		message = "does not wait for the servers: a kubelet may never be newer than the API server"
	}
	s.add("agent-without-prepare", at, message, fmt.Sprintf("prepare: {image: %s, args: [prepare, %s]}", s.image.raw, name))
}

// cycle is the circle of Plans that wait for each other, s first; "" when there
// is none.
func (l *linter) cycle(s *subject) string {
	seen := []string{s.plan.Name}
	at := s
	for at.waiting && len(seen) <= longestRow {
		next := l.byName[at.plan.Namespace+"/"+at.waits]
		if len(next) == 0 {
			return ""
		}
		at = next[0]
		if at == s || at.plan.Name == s.plan.Name {
			return strings.Join(append(seen, s.plan.Name), " -> ")
		}
		if slices.Contains(seen, at.plan.Name) {
			return "" // a circle further on, which those in it report
		}
		seen = append(seen, at.plan.Name)
	}
	return ""
}

// mostOverlaps are enough to see that selectors are not kept apart; all pairs
// of thousands of Plans would be millions.
const mostOverlaps = 1000

// overlaps finds nodes that two Plans of the same distribution take.
func (l *linter) overlaps() {
	type pair struct{ a, b *subject }
	taken := map[string][]*subject{}
	said := map[pair]bool{}
	for _, s := range l.subjects {
		if s.family != "k3s" && s.family != "rke2" {
			continue
		}
		for _, n := range s.nodes {
			for _, other := range taken[n.Name] {
				p := pair{other, s}
				sameName := other.plan.Name == s.plan.Name && other.plan.Namespace == s.plan.Namespace
				if said[p] || sameName {
					continue
				}
				if said[p] = true; len(said) > mostOverlaps {
					return
				}
				severity, effect := Warning, "its Pods are cordoned away and brought back twice, perhaps at the same time"
				if s.resolved != "" && other.resolved != "" && munge(s.resolved) != munge(other.resolved) {
					severity, effect = Error, fmt.Sprintf("which they take to different versions, %s and %s", other.resolved, s.resolved)
				}
				if len(s.demands) == 0 || s.waiting && n.server() {
					continue // said already, and worse
				}
				s.addAs(severity, "plans-overlap", spec("nodeSelector"), fmt.Sprintf("selects node %s, as Plan %s does: %s", n.Name, other.plan.Name, effect), "keep the selectors apart")
			}
			taken[n.Name] = append(taken[n.Name], s)
		}
	}
}
