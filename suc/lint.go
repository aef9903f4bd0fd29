package suc

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
)

// File is a file to judge: what a caller read, under the name to report.
type File struct {
	Name string
	Data []byte
}

// LintOptions sharpen [Lint].
type LintOptions struct {
	// Facts about the cluster. Nil: the files are judged by themselves, and a
	// rule that needs more stays silent.
	Facts *Facts
}

// Lint judges every Plan in the files, and the files together: an agent Plan
// may wait for a server Plan in another one. It never fails; what cannot be
// read is a finding too. Nothing is found in files without Plans.
func Lint(files []File, opts LintOptions) Findings {
	l := newLinter(opts)
	order := make(map[string]int, len(files))
	for i, f := range files {
		if _, ok := order[f.Name]; !ok {
			order[f.Name] = i
		}
		l.read(f.Name, i, parse(f.Data))
	}
	return l.run(order)
}

// LintPlans judges Plans that come from no file; their findings have no lines.
func LintPlans(plans []*Plan, opts LintOptions) Findings {
	l := newLinter(opts)
	for _, p := range plans {
		if p == nil {
			p = &Plan{}
		}
		value, _ := cleaned(p) // a Plan always has a JSON form
		l.subjects = append(l.subjects, &subject{plan: p, doc: &document{namespace: p.Namespace, name: p.Name, plan: p, value: value}})
	}
	return l.run(nil)
}

// linter holds what the rules of one run share.
type linter struct {
	facts    *Facts
	subjects []*subject
	problems Findings
	// secrets are "namespace/name" that the files bring, accounts likewise.
	secrets, accounts map[string]bool
	// idle are those of the secrets that no Plan of the files names.
	idle []string
	// byName finds subjects by "namespace/name"; broken Plans are in it too.
	byName  map[string][]*subject
	broken  map[string]bool
	servers map[string][]*subject // server Plans by namespace
	climbs  sync.Map
}

// subject is one Plan under judgement, with what the rules ask about it.
type subject struct {
	file  string
	index int // of the file
	doc   *document
	plan  *Plan

	demands  map[string]*demand
	selector labels.Selector
	// nodes are those selected; nodesKnown is false when no nodes are known.
	nodes      []*Node
	nodesKnown bool
	role       role
	image      image
	prepare    image
	family     string
	// target is what the nodes are taken to: the resolved version's text, and
	// as a version where it is one.
	resolved string
	target   skew.Version
	// waits is the Plan that prepare waits for; waiting whether it does at all.
	waits   string
	waiting bool

	findings Findings
}

func newLinter(opts LintOptions) *linter {
	return &linter{
		facts: opts.Facts, secrets: map[string]bool{}, accounts: map[string]bool{},
		byName: map[string][]*subject{}, broken: map[string]bool{}, servers: map[string][]*subject{},
	}
}

// read takes the documents of a file.
func (l *linter) read(file string, index int, docs []*document) {
	for _, d := range docs {
		for _, p := range d.problems {
			severity := Error
			if r := ruleByCode[p.code]; r != nil {
				severity = r.Severity
			}
			l.problems = append(l.problems, Finding{
				File: file, Code: p.code, Severity: severity, Plan: d.id(), Path: p.path.String(), Line: p.line,
				Message: p.message, Fix: p.fix, Source: ruleByCode[p.code].Source,
			})
		}
		switch {
		case d.plan != nil:
			l.subjects = append(l.subjects, &subject{file: file, index: index, doc: d, plan: d.plan})
		case len(d.problems) > 0:
			l.broken[d.namespace+"/"+d.name] = true
		case d.provides != "":
			l.secrets[d.namespace+"/"+d.provides] = true
		case d.kind == "ServiceAccount":
			l.accounts[d.namespace+"/"+d.name] = true
		}
	}
}

func (d *document) id() string {
	if d.namespace != "" && d.name != "" {
		return d.namespace + "/" + d.name
	}
	return d.name
}

func (l *linter) run(order map[string]int) Findings {
	each(len(l.subjects), func(i int) { l.subjects[i].learn(l.facts) })
	for _, s := range l.subjects {
		key := s.plan.Namespace + "/" + s.plan.Name
		l.byName[key] = append(l.byName[key], s)
		if s.role == serverRole && s.family != "" {
			l.servers[s.plan.Namespace] = append(l.servers[s.plan.Namespace], s)
		}
	}
	l.idle = l.idleSecrets()
	each(len(l.subjects), func(i int) { l.judge(l.subjects[i]) })
	l.overlaps()
	all := l.problems
	for _, s := range l.subjects {
		all = append(all, s.findings...)
	}
	all.sort(order)
	return slices.Clip(all)
}

// judge applies the rules that look at one Plan, with the others at hand.
func (l *linter) judge(s *subject) {
	s.judgeName(l)
	s.judgeNulls()
	s.judgeAge(l.facts)
	s.judgeVersion(l)
	s.judgeChannel(l)
	s.judgeSelector(l)
	s.judgeNodes(l)
	s.judgeImages()
	s.judgeVolumes()
	s.judgePrepare(l)
	s.judgeAccount(l)
	s.judgeSecrets(l)
	s.judgeDrain(l)
	s.judgeWindow()
	s.judgeLabels()
}

// add notes a finding at a path of the Plan.
func (s *subject) add(code string, at path, message, fix string) {
	s.addAs(ruleByCode[code].Severity, code, at, message, fix)
}

func (s *subject) addAs(severity Severity, code string, at path, message, fix string) {
	line := 0
	full := at
	if s.doc.root.Node != nil {
		line = s.doc.line(at)
		full = slices.Concat(s.doc.base, at)
	}
	s.findings = append(s.findings, Finding{
		File: s.file, Code: code, Severity: severity, Plan: s.doc.id(), Path: full.String(), Line: line,
		Message: message, Fix: fix, Source: ruleByCode[code].Source,
	})
}

// spec is a path below spec.
func spec(elems ...any) path { return append(path{"spec"}, elems...) }

// releases are the k3s releases that this module knows, by version.
var releases = sync.OnceValue(func() map[skew.Version]channels.Release {
	all := channels.Releases()
	m := make(map[skew.Version]channels.Release, len(all))
	for _, r := range all {
		m[r.Version] = r
	}
	return m
})

// learn works out what the rules ask about a Plan.
func (s *subject) learn(facts *Facts) {
	sp := &s.plan.Spec
	s.demands = demands(sp.NodeSelector)
	s.role = roleOf(s.demands)
	if sel, err := nodeSelector(sp.NodeSelector); err == nil {
		s.selector = sel
	}
	if facts != nil && facts.Nodes != nil && s.selector != nil {
		s.nodesKnown = true
		servers := 0
		for i := range facts.Nodes {
			n := &facts.Nodes[i]
			if s.selector.Matches(labels.Set(n.Labels)) && n.Labels[LabelPlanPrefix+s.plan.Name] != "disabled" {
				s.nodes = append(s.nodes, n)
				if n.server() {
					servers++
				}
			}
		}
		switch {
		case len(s.nodes) == 0:
		case servers == len(s.nodes):
			s.role = serverRole
		case servers == 0:
			s.role = agentRole
		default:
			s.role = anyRole
		}
	}
	if sp.Upgrade != nil {
		s.image = parseImage(sp.Upgrade.Image)
		s.family = s.image.family()
	}
	if sp.Prepare != nil {
		s.prepare = parseImage(sp.Prepare.Image)
		s.waits, s.waiting = waitsFor(sp.Prepare)
	}
	s.resolved = sp.Version
	if s.resolved == "" && facts != nil {
		s.resolved = facts.channel(sp.Channel)
	}
	s.target = readVersion(s.resolved, s.family)
}
