package suc

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// judgeNodes looks at the selected nodes one by one.
func (s *subject) judgeNodes(l *linter) {
	s.judgeTolerations()
	short := map[string]string{}
	for _, n := range s.nodes {
		if h := n.Labels[corev1.LabelHostname]; h != n.Name {
			s.add("hostname-label", spec("nodeSelector"), fmt.Sprintf("selects node %s, whose label %s is %s: its unfinished Job is deleted again and again, and the Plan never gets past the node", n.Name, corev1.LabelHostname, quote(h)),
				"make the label the node's name")
		}
		if len(n.Name) > validation.LabelValueMaxLength {
			s.add("node-name", spec("nodeSelector"), fmt.Sprintf("selects node %s, whose name has more than the 63 characters of a label value: no Job can be made", n.Name), "")
		}
		first, _, _ := strings.Cut(n.Name, ".")
		if other, ok := short[first]; ok {
			s.add("node-name", spec("nodeSelector"), fmt.Sprintf("selects nodes %s and %s, whose names are the same up to the first dot: both Jobs get the same name", other, n.Name), "")
		}
		short[first] = n.Name
		if n.Labels[corev1.LabelOSStable] == "windows" {
			s.add("windows-node", spec("nodeSelector"), fmt.Sprintf("selects the Windows node %s, which needs SYSTEM_UPGRADE_JOB_KUBECTL_IMAGE_WINDOWS in the controller's environment and an image for Windows", n.Name), "")
		}
	}
	s.judgeTaints()
	s.judgeCordoned()
	s.judgeQuorum(l)
}

// judgeCordoned: the controller does not remember who cordoned a node.
func (s *subject) judgeCordoned() {
	if !s.plan.Spec.Cordon && s.plan.Spec.Drain == nil {
		return
	}
	var names []string
	for _, n := range s.nodes {
		if n.Unschedulable && !s.done(n) {
			names = append(names, n.Name)
		}
	}
	if len(names) > 0 {
		s.add("cordoned-before", spec("nodeSelector"), fmt.Sprintf("selects %s, cordoned already: the controller uncordons a node when its Job is done, whoever cordoned it", strings.Join(names, ", ")),
			fmt.Sprintf("keep such a node out with its label %s%s=disabled, or uncordon it first", LabelPlanPrefix, s.plan.Name))
	}
}

// transient taints come and go with a node's health.
func transient(t corev1.Taint) bool {
	switch t.Key {
	case corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeMemoryPressure, corev1.TaintNodeDiskPressure,
		corev1.TaintNodePIDPressure, corev1.TaintNodeNetworkUnavailable, corev1.TaintNodeOutOfService,
		"node.cloudprovider.kubernetes.io/uninitialized":
		return true
	}
	return false
}

// tolerates is the scheduler's rule:
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	switch t.Operator {
	case "", corev1.TolerationOpEqual:
		return t.Key != "" && t.Value == taint.Value
	case corev1.TolerationOpExists:
		return true
	}
	return false
}

// untolerated gives the taints of a node that keep the Plan's Pod off it.
func untolerated(p *Plan, n *Node) []corev1.Taint {
	var out []corev1.Taint
next:
	for _, taint := range n.Taints {
		if taint.Effect != corev1.TaintEffectNoSchedule && taint.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		if taint.Key == corev1.TaintNodeUnschedulable && taint.Effect == corev1.TaintEffectNoSchedule {
			continue
		}
		for _, t := range p.Spec.Tolerations {
			if tolerates(t, taint) {
				continue next
			}
		}
		out = append(out, taint)
	}
	return out
}

func (s *subject) judgeTaints() {
	said := map[string]bool{}
	for _, n := range s.nodes {
		for _, taint := range untolerated(s.plan, n) {
			text := taintText(taint)
			if transient(taint) || said[text] {
				continue
			}
			said[text] = true
			s.add("toleration", spec("tolerations"), fmt.Sprintf("do not cover the taint %s of node %s: the Job's Pod stays Pending until its deadline, and the Plan stops", text, n.Name),
				fmt.Sprintf("- {key: %s, operator: Exists, effect: %s}", taint.Key, taint.Effect))
		}
	}
}

func taintText(t corev1.Taint) string {
	if t.Value == "" {
		return fmt.Sprintf("%s:%s", t.Key, t.Effect)
	}
	return fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect)
}

// judgeTolerations finds what the API server refuses in a Pod.
func (s *subject) judgeTolerations() {
	for i, t := range s.plan.Spec.Tolerations {
		at := spec("tolerations", i)
		say := func(field, message, fix string) {
			p := at
			if field != "" {
				p = at.at(field)
			}
			s.add("bad-toleration", p, message+": the API server refuses the Job", fix)
		}
		operators := []string{"Exists", "Equal"}
		switch op := string(t.Operator); {
		case op != "" && op != "Exists" && op != "Equal" && op != "Lt" && op != "Gt":
			fix := "use Exists or Equal"
			if near := nearest(op, operators); near != "" {
				fix = "did you mean " + near + "?"
			}
			say("operator", quote(op)+" is no operator of a toleration", fix)
		case op == "Exists" && t.Value != "":
			say("value", "must be left out with operator Exists", "use operator Equal, or leave the value out")
		case t.Key == "" && op != "Exists":
			say("operator", "must be Exists where there is no key", "")
		case t.Key != "" && len(validation.IsQualifiedName(t.Key)) > 0:
			say("key", quote(t.Key)+" is no taint key", "")
		}
		effects := []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}
		if e := string(t.Effect); e != "" && e != effects[0] && e != effects[1] && e != effects[2] {
			fix := "use NoSchedule, PreferNoSchedule or NoExecute"
			if near := nearest(e, effects); near != "" {
				fix = "did you mean " + near + "?"
			}
			say("effect", quote(e)+" is no effect of a taint", fix)
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			say("tolerationSeconds", "goes with effect NoExecute only", "")
		}
	}
}

// judgeQuorum counts the servers that are down at once.
func (s *subject) judgeQuorum(l *linter) {
	at := spec("concurrency")
	var selected, all, members int64
	for _, n := range s.nodes {
		if n.server() {
			selected++
		}
	}
	if servers, ok := l.facts.servers(); ok {
		all = int64(len(servers))
		for _, n := range servers {
			if _, ok := n.Labels[etcdLabel]; ok {
				members++
			}
		}
	}
	atOnce := min(s.plan.Spec.Concurrency, selected)
	if atOnce < 2 || s.family == "" {
		return
	}
	if members == 0 {
		members = all
	}
	etcd, known := l.facts.etcd()
	switch {
	case known && etcd && atOnce > (members-1)/2:
		s.add("concurrency-quorum", at, fmt.Sprintf("takes %d of %d etcd members at once, and the cluster lives with %d missing", atOnce, members, (members-1)/2), "concurrency: 1")
	case atOnce >= all:
		s.add("concurrency-quorum", at, fmt.Sprintf("takes all %d servers at once: no API server is left meanwhile", all), "concurrency: 1")
	}
}
