package suc

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"
)

// shape is what the CRD says about one value.
type shape struct {
	kind       string // object, array, string, integer, number, boolean; int-or-string
	format     string
	properties map[string]*shape
	names      []string // of properties, sorted
	values     *shape   // of a map with free keys
	items      *shape
	required   []string
	enum       []string
	pattern    *regexp.Regexp
	minItems   int
}

// planShape is read from the embedded CRD, so that the decoder knows exactly
// what the API server knows.
var planShape = sync.OnceValue(func() *shape {
	type raw struct {
		Type                 string          `yaml:"type"`
		Format               string          `yaml:"format"`
		Properties           map[string]*raw `yaml:"properties"`
		AdditionalProperties *raw            `yaml:"additionalProperties"`
		Items                *raw            `yaml:"items"`
		Required             []string        `yaml:"required"`
		Enum                 []any           `yaml:"enum"`
		Pattern              string          `yaml:"pattern"`
		MinItems             int             `yaml:"minItems"`
		IntOrString          bool            `yaml:"x-kubernetes-int-or-string"`
	}
	var doc struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema *raw `yaml:"openAPIV3Schema"`
				} `yaml:"schema"`
			} `yaml:"versions"`
		} `yaml:"spec"`
	}
	if err := yaml.Unmarshal(crd, &doc); err != nil {
		panic("suc: the embedded CRD is broken: " + err.Error()) // a test reads it
	}
	var compile func(r *raw) *shape
	compile = func(r *raw) *shape {
		if r == nil {
			return nil
		}
		s := &shape{
			kind: r.Type, format: r.Format, required: r.Required, minItems: r.MinItems,
			values: compile(r.AdditionalProperties), items: compile(r.Items),
		}
		if r.IntOrString {
			s.kind = "int-or-string"
		}
		if r.Pattern != "" {
			s.pattern = regexp.MustCompile(r.Pattern)
		}
		for _, e := range r.Enum {
			s.enum = append(s.enum, fmt.Sprint(e))
		}
		if r.Properties != nil {
			s.properties = make(map[string]*shape, len(r.Properties))
			for name, p := range r.Properties {
				s.properties[name] = compile(p)
			}
			s.names = slices.Sorted(maps.Keys(s.properties))
		}
		return s
	}
	s := compile(doc.Spec.Versions[0].Schema.OpenAPIV3Schema)
	s.properties["metadata"] = metadataShape()
	return s
})

// metadataShape is Kubernetes' own part of every object
// (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/).
func metadataShape() *shape {
	text, number := &shape{kind: "string"}, &shape{kind: "integer"}
	texts := &shape{kind: "object", values: text}
	anything := &shape{}
	s := &shape{kind: "object", properties: map[string]*shape{
		"name": text, "generateName": text, "namespace": text, "labels": texts, "annotations": texts,
		"finalizers": {kind: "array", items: text}, "ownerReferences": {kind: "array", items: anything},
		"managedFields": {kind: "array", items: anything}, "uid": text, "resourceVersion": text, "selfLink": text,
		"generation": number, "deletionGracePeriodSeconds": number, "creationTimestamp": text, "deletionTimestamp": text,
	}}
	s.names = slices.Sorted(maps.Keys(s.properties))
	return s
}
