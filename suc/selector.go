package suc

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Role labels of k3s and RKE2 nodes. Servers have had control-plane since
// v1.20, master until v1.33 (https://github.com/k3s-io/k3s/pull/12395), and
// etcd where they keep the embedded datastore. The value is always "true".
const (
	masterLabel = "node-role.kubernetes.io/master"
	etcdLabel   = "node-role.kubernetes.io/etcd"
)

// demand is what a selector asks of one label.
type demand struct {
	present, absent bool
	// in is nil when any value will do.
	in, notIn []string
}

// demands reads a selector label by label.
func demands(s *metav1.LabelSelector) map[string]*demand {
	out := map[string]*demand{}
	get := func(key string) *demand {
		d := out[key]
		if d == nil {
			d = &demand{}
			out[key] = d
		}
		return d
	}
	restrict := func(d *demand, values []string) {
		d.present = true
		if d.in == nil {
			d.in = slices.Clone(values)
			return
		}
		both := set(values)
		d.in = slices.DeleteFunc(d.in, func(v string) bool { return !both[v] })
	}
	if s == nil {
		return out
	}
	for k, v := range s.MatchLabels {
		restrict(get(k), []string{v})
	}
	for _, r := range s.MatchExpressions {
		d := get(r.Key)
		switch r.Operator {
		case metav1.LabelSelectorOpIn:
			restrict(d, r.Values)
		case metav1.LabelSelectorOpNotIn:
			d.notIn = append(d.notIn, r.Values...)
		case metav1.LabelSelectorOpExists:
			d.present = true
		case metav1.LabelSelectorOpDoesNotExist:
			d.absent = true
		}
	}
	return out
}

// contradiction says why no label can fulfil the demand, "" when one can.
func (d *demand) contradiction() string {
	switch {
	case d.present && d.absent && d.in != nil:
		return "must have a value and must not exist"
	case d.present && d.absent:
		return "must exist and must not exist"
	case d.in != nil && len(d.in) == 0:
		return "must have several values at once"
	case d.in != nil && len(d.notIn) > 0:
		out := set(d.notIn)
		if !slices.ContainsFunc(d.in, func(v string) bool { return !out[v] }) {
			return "must and must not have the value " + strings.Join(d.in[:min(len(d.in), 5)], ", ")
		}
	}
	return ""
}

func set(values []string) map[string]bool {
	m := make(map[string]bool, len(values))
	for _, v := range values {
		m[v] = true
	}
	return m
}

// excludes reports whether a node with label=value cannot fulfil the demand.
func (d *demand) excludes(value string) bool {
	return d != nil && (d.absent || slices.Contains(d.notIn, value) || d.in != nil && !slices.Contains(d.in, value))
}

// role is what kind of nodes a Plan takes.
type role int

const (
	anyRole role = iota
	serverRole
	agentRole
)

func roleOf(ds map[string]*demand) role {
	for _, l := range []string{ControlPlaneLabel, masterLabel, etcdLabel} {
		if d := ds[l]; d != nil && d.present && !d.excludes("true") {
			return serverRole
		}
	}
	for _, l := range []string{ControlPlaneLabel, masterLabel} {
		if ds[l].excludes("true") {
			return agentRole
		}
	}
	return anyRole
}

// nodeSelector is the selector as the controller uses it: an absent one selects
// nothing, and a node must have a hostname label.
func nodeSelector(s *metav1.LabelSelector) (labels.Selector, error) {
	sel, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil, err
	}
	hostname, err := labels.NewRequirement(corev1.LabelHostname, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	return sel.Add(*hostname), nil
}

// badExpression finds what keeps a selector from being one: the path in it and
// the fault.
func badExpression(s *metav1.LabelSelector) (at path, fault, fix string) {
	if s == nil {
		return nil, "", ""
	}
	keys := make([]string, 0, len(s.MatchLabels))
	for k := range s.MatchLabels {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		one := &metav1.LabelSelector{MatchLabels: map[string]string{k: s.MatchLabels[k]}}
		if _, err := metav1.LabelSelectorAsSelector(one); err != nil {
			return path{"matchLabels", k}, err.Error(), ""
		}
	}
	operators := []string{"In", "NotIn", "Exists", "DoesNotExist"}
	for i, r := range s.MatchExpressions {
		at := path{"matchExpressions", i}
		hasValues := len(r.Values) > 0
		switch op := string(r.Operator); {
		case !slices.Contains(operators, op):
			fix := "use one of " + strings.Join(operators, ", ")
			if near := nearest(op, operators); near != "" {
				fix = "did you mean " + near + "?"
			}
			return at.at("operator"), fmt.Sprintf("%s is no operator of a label selector", quote(op)), fix
		case (op == "In" || op == "NotIn") && !hasValues:
			return at, op + " has no values", "name the values, or use Exists or DoesNotExist"
		case (op == "Exists" || op == "DoesNotExist") && hasValues:
			return at, op + " takes no values", "leave the values out, or use In or NotIn"
		}
		one := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{r}}
		if _, err := metav1.LabelSelectorAsSelector(one); err != nil {
			return at, err.Error(), ""
		}
	}
	return nil, "", ""
}
