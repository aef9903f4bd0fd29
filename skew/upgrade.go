package skew

import (
	"errors"
	"fmt"
)

// UpgradeKind says what kind of upgrade leads from one version to another.
type UpgradeKind string

// The kinds of upgrade that the policy allows.
const (
	// NoOp: the versions are the same.
	NoOp UpgradeKind = "no-op"
	// Patch: a newer patch, release or distribution revision of the same minor.
	Patch UpgradeKind = "patch"
	// Step: exactly one minor up.
	Step UpgradeKind = "step"
)

// Upgrade is an allowed way from one version to another.
type Upgrade struct {
	From Version     `json:"from"`
	To   Version     `json:"to"`
	Kind UpgradeKind `json:"kind"`
}

// The reasons for which an upgrade is refused; test for them with errors.Is.
var (
	// ErrSkip: more than one minor up.
	ErrSkip = errors.New("skips minors")
	// ErrDowngrade: the target comes before the running version.
	ErrDowngrade = errors.New("is a downgrade")
	// ErrOtherDistribution: the target is built by somebody else.
	ErrOtherDistribution = errors.New("is another distribution")
	// ErrOtherMajor: no rule says how a major version is crossed.
	ErrOtherMajor = errors.New("is another major version")
)

// ErrNoVersion: one of the two versions is the zero Version, so that nothing
// can be said of the upgrade.
var ErrNoVersion = errors.New("an upgrade needs two versions, one is missing")

// The rules of upgrades. [CheckUpgrade]'s errors carry them.
var (
	// RuleOneMinor is the rule that [ErrSkip] and [ErrOtherMajor] break.
	RuleOneMinor = Rule{
		ID: "one-minor-a-step", Component: KubeAPIServer,
		Text:   "an upgrade takes kube-apiserver at most one minor up, also with a single server",
		Source: PolicySource + "#kube-apiserver-1",
	}
	// RuleNeverDown is the rule that [ErrDowngrade] breaks.
	RuleNeverDown = Rule{
		ID: "never-down", Component: KubeAPIServer,
		Text:   "a running server is never replaced by an older one; going back means restoring the datastore",
		Source: "https://docs.k3s.io/upgrades/roll-back",
	}
	// RuleSameDistribution is the rule that [ErrOtherDistribution] breaks.
	RuleSameDistribution = Rule{
		ID:     "same-distribution",
		Text:   "an upgrade stays within one distribution; another one is a migration",
		Source: "https://docs.k3s.io/upgrades",
	}
)

// UpgradeError is a refused upgrade.
type UpgradeError struct {
	From Version `json:"from"`
	To   Version `json:"to"`
	// Reason is [ErrSkip], [ErrDowngrade], [ErrOtherDistribution] or [ErrOtherMajor].
	Reason error `json:"-"`
	// Skipped is how many minors would be left out: 1 for 1.34 -> 1.36.
	Skipped int `json:"skipped"`
	// Rule is what forbids the upgrade.
	Rule Rule `json:"rule"`
}

// Error names the versions, the fault and the rule.
func (e *UpgradeError) Error() string {
	what := e.Reason.Error()
	switch {
	case e.Reason == ErrSkip && e.Skipped == 1:
		what = fmt.Sprintf("skips 1 minor (%s)", e.From.Minor().Next())
	case e.Reason == ErrSkip:
		last := e.To.Minor()
		last.Minor--
		what = fmt.Sprintf("skips %d minors (%s to %s)", e.Skipped, e.From.Minor().Next(), last)
	case e.Reason == ErrOtherDistribution:
		what += fmt.Sprintf(" (%s, not %s)", distributionText(e.To), distributionText(e.From))
	}
	return fmt.Sprintf("%s -> %s %s; rule %s: %s", e.From, e.To, what, e.Rule.ID, e.Rule.Text)
}

// Unwrap gives the reason.
func (e *UpgradeError) Unwrap() error { return e.Reason }

func distributionText(v Version) string {
	if d := v.Distribution(); d != "" {
		return d
	}
	return "plain Kubernetes"
}

// CheckUpgrade says what kind of upgrade leads from one version to the other.
// An upgrade that the policy forbids is an [*UpgradeError]: more than one minor
// up, down (also by a patch or a revision: +k3s2 to +k3s1), to another
// distribution or to another major version. The zero Version is [ErrNoVersion].
//
// It judges the two versions alone. What else stands in the way of a k3s
// upgrade (etcd, the upgrade image's rules, releases that must not be a stop)
// is package channels' business.
func CheckUpgrade(from, to Version) (Upgrade, error) {
	u := Upgrade{From: from, To: to, Kind: NoOp}
	refuse := func(reason error, rule Rule, skipped int) (Upgrade, error) {
		return Upgrade{}, &UpgradeError{From: from, To: to, Reason: reason, Rule: rule, Skipped: skipped}
	}
	a, b := from.Minor(), to.Minor()
	switch {
	case from.IsZero() || to.IsZero():
		return Upgrade{}, ErrNoVersion
	case from == to:
		return u, nil
	case from.Distribution() != to.Distribution():
		return refuse(ErrOtherDistribution, RuleSameDistribution, 0)
	case Compare(to, from) < 0:
		return refuse(ErrDowngrade, RuleNeverDown, 0)
	case a.Major != b.Major:
		return refuse(ErrOtherMajor, RuleOneMinor, 0)
	case a == b:
		u.Kind = Patch
		return u, nil
	case b == a.Next():
		u.Kind = Step
		return u, nil
	default:
		return refuse(ErrSkip, RuleOneMinor, b.Minor-a.Minor-1)
	}
}
