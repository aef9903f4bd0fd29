// Package jsonkeys writes down which keys a program's JSON has, so that a golden
// file notices a key that was renamed, lost or added, and the documentation can
// show it.
package jsonkeys

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/k3sladder/k3sladder/internal/golden"
)

// Of lists the keys of the JSON of v's type, one a line, in the order of its
// fields: the path, then what stands there. A list has [] behind its key, a map
// <key>, and a key that may be absent has a question mark. Kubernetes' own types
// and those that come again inside themselves are named and not unfolded.
func Of(v any) string {
	w := &writer{}
	w.value("", reflect.TypeOf(v), nil)
	width := 0
	for _, l := range w.lines {
		width = max(width, len(l[0]))
	}
	var b strings.Builder
	for _, l := range w.lines {
		fmt.Fprintf(&b, "%-*s  %s\n", width, l[0], l[1])
	}
	return b.String()
}

// Check compares the keys of what a command prints with its golden file in
// testdata/json, which docs/json.md shows under the command as its title.
func Check(t testing.TB, command string, v any) {
	t.Helper()
	words := strings.FieldsFunc(command, func(r rune) bool { return !unicode.IsLetter(r) })
	golden.Check(t, "json/"+strings.Join(words, "-")+".txt", []byte(command+"\n\n"+Of(v)))
}

type writer struct{ lines [][2]string }

func (w *writer) line(path, what string) {
	if path == "" {
		path = "."
	}
	w.lines = append(w.lines, [2]string{path, what})
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func (w *writer) value(path string, t reflect.Type, above []reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		w.line(path, "time, RFC 3339")
	case t == reflect.TypeFor[time.Duration]():
		w.line(path, "nanoseconds")
	case strings.HasPrefix(t.PkgPath(), "k8s.io/"):
		w.line(path, "Kubernetes "+t.Name())
	case t.Implements(textMarshaler) || reflect.PointerTo(t).Implements(textMarshaler):
		w.line(path, "string, "+t.Name())
	case t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler):
		w.line(path, t.Name())
	case t.Kind() == reflect.Struct:
		for _, seen := range above {
			if seen == t {
				w.line(path, t.Name()+", as above")
				return
			}
		}
		w.fields(path, t, append(above, t))
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		w.line(path, "base64")
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		w.value(path+"[]", t.Elem(), above)
	case t.Kind() == reflect.Map:
		w.value(path+"<key>", t.Elem(), above)
	default:
		w.line(path, kind(t))
	}
}

func kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "string"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Interface:
		return "any"
	}
	return "integer"
}

func (w *writer) fields(path string, t reflect.Type, above []reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		inner := f.Type
		for inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if f.Anonymous && tag == "" && inner.Kind() == reflect.Struct {
			w.fields(path, inner, above)
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
			tag += "?"
		}
		w.value(strings.TrimPrefix(path+"."+tag, "."), f.Type, above)
	}
}
