package suc

import (
	"bytes"
	"fmt"
	"io"
)

// Applied is one object that [Apply] sent.
type Applied struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Action is created, configured, unchanged, kept (it was there and is not
	// ours) or unchecked (a dry run could not send it, see Note).
	Action string `json:"action"`
	Note   string `json:"note,omitempty"`
}

// ApplyResult lists what [Apply] did, in order.
type ApplyResult struct {
	DryRun  bool      `json:"dryRun,omitempty"`
	Objects []Applied `json:"objects"`
}

// String is one line an object, as kubectl apply prints them.
func (r *ApplyResult) String() string {
	var b bytes.Buffer
	_ = r.WriteText(&b)
	return b.String()
}

// WriteText writes what String gives.
func (r *ApplyResult) WriteText(w io.Writer) error {
	for _, o := range r.Objects {
		name := o.Name
		if o.Namespace != "" {
			name = o.Namespace + "/" + name
		}
		line := fmt.Sprintf("%s %s %s", o.Kind, name, o.Action)
		if r.DryRun {
			line += " (dry run)"
		}
		if o.Note != "" {
			line += ": " + o.Note
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}
