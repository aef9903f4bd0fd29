package suc

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// objects reads the Kubernetes objects of a YAML file.
func objects(data []byte) ([]*unstructured.Unstructured, error) {
	dec := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	var out []*unstructured.Unstructured
	for {
		var m map[string]any
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		if len(m) == 0 {
			continue
		}
		o := &unstructured.Unstructured{Object: m}
		if o.GetKind() == "" || o.GetAPIVersion() == "" || o.GetName() == "" {
			return nil, fmt.Errorf("document %d has no kind, apiVersion or name", len(out)+1)
		}
		out = append(out, o)
	}
}

// theCRD is the definition of Plans among the objects of a file.
func theCRD(data []byte) (*unstructured.Unstructured, error) {
	all, err := objects(data)
	if err != nil {
		return nil, fmt.Errorf("the CRD file: %w", err)
	}
	for _, o := range all {
		if o.GetKind() == "CustomResourceDefinition" && o.GetName() == CRDName {
			unstructured.RemoveNestedField(o.Object, "status")
			unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
			return o, nil
		}
	}
	return nil, fmt.Errorf("the CRD file holds no CustomResourceDefinition %s: the official one is at %s", CRDName, OfficialCRDURL)
}

// guessResource names the resource of a kind; the controller's manifest holds
// only kinds whose plural is regular.
func guessResource(o *unstructured.Unstructured) schema.GroupVersionResource {
	gvr, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	return gvr
}
