package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Finding is one thing that check looked at.
type Finding struct {
	File string `json:"file"`
	OK   bool   `json:"ok"`
	Text string `json:"text"`

	late bool // it failed with recordedLate
}

// recordedLate is a fault for which no repeated step makes up.
type recordedLate struct{ error }

// Grade is what check thinks of a folder.
type Grade struct {
	Dir      string    `json:"dir"`
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`

	absent map[string]bool // files that are not there
}

// add adds what was found in file. That a file is not there is said once; what
// would follow from it is not.
func (g *Grade) add(file string, err error, good string) {
	if g.absent[file] {
		return
	}
	var missing *fs.PathError
	if errors.As(err, &missing) && errors.Is(missing, fs.ErrNotExist) && filepath.Base(missing.Path) == file {
		if g.absent == nil {
			g.absent = map[string]bool{}
		}
		g.absent[file] = true
		err = errors.New("is not there")
		upgraded := false
		for _, s := range slices.Backward(steps) {
			switch {
			case slices.Contains(s.files, file) && upgraded:
				err = recordedLate{errors.New("is not there and belongs before the upgrade: no step makes up for it now")}
			case slices.Contains(s.files, file):
				err = fmt.Errorf("is not there; lab step %s --dir %s writes it", s.name, g.Dir)
			}
			if s.name == "upgrade" {
				_, upgradeErr := os.Stat(filepath.Join(g.Dir, upgradeFile))
				upgraded = upgradeErr == nil
			}
		}
	}
	finding := Finding{File: file, OK: err == nil, Text: good, late: errors.As(err, new(recordedLate))}
	if err != nil {
		finding.Text = err.Error()
	}
	g.OK = g.OK && finding.OK
	g.Findings = append(g.Findings, finding)
}

// writeText writes a line a finding, and what to do.
func (g *Grade) writeText(w io.Writer) error {
	failed, width := 0, 0
	for _, f := range g.Findings {
		width = max(width, len(f.File))
	}
	for _, f := range g.Findings {
		mark := "ok  "
		if !f.OK {
			mark = "FAIL"
			failed++
		}
		fmt.Fprintf(w, "%s  %-*s  %s\n", mark, width, f.File, strings.ReplaceAll(f.Text, "\n", "\n"+strings.Repeat(" ", width+8)))
	}
	if failed > 0 && slices.ContainsFunc(g.Findings, func(f Finding) bool { return f.late }) {
		_, err := fmt.Fprintf(w, "\n%s: %d of %d checks failed; to repeat steps would only make the files agree, so let them stand\n", g.Dir, failed, len(g.Findings))
		return err
	}
	if failed > 0 {
		_, err := fmt.Fprintf(w, "\n%s: %d of %d checks failed; to repeat a step: %s\n", g.Dir, failed, len(g.Findings), folder{dir: g.Dir}.again("NAME"))
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s: all %d checks passed\n", g.Dir, len(g.Findings))
	return err
}
