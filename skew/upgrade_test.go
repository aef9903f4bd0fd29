package skew_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/skew"
)

func TestCheckUpgrade(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, from, to string
		kind           skew.UpgradeKind
		reason         error
		skipped        int
		says           string
	}{
		{name: "one step", from: "v1.34.11+k3s1", to: "v1.35.8+k3s1", kind: skew.Step},
		{name: "a step to an older patch number", from: "v1.34.11+k3s1", to: "v1.35.0+k3s1", kind: skew.Step},
		{name: "a patch", from: "v1.34.3+k3s1", to: "v1.34.11+k3s1", kind: skew.Patch},
		{name: "a revision", from: "v1.34.3+k3s1", to: "v1.34.3+k3s3", kind: skew.Patch},
		{name: "a revision with two digits", from: "v1.34.3+k3s2", to: "v1.34.3+k3s10", kind: skew.Patch},
		{name: "a release after its candidate", from: "v1.35.0-rc1+k3s1", to: "v1.35.0+k3s1", kind: skew.Patch},
		{name: "the same version", from: "v1.34.3+k3s1", to: "v1.34.3-k3s1", kind: skew.NoOp},
		{name: "stable two minors ahead", from: "v1.34.11+k3s1", to: "v1.36.4+k3s1", reason: skew.ErrSkip, skipped: 1, says: "skips 1 minor (1.35)"},
		{name: "five minors at once", from: "v1.31.4+k3s1", to: "v1.36.4+k3s1", reason: skew.ErrSkip, skipped: 4, says: "skips 4 minors (1.32 to 1.35)"},
		{name: "a minor down", from: "v1.35.8+k3s1", to: "v1.34.12+k3s1", reason: skew.ErrDowngrade},
		{name: "a patch down", from: "v1.34.11+k3s1", to: "v1.34.3+k3s1", reason: skew.ErrDowngrade},
		{name: "a revision down", from: "v1.34.3+k3s3", to: "v1.34.3+k3s1", reason: skew.ErrDowngrade},
		{name: "back to a candidate", from: "v1.35.0+k3s1", to: "v1.35.0-rc1+k3s1", reason: skew.ErrDowngrade},
		{name: "to RKE2", from: "v1.34.11+k3s1", to: "v1.35.8+rke2r1", reason: skew.ErrOtherDistribution, says: "rke2, not k3s"},
		{name: "to plain Kubernetes", from: "v1.34.11+k3s1", to: "v1.35.8", reason: skew.ErrOtherDistribution, says: "plain Kubernetes, not k3s"},
		{name: "plain Kubernetes", from: "v1.34.11", to: "v1.35.8", kind: skew.Step},
		{name: "another major", from: "v1.40.0", to: "v2.0.0", reason: skew.ErrOtherMajor},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u, err := skew.CheckUpgrade(skew.MustParse(tt.from), skew.MustParse(tt.to))
			if tt.reason == nil {
				if err != nil || u.Kind != tt.kind {
					t.Fatalf("%+v, %v, want %s", u, err, tt.kind)
				}
				return
			}
			var refused *skew.UpgradeError
			if !errors.Is(err, tt.reason) || !errors.As(err, &refused) {
				t.Fatalf("%v, want %v", err, tt.reason)
			}
			if refused.Skipped != tt.skipped || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), refused.Rule.ID) {
				t.Errorf("skipped %d: %v", refused.Skipped, err)
			}
		})
	}
	if _, err := skew.CheckUpgrade(skew.Version{}, skew.MustParse("1.34.1")); err == nil {
		t.Error("an upgrade from nothing was allowed")
	}
}
