package suc

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// conditions tells what the Plan's status says; the text is what makes it
// stuck.
func (w *watchState) conditions(s *seen) string {
	p := s.plan
	silent := len(p.Status.Conditions) == 0
	if w.holds("undecodable", silent && s.undecodable != "", w.opts.Settle/4) {
		return fmt.Sprintf("Plan %s cannot be decoded, and so the controller reads no Plan at all", s.undecodable)
	}
	if w.holds("silent", silent, w.opts.Settle) {
		return "the controller does not react: it is not running, or watches another namespace than " + p.Namespace
	}
	if silent {
		return ""
	}
	if w.holds("old", p.Status.LatestVersion != "" && stale(p), w.opts.Settle) {
		return "the controller does not react to the new version: it is not running, or cannot decode some Plan"
	}
	valid, resolved := condition(p, ConditionValidated), condition(p, ConditionResolved)
	if valid.Status == corev1.ConditionTrue {
		w.tell("validated", Event{Type: EventValidated})
	}
	if w.holds("invalid", valid.Status == corev1.ConditionFalse, w.opts.Settle/4) {
		return "the Plan is invalid: " + valid.Message
	}
	if resolved.Status == corev1.ConditionTrue && !stale(p) {
		w.tell("resolved "+p.Status.LatestVersion, Event{Type: EventResolved, Message: p.Status.LatestVersion})
	}
	if w.holds("unresolved", resolved.Status == corev1.ConditionFalse, w.opts.Settle/4) {
		return "no version is resolved: " + resolved.Message
	}
	if w.holds("resolving", resolved.Status != corev1.ConditionTrue && valid.Status != corev1.ConditionFalse, w.opts.Settle) {
		return "no version is resolved: the channel " + p.Spec.Channel + " does not answer with one"
	}
	c := condition(p, ConditionComplete)
	switch c.Reason {
	case "Waiting":
		e := Event{Type: EventWaiting, Message: "for the window"}
		if p.Spec.Window != nil {
			next, err := p.Spec.Window.Next(w.now)
			if err == nil && next == nil {
				return "the window never opens: it has no days"
			}
			if err == nil {
				e.Message = fmt.Sprintf("for the window, which opens %s", next.Start.Format("Mon 2006-01-02 15:04 MST"))
			}
		}
		w.tell("waiting "+e.Message, e)
	}
	if w.holds("no nodes", c.Reason == "SelectNodesFailed" || c.Reason == "ValidationFailed", w.opts.Settle/4) {
		return fmt.Sprintf("no Job is made (%s): %s", c.Reason, c.Message)
	}
	// Jobs follow a resolved version at once; a Job that the API server refuses
	// shows in the controller's log only.
	if w.holds("no Job", c.Reason == "Resolved" && c.Status == corev1.ConditionFalse && len(s.jobs) == 0, w.opts.Settle) {
		return "no Job is made, and the controller's log says why: usually a label or a volume that the API server refuses"
	}
	return ""
}

// pods looks for Pods that wait for what does not come; the text is what makes
// the Plan stuck.
func (w *watchState) pods(s *seen) string {
	for _, p := range s.pods {
		if p.Status.Phase != corev1.PodPending || p.DeletionTimestamp != nil {
			continue
		}
		node := p.Labels[LabelNode]
		why := ""
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				why = "its Pod cannot be scheduled: " + c.Message
			}
		}
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			if wait := c.State.Waiting; wait != nil {
				switch wait.Reason {
				case "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError":
					why = fmt.Sprintf("container %s waits (%s): %s", c.Name, wait.Reason, strings.TrimSpace(or(wait.Message, c.Image)))
				}
			}
		}
		key := "pod " + string(p.UID)
		if why == "" {
			delete(w.since, key)
			continue
		}
		w.tell(key+why, Event{Type: EventStuck, Node: node, Message: why})
		if w.lasts(key, w.opts.StuckAfter) {
			return "node " + node + ": " + why
		}
	}
	for _, j := range s.jobs {
		has := slices.ContainsFunc(s.pods, func(p *corev1.Pod) bool { return p.Labels[batchv1.JobNameLabel] == j.Name })
		ended := slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Status == corev1.ConditionTrue })
		key := "podless " + string(j.UID)
		if has || ended || j.Spec.Parallelism != nil && *j.Spec.Parallelism == 0 {
			delete(w.since, key)
		} else if w.lasts(key, w.opts.StuckAfter) {
			return fmt.Sprintf("node %s: Job %s makes no Pod: the service account may be missing, or Pod security forbids privileged Pods (kubectl -n %s describe job %s)", j.Labels[LabelNode], j.Name, j.Namespace, j.Name)
		}
	}
	return ""
}
