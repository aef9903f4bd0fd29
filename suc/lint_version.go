package suc

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
)

// Release names of the distributions. The separator before the revision is a
// plus in a release's name and a hyphen in an image tag.
var releaseNames = map[string]*regexp.Regexp{
	"k3s":  regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(?:-(?:alpha|beta|rc)\.?[0-9]+)?([+-])k3s[1-9][0-9]*$`),
	"rke2": regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(?:-(?:alpha|beta|rc)\.?[0-9]+)?([+-])rke2r[1-9][0-9]*$`),
	"k3os": regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(?:-rc\.?[0-9]+)?(-)k3s[0-9]+r[0-9]+$`),
}

// readVersion reads a resolved version as a Kubernetes release; zero when it is
// none, as the versions of operating system Plans and of k3OS are.
func readVersion(text, family string) skew.Version {
	for _, d := range []string{"k3s", "rke2"} {
		if (family == "" || family == d) && releaseNames[d].MatchString(text) {
			v, _ := skew.Parse(text)
			return v
		}
	}
	return skew.Version{}
}

func (s *subject) judgeVersion(l *linter) {
	v, at := s.plan.Spec.Version, spec("version")
	switch {
	case v == "" && s.plan.Spec.Channel == "":
		message := "has neither version nor channel: nothing is resolved and no Job is made"
		if s.image.tag != "" {
			message += "; the image's tag does not count as a version"
		}
		s.add("no-version", spec(), message, "pin the next release in spec.version")
		return
	case v == "":
		at = spec("channel")
	case placeholder(v):
		s.add("placeholder", at, quote(v)+" is a placeholder that nothing filled in", "render the file before it is applied")
		return
	default:
		if len(validation.IsValidLabelValue(munge(v))) > 0 {
			message := quote(v) + " becomes a label value and an image tag, which have only letters, digits, -, _ and . (and +, which becomes -): no Job can be made"
			if len(v) > validation.LabelValueMaxLength {
				message = fmt.Sprintf("has %d characters and becomes a label value, which has at most 63: no Job can be made", len(v))
			}
			s.add("version-label", at, message, "")
			return
		}
		if !s.judgeReleaseName(v, at) {
			return
		}
	}
	if !s.target.IsZero() {
		s.judgeClimb(l, at)
		if n, bad := defective()[s.target]; bad {
			s.add("defective-release", at, fmt.Sprintf("%s: %s (%s)", n.Version, n.Why, n.Source), "take another release of this minor")
		}
	}
}

// defective are releases to stay away from.
var defective = sync.OnceValue(func() map[skew.Version]channels.NeverStop {
	m := map[skew.Version]channels.NeverStop{}
	for _, n := range channels.NeverStops() {
		m[n.Version] = n
	}
	return m
})

// judgeReleaseName reports whether the version is a release of what the image
// installs. Other images may have versions of any kind.
func (s *subject) judgeReleaseName(v string, at path) bool {
	re := releaseNames[s.family]
	if re == nil {
		return true
	}
	if m := re.FindStringSubmatch(v); m != nil {
		if m[1] == "-" && s.family != "k3os" {
			s.add("version-dash", at, fmt.Sprintf("%s works, since the controller would make the same of it, but is the name of an image tag; the release is %s", v, s.target),
				fmt.Sprintf("version: %s", s.target))
		}
		return true
	}
	for _, other := range []string{"k3s", "rke2", "k3os"} {
		if other != s.family && releaseNames[other].MatchString(v) {
			s.add("distro-mismatch", at, fmt.Sprintf("%s is a release of %s, and the image %s installs %s", v, other, s.image.raw, s.family), "")
			return false
		}
	}
	example, fix := map[string]string{"k3s": "v1.35.9+k3s1", "rke2": "v1.35.9+rke2r1", "k3os": "v0.21.5-k3s2r1"}[s.family], ""
	switch {
	case releaseNames[s.family].MatchString("v" + v):
		fix = "version: v" + v
	case releaseNames[s.family].MatchString(strings.ToLower(strings.TrimSpace(v))):
		fix = "version: " + strings.ToLower(strings.TrimSpace(v))
	case regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+$`).MatchString(v) && s.family != "k3os":
		fix = "version: v" + strings.TrimPrefix(v, "v") + example[strings.IndexByte(example, '+'):]
	case regexp.MustCompile(`^v?[0-9]+\.[0-9]+$`).MatchString(v):
		fix = "name the patch too, such as " + example
	case slices.Contains([]string{"stable", "latest", "testing"}, v):
		fix = "a channel belongs into spec.channel; better, pin a release such as " + example
	}
	s.add("not-a-version", at, fmt.Sprintf("%s is no release of %s, such as %s: the image with this tag does not exist, and agents would wait for it for ever", quote(v), s.family, example), fix)
	return false
}

// running is a version that the Plan would replace, with who runs it.
type running struct {
	version skew.Version
	who     string
	server  bool
}

// running lists what the selected nodes run; without nodes, what the API server
// does.
func (s *subject) running(facts *Facts) []running {
	if facts == nil {
		return nil
	}
	var out []running
	for _, n := range s.nodes {
		if v := n.version(); !v.IsZero() && !s.done(n) {
			out = append(out, running{v, "node " + n.Name, n.server()})
		}
	}
	if facts.ServerVersion != "" && (len(out) == 0 || s.role == agentRole) {
		v, _ := skew.Parse(facts.ServerVersion)
		out = append(out, running{v, "the API server", true})
	}
	return out
}

// done reports whether the Plan was applied to the node already.
func (s *subject) done(n *Node) bool {
	hash := n.Labels[LabelPlanPrefix+s.plan.Name]
	return hash != "" && hash == Hash(s.plan, s.resolved, nil)
}

// judgeClimb compares the target with what runs. At most one finding of a kind
// is made; it names the first node.
func (s *subject) judgeClimb(l *linter, at path) {
	if s.family == "k3os" {
		return // its versions are its own
	}
	said := map[string]bool{}
	say := func(code, message, fix string) {
		if !said[code] {
			said[code] = true
			s.add(code, at, message, fix)
		}
	}
	for _, r := range s.running(l.facts) {
		_, err := skew.CheckUpgrade(r.version, s.target)
		switch {
		case errors.Is(err, skew.ErrOtherDistribution):
			say("distro-mismatch", fmt.Sprintf("%s cannot replace %s, which %s runs", s.target, r.version, r.who), "")
		case errors.Is(err, skew.ErrDowngrade):
			if r.who == "the API server" && s.role == agentRole {
				continue // agents may be older than their servers
			}
			say("downgrade", fmt.Sprintf("%s is older than %s, which %s runs: the upgrade image refuses it when the node is cordoned already, and the node stays so", s.target, r.version, r.who), "")
		case errors.Is(err, skew.ErrSkip) && r.server:
			say("skips-minor", fmt.Sprintf("%s is %d minors above %s, which %s runs; Kubernetes supports one at a time", s.target, channels.Jump(r.version, s.target), r.version, r.who), s.nextRung(r.version))
		case err == nil || errors.Is(err, skew.ErrSkip):
			if m := olderBuild(r.version, s.target); m != "" {
				say("older-build", fmt.Sprintf("%s is %s: the upgrade image refuses a release from an earlier month", s.target, fmt.Sprintf(m, r.who)), s.nextRung(r.version))
			} else if stop := l.etcdStop(r, s.target); stop != "" {
				say("etcd-stop", fmt.Sprintf("%s cannot follow %s directly: %s", s.target, r.version, stop), "")
			}
		}
	}
	s.judgeKubelets(l, say)
}

// nextRung names the first rung on the way to the target, or the newest known
// release one minor up where no ladder leads there.
func (s *subject) nextRung(from skew.Version) string {
	if from.Distribution() != "k3s" {
		return ""
	}
	c := channels.Bundled()
	next, err := c.NewestPatch(from.Minor().Next())
	if err != nil {
		return ""
	}
	climb, err := channels.Ladder(from, s.target, c, channels.Facts{Executor: channels.SUC})
	if err == nil && len(climb.Rungs) > 0 {
		next = climb.Rungs[0].Version
	}
	return fmt.Sprintf("the next rung is %s (%s)", next, c.Origin())
}

// guarded are the first releases whose upgrade image compares months, by minor
// (July 2023, https://github.com/k3s-io/k3s-upgrade/pull/59).
var guarded = map[skew.Minor]int{{Major: 1, Minor: 24}: 16, {Major: 1, Minor: 25}: 12, {Major: 1, Minor: 26}: 7, {Major: 1, Minor: 27}: 4}

// olderBuild says when the two releases were built, if the target's image would
// refuse the target for it; "" when not, or when a date is not known. RKE2's
// image does not compare. %s stands for who runs the older one.
func olderBuild(from, to skew.Version) string {
	a, okA := releases()[from]
	b, okB := releases()[to]
	if !okA || !okB || !month(b.Date).Before(month(a.Date)) {
		return ""
	}
	first, early := guarded[to.Minor()]
	if early && to.Patch() < first || to.Minor().Compare(skew.Minor{Major: 1, Minor: 24}) < 0 {
		return ""
	}
	return fmt.Sprintf("of %s, and %s, which %%s runs, of %s", b.Date.Format("January 2006"), from, a.Date.Format("January 2006"))
}

func month(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC) }

// objections are what stands between two releases besides the skew policy,
// for a cluster with embedded etcd and agents.
func (l *linter) objections(from, to skew.Version) []channels.Objection {
	type key struct{ from, to skew.Version }
	if o, ok := l.climbs.Load(key{from, to}); ok {
		return o.([]channels.Objection)
	}
	o := channels.Objections(from, to, channels.Facts{Datastore: channels.EmbeddedEtcd, Agents: channels.Yes, Executor: channels.Script})
	l.climbs.Store(key{from, to}, o)
	return o
}

// etcdStop says why the embedded etcd cannot go straight from one release to the
// other, "" when it can or it is not certain.
func (l *linter) etcdStop(r running, to skew.Version) string {
	if etcd, known := l.facts.etcd(); !known || !etcd || !r.server {
		return ""
	}
	for _, o := range l.objections(r.version, to) {
		if strings.HasPrefix(o.Constraint.ID, "etcd-") && o.Certain {
			return o.Constraint.Text
		}
	}
	return ""
}

// agentsFloor is the rule of package channels about agents older than January
// 2025.
const agentsFloor = "agents-january-2025"

// judgeKubelets looks for nodes that the new servers leave behind.
func (s *subject) judgeKubelets(l *linter, say func(code, message, fix string)) {
	if s.role == agentRole || l.facts == nil || !slices.ContainsFunc(s.nodes, (*Node).server) {
		return
	}
	for i := range l.facts.Nodes {
		n := &l.facts.Nodes[i]
		v := n.version()
		if n.server() || v.IsZero() || !v.Less(s.target) {
			continue
		}
		if err := skew.Check(skew.Kubelet, v, s.target); err != nil {
			say("kubelet-skew", fmt.Sprintf("servers at %s leave node %s behind: %v", s.target, n.Name, err), "upgrade the agents first, up to the servers' version")
		}
		for _, o := range l.objections(v, s.target) {
			if o.Constraint.ID == agentsFloor && o.Certain {
				say("agents-too-old", fmt.Sprintf("is %s, and agent %s runs %s: %s", s.target, n.Name, v, o.Constraint.Text), "upgrade the agents first, within their minor")
			}
		}
	}
}
