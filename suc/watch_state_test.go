package suc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k3sladder/k3sladder/internal/golden"
	"github.com/k3sladder/k3sladder/skew"
)

// play is a cluster whose clock and whose controller a test moves by hand, in
// the order in which the real controller writes.
type play struct {
	t *testing.T
	seen
	state  *watchState
	events []string
	result *WatchResult
}

const planHash = "a51930a28fd08364afd36032c010eeba5c42b9b60c095d227eae682a"

func newPlay(t *testing.T, nodes ...string) *play {
	p := &play{t: t, state: newWatchState(WatchOptions{Settle: time.Minute, StuckAfter: 5 * time.Minute})}
	p.now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	p.plan = ServerPlan(skew.MustParse("v1.35.8+k3s1"), Options{})
	for _, n := range nodes {
		p.nodes = append(p.nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: n, Labels: map[string]string{corev1.LabelHostname: n, ControlPlaneLabel: "true"}},
			Status: corev1.NodeStatus{
				NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: "v1.34.11+k3s1"},
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		})
	}
	return p
}

func (p *play) look() *play {
	p.t.Helper()
	if p.result != nil {
		return p
	}
	events, result := p.state.observe(&p.seen)
	for _, e := range events {
		p.events = append(p.events, strings.TrimRight(fmt.Sprintf("%s %s %s", e.Type, e.Node, e.Container), " "))
	}
	p.result = result
	return p
}

func (p *play) wait(d time.Duration) *play {
	p.t.Helper()
	p.now = p.now.Add(d)
	return p.look()
}

// condition sets one of the Plan's conditions.
func (p *play) condition(kind string, status corev1.ConditionStatus, reason, message string) *play {
	p.plan = p.plan.DeepCopy()
	cs := slices.DeleteFunc(p.plan.Status.Conditions, func(c Condition) bool { return c.Type == kind })
	p.plan.Status.Conditions = append(cs, Condition{Type: kind, Status: status, Reason: reason, Message: message})
	return p
}

// ready: the controller has validated and resolved the Plan.
func (p *play) ready() *play {
	p.condition(ConditionValidated, "True", "PlanIsValid", "").condition(ConditionResolved, "True", "Version", "").condition(ConditionComplete, "False", "Resolved", "")
	p.plan.Status.LatestVersion, p.plan.Status.LatestHash = "v1.35.8-k3s1", planHash
	return p.look()
}

func (p *play) node(name string) *corev1.Node {
	i := slices.IndexFunc(p.nodes, func(n *corev1.Node) bool { return n.Name == name })
	p.nodes[i] = p.nodes[i].DeepCopy()
	return p.nodes[i]
}

// job makes a node's Job with its Pod.
func (p *play) job(node string) *play {
	one := int32(1)
	name := JobName(p.plan.Name, node, planHash)
	p.jobs = append(p.jobs, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "system-upgrade", UID: types.UID(name), Labels: map[string]string{LabelNode: node, LabelPlan: p.plan.Name, LabelVersion: "v1.35.8-k3s1"}},
		Spec:       batchv1.JobSpec{Parallelism: &one},
	})
	p.pods = append(p.pods, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-x", UID: types.UID(name + "-x"), Labels: map[string]string{LabelNode: node, batchv1.JobNameLabel: name}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	})
	return p.condition(ConditionComplete, "False", "SyncJob", "").look()
}

// container ends a container of a node's Pod.
func (p *play) container(node, name string, status int32) *play {
	i := slices.IndexFunc(p.pods, func(p *corev1.Pod) bool { return p.Labels[LabelNode] == node })
	pod := p.pods[i].DeepCopy()
	p.pods[i] = pod
	end := corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: status, Reason: "Error"}}}
	if name == "upgrade" {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, end)
	} else {
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, end)
	}
	if name == "cordon" || name == "drain" {
		p.node(node).Spec.Unschedulable = true
	}
	return p.look()
}

func (p *play) jobEnds(node string, kind batchv1.JobConditionType) *play {
	i := slices.IndexFunc(p.jobs, func(j *batchv1.Job) bool { return j.Labels[LabelNode] == node })
	p.jobs[i] = p.jobs[i].DeepCopy()
	p.jobs[i].Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: "True", Reason: "DeadlineExceeded", Message: "Job was active longer than specified deadline"}}
	if kind == batchv1.JobComplete {
		n := p.node(node)
		n.Labels[LabelPlanPrefix+p.plan.Name], n.Spec.Unschedulable = planHash, false
	} else {
		p.condition(ConditionComplete, "False", "JobFailed", "Job failed on Node "+node)
	}
	return p.look()
}

func (p *play) moves(node string) *play {
	p.node(node).Status.NodeInfo.KubeletVersion = "v1.35.8+k3s1"
	return p.look()
}

func (p *play) complete() *play { return p.condition(ConditionComplete, "True", "Complete", "").look() }

func (p *play) want(outcome Outcome, because string, events ...string) {
	p.t.Helper()
	if diff := cmp.Diff(events, p.events); diff != "" {
		p.t.Errorf("events (-want +got):\n%s", diff)
	}
	switch {
	case p.result == nil && outcome != "":
		p.t.Errorf("it goes on, want %s", outcome)
	case p.result != nil && (p.result.Outcome != outcome || !strings.Contains(p.result.Because, because)):
		p.t.Errorf("%s because %q, want %s because %q", p.result.Outcome, p.result.Because, outcome, because)
	}
}

func TestWatchTellsEveryStepOnce(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "srv-1").look().ready().job("srv-1").
		container("srv-1", "prepare", 0).container("srv-1", "cordon", 0).container("srv-1", "upgrade", 0).look().
		jobEnds("srv-1", batchv1.JobComplete).look().wait(10 * time.Second).moves("srv-1").complete()
	p.want(Done, "", "validated", "resolved", "job-started srv-1", "prepared srv-1", "cordoned srv-1", "upgraded srv-1", "node-done srv-1", "complete")
	if len(p.result.LeftCordoned) > 0 || len(p.result.Commands) > 0 {
		t.Errorf("%+v", p.result)
	}
}

func TestWatchBelievesTheKubelet(t *testing.T) {
	t.Parallel()
	t.Run("the Job ended well without a restart", func(t *testing.T) {
		p := newPlay(t, "srv-1").ready().job("srv-1").container("srv-1", "upgrade", 0).jobEnds("srv-1", batchv1.JobComplete).complete()
		p.want("", "", "validated", "resolved", "job-started srv-1", "upgraded srv-1")
		p.wait(time.Minute).want(Stuck, "node srv-1 reports v1.34.11+k3s1", "validated", "resolved", "job-started srv-1", "upgraded srv-1", "stuck")
	})
	t.Run("the Job failed although the node moved", func(t *testing.T) {
		newPlay(t, "srv-1").ready().job("srv-1").container("srv-1", "cordon", 0).jobEnds("srv-1", batchv1.JobFailed).wait(30*time.Second).moves("srv-1").
			want(Done, "", "validated", "resolved", "job-started srv-1", "cordoned srv-1", "node-done srv-1", "complete")
	})
	t.Run("the node has the version while its Job still runs", func(t *testing.T) {
		newPlay(t, "srv-1").ready().job("srv-1").moves("srv-1").wait(time.Hour).
			want("", "", "validated", "resolved", "job-started srv-1")
	})
	t.Run("the controller has not uncordoned the node yet", func(t *testing.T) {
		p := newPlay(t, "srv-1").look().ready().job("srv-1").container("srv-1", "cordon", 0).moves("srv-1")
		p.jobs[0] = p.jobs[0].DeepCopy()
		p.jobs[0].Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True"}}
		p.look().want("", "", "validated", "resolved", "job-started srv-1", "cordoned srv-1")
		p.node("srv-1").Spec.Unschedulable = false
		p.look().want(Done, "", "validated", "resolved", "job-started srv-1", "cordoned srv-1", "node-done srv-1", "complete")
		if len(p.result.LeftCordoned) > 0 {
			t.Errorf("%+v", p.result)
		}
	})
	t.Run("the node has the version and is not Ready", func(t *testing.T) {
		p := newPlay(t, "srv-1").ready().job("srv-1").container("srv-1", "upgrade", 0).jobEnds("srv-1", batchv1.JobComplete)
		p.node("srv-1").Status.Conditions[0].Status = corev1.ConditionFalse
		p.moves("srv-1").complete().wait(time.Minute)
		p.want(Stuck, "node srv-1 is not Ready", "validated", "resolved", "job-started srv-1", "upgraded srv-1", "stuck")
	})
}

func TestWatchSaysWhatToDoAfterAFailure(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "srv-1", "srv-2", "old")
	p.node("old").Spec.Unschedulable = true // by a person, before
	p.look().ready().job("srv-1").container("srv-1", "cordon", 0).container("srv-1", "upgrade", 1).jobEnds("srv-1", batchv1.JobFailed)
	if p.result != nil {
		t.Fatal("it gave the node no time to come back")
	}
	p.wait(time.Minute).want(Failed, "srv-1", "validated", "resolved", "job-started srv-1", "cordoned srv-1",
		"failed srv-1 "+JobName("k3s-server", "srv-1", planHash)+"-x/upgrade", "failed srv-1")
	golden.Check(t, "watch/failed.golden", []byte(p.result.String()))
	want := []string{
		"kubectl uncordon srv-1",
		"kubectl -n system-upgrade delete job " + JobName("k3s-server", "srv-1", planHash),
		`kubectl -n system-upgrade patch plan k3s-server --type merge -p '{"spec":{"jobActiveDeadlineSecs":960}}'`,
	}
	if diff := cmp.Diff(want, p.result.Commands); diff != "" {
		t.Error(diff)
	}
}

func TestWatchWaitsForTheOthersAfterAFailure(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "srv-1", "srv-2").ready().job("srv-1").job("srv-2").jobEnds("srv-1", batchv1.JobFailed).wait(time.Minute)
	if p.result != nil {
		t.Fatalf("srv-2 is still at work: %+v", p.result)
	}
	p.moves("srv-2").jobEnds("srv-2", batchv1.JobComplete)
	p.want(Failed, "srv-1", "validated", "resolved", "job-started srv-1", "job-started srv-2", "failed srv-1", "node-done srv-2")
}

func TestWatchKnowsWhenNothingWillHappen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		play    func(t *testing.T) *play
		because string
	}{
		"no controller": {func(t *testing.T) *play { return newPlay(t, "a").look().wait(time.Minute) }, "does not react"},
		"another Plan stopped the controller": {func(t *testing.T) *play {
			p := newPlay(t, "a")
			p.undecodable = "poison"
			return p.look().wait(15 * time.Second)
		}, "Plan poison cannot be decoded"},
		"invalid": {func(t *testing.T) *play {
			p := newPlay(t, "a").condition(ConditionValidated, "False", "Error", "spec.postCompleteDelay is negative").look()
			return p.wait(15 * time.Second)
		}, "postCompleteDelay is negative"},
		"no version": {func(t *testing.T) *play {
			return newPlay(t, "a").condition(ConditionResolved, "False", "Error", "missing channel and version").look().wait(15 * time.Second)
		}, "missing channel and version"},
		"a channel that does not answer": {func(t *testing.T) *play {
			return newPlay(t, "a").condition(ConditionResolved, "Unknown", "", "").look().wait(time.Minute)
		}, "does not answer"},
		"a selector that is none": {func(t *testing.T) *play {
			return newPlay(t, "a").ready().condition(ConditionComplete, "False", "SelectNodesFailed", "bad operator").look().wait(15 * time.Second)
		}, "bad operator"},
		"an edit that nobody sees": {func(t *testing.T) *play {
			p := newPlay(t, "a").ready()
			p.plan = p.plan.DeepCopy()
			p.plan.Spec.Version = "v1.35.9+k3s1"
			return p.look().wait(time.Minute)
		}, "does not react to the new version"},
		"no node": {func(t *testing.T) *play { return newPlay(t).ready().complete().wait(time.Minute) }, "selects no node"},
		"no Job":  {func(t *testing.T) *play { return newPlay(t, "a").ready().wait(time.Minute) }, "No Job is made"},
		"no Pod": {func(t *testing.T) *play {
			p := newPlay(t, "a").ready().job("a")
			p.pods = nil
			return p.look().wait(5 * time.Minute)
		}, "makes no Pod"},
		"a Pod that fits nowhere": {func(t *testing.T) *play {
			p := newPlay(t, "a").ready().job("a")
			p.pods[0].Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: "False", Message: "1 node had untolerated taint"}}}
			return p.look().wait(5 * time.Minute)
		}, "untolerated taint"},
		"an image that is not there": {func(t *testing.T) *play {
			p := newPlay(t, "a").ready().job("a")
			p.pods[0].Status = corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{{Name: "prepare", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "not found"}}}}}
			return p.look().wait(5 * time.Minute)
		}, "ImagePullBackOff"},
		"a window without days": {func(t *testing.T) *play {
			p := newPlay(t, "a").ready()
			p.plan.Spec.Window = &TimeWindowSpec{StartTime: "02:00", EndTime: "03:00"}
			return p.condition(ConditionComplete, "False", "Waiting", "").look()
		}, "never opens"},
		"failed before, and the Job is gone": {func(t *testing.T) *play {
			p := newPlay(t, "a").ready().condition(ConditionComplete, "False", "JobFailed", "Job x failed on Node a").look().wait(time.Minute)
			if p.result != nil && p.result.Outcome == Failed {
				p.result.Outcome = Stuck // the outcome differs, the reason is what is compared here
			}
			return p
		}, "Job x failed"},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.play(t)
			if p.result == nil || p.result.Outcome != Stuck || !strings.Contains(strings.ToLower(p.result.Because), strings.ToLower(c.because)) {
				t.Errorf("%+v; events %v", p.result, p.events)
			}
		})
	}
}

func TestWatchStartsTheClockAnew(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "a").ready().wait(50 * time.Second).job("a")
	p.jobs, p.pods = nil, nil // a new version: the old Job was deleted
	p.condition(ConditionComplete, "False", "Resolved", "").look().wait(50 * time.Second)
	if p.result != nil {
		t.Errorf("the time before the first Job was counted too: %+v", p.result)
	}
	p.wait(10 * time.Second)
	if p.result == nil {
		t.Error("no Job for a minute, and it goes on")
	}
}

func TestWatchWaitsForTheWindow(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "a").ready()
	p.plan.Spec.Window = &TimeWindowSpec{Days: []Day{"sa"}, StartTime: "02:00", EndTime: "03:00"}
	p.condition(ConditionComplete, "False", "Waiting", "").look().wait(3 * time.Hour)
	p.want("", "", "validated", "resolved", "waiting")
}

func TestWatchOfPlansThatNoKubeletReports(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "a")
	p.plan.Spec.Version = "2026.11"
	p.ready()
	p.plan.Status.LatestVersion = "2026.11"
	p.job("a")
	p.jobs[0].Labels[LabelVersion] = "2026.11"
	p.look().jobEnds("a", batchv1.JobComplete)
	p.want(Done, "", "validated", "resolved", "job-started a", "node-done a", "complete")
}
