package skew_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/k3sladder/k3sladder/skew"
)

// The upgrade paths of kubeadm's own table (cmd/kubeadm/app/phases/upgrade/
// policy_test.go in kubernetes/kubernetes), as cases for CheckUpgrade. kubeadm's
// table also judges the version of kubeadm itself; those faults have no
// counterpart here, so each case is left with the two cluster versions of it.
func TestCheckUpgradeAgreesWithKubeadm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, from, to string
		// kubeadm: what its policy says of the pair.
		kubeadm error
		// ours: what CheckUpgrade says; differs says why, when it is not the same.
		ours    error
		differs string
	}{
		{name: "a patch", from: "v1.3.3", to: "v1.3.5"},
		{name: "a minor", from: "v1.3.3", to: "v1.4.0"},
		{name: "the same version", from: "v1.3.3", to: "v1.3.3"},
		{name: "a prerelease of the next minor", from: "v1.3.3", to: "v1.4.0-beta.1"},
		{name: "a candidate of the next minor", from: "v1.3.3", to: "v1.4.0-rc.1"},
		{name: "two minors in one go", from: "v1.11.3", to: "v1.13.0", kubeadm: skew.ErrSkip, ours: skew.ErrSkip},
		{name: "two minors down", from: "v1.6.0", to: "v1.4.0", kubeadm: skew.ErrDowngrade, ours: skew.ErrDowngrade},
		{name: "two minors down with patches", from: "v1.12.3", to: "v1.10.10", kubeadm: skew.ErrDowngrade, ours: skew.ErrDowngrade},
		{
			name: "a patch down", from: "v1.3.3", to: "v1.3.2", ours: skew.ErrDowngrade,
			differs: "kubeadm keeps etcd and its manifests apart and lets itself be taken one minor back; k3s's datastore may be migrated by the newer release, and its documentation wants a restore (https://docs.k3s.io/upgrades/roll-back)",
		},
		{
			name: "a build of the same release", from: "v1.3.0", to: "v1.3.0+build", ours: skew.ErrOtherDistribution,
			differs: "kubeadm ignores build metadata; here it names the distribution, and plain Kubernetes is not replaced by a build of somebody else",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if (tt.kubeadm != tt.ours) != (tt.differs != "") {
				t.Fatal("a difference without a reason")
			}
			_, err := skew.CheckUpgrade(skew.MustParse(tt.from), skew.MustParse(tt.to))
			if tt.ours == nil && err != nil || !errors.Is(err, tt.ours) {
				t.Errorf("%s -> %s: %v, want %v", tt.from, tt.to, err, tt.ours)
			}
		})
	}
}

// kubeadm wants kubelets within one minor (MaximumAllowedMinorVersionKubeletSkew
// of 2017) where the policy page of today says three, and two before 1.25.
func TestKubeletSkewIsThePagesNotKubeadms(t *testing.T) {
	t.Parallel()
	if err := skew.Check(skew.Kubelet, skew.MustParse("v1.10.8"), skew.MustParse("v1.12.0")); err != nil {
		t.Errorf("kubeadm's case of a kubelet two minors behind is within the policy: %v", err)
	}
}

// siderolabs/go-kubernetes (kubernetes/upgrade/path.go) lists the pairs it
// supports one by one: every minor from 1.19 to itself and to the next. The rule
// gives the same answer for all pairs, and for the minors its list ends before.
func TestCheckUpgradeAgreesWithGoKubernetes(t *testing.T) {
	t.Parallel()
	for from := 19; from <= 29; from++ {
		for to := 19; to <= 29; to++ {
			supported := to == from || to == from+1
			_, err := skew.CheckUpgrade(skew.MustParse(fmt.Sprintf("v1.%d.5", from)), skew.MustParse(fmt.Sprintf("v1.%d.7", to)))
			if supported != (err == nil) {
				t.Errorf("1.%d -> 1.%d: go-kubernetes %v, CheckUpgrade %v", from, to, supported, err)
			}
		}
	}
	u, err := skew.CheckUpgrade(skew.MustParse("v1.19.5"), skew.MustParse("1.20.7")) // its own test
	if err != nil || u.Kind != skew.Step {
		t.Errorf("%+v, %v", u, err)
	}
}
