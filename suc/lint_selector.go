package suc

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/k3sladder/k3sladder/skew"
)

func (s *subject) judgeSelector(l *linter) {
	sel, at := s.plan.Spec.NodeSelector, spec("nodeSelector")
	if s.plan.Spec.Concurrency <= 0 {
		message := "is absent, so 0"
		if s.plan.Spec.Concurrency < 0 {
			message = fmt.Sprintf("is %d", s.plan.Spec.Concurrency)
		} else if sp, _ := s.doc.value["spec"].(map[string]any); sp["concurrency"] != nil {
			message = "is 0"
		}
		s.add("concurrency-zero", spec("concurrency"), message+": no node is ever taken, and the Plan says Complete", "concurrency: 1")
	}
	if sel == nil {
		s.add("no-selector", at, "is absent, and selects no node: the Plan says Complete at once", "select servers with "+ControlPlaneLabel+" In [\"true\"]")
		return
	}
	if p, fault, fix := badExpression(sel); p != nil {
		s.add("bad-selector", slices.Concat(at, p), fault+": no node can be selected, and the controller tries for ever", fix)
		return
	}
	if len(s.demands) == 0 {
		if s.family != "" {
			s.add("empty-selector", at, "is empty and selects every node, servers and agents", "select servers with "+ControlPlaneLabel+" In [\"true\"]")
		}
		return
	}
	placed := false
	for _, k := range slices.Sorted(maps.Keys(s.demands)) {
		for _, v := range append([]string{k}, s.demands[k].in...) {
			if placeholder(v) {
				s.add("placeholder", s.demandPath(k), quote(v)+" is a placeholder that nothing filled in", "render the file before it is applied")
				placed = true
			}
		}
	}
	if placed || s.judgeContradictions(l) || s.judgeMaster(l) {
		return
	}
	if s.nodesKnown && len(s.nodes) == 0 && len(l.facts.Nodes) > 0 {
		if why, fix := s.whyNone(l.facts); why != "" {
			s.add("selector-matches-nothing", at, why+": the Plan says Complete although nothing was done", fix)
		}
	}
	s.judgeRoles()
}

// demandPath leads to what the selector says about a label.
func (s *subject) demandPath(key string) path {
	sel := s.plan.Spec.NodeSelector
	if _, ok := sel.MatchLabels[key]; ok {
		return spec("nodeSelector", "matchLabels", key)
	}
	for i, r := range sel.MatchExpressions {
		if r.Key == key {
			return spec("nodeSelector", "matchExpressions", i)
		}
	}
	return spec("nodeSelector")
}

// judgeContradictions finds demands that no node of any cluster, or of this
// kind of cluster, can fulfil.
func (s *subject) judgeContradictions(l *linter) bool {
	const nothing = ": no node fits, and the Plan says Complete although nothing was done"
	for _, k := range slices.Sorted(maps.Keys(s.demands)) {
		d := s.demands[k]
		say := func(why, fix string) bool {
			s.add("selector-matches-nothing", s.demandPath(k), why+nothing, fix)
			return true
		}
		if why := d.contradiction(); why != "" {
			return say("label "+k+" "+why, "")
		}
		if k == corev1.LabelHostname && d.absent {
			return say("the controller takes only nodes that have a label "+k, "")
		}
		if k == LabelPlanPrefix+s.plan.Name && len(d.in) == 1 && d.in[0] == "disabled" {
			return say("the value disabled excludes a node from the Plan for good", "")
		}
		if len(s.nodes) > 0 || s.family == "" || s.family == "k3os" {
			continue
		}
		isRole := k == ControlPlaneLabel || k == etcdLabel || k == masterLabel
		switch {
		case isRole && d.in != nil && !slices.Contains(d.in, "true"):
			return say(fmt.Sprintf("servers carry %s with the value true, not %s", k, quote(strings.Join(d.in, ", "))), `values: ["true"]`)
		case k == "node-role.kubernetes.io/controlplane" && d.present:
			return say("only RKE1 set the label "+k, "the label is "+ControlPlaneLabel)
		case k == etcdLabel && d.present && l.facts != nil && l.facts.Datastore != "" && l.facts.Datastore != "etcd":
			return say(fmt.Sprintf("servers carry %s only with the embedded etcd, and this cluster keeps its state in %s", k, l.facts.Datastore), "leave this requirement out")
		}
	}
	return false
}

// masterGone is the first minor whose servers have no master label.
var masterGone = skew.Minor{Major: 1, Minor: 34}

// judgeMaster looks at the label that k3s dropped. It reports whether what
// follows from it was said.
func (s *subject) judgeMaster(l *linter) bool {
	d := s.demands[masterLabel]
	if d == nil {
		return false
	}
	wantsIt := d.present
	if !wantsIt && (!d.excludes("true") || s.demands[ControlPlaneLabel].excludes("true") || s.demands[ControlPlaneLabel] != nil && s.demands[ControlPlaneLabel].present) {
		return false // servers are kept out, or meant, by the label that is there
	}
	effect := "servers are no longer told from agents"
	if wantsIt {
		effect = "no server is selected, and the Plan says Complete although nothing was done"
	}
	fix := "use " + ControlPlaneLabel + ", which servers have had since v1.20"
	gone := false
	switch version, known := l.clusterMinor(); {
	case s.nodesKnown && wantsIt:
		gone = !slices.ContainsFunc(l.facts.Nodes, func(n Node) bool { _, ok := n.Labels[masterLabel]; return ok })
	case s.nodesKnown:
		gone = slices.ContainsFunc(s.nodes, (*Node).server)
	case known:
		gone = version.Compare(masterGone) >= 0
	case !s.target.IsZero():
		gone = s.target.Minor().Compare(masterGone) > 0 // it comes from there
	}
	if gone {
		s.add("removed-label", s.demandPath(masterLabel), masterLabel+" is gone since v1.34: "+effect, fix)
		return true
	}
	s.addAs(Warning, "removed-label", s.demandPath(masterLabel), "works as long as servers carry "+masterLabel+", which k3s removed in v1.34; from then on "+effect, fix)
	return false
}

func (l *linter) clusterMinor() (skew.Minor, bool) {
	if l.facts == nil || l.facts.ServerVersion == "" {
		return skew.Minor{}, false
	}
	v, err := skew.Parse(l.facts.ServerVersion)
	return v.Minor(), err == nil
}

// system reports whether a label is set by Kubernetes or k3s themselves.
// Labels of other owners are often how a node is let into a Plan later on.
func system(key string) bool {
	for _, p := range []string{"node-role.kubernetes.io/", "kubernetes.io/", "node.kubernetes.io/", "beta.kubernetes.io/", "topology.kubernetes.io/"} {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}

// whyNone says what keeps every node out; "" when all that is missing is a
// label that somebody may mean to put on a node later. fix may be empty.
func (s *subject) whyNone(facts *Facts) (why, fix string) {
	fits := func(n *Node, k string) bool {
		d, v, has := s.demands[k], "", false
		v, has = n.Labels[k]
		if !has {
			return !d.present
		}
		return !d.excludes(v)
	}
	keys := slices.Sorted(maps.Keys(s.demands))
	for _, k := range keys {
		if slices.ContainsFunc(facts.Nodes, func(n Node) bool { return fits(&n, k) }) {
			continue
		}
		values, labels := map[string]bool{}, map[string]bool{}
		for _, n := range facts.Nodes {
			if v, ok := n.Labels[k]; ok {
				values[v] = true
			}
			for l := range n.Labels {
				labels[l] = true
			}
		}
		if !s.demands[k].present {
			if k == ControlPlaneLabel {
				fix = "leave the Plan out as long as every node is a server (plan next --no-agents)"
			}
			return fmt.Sprintf("every node of the cluster has label %s (%s), which it excludes", k, quoted(values)), fix
		}
		if len(values) > 0 {
			return fmt.Sprintf("no node of the cluster has label %s as demanded (its values there: %s)", k, quoted(values)), ""
		}
		if near := nearest(k, slices.Sorted(maps.Keys(labels))); near != "" && distance(k, near, 2) <= 2 {
			return fmt.Sprintf("no node of the cluster has label %s, and there is %s", k, near), ""
		}
		if system(k) {
			return "no node of the cluster has label " + k, ""
		}
		return "", ""
	}
	for _, n := range facts.Nodes {
		if slices.ContainsFunc(keys, func(k string) bool { return !fits(&n, k) }) {
			continue
		}
		if n.Labels[LabelPlanPrefix+s.plan.Name] == "disabled" {
			return "every node that fits is excluded by its label " + LabelPlanPrefix + s.plan.Name + "=disabled", ""
		}
		return "the nodes that fit have no label " + corev1.LabelHostname + ", which the controller demands", ""
	}
	return "no node of the cluster fits all of the selector", ""
}

func quoted(set map[string]bool) string {
	var out []string
	for _, v := range slices.Sorted(maps.Keys(set)) {
		out = append(out, quote(v))
	}
	return strings.Join(out, ", ")
}

// judgeRoles looks at what kinds of nodes are taken together.
func (s *subject) judgeRoles() {
	if s.family == "" || s.family == "k3os" {
		return
	}
	var servers, agents []string
	for _, n := range s.nodes {
		switch {
		case n.controlPlane():
			servers = append(servers, n.Name)
		case !n.server(): // an etcd node of its own is neither
			agents = append(agents, n.Name)
		}
	}
	switch {
	case s.waiting && len(servers) > 0:
		s.add("server-as-agent", spec("nodeSelector"), fmt.Sprintf("selects server %s, and prepare waits until every server runs the new version: it waits for itself", strings.Join(servers, ", ")),
			"keep servers out with "+ControlPlaneLabel+" DoesNotExist")
	case s.waiting && !s.nodesKnown && s.role == anyRole && s.takesServers():
		s.add("server-as-agent", spec("nodeSelector"), "lets servers in, and prepare waits until every server runs the new version: a server would wait for itself",
			"keep servers out with "+ControlPlaneLabel+" DoesNotExist")
	case s.waiting && !s.nodesKnown && s.role == serverRole:
		s.add("prepare-on-server", spec("prepare", "args"), "waits until every server runs the new version, and this Plan selects servers: it waits for itself", "only agent Plans wait for servers")
	case len(servers) > 0 && len(agents) > 0:
		s.add("mixed-roles", spec("nodeSelector"), fmt.Sprintf("selects servers (%s) and agents (%s); the order is a hash, so an agent can come before its servers", strings.Join(servers, ", "), strings.Join(agents, ", ")),
			"make one Plan for servers and one for agents that waits for it")
	}
}

// takesServers reports whether the selector asks for nothing that a server of
// any cluster would lack. What it asks of other labels nobody can know.
func (s *subject) takesServers() bool {
	for k, d := range s.demands {
		switch {
		case k == corev1.LabelOSStable && !d.excludes("linux"):
		case k == ControlPlaneLabel && !d.excludes("true"):
		case k == corev1.LabelHostname && d.in == nil && len(d.notIn) == 0:
		default:
			return false
		}
	}
	return len(s.demands) > 0
}
