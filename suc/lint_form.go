package suc

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
)

// usualNamespaces are where controllers run: upstream's manifest, Rancher and
// Harvester, k3OS.
var usualNamespaces = []string{DefaultNamespace, "cattle-system", "k3os-system"}

func (s *subject) judgeName(l *linter) {
	m := &s.plan.ObjectMeta
	at := path{"metadata", "name"}
	switch {
	case m.Name == "" && m.GenerateName == "":
		s.add("name-missing", at, "is missing: the API server refuses the Plan", "")
	case placeholder(m.Name):
		s.add("placeholder", at, quote(m.Name)+" is a placeholder that nothing filled in", "")
	case len(m.Name) > validation.LabelValueMaxLength:
		s.add("name-too-long", at, fmt.Sprintf("has %d characters; it becomes a label value, which has at most 63, so no node can be selected", len(m.Name)),
			"choose a shorter name")
	case m.Name != "":
		if faults := apivalidation.NameIsDNSSubdomain(m.Name, false); len(faults) > 0 {
			s.add("name-invalid", at, quote(m.Name)+" is no name for an object: "+faults[0], "use lower-case letters, digits, - and .")
		}
	}
	if m.Name != "" {
		for _, other := range l.byName[m.Namespace+"/"+m.Name] {
			if other != s && other.file == s.file && other.index == s.index && before(other, s) {
				s.add("duplicate-plan", at, fmt.Sprintf("is also the name of the Plan in line %d, which this one replaces without a word", other.doc.root.line()),
					"give each Plan a name of its own")
				break
			}
		}
	}
	s.judgeNamespace(l)
	for k, v := range m.Labels {
		at := path{"metadata", "labels", k}
		if faults := labelFaults(k, v); faults != "" {
			s.add("metadata-label", at, faults+": the API server refuses the Plan", "")
		}
	}
	for k := range m.Annotations {
		if faults := validation.IsQualifiedName(strings.ToLower(k)); len(faults) > 0 {
			s.add("metadata-label", path{"metadata", "annotations", k}, "is no name for an annotation: the API server refuses the Plan", "")
		}
	}
}

// before reports whether a comes first in the file they share.
func before(a, b *subject) bool {
	if a.doc.root.Node == nil || b.doc.root.Node == nil {
		return false
	}
	return a.doc.root.line() < b.doc.root.line()
}

func (s *subject) judgeNamespace(l *linter) {
	at := path{"metadata", "namespace"}
	ns := s.plan.Namespace
	var suc string
	if l.facts != nil && l.facts.SUC != nil {
		suc = l.facts.SUC.Namespace
	}
	switch {
	case placeholder(ns):
		s.add("placeholder", at, quote(ns)+" is a placeholder that nothing filled in", "")
	case suc != "" && ns == "":
		s.add("other-namespace", at, "is missing: the Plan goes into whatever namespace kubectl is on, and the controller sees only "+suc, "namespace: "+suc)
	case suc != "" && ns != suc:
		s.add("other-namespace", at, fmt.Sprintf("is %s, and the controller sees only Plans in %s: this one gets no status at all", ns, suc), "namespace: "+suc)
	case suc == "" && ns == "":
		s.addAs(Warning, "other-namespace", at, "is missing: the Plan goes into whatever namespace kubectl is on, and the controller sees only its own", "namespace: "+DefaultNamespace)
	case suc == "" && !slices.Contains(usualNamespaces, ns):
		fix := "namespace: " + DefaultNamespace
		if near := nearest(ns, usualNamespaces); near != "" {
			fix = "did you mean " + near + "?"
		}
		s.addAs(Warning, "other-namespace", at, fmt.Sprintf("is %s; the controller sees only Plans in its own namespace, usually one of %s", ns, strings.Join(usualNamespaces, ", ")), fix)
	}
}

// labelFaults says why key=value is no label, "" when it is one.
func labelFaults(key, value string) string {
	if faults := validation.IsQualifiedName(key); len(faults) > 0 {
		return quote(key) + " is no label key"
	}
	if faults := validation.IsValidLabelValue(value); len(faults) > 0 {
		if len(value) > validation.LabelValueMaxLength {
			return fmt.Sprintf("%s has %d characters, and a label value at most 63", quote(value), len(value))
		}
		return quote(value) + " is no label value: only letters, digits, -, _ and ., with a letter or digit at both ends"
	}
	return ""
}

// placeholders of the templates people use: Jinja and Helm, shells, Terraform,
// Windows, m4, angle brackets.
var placeholders = regexp.MustCompile(`\{\{|\}\}|\$\{|\$\(|\$[A-Za-z_]|<%|%>|\[\[|\]\]|<[A-Za-z][A-Za-z0-9_. -]*>|%[A-Z][A-Z0-9_]*%|__[A-Z][A-Z0-9_]*__|@[A-Z][A-Z0-9_]*@|\{[A-Za-z_][A-Za-z0-9_]*\}`)

func placeholder(s string) bool {
	return strings.ContainsAny(s, "{}$<%[@_") && placeholders.MatchString(s)
}

// judgeNulls looks for fields that were begun and got no value.
func (s *subject) judgeNulls() {
	spec, _ := s.doc.value["spec"].(map[string]any)
	for _, f := range []struct{ field, means string }{
		{"drain", "nothing is drained"},
		{"window", "work may start at any time"},
		{"prepare", "there is no prepare step"},
		{"cordon", "the node is not cordoned"},
		{"exclusive", "the Plan is not exclusive"},
		{"secrets", "no Secret is mounted"},
		{"tolerations", "no taint is tolerated"},
		{"postCompleteDelay", "there is no delay"},
		{"jobActiveDeadlineSecs", "the controller's default counts"},
	} {
		if v, there := spec[f.field]; there && v == nil {
			fix := "leave the field out, or give it a value"
			if f.field == "drain" {
				fix = "write drain: {force: true} to drain, or leave the field out"
			}
			s.add("null-field", path{"spec", f.field}, "has no value, so "+f.means, fix)
		}
	}
}

// since says with which release of the controller a field came
// (https://github.com/rancher/system-upgrade-controller, types.go at each tag).
var since = []struct {
	path    string
	release *semver.Version
	means   string
}{
	{"tolerations", semver.New(0, 5, 0, "", ""), "no taint is tolerated"},
	{"drain.disableEviction", semver.New(0, 6, 0, "", ""), "Pods are evicted"},
	{"drain.skipWaitForDeleteTimeout", semver.New(0, 6, 0, "", ""), "the drain waits"},
	{"upgrade.envs", semver.New(0, 7, 0, "", ""), "no variable is set"},
	{"upgrade.envFrom", semver.New(0, 7, 0, "", ""), "no variable is set"},
	{"prepare.envs", semver.New(0, 7, 0, "", ""), "no variable is set"},
	{"prepare.envFrom", semver.New(0, 7, 0, "", ""), "no variable is set"},
	{"upgrade.volumes", semver.New(0, 10, 0, "", ""), "nothing is mounted"},
	{"drain.deleteEmptydirData", semver.New(0, 11, 0, "", ""), "the default counts"},
	{"drain.podSelector", semver.New(0, 11, 0, "", ""), "all Pods are drained"},
	{"jobActiveDeadlineSecs", semver.New(0, 12, 0, "", ""), "the controller's default counts"},
	{"exclusive", semver.New(0, 13, 2, "", ""), "other Plans run at the same time"},
	{"imagePullSecrets", semver.New(0, 13, 2, "", ""), "images are pulled without credentials"},
	{"upgrade.securityContext", semver.New(0, 13, 2, "", ""), "the container is privileged"},
	{"window", semver.New(0, 15, 0, "", ""), "work starts at any time"},
	{"postCompleteDelay", semver.New(0, 15, 0, "", ""), "there is no delay"},
	{"priorityClassName", semver.New(0, 16, 1, "", ""), "the Pods have no priority"},
	{"postCompleteLabels", semver.New(0, 19, 2, "", ""), "no label is set"},
}

var textTimeouts = semver.New(0, 16, 3, "", "")

// judgeAge compares the Plan with the controller's release.
func (s *subject) judgeAge(facts *Facts) {
	if facts == nil || facts.SUC == nil || facts.SUC.Version == "" || s.doc.value == nil {
		return
	}
	v, err := semver.NewVersion(facts.SUC.Version)
	if err != nil {
		return
	}
	sp, _ := s.doc.value["spec"].(map[string]any)
	for _, f := range since {
		if !v.LessThan(f.release) {
			continue
		}
		at, ok := path{"spec"}, true
		var value any = sp
		for _, key := range strings.Split(f.path, ".") {
			m, _ := value.(map[string]any)
			value, at = m[key], at.at(key)
			ok = ok && value != nil
		}
		if ok && value != false {
			s.add("field-too-new", at, fmt.Sprintf("is unknown to controller %s, so %s", facts.SUC.Version, f.means), "upgrade the controller to v"+f.release.String()+" or later")
		}
	}
	if p := s.prepare; s.plan.Spec.Prepare != nil && p.err == nil && p.tag == "" && p.digest == "" && v.LessThan(prepareTagged) {
		s.add("prepare-untagged", spec("prepare", "image"), fmt.Sprintf("has no tag, and controller %s adds none to a prepare image: latest is pulled", facts.SUC.Version),
			"write the version as its tag, with - for +")
	}
	if d := s.plan.Spec.Drain; d != nil && d.Timeout != nil && d.Timeout.StrVal != "" && v.LessThan(textTimeouts) {
		s.add("field-too-new", spec("drain", "timeout"), fmt.Sprintf("is text, which controller %s cannot decode: it then reads no Plan at all", facts.SUC.Version),
			"upgrade the controller to v"+textTimeouts.String()+" or later")
	}
}

// judgeLabels looks at what is put on nodes, and at what counts for the hash.
func (s *subject) judgeLabels() {
	version := munge(or(s.resolved, "v1.35.0-k3s1"))
	for k, v := range s.plan.Spec.PostCompleteLabels {
		expanded := expand(v, map[string]string{"LATEST_VERSION": version, "LATEST_HASH": strings.Repeat("0", 56)})
		if fault := labelFaults(k, expanded); fault != "" {
			s.add("postcomplete-label", spec("postCompleteLabels", k),
				fault+": the node is never marked as done, and the Plan turns Complete all the same",
				"$(LATEST_VERSION) and $(LATEST_HASH) are the only variables; everything else must fit into a label")
		}
	}
	if d := s.plan.Spec.PostCompleteDelay; d != nil && d.Duration < 0 {
		s.add("delay-negative", spec("postCompleteDelay"), "is negative, which makes the Plan invalid: no Job is made", "")
	}
	if d := s.plan.Spec.JobActiveDeadlineSecs; d != nil && *d > 0 && *d < 60 {
		s.add("deadline", spec("jobActiveDeadlineSecs"), fmt.Sprintf("ends the Job after %d seconds, less than pulling an image and restarting a node takes", *d), "900 is what the shipped controller uses")
	}
	fields := s.plan.Annotations[AnnotationDigest]
	if fields == "" {
		return
	}
	for _, f := range strings.Split(fields, ",") {
		if sh := planShape().find(strings.Split(f, ".")); sh == nil {
			s.add("digest-path", path{"metadata", "annotations", AnnotationDigest}, quote(f)+" names no field of a Plan, so a change of it goes unnoticed",
				"write dotted paths such as spec.upgrade.image, separated by commas without blanks")
		}
	}
}

// find is the shape of a field below, nil when there is none.
func (s *shape) find(fields []string) *shape {
	for _, f := range fields {
		switch {
		case s == nil:
			return nil
		case s.properties != nil:
			s = s.properties[f]
		case s.values != nil:
			s = s.values
		default:
			return nil
		}
	}
	return s
}

// expand replaces $(NAME) as Kubernetes does: an unknown name stays as it is,
// and $$ is a dollar sign.
func expand(s string, vars map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		switch s[i+1] {
		case '$':
			b.WriteByte('$')
			i++
		case '(':
			if end := strings.IndexByte(s[i:], ')'); end > 0 {
				if v, ok := vars[s[i+2:i+end]]; ok {
					b.WriteString(v)
				} else {
					b.WriteString(s[i : i+end+1])
				}
				i += end
				continue
			}
			b.WriteByte('$')
		default:
			b.WriteByte('$')
		}
	}
	return b.String()
}
