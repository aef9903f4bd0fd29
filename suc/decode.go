package suc

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// DecodeError is a place in a file that is not what a Plan may say.
type DecodeError struct {
	// Line counts from 1.
	Line int
	// Path is the field, such as spec.upgrade.env; empty when the text is no
	// YAML at all.
	Path string
	// Message says what is wrong.
	Message string
	// Nearest is the known name closest to an unknown field's, or empty.
	Nearest string
}

// Error names the line, the field and the fault.
func (e *DecodeError) Error() string {
	s := fmt.Sprintf("line %d: ", e.Line)
	if e.Path != "" {
		s += e.Path + " "
	}
	s += e.Message
	if e.Nearest != "" {
		s += "; did you mean " + e.Nearest + "?"
	}
	return s
}

// Decode reads every Plan of a file, YAML with several documents or JSON, and
// is stricter than the API server: an unknown field, a key given twice, a value
// of the wrong type, a missing required field, a document that is a Plan in all
// but its apiVersion, a duration that the controller cannot read.
//
// Documents of other kinds are passed over. The error joins a [*DecodeError]
// for each fault; the Plans that are without fault are returned beside it.
func Decode(data []byte) ([]*Plan, error) {
	var plans []*Plan
	var errs []error
	for _, d := range parse(data) {
		if d.plan != nil && len(d.problems) == 0 {
			plans = append(plans, d.plan)
		}
		for _, p := range d.problems {
			errs = append(errs, &DecodeError{Line: p.line, Path: p.path.String(), Message: p.message, Nearest: p.nearest})
		}
	}
	return plans, errors.Join(errs...)
}

// problem is a fault of a document's form.
type problem struct {
	code    string
	path    path
	line    int
	message string
	fix     string
	nearest string
}

// decode reads the document as a Plan.
func (d *document) decode() {
	w := &walker{root: d.root}
	v, ok := w.walk(planShape(), d.root.Node, nil)
	d.value, _ = v.(map[string]any)
	fatal := !ok || d.value == nil
	for _, p := range w.problems {
		// A field that is dropped or overwritten leaves a Plan to judge; one
		// that the API server refuses does not.
		switch p.code {
		case "unknown-field", "yaml-duplicate-key", "number-overflow":
		default:
			fatal = true
		}
	}
	poison := undecodable(d)
	d.problems = append(w.problems, poison...)
	for i := range d.problems {
		d.problems[i].path = slices.Concat(d.base, d.problems[i].path)
	}
	if fatal {
		return
	}
	plan := &Plan{}
	if err := convert(d.value, plan); err != nil {
		d.problems = append(d.problems, problem{code: "wrong-type", path: d.base, line: d.root.line(), message: "cannot be read as a Plan: " + err.Error()})
		return
	}
	d.plan = plan
}

// stopsController is what a value does that the API server takes although its
// Go type cannot hold it.
const stopsController = ": the API server stores it, and the controller then cannot read any Plan in the cluster"

// undecodable finds, and takes out, what the API server stores and the
// controller cannot decode: one such Plan keeps it from reading any Plan of the
// cluster.
func undecodable(d *document) []problem {
	spec, _ := d.value["spec"].(map[string]any)
	var out []problem
	if s, ok := spec["postCompleteDelay"].(string); ok {
		if _, err := time.ParseDuration(s); err != nil {
			at := path{"spec", "postCompleteDelay"}
			out = append(out, problem{
				code: "delay-unit", path: at, line: d.line(at), message: quote(s) + " is no Go duration" + stopsController,
				fix: "write a number with a unit for each part: 60s, 5m, 1h30m",
			})
			delete(spec, "postCompleteDelay")
		}
	}
	drain, _ := spec["drain"].(map[string]any)
	if i, ok := drain["timeout"].(int64); ok && (i > math.MaxInt32 || i < math.MinInt32) {
		at := path{"spec", "drain", "timeout"}
		out = append(out, problem{
			code: "number-overflow", path: at, line: d.line(at), message: fmt.Sprintf("%d does not fit into 32 bits", i) + stopsController,
			fix: fmt.Sprintf("write it as text: %q", time.Duration(i).String()),
		})
		delete(drain, "timeout")
	}
	return out
}

// convert makes an object of plain JSON values.
func convert(value map[string]any, into any) (err error) {
	defer func() {
		if r := recover(); r != nil { // the converter's answer to odd input
			err = fmt.Errorf("%v", r)
		}
	}()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(value, into); err == nil {
		return nil
	}
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}
