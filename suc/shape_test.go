package suc

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The CRD is generated: this fails when the types changed and go generate was
// not run.
func TestTheCRDHasTheFieldsOfTheTypes(t *testing.T) {
	t.Parallel()
	seen := 0
	var compare func(typ reflect.Type, s *shape, at string)
	compare = func(typ reflect.Type, s *shape, at string) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			if typ.Kind() == reflect.Slice {
				if s = s.items; s == nil {
					t.Errorf("%s is no list in the CRD", at)
					return
				}
			}
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || s.properties == nil {
			return
		}
		var names []string
		for _, f := range reflect.VisibleFields(typ) { // also those of embedded structs
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				continue
			}
			names = append(names, name)
			p := s.properties[name]
			if p == nil {
				t.Errorf("the CRD lacks %s.%s", at, name)
				continue
			}
			seen++
			compare(f.Type, p, at+"."+name)
		}
		for _, n := range s.names {
			if !slices.Contains(names, n) {
				t.Errorf("the CRD has %s.%s, and the type does not", at, n)
			}
		}
	}
	compare(reflect.TypeFor[PlanSpec](), planShape().properties["spec"], "spec")
	compare(reflect.TypeFor[PlanStatus](), planShape().properties["status"], "status")
	if seen < 50 {
		t.Errorf("only %d fields were compared", seen)
	}
}

func TestTheCRDIsTheOfficialOnesTwin(t *testing.T) {
	t.Parallel()
	var crd struct {
		Metadata struct{ Name string }
		Spec     struct {
			Group string
			Scope string
			Names map[string]string
		}
	}
	if err := yaml.Unmarshal(CRD(), &crd); err != nil {
		t.Fatal(err)
	}
	if crd.Metadata.Name != CRDName || crd.Spec.Group != Group || crd.Spec.Scope != "Namespaced" || crd.Spec.Names["kind"] != Kind {
		t.Errorf("%+v", crd)
	}
	// Required fields of the official CRD of v0.20.1, whose schema was compared
	// with this one node by node: apart from descriptions they are the same.
	for at, want := range map[string][]string{
		"spec": {"upgrade"}, "spec.upgrade": {"image"}, "spec.prepare": {"image"},
		"spec.secrets": {"name", "path"}, "spec.upgrade.volumes": {"destination", "name", "source"},
		"spec.nodeSelector.matchExpressions": {"key", "operator"},
	} {
		s := planShape().find(strings.Split(at, "."))
		if s.items != nil {
			s = s.items
		}
		if got := slices.Sorted(slices.Values(s.required)); !slices.Equal(got, want) {
			t.Errorf("%s requires %v, want %v", at, got, want)
		}
	}
	c := CRD()
	c[0] = 'x'
	if CRD()[0] == 'x' {
		t.Error("a caller can change the CRD")
	}
}
