package drainprobe

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestBudgetArithmetic holds the disruption controller's rules, observed on
// kube-controller-manager v1.34.4.
func TestBudgetArithmetic(t *testing.T) {
	t.Parallel()
	deployment := &owner{kind: ownerReplica, scaleUID: "d", scale: 3}
	seven := &owner{kind: ownerReplica, scaleUID: "e", scale: 7}
	job := &owner{kind: ownerJob, scaleUID: "j", scaleErr: "jobs.batch does not implement the scale subresource"}
	owners := []*owner{deployment, seven, job}
	pods := func(owner, healthy, unhealthy int) []*livePod {
		var out []*livePod
		for i := range healthy + unhealthy {
			out = append(out, &livePod{owner: owner, healthy: i < healthy})
		}
		return out
	}
	for name, c := range map[string]struct {
		field, value string
		pods         []*livePod
		want         balance
	}{
		"50 % of 3 keeps 2":                               {"min", "50%", pods(0, 3, 0), balance{allowed: 1, healthy: 3, desired: 2, expected: 3}},
		"maxUnavailable 50 % of 3 lets 2 go":              {"max", "50%", pods(0, 3, 0), balance{allowed: 2, healthy: 3, desired: 1, expected: 3}},
		"10 % of 7 lets 1 go":                             {"max", "10%", pods(1, 7, 0), balance{allowed: 1, healthy: 7, desired: 6, expected: 7}},
		"maxUnavailable above the scale keeps none":       {"max", "9", pods(0, 3, 0), balance{allowed: 3, healthy: 3, desired: 0, expected: 3}},
		"an integer counts Pods, bare ones too":           {"min", "1", pods(-1, 2, 0), balance{allowed: 1, healthy: 2, desired: 1, expected: 2}},
		"a percentage of bare Pods is of nothing":         {"min", "50%", pods(-1, 2, 0), balance{healthy: 2}},
		"maxUnavailable of bare Pods allows nothing":      {"max", "1", pods(-1, 2, 0), balance{healthy: 2}},
		"a bare Pod is headroom over the scale":           {"max", "0", append(pods(0, 3, 0), pods(-1, 1, 0)...), balance{allowed: 1, healthy: 4, desired: 3, expected: 3}},
		"unready Pods do not count as healthy":            {"min", "2", pods(0, 2, 1), balance{healthy: 2, desired: 2, expected: 3}},
		"no Pods, nothing allowed":                        {"min", "0", nil, balance{}},
		"a Job under maxUnavailable fails the sync":       {"max", "1", pods(2, 2, 0), balance{failed: job.scaleErr}},
		"a Job under an integer minAvailable is counted":  {"min", "1", pods(2, 2, 0), balance{allowed: 1, healthy: 2, desired: 1, expected: 2}},
		"two owners add up":                               {"max", "1", append(pods(0, 3, 0), pods(1, 7, 0)...), balance{allowed: 1, healthy: 10, desired: 9, expected: 10}},
		"a value that is no percentage fails the sync":    {"max", "x", pods(0, 3, 0), balance{failed: `invalid value for IntOrString: invalid type: string is not a percentage`}},
		"fewer Pods than the scale leave nothing to give": {"max", "1", pods(0, 2, 0), balance{healthy: 2, desired: 2, expected: 3}},
	} {
		v := intstr.Parse(c.value)
		pdb := &policyv1.PodDisruptionBudget{}
		if c.field == "min" {
			pdb.Spec.MinAvailable = &v
		} else {
			pdb.Spec.MaxUnavailable = &v
		}
		if got := balanceOf(&budget{pdb: pdb}, balance{}, c.pods, owners); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestAPodMayGoUnderABudget(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		b          balance
		ready      bool
		policy     policyv1.UnhealthyPodEvictionPolicyType
		ok, spends bool
	}{
		"a ready Pod spends a disruption":                          {balance{allowed: 1, healthy: 2, desired: 1}, true, "", true, true},
		"a ready Pod stays where none is left":                     {balance{healthy: 1, desired: 1}, true, policyv1.AlwaysAllow, false, true},
		"an unready Pod goes while the budget is met":              {balance{healthy: 2, desired: 2}, false, "", true, false},
		"an unready Pod stays while it is not":                     {balance{healthy: 1, desired: 2}, false, policyv1.IfHealthyBudget, false, true},
		"a budget that wants none does not free it":                {balance{}, false, "", false, true},
		"AlwaysAllow does":                                         {balance{}, false, policyv1.AlwaysAllow, true, false},
		"an unready Pod may use a disruption where there are some": {balance{allowed: 1, healthy: 0, desired: 0}, false, "", true, true},
	} {
		pdb := &policyv1.PodDisruptionBudget{}
		if c.policy != "" {
			pdb.Spec.UnhealthyPodEvictionPolicy = &c.policy
		}
		ok, spends := permits(pdb, c.b, c.ready)
		if ok != c.ok || spends != c.spends {
			t.Errorf("%s: %v %v, want %v %v", name, ok, spends, c.ok, c.spends)
		}
	}
}
