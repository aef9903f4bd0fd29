package suc

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// shippedDeadline is what the controller's own manifest sets; the binary's
// default is 600.
const shippedDeadline = 900

// deadline is how long one node's Job may run; ok is false when it has no end.
// assumed: the controller's default is not known, and the shipped one is taken.
func (p *Plan) deadline(facts *Facts) (d time.Duration, ok, assumed bool) {
	if s := p.Spec.JobActiveDeadlineSecs; s != nil && *s >= 0 {
		return time.Duration(*s) * time.Second, *s > 0, false
	}
	if facts != nil && facts.SUC != nil && facts.SUC.JobDeadlineSeconds != nil {
		s := *facts.SUC.JobDeadlineSeconds
		return time.Duration(s) * time.Second, s > 0, false
	}
	return shippedDeadline * time.Second, true, true
}

func (s *subject) judgeDrain(l *linter) {
	d, at := s.plan.Spec.Drain, spec("drain")
	if d == nil {
		return
	}
	if sp, _ := s.doc.value["spec"].(map[string]any); s.plan.Spec.Cordon {
		s.add("cordon-and-drain", spec("cordon"), "has no effect, since drain is set and cordons too", "leave cordon out")
	} else if sp["cordon"] == false {
		s.add("cordon-and-drain", spec("cordon"), "is false, and drain cordons the node all the same", "leave cordon out, or leave drain out")
	}
	if d.DeleteLocalData != nil && d.DeleteEmptydirData != nil {
		s.add("drain-conflict", at.at("deleteLocalData"), "and deleteEmptydirData exclude each other, whatever their values: the Plan is invalid and no Job is made", "keep deleteEmptydirData")
	}
	if !d.Force {
		s.add("drain-force", at, "has no force: a Pod that no controller owns stops the drain, and the Job fails with the node cordoned", "force: true; such Pods are then deleted and not made again")
	}
	if p, fault, fix := badExpression(d.PodSelector); p != nil {
		s.add("drain-podselector", slices.Concat(at.at("podSelector"), p), fault+": the Plan is invalid and no Job is made", fix)
	}
	if d.Timeout != nil {
		s.judgeTimeout(l.facts, *d.Timeout, at.at("timeout"))
	}
}

func (s *subject) judgeTimeout(facts *Facts, t intstr.IntOrString, at path) {
	if t.Type == intstr.Int {
		switch ns := time.Duration(t.IntVal); {
		case ns < 0:
			s.add("drain-timeout", at, fmt.Sprintf("%d is negative", t.IntVal), "write it as text with a unit, such as \"5m\"")
		case ns > 0:
			s.add("drain-timeout-ns", at, fmt.Sprintf("%d counts nanoseconds: the drain gives up after %s", t.IntVal, ns), fmt.Sprintf("write it as text with a unit, such as %q", time.Duration(t.IntVal)*time.Second))
		}
		return
	}
	d, err := time.ParseDuration(t.StrVal)
	switch {
	case err != nil:
		s.add("drain-timeout", at, fmt.Sprintf("%s is no duration: kubectl refuses its arguments, and the Job fails", quote(t.StrVal)), "write a number with a unit for each part: 300s, 5m, 1h30m")
		return
	case d < 0:
		s.add("drain-timeout", at, fmt.Sprintf("%s is negative", t.StrVal), "write a positive duration, such as \"5m\"")
		return
	case d > 0 && d < time.Second:
		s.add("drain-timeout-ns", at, fmt.Sprintf("is %s: the drain gives up at once", t.StrVal), "write a duration such as \"5m\"")
		return
	}
	deadline, ends, assumed := s.plan.deadline(facts)
	if ends && d >= deadline {
		whose := "the Job's deadline"
		if assumed {
			whose = "the deadline of the shipped controller"
		}
		s.add("drain-over-deadline", at, fmt.Sprintf("is %s, and %s is %s: the Job can end in the middle of the drain, with the node cordoned", t.StrVal, whose, deadline),
			"raise jobActiveDeadlineSecs above the drain and the upgrade together")
	}
}
