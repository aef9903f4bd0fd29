package suc

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Severity says how much a finding matters.
type Severity string

const (
	// Error: the Plan does not do what it says.
	Error Severity = "error"
	// Warning: it does, today or on this cluster, and will surprise its author.
	Warning Severity = "warning"
	// Note: nothing is wrong; something could not be checked.
	Note Severity = "note"
)

func (s Severity) rank() int {
	switch s {
	case Error:
		return 3
	case Warning:
		return 2
	case Note:
		return 1
	}
	return 0
}

// Finding is one thing that [Lint] has to say.
type Finding struct {
	// File as the caller named it.
	File string `json:"file"`
	// Code of the rule, see [Rules].
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	// Plan is "namespace/name", or the name alone; empty when the text is no
	// Plan.
	Plan string `json:"plan,omitempty"`
	// Path of the field, such as spec.drain.timeout.
	Path string `json:"path"`
	// Line counts from 1; 0 when the Plan came from no file.
	Line    int    `json:"line"`
	Message string `json:"message"`
	// Fix says what to write instead; may be empty.
	Fix string `json:"fix"`
	// Source is the URL of what the rule is based on.
	Source string `json:"source"`
}

// String is one line: place, severity, message, fix and code.
func (f Finding) String() string {
	var b strings.Builder
	if f.File != "" {
		fmt.Fprintf(&b, "%s:", f.File)
	}
	if f.Line > 0 {
		fmt.Fprintf(&b, "%d:", f.Line)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	fmt.Fprintf(&b, "%s: ", f.Severity)
	if f.Plan != "" {
		fmt.Fprintf(&b, "Plan %s: ", f.Plan)
	}
	if f.Path != "" {
		fmt.Fprintf(&b, "%s ", f.Path)
	}
	b.WriteString(f.Message)
	if f.Fix != "" {
		fmt.Fprintf(&b, " (fix: %s)", f.Fix)
	}
	fmt.Fprintf(&b, " [%s]", f.Code)
	return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(b.String())
}

// Findings are what [Lint] has to say, in the order of files and lines.
type Findings []Finding

// Highest is the highest severity among the findings, "" when there is none.
func (fs Findings) Highest() Severity {
	var h Severity
	for _, f := range fs {
		if f.Severity.rank() > h.rank() {
			h = f.Severity
		}
	}
	return h
}

// String is one line a finding.
func (fs Findings) String() string {
	var b bytes.Buffer
	_ = fs.WriteText(&b)
	return b.String()
}

// WriteText writes what String gives.
func (fs Findings) WriteText(w io.Writer) error {
	for _, f := range fs {
		if _, err := fmt.Fprintln(w, f); err != nil {
			return err
		}
	}
	return nil
}

// WriteGitHub writes the findings as workflow commands, which GitHub shows
// beside the lines of a pull request:
// https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
func (fs Findings) WriteGitHub(w io.Writer) error {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, f := range fs {
		level := string(f.Severity)
		if f.Severity == Note {
			level = "notice"
		}
		place := "file=" + property.Replace(f.File)
		if f.Line > 0 {
			place += fmt.Sprintf(",line=%d", f.Line)
		}
		message := f.Message
		if f.Path != "" {
			message = f.Path + " " + message
		}
		if f.Fix != "" {
			message += "\nFix: " + f.Fix
		}
		if f.Source != "" {
			message += "\nSource: " + f.Source
		}
		if _, err := fmt.Fprintf(w, "::%s %s,title=%s::%s\n", level, place, property.Replace("plan lint: "+f.Code), data.Replace(message)); err != nil {
			return err
		}
	}
	return nil
}

func (fs Findings) sort(order map[string]int) {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(order[a.File], order[b.File]),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(b.Severity.rank(), a.Severity.rank()),
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Code, b.Code),
		)
	})
}
