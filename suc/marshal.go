package suc

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// serverFields of an object's metadata are the API server's business: they
// mean nothing in a file that is to be applied.
var serverFields = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
	"managedFields", "resourceVersion", "selfLink", "uid",
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Marshal writes Kubernetes objects as one YAML file, a document each, ready
// to be applied: no status, nothing of what the API server adds to metadata,
// no empty or null metadata maps.
//
// An empty map in the spec is kept: an empty nodeSelector selects every node
// and an absent one none, an empty drain drains and an absent one does not.
func Marshal(objects ...any) ([]byte, error) {
	var out bytes.Buffer
	for i, o := range objects {
		m, err := cleaned(o)
		if err != nil {
			return nil, err
		}
		b, err := yaml.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("writing a %T as YAML: %w", o, err)
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(b)
	}
	return out.Bytes(), nil
}

// cleaned is the JSON form of o without what does not belong into a file.
func cleaned(o any) (map[string]any, error) {
	if p, ok := o.(*Plan); ok && p != nil && (p.APIVersion == "" || p.Kind == "") {
		c := *p
		c.APIVersion, c.Kind = APIVersion, Kind
		o = &c
	}
	b, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("writing a %T as JSON: %w", o, err)
	}
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber() // int64 stays what it is
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("a %T is no Kubernetes object: %w", o, err)
	}
	if m == nil {
		return nil, fmt.Errorf("a nil %T is no Kubernetes object", o)
	}
	if m["apiVersion"] == nil || m["kind"] == nil {
		return nil, fmt.Errorf("a %T without apiVersion or kind cannot be applied: set its TypeMeta", o)
	}
	delete(m, "status")
	if meta, ok := m["metadata"].(map[string]any); ok {
		for _, f := range serverFields {
			delete(meta, f)
		}
		if a, ok := meta["annotations"].(map[string]any); ok {
			delete(a, lastApplied)
		}
		dropEmpty(meta)
	}
	dropNull(m)
	// A Namespace and its like carry an empty spec that nobody wrote.
	if s, ok := m["spec"].(map[string]any); ok && len(s) == 0 {
		delete(m, "spec")
	}
	return m, nil
}

// dropEmpty takes empty maps and lists out of metadata.
func dropEmpty(m map[string]any) {
	for k, v := range m {
		switch v := v.(type) {
		case map[string]any:
			if len(v) == 0 {
				delete(m, k)
			}
		case []any:
			if len(v) == 0 {
				delete(m, k)
			}
		}
	}
}

// dropNull takes nulls out of every map: in a manifest they mean the same as
// absence, and read like a forgotten value.
func dropNull(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if e == nil {
				delete(v, k)
				continue
			}
			dropNull(e)
		}
	case []any:
		for _, e := range v {
			dropNull(e)
		}
	}
}
