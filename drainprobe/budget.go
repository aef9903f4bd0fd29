package drainprobe

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// disruptedFor is how long the disruption controller believes that a Pod whose
// eviction was allowed will go.
const disruptedFor = 2 * time.Minute

// budget is a PodDisruptionBudget with the Pods of the start that it covers.
type budget struct {
	pdb      *policyv1.PodDisruptionBudget
	selector labels.Selector
	pods     []int
	shared   bool // some Pod of it is under another budget too
	// disrupted Pods were promised to be gone.
	disrupted map[string]bool
	// unknownScale is the scale of controllers that only the cluster knows,
	// taken from a status that is up to date; open is set where there is none.
	unknownScale int
	open         string
	stale        bool
	// unsynced: written by hand, not read from a cluster, which would have given
	// it a generation. The arithmetic stands in for the status.
	unsynced bool
}

func unsynced(pdb *policyv1.PodDisruptionBudget) bool {
	s := pdb.Status
	return pdb.Generation == 0 && s.ObservedGeneration == 0 && len(s.Conditions) == 0 && len(s.DisruptedPods) == 0 &&
		s.DisruptionsAllowed == 0 && s.CurrentHealthy == 0 && s.DesiredHealthy == 0 && s.ExpectedPods == 0
}

func (b *budget) name() string { return b.pdb.Namespace + "/" + b.pdb.Name }

// balance is the state of one budget: what its status says, or would.
type balance struct {
	allowed, healthy, desired, expected int
	failed                              string // the controller's sync error
}

func (m *model) indexBudgets() {
	covered := map[int]int{}
	concerned := m.concerned()
	for _, pdb := range m.world.Budgets {
		if concerned != nil && !concerned[pdb.Namespace] {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if err != nil {
			continue // matches nothing, as in the eviction API
		}
		b := &budget{pdb: pdb, selector: selector, pods: m.matching(pdb.Namespace, selector), disrupted: map[string]bool{},
			unsynced: unsynced(pdb)}
		b.stale = !b.unsynced && pdb.Status.ObservedGeneration < pdb.Generation
		for name, at := range pdb.Status.DisruptedPods {
			if m.world.Taken.Sub(at.Time) < disruptedFor {
				b.disrupted[name] = true
			}
		}
		m.budgets = append(m.budgets, b)
		for _, id := range b.pods {
			covered[id]++
		}
	}
	for _, b := range m.budgets {
		for _, id := range b.pods {
			b.shared = b.shared || covered[id] > 1
		}
		m.learnScale(b)
	}
}

// concerned are the namespaces whose budgets a drain can touch: those of the
// node's Pods, or all (nil) where a Pod of it could preempt one elsewhere.
func (m *model) concerned() map[string]bool {
	if m.only != nil || m.drained < 0 {
		return m.only
	}
	out := map[string]bool{}
	top := int32(-1 << 31)
	for _, id := range m.byNode[m.drained] {
		out[m.pods[id].obj.Namespace] = true
		top = max(top, m.pods[id].priority)
	}
	for i := range m.pods {
		if m.pods[i].priority < top {
			return nil
		}
	}
	return out
}

// learnScale takes the scale of unknown controllers from the budget's status.
func (m *model) learnScale(b *budget) {
	unknown, known := false, 0
	seen := map[types.UID]bool{}
	for _, id := range b.pods {
		p := &m.pods[id]
		if p.owner < 0 {
			continue
		}
		o := m.owners[p.owner]
		switch {
		case o.noScale:
			unknown = true
		case o.scaleErr == "" && !seen[o.scaleUID]:
			seen[o.scaleUID] = true
			known += o.scale
		}
	}
	if !unknown || !scaled(b.pdb) {
		return
	}
	switch {
	case b.stale || b.unsynced:
		b.open = fmt.Sprintf("budget %s counts Pods of a controller whose scale is not to be read from here, and its status does not tell", b.name())
	default:
		b.unknownScale = max(0, int(b.pdb.Status.ExpectedPods)-known)
	}
}

// scaled says whether the budget counts controllers' scale instead of Pods.
func scaled(pdb *policyv1.PodDisruptionBudget) bool {
	s := pdb.Spec
	return s.MaxUnavailable != nil || s.MinAvailable != nil && s.MinAvailable.Type == intstr.String
}

// recorded is the balance that the budget's status holds.
func recorded(pdb *policyv1.PodDisruptionBudget) balance {
	s := pdb.Status
	b := balance{allowed: int(s.DisruptionsAllowed), healthy: int(s.CurrentHealthy), desired: int(s.DesiredHealthy), expected: int(s.ExpectedPods)}
	for _, c := range s.Conditions {
		if c.Type == policyv1.DisruptionAllowedCondition && c.Reason == policyv1.SyncFailedReason {
			b.failed = c.Message
		}
	}
	return b
}

// balanceOf is the disruption controller's arithmetic over Pods that exist.
// Rounding goes up for minAvailable and maxUnavailable alike. Source:
// https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/controller/disruption/disruption.go
func balanceOf(b *budget, last balance, pods []*livePod, owners []*owner) balance {
	out := balance{}
	for _, p := range pods {
		if p.healthy && !b.disrupted[p.name] {
			out.healthy++
		}
	}
	scale := func() (int, string) {
		total := b.unknownScale
		seen := map[types.UID]bool{}
		for _, p := range pods {
			if p.owner < 0 {
				continue // bare Pods count nothing
			}
			o := owners[p.owner]
			if o.scaleErr != "" {
				return 0, o.scaleErr
			}
			if !o.noScale && !seen[o.scaleUID] {
				seen[o.scaleUID] = true
				total += o.scale
			}
		}
		return total, ""
	}
	spec := b.pdb.Spec
	switch {
	case spec.MaxUnavailable != nil:
		n, failed := scale()
		if failed != "" {
			last.allowed, last.failed = 0, failed
			return last
		}
		most, err := intstr.GetScaledValueFromIntOrPercent(spec.MaxUnavailable, n, true)
		if err != nil {
			last.allowed, last.failed = 0, err.Error()
			return last
		}
		out.expected, out.desired = n, max(0, n-most)
	case spec.MinAvailable != nil && spec.MinAvailable.Type == intstr.Int:
		out.expected, out.desired = len(pods), int(spec.MinAvailable.IntVal)
	case spec.MinAvailable != nil:
		n, failed := scale()
		if failed != "" {
			last.allowed, last.failed = 0, failed
			return last
		}
		least, err := intstr.GetScaledValueFromIntOrPercent(spec.MinAvailable, n, true)
		if err != nil {
			last.allowed, last.failed = 0, err.Error()
			return last
		}
		out.expected, out.desired = n, least
	}
	if out.expected > 0 {
		out.allowed = max(0, out.healthy-out.desired)
	}
	return out
}

// livePod is what the arithmetic sees of a Pod.
type livePod struct {
	name    string
	owner   int
	healthy bool // Ready and not being deleted
}

// permits is the eviction API's answer for a Pod under one budget, and whether
// it uses up a disruption. https://kubernetes.io/docs/tasks/run-application/configure-pdb/#unhealthy-pod-eviction-policy
func permits(pdb *policyv1.PodDisruptionBudget, b balance, ready bool) (ok, spends bool) {
	if !ready {
		if p := pdb.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
			return true, false
		}
		if b.healthy >= b.desired && b.desired > 0 {
			return true, false
		}
	}
	return b.allowed > 0, true
}

// never says why a budget can allow no disruption whatever happens, "" if it
// can.
func never(pdb *policyv1.PodDisruptionBudget, b balance) string {
	spec := pdb.Spec
	switch {
	case b.failed != "":
		return "its sync fails: " + b.failed
	case spec.MaxUnavailable == nil && spec.MinAvailable == nil:
		return "it has neither minAvailable nor maxUnavailable"
	case spec.MaxUnavailable != nil && zero(*spec.MaxUnavailable):
		return "maxUnavailable is " + spec.MaxUnavailable.String()
	case scaled(pdb) && b.expected == 0:
		return "it counts controllers' scale, and its Pods have no controller"
	case b.expected > 0 && b.desired >= b.expected:
		limit := spec.MinAvailable
		field := "minAvailable"
		if limit == nil {
			limit, field = spec.MaxUnavailable, "maxUnavailable"
		}
		return fmt.Sprintf("%s %s keeps %d of %d Pods", field, limit.String(), b.desired, b.expected)
	}
	return ""
}

func zero(v intstr.IntOrString) bool {
	n, err := intstr.GetScaledValueFromIntOrPercent(&v, 100, true)
	return err == nil && n == 0
}

// refusedBy says why a budget refused a Pod to the end, in numbers.
func refusedBy(b *budget, start, end balance, ready bool) string {
	if why := never(b.pdb, start); why != "" {
		return fmt.Sprintf("budget %s never allows a disruption: %s", b.name(), why)
	}
	text := fmt.Sprintf("budget %s needs %d healthy Pods and has %d", b.name(), end.desired, end.healthy)
	switch {
	case !ready && end.desired == 0:
		text = fmt.Sprintf("budget %s allows no disruption, and frees Pods that are not ready only where it needs at least one healthy Pod", b.name())
	case !ready:
		text += ", and the Pod is not ready"
	case end.healthy > end.desired && end.expected == 0:
		text = fmt.Sprintf("budget %s allows no disruption: it counts controllers' scale, and finds none", b.name())
	}
	return text
}

// ignoresBudgets: the eviction API deletes such a Pod without a look at them.
func ignoresBudgets(phase corev1.PodPhase, terminating bool) bool {
	return terminating || phase == corev1.PodSucceeded || phase == corev1.PodFailed || phase == corev1.PodPending
}
