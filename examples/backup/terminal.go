package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/k3sladder/k3sladder/backup"
	"github.com/k3sladder/k3sladder/internal/columns"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// bar shows progress where somebody can see it, and nothing in a log.
type bar struct {
	w     io.Writer // nil when nobody watches
	phase backup.Phase
	bar   *progressbar.ProgressBar
}

func newBar(w io.Writer) *bar {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &bar{w: w}
	}
	return &bar{}
}

func (b *bar) show(p backup.Progress) {
	if b.w == nil {
		return
	}
	if b.bar == nil || b.phase != p.Phase {
		b.done()
		total := p.Total
		if total <= 0 {
			total = -1
		}
		b.phase = p.Phase
		b.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(b.w),
			progressbar.OptionSetDescription(string(p.Phase)),
			progressbar.OptionShowBytes(p.Phase != backup.PhaseCheck),
			progressbar.OptionClearOnFinish())
	}
	if p.Total > 0 && b.bar.GetMax64() != p.Total {
		b.bar.ChangeMax64(p.Total)
	}
	_ = b.bar.Set64(p.Done)
}

// done wipes the bar.
func (b *bar) done() {
	if b.bar != nil {
		_ = b.bar.Clear()
		b.bar = nil
	}
}

func table(list []backup.Entry) string {
	var text bytes.Buffer
	w := columns.New(&text)
	fmt.Fprintln(w, "CREATED\tK3S\tNODE\tREVISION\tBYTES\tTOKEN OPENS\tFOLDER")
	for _, e := range list {
		if e.Problem != "" {
			fmt.Fprintf(w, "-\t-\t-\t-\t-\t-\t%s (%s)\n", e.Dir, e.Problem)
			continue
		}
		version := e.K3sVersion
		if version == "" {
			version = "unknown"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", dateText(e.Created), version, e.Node, e.Revision, e.Bytes, e.Opens, e.Dir)
	}
	w.Flush()
	return text.String()
}
