package skew

import (
	"errors"
	"fmt"
	"slices"
)

// PolicySource is the page that the rules are taken from.
const PolicySource = "https://kubernetes.io/releases/version-skew-policy/"

// Component is a part of Kubernetes that the version skew policy speaks of.
type Component string

// The components of the policy.
const (
	KubeAPIServer          Component = "kube-apiserver"
	Kubelet                Component = "kubelet"
	KubeProxy              Component = "kube-proxy"
	ControllerManager      Component = "kube-controller-manager"
	Scheduler              Component = "kube-scheduler"
	CloudControllerManager Component = "cloud-controller-manager"
	Kubectl                Component = "kubectl"
)

// Rule is one sentence of the version skew policy: how many minors a component
// may be older or newer than what it is measured against.
type Rule struct {
	// ID is stable and names the rule in errors and reports.
	ID string `json:"id"`
	// Component is what the rule binds.
	Component Component `json:"component,omitempty"`
	// Against is what the component is measured against; with several servers
	// it must agree with each of them.
	Against Component `json:"against,omitempty"`
	// Older and Newer are how many minors the component may be older and newer.
	Older int `json:"older"`
	Newer int `json:"newer"`
	// Before limits the rule to components older than this minor; zero: to all
	// that no such rule claims.
	Before Minor `json:"before,omitzero"`
	// Text says the rule in a sentence.
	Text string `json:"text"`
	// Source is the URL the rule was taken from.
	Source string `json:"source"`
}

var v125 = Minor{1, 25}

// rules hold the policy. A rule with Before stands ahead of the general one.
var rules = []Rule{
	{
		ID: "kube-apiserver-ha", Component: KubeAPIServer, Against: KubeAPIServer, Older: 1, Newer: 1,
		Text:   "the newest and the oldest kube-apiserver of a cluster are at most one minor apart",
		Source: PolicySource + "#kube-apiserver",
	},
	{
		ID: "kubelet-before-1.25", Component: Kubelet, Against: KubeAPIServer, Older: 2, Before: v125,
		Text:   "a kubelet older than 1.25 is at most two minors older than kube-apiserver, and never newer",
		Source: PolicySource + "#kubelet",
	},
	{
		ID: "kubelet", Component: Kubelet, Against: KubeAPIServer, Older: 3,
		Text:   "kubelet is at most three minors older than kube-apiserver, and never newer",
		Source: PolicySource + "#kubelet",
	},
	{
		ID: "kube-proxy-before-1.25", Component: KubeProxy, Against: KubeAPIServer, Older: 2, Before: v125,
		Text:   "a kube-proxy older than 1.25 is at most two minors older than kube-apiserver, and never newer",
		Source: PolicySource + "#kube-proxy",
	},
	{
		ID: "kube-proxy", Component: KubeProxy, Against: KubeAPIServer, Older: 3,
		Text:   "kube-proxy is at most three minors older than kube-apiserver, and never newer",
		Source: PolicySource + "#kube-proxy",
	},
	{
		ID: "kube-proxy-beside-kubelet-before-1.25", Component: KubeProxy, Against: Kubelet, Older: 2, Newer: 2, Before: v125,
		Text:   "a kube-proxy older than 1.25 is at most two minors older or newer than the kubelet beside it",
		Source: PolicySource + "#kube-proxy",
	},
	{
		ID: "kube-proxy-beside-kubelet", Component: KubeProxy, Against: Kubelet, Older: 3, Newer: 3,
		Text:   "kube-proxy is at most three minors older or newer than the kubelet beside it",
		Source: PolicySource + "#kube-proxy",
	},
	{
		ID: "kube-controller-manager", Component: ControllerManager, Against: KubeAPIServer, Older: 1,
		Text:   "kube-controller-manager is at most one minor older than kube-apiserver, and never newer",
		Source: PolicySource + "#kube-controller-manager-kube-scheduler-and-cloud-controller-manager",
	},
	{
		ID: "kube-scheduler", Component: Scheduler, Against: KubeAPIServer, Older: 1,
		Text:   "kube-scheduler is at most one minor older than kube-apiserver, and never newer",
		Source: PolicySource + "#kube-controller-manager-kube-scheduler-and-cloud-controller-manager",
	},
	{
		ID: "cloud-controller-manager", Component: CloudControllerManager, Against: KubeAPIServer, Older: 1,
		Text:   "cloud-controller-manager is at most one minor older than kube-apiserver, and never newer",
		Source: PolicySource + "#kube-controller-manager-kube-scheduler-and-cloud-controller-manager",
	},
	{
		ID: "kubectl", Component: Kubectl, Against: KubeAPIServer, Older: 1, Newer: 1,
		Text:   "kubectl is at most one minor older or newer than kube-apiserver",
		Source: PolicySource + "#kubectl",
	},
}

// Rules lists the version skew policy as data. The slice is the caller's.
func Rules() []Rule { return append([]Rule(nil), rules...) }

// ErrNoServers: a component is measured against servers, and none was given.
var ErrNoServers = errors.New("no kube-apiserver version to measure against")

// ErrUnknownComponent: the component is none of the policy's.
var ErrUnknownComponent = errors.New("the version skew policy has no such component")

// SkewError is a component whose version a rule of the policy forbids.
type SkewError struct {
	Component Component `json:"component"`
	Version   Version   `json:"version"`
	// Against is what the component is measured against, and Other the version
	// of it that forbids Version.
	Against Component `json:"against"`
	Other   Version   `json:"other"`
	Rule    Rule      `json:"rule"`
}

// Error says by how much the component is off, or which version is not known,
// and names the rule.
func (e *SkewError) Error() string {
	if e.Version.IsZero() || e.Other.IsZero() {
		return fmt.Sprintf("%s %s cannot be measured against %s %s, since a version is not known; rule %s: %s",
			e.Component, known(e.Version), e.Against, known(e.Other), e.Rule.ID, e.Rule.Text)
	}
	return fmt.Sprintf("%s %s is %s %s %s; rule %s: %s",
		e.Component, e.Version, distance(e.Version.Minor(), e.Other.Minor()), e.Against, e.Other, e.Rule.ID, e.Rule.Text)
}

func known(v Version) string {
	if v.IsZero() {
		return "of no version"
	}
	return v.String()
}

// distance says how a stands to b: "3 minors older than".
func distance(a, b Minor) string {
	if a.Major != b.Major {
		return "of another major than"
	}
	n, word := a.Minor-b.Minor, "newer"
	if n < 0 {
		n, word = -n, "older"
	}
	if n == 1 {
		return "1 minor " + word + " than"
	}
	return fmt.Sprintf("%d minors %s than", n, word)
}

// ruleFor is the rule that binds component at minor m against another one.
func ruleFor(c, against Component, m Minor) (Rule, bool) {
	for _, r := range rules {
		if r.Component == c && r.Against == against && (r.Before.IsZero() || !m.IsZero() && m.Compare(r.Before) < 0) {
			return r, true
		}
	}
	return Rule{}, false
}

// allows reports whether m may stand beside other.
func (r Rule) allows(m, other Minor) bool {
	return m.Major == other.Major && m.Minor >= other.Minor-r.Older && m.Minor <= other.Minor+r.Newer
}

// Allowed lists the minors that component may have while the given API servers
// run, oldest first. Several servers (an HA control plane, also one in the
// middle of its upgrade) narrow the list to what every one of them allows. The
// list is empty when nothing satisfies them all, and nil when no server is
// given, one of them is the zero Version or the component is unknown.
//
// For [KubeAPIServer] the list holds the minors that one more API server may
// have beside the given ones.
func Allowed(component Component, servers ...Version) []Minor {
	if len(servers) == 0 || slices.ContainsFunc(servers, Version.IsZero) {
		return nil
	}
	// Every rule allows a window around each server, so the first server's
	// widest window holds all candidates.
	first := servers[0].Minor()
	var allowed []Minor
	for n := max(0, first.Minor-maxSkew); n <= first.Minor+maxSkew; n++ {
		m := Minor{first.Major, n}
		r, ok := ruleFor(component, KubeAPIServer, m)
		if !ok {
			return nil
		}
		fits := true
		for _, s := range servers {
			fits = fits && r.allows(m, s.Minor())
		}
		if fits {
			allowed = append(allowed, m)
		}
	}
	return allowed
}

// maxSkew is the widest window of any rule.
const maxSkew = 3

// Check says whether component may run at version v with the given API servers.
// The error is a [*SkewError] that names the first rule it breaks,
// [ErrNoServers] or [ErrUnknownComponent]. A zero Version keeps no rule: what is
// not known is not called right.
func Check(component Component, v Version, servers ...Version) error {
	if len(servers) == 0 {
		return ErrNoServers
	}
	for _, s := range servers {
		if err := check(component, v, KubeAPIServer, s); err != nil {
			return err
		}
	}
	return nil
}

// CheckBesideKubelet says whether kube-proxy may run at version proxy on a node
// whose kubelet has version kubelet. [Check] judges it against the servers.
func CheckBesideKubelet(proxy, kubelet Version) error {
	return check(KubeProxy, proxy, Kubelet, kubelet)
}

func check(component Component, v Version, against Component, other Version) error {
	r, ok := ruleFor(component, against, v.Minor())
	if !ok {
		return fmt.Errorf("%w: %q", ErrUnknownComponent, component)
	}
	if v.IsZero() || other.IsZero() || !r.allows(v.Minor(), other.Minor()) {
		return &SkewError{Component: component, Version: v, Against: against, Other: other, Rule: r}
	}
	return nil
}
