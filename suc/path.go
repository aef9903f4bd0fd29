package suc

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// path leads to a value in an object: field names and list indexes.
type path []any

// at appends without sharing memory with other paths.
func (p path) at(elems ...any) path {
	return append(p[:len(p):len(p)], elems...)
}

// String writes a path as people know it: spec.secrets[0].name. A key that is
// no field name is put in quotes: metadata.labels["a.b/c"].
func (p path) String() string {
	var b strings.Builder
	for _, e := range p {
		switch e := e.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(e) + "]")
		case string:
			switch {
			case strings.ContainsAny(e, `./[]" `) || e == "":
				b.WriteString("[" + strconv.Quote(e) + "]")
			case b.Len() > 0:
				b.WriteString("." + e)
			default:
				b.WriteString(e)
			}
		}
	}
	return b.String()
}

// find gives the line of the value that p leads to, or of the closest thing
// around it that exists. For the value of a key it is the key's line.
func (p path) find(root node) int {
	n, line := root.Node, root.Line
	for _, e := range p {
		for n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		switch e := e.(type) {
		case string:
			if n.Kind != yaml.MappingNode {
				return root.before + line
			}
			i := 0
			for ; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == e {
					break
				}
			}
			if i+1 >= len(n.Content) {
				return root.before + line
			}
			line, n = n.Content[i].Line, n.Content[i+1]
		case int:
			if n.Kind != yaml.SequenceNode || e >= len(n.Content) {
				return root.before + line
			}
			n = n.Content[e]
			line = n.Line
		}
	}
	return root.before + line
}
