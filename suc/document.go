package suc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is one object of a file.
type document struct {
	root node
	base path // leads from root's document to root, for the items of a list

	apiVersion, kind, namespace, name string

	// plan is nil for other kinds, and for a Plan that is too broken to judge
	// any further.
	plan *Plan
	// value is the plan as plain JSON values.
	value    map[string]any
	problems []problem
	// provides is the name of the Secret that an object of another kind makes.
	provides string
}

// line is the line of a field of the document's object.
func (d *document) line(p path) int { return p.find(d.root) }

// parse reads a file into its objects. It never fails: what is wrong is in the
// documents' problems.
func parse(data []byte) []*document {
	pieces := split(data)
	parsed := make([][]*document, len(pieces))
	each(len(pieces), func(i int) { parsed[i] = pieces[i].documents() })
	return slices.Concat(parsed...)
}

func (p piece) documents() []*document {
	nodes, err := p.nodes()
	var docs []*document
	for _, n := range nodes {
		docs = append(docs, read(n, nil)...)
	}
	if err != nil {
		var syntax *syntaxError
		line := p.before + 1
		if errors.As(err, &syntax) {
			line = syntax.line
		}
		docs = append(docs, &document{problems: []problem{{
			code: "yaml", line: line, message: "the file is no YAML here: " + err.Error(), fix: yamlFix(err.Error()),
		}}})
	}
	return docs
}

func yamlFix(message string) string {
	switch {
	case strings.Contains(message, "cannot start any token"):
		return "indent with blanks instead of a tab, and quote values that begin with @, %, ` or a template's braces"
	case strings.Contains(message, "mapping values are not allowed"), strings.Contains(message, "did not find expected"):
		return "look at the indentation and at unrendered template lines"
	}
	return ""
}

// read makes documents of one object, or of the items of a list.
func read(root node, base path) []*document {
	n := root.Node
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d := &document{root: node{n, root.before}, base: base}
	if n.Kind != yaml.MappingNode {
		if n.Kind == yaml.ScalarNode && scalar(n) == nil {
			return nil // an empty document
		}
		d.problems = []problem{{code: "yaml", path: base, line: root.line(), message: "the document is " + kindOf(n) + ", and must be an object"}}
		return []*document{d}
	}
	d.apiVersion, d.kind = field(n, "apiVersion"), field(n, "kind")
	if meta := child(n, "metadata"); meta != nil {
		d.namespace, d.name = field(meta, "namespace"), field(meta, "name")
	}
	if d.kind == "List" || d.kind == "PlanList" && d.apiVersion == APIVersion {
		items := child(n, "items")
		if items == nil || items.Kind != yaml.SequenceNode || len(base) > 4 {
			return nil
		}
		var docs []*document
		for i, item := range items.Content {
			docs = append(docs, read(node{item, root.before}, base.at("items", i))...)
		}
		return docs
	}
	switch {
	case d.apiVersion == APIVersion && d.kind == Kind:
		d.decode()
	case meant(n, d.apiVersion, d.kind):
		d.problems = []problem{wrongKind(d)}
	default:
		d.provides = secretOf(n, d.kind, d.name)
	}
	return []*document{d}
}

// child is the value of a key.
func child(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			v := n.Content[i+1]
			if v.Kind == yaml.AliasNode {
				v = v.Alias
			}
			return v
		}
	}
	return nil
}

// field is the text of a key, "" when it is none.
func field(n *yaml.Node, key string) string {
	if v := child(n, key); v != nil && v.Kind == yaml.ScalarNode && len(v.Value) < 1<<10 {
		if s, ok := scalar(v).(string); ok {
			return s
		}
	}
	return ""
}

// meant reports whether an object that is no Plan was meant to be one: by its
// group, or by its kind together with what only a Plan has. Other groups have
// kinds called Plan too.
func meant(n *yaml.Node, apiVersion, kind string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	if distance(group, Group, 3) <= 3 {
		return true
	}
	spec := child(n, "spec")
	if spec == nil {
		return false
	}
	upgrade := child(spec, "upgrade")
	shaped := upgrade != nil && child(upgrade, "image") != nil && (child(spec, "nodeSelector") != nil ||
		child(spec, "concurrency") != nil || child(spec, "version") != nil || child(spec, "channel") != nil)
	return shaped && (strings.EqualFold(kind, Kind) || strings.EqualFold(kind, "plans") || kind == "" || apiVersion == "")
}

func wrongKind(d *document) problem {
	p := problem{code: "wrong-kind", fix: "apiVersion: " + APIVersion + " and kind: " + Kind}
	switch {
	case d.apiVersion == "":
		p.path, p.message = d.base.at("apiVersion"), "is missing: no cluster takes the Plan"
	case d.kind == "":
		p.path, p.message = d.base.at("kind"), "is missing: no cluster takes the Plan"
	case d.apiVersion != APIVersion:
		p.path, p.message = d.base.at("apiVersion"), fmt.Sprintf("%s has no Plan: no cluster takes it", quote(d.apiVersion))
	default:
		p.path, p.message = d.base.at("kind"), fmt.Sprintf("%s has no kind %s: no cluster takes it", APIVersion, quote(d.kind))
	}
	p.line = p.path[len(d.base):].find(d.root)
	return p
}

// secretOf names the Secret that an object is or makes.
func secretOf(n *yaml.Node, kind, name string) string {
	switch kind {
	case "Secret", "SealedSecret", "SopsSecret", "VaultStaticSecret", "OnePasswordItem":
		return name
	case "ExternalSecret":
		if spec := child(n, "spec"); spec != nil {
			if target := child(spec, "target"); target != nil {
				return or(field(target, "name"), name)
			}
		}
		return name
	}
	return ""
}
