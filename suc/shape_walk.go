package suc

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// walker turns a YAML tree into JSON values and notes what the API server, or
// its strict validation, would object to. A value that is refused is left out.
type walker struct {
	root     node
	problems []problem
	values   int
}

func (w *walker) note(code string, at path, n *yaml.Node, message, fix string) {
	w.problems = append(w.problems, problem{code: code, path: at, line: w.root.before + n.Line, message: message, fix: fix})
}

// walk gives the value of n, and false when it is refused.
func (w *walker) walk(s *shape, n *yaml.Node, at path) (any, bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if w.values++; w.values > maxValues || len(at) > maxDepth {
		if w.values != maxValues+2 { // say it once
			w.values = maxValues + 1
			w.note("yaml", nil, n, "the document is too large or nested too deeply to be a Plan", "")
		}
		return nil, false
	}
	switch n.Kind {
	case yaml.MappingNode:
		if s.kind != "object" && s.kind != "" {
			return w.wrong(s, n, at, "an object")
		}
		return w.object(s, n, at)
	case yaml.SequenceNode:
		if s.kind != "array" && s.kind != "" {
			return w.wrong(s, n, at, "a list")
		}
		return w.list(s, n, at)
	default:
		return w.scalar(s, n, at)
	}
}

func (w *walker) wrong(s *shape, n *yaml.Node, at path, is string) (any, bool) {
	w.note("wrong-type", at, n, fmt.Sprintf("is %s, and must be %s: the API server refuses the Plan", is, want(s)), "")
	return nil, false
}

func want(s *shape) string {
	switch s.kind {
	case "object":
		return "an object"
	case "array":
		return "a list"
	case "integer":
		return "an integer"
	case "int-or-string":
		return "an integer or a string"
	default:
		return "a " + s.kind
	}
}

func (w *walker) object(s *shape, n *yaml.Node, at path) (any, bool) {
	out := make(map[string]any, len(n.Content)/2)
	refused := map[string]bool{}
	var lines map[string]int
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Tag == "!!merge" {
			w.merge(s, v, at, out)
			continue
		}
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			w.note("yaml", at, k, "a key is "+kindOf(k)+", and must be text", "quote a template placeholder that stands here")
			continue
		}
		name := k.Value
		if b, ok := scalar(k).(bool); ok { // kubectl makes "true" of the key on
			name = fmt.Sprint(b)
		}
		here := at.at(name)
		if lines == nil {
			lines = make(map[string]int, len(n.Content)/2)
		}
		if first, twice := lines[name]; twice {
			w.note("yaml-duplicate-key", here, k, fmt.Sprintf("is given twice, first in line %d; the last one wins without a word", w.root.before+first),
				"keep one of the two")
		}
		lines[name] = k.Line
		vs := s.values
		if s.properties != nil {
			if vs = s.properties[name]; vs == nil {
				w.unknown(s, here, k, name)
				continue
			}
		} else if vs == nil {
			vs = &shape{}
		}
		value, ok := w.walk(vs, v, here)
		if !ok {
			refused[name] = true
			continue
		}
		out[name] = value
	}
	for _, r := range s.required {
		if out[r] == nil && !refused[r] {
			w.note("required", at.at(r), n, "is missing: the API server refuses the Plan", "")
		}
	}
	return out, true
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "an object"
	case yaml.SequenceNode:
		return "a list"
	default:
		return "text"
	}
}

// merge takes what "<<" names, where the object has nothing of its own.
func (w *walker) merge(s *shape, n *yaml.Node, at path, out map[string]any) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	sources := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		sources = n.Content
	}
	for _, src := range sources {
		v, ok := w.walk(&shape{kind: "object", properties: s.properties, names: s.names, values: s.values}, src, at)
		if !ok {
			continue
		}
		for k, v := range v.(map[string]any) {
			if _, own := out[k]; !own {
				out[k] = v
			}
		}
	}
}

func (w *walker) unknown(s *shape, at path, k *yaml.Node, name string) {
	message := "is no field of a Plan: kubectl refuses it, every other client drops it without a word"
	fix := ""
	near := nearest(name, s.names)
	if alias, ok := knownAliases[name]; ok && s.properties[alias] != nil {
		near = alias
	}
	if near != "" {
		fix = "did you mean " + near + "?"
	} else if where, ok := elsewhere[name]; ok {
		fix = "it belongs to " + where
	}
	w.problems = append(w.problems, problem{
		code: "unknown-field", path: at, line: w.root.before + k.Line, message: message, fix: fix, nearest: near,
	})
}

// knownAliases are names that people know from Pods and from kubectl's flags.
var knownAliases = map[string]string{
	"env": "envs", "mountPath": "destination", "hostPath": "source", "volumeMounts": "volumes",
	"activeDeadlineSeconds": "jobActiveDeadlineSecs", "deleteEmptyDirData": "deleteEmptydirData",
	"ignoreDaemonsets": "ignoreDaemonSets", "maxUnavailable": "concurrency", "serviceAccount": "serviceAccountName",
	"start": "startTime", "end": "endTime", "timezone": "timeZone", "location": "timeZone",
}

// elsewhere says where a field belongs that stands in the wrong place.
var elsewhere = map[string]string{
	"image": "spec.upgrade or spec.prepare", "args": "spec.upgrade or spec.prepare", "command": "spec.upgrade or spec.prepare",
	"force": "spec.drain", "matchLabels": "spec.nodeSelector", "matchExpressions": "spec.nodeSelector",
	"name": "metadata", "namespace": "metadata", "labels": "metadata", "annotations": "metadata",
	"concurrency": "spec", "cordon": "spec", "drain": "spec", "version": "spec", "channel": "spec", "nodeSelector": "spec",
	"serviceAccountName": "spec", "tolerations": "spec", "window": "spec", "upgrade": "spec", "prepare": "spec",
	"days": "spec.window", "startTime": "spec.window", "endTime": "spec.window", "timeZone": "spec.window",
}

func (w *walker) list(s *shape, n *yaml.Node, at path) (any, bool) {
	items := s.items
	if items == nil {
		items = &shape{}
	}
	out := make([]any, 0, len(n.Content))
	for i, c := range n.Content {
		v, ok := w.walk(items, c, at.at(i))
		if ok && v == nil && items.kind != "" {
			w.note("wrong-type", at.at(i), c, "has no value, and must be "+want(items)+": the API server refuses the Plan", "")
			ok = false
		}
		if ok {
			out = append(out, v)
		}
	}
	if len(n.Content) < s.minItems {
		w.note("too-few", at, n, "is an empty list, which the API server refuses", "name at least one, or leave the field out")
	}
	return out, true
}

func (w *walker) scalar(s *shape, n *yaml.Node, at path) (any, bool) {
	v := scalar(n)
	switch x := v.(type) {
	case nil:
		return nil, true // the API server drops nulls
	case bool:
		if s.kind == "boolean" || s.kind == "" {
			return v, true
		}
		return w.mistyped(s, n, at, "a boolean for YAML")
	case int64:
		switch {
		case s.kind == "number":
			return float64(x), true
		case s.kind == "", s.kind == "int-or-string":
			return v, true
		case s.kind == "integer":
			if s.format == "int32" && (x > math.MaxInt32 || x < math.MinInt32) {
				w.note("number-overflow", at, n, fmt.Sprintf("%d does not fit into 32 bits", x)+stopsController, "")
				return nil, false
			}
			return v, true
		}
		return w.mistyped(s, n, at, "an integer for YAML")
	case float64:
		if s.kind == "number" || s.kind == "" {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return w.wrong(s, n, at, "no number that JSON can hold")
			}
			return v, true
		}
		if s.kind == "integer" && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return int64(x), true // 1.0 is an integer for JSON schema
		}
		return w.mistyped(s, n, at, "a number for YAML")
	}
	text := v.(string)
	switch {
	case s.kind != "string" && s.kind != "int-or-string" && s.kind != "":
		return w.wrong(s, n, at, "the text "+quote(text))
	case len(s.enum) > 0 && !slices.Contains(s.enum, text):
		code, fix := "not-allowed", ""
		if near := nearest(text, s.enum); near != "" {
			fix = "did you mean " + near + "?"
		}
		w.note(code, at, n, fmt.Sprintf("%s is none of %s: the API server refuses the Plan", quote(text), strings.Join(s.enum, ", ")), fix)
		return nil, false
	case s.pattern != nil && !s.pattern.MatchString(text):
		w.note("not-allowed", at, n, quote(text)+" is no value that the API server takes here", "")
		return nil, false
	}
	return text, true
}

// mistyped is a plain scalar that YAML reads as something else than text.
func (w *walker) mistyped(s *shape, n *yaml.Node, at path, is string) (any, bool) {
	fix := ""
	if s.kind == "string" {
		fix = fmt.Sprintf("put it in quotes: %q", n.Value)
	}
	w.note("wrong-type", at, n, fmt.Sprintf("%s is %s, and must be %s: the API server refuses the Plan", n.Value, is, want(s)), fix)
	return nil, false
}

func quote(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most] + "..."
	}
	return fmt.Sprintf("%q", s)
}
