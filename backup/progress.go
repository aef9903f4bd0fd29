package backup

import (
	"context"
	"time"
)

// Phase is the part of the work that a [Progress] is about.
type Phase string

// The phases, in the order they come in.
const (
	PhaseCopy  Phase = "copy"  // pages of the database
	PhaseCheck Phase = "check" // SQLite's check of the copy; no byte counts
	PhaseHash  Phase = "hash"  // SHA-256 of the files
)

// Progress tells how far a phase is.
type Progress struct {
	Phase Phase         `json:"phase"`
	Done  int64         `json:"done"`  // bytes
	Total int64         `json:"total"` // bytes; 0 when unknown
	Pages int64         `json:"pages"` // database pages done; 0 in phases that do not count them
	Took  time.Duration `json:"took"`  // since the phase began, nanoseconds
}

// Rate is the phase's mean speed in bytes a second.
func (p Progress) Rate() float64 {
	if p.Took <= 0 {
		return 0
	}
	return float64(p.Done) / p.Took.Seconds()
}

// meter calls report at most ten times a second, and at a phase's end. With a
// limit in bytes a second, pace holds a phase back to it.
type meter struct {
	report func(Progress)
	phase  Phase
	limit  int64
	start  time.Time
	begun  time.Time // of this try, for pace
	last   time.Time
}

func newMeter(report func(Progress), phase Phase) *meter {
	m := &meter{report: report, phase: phase, start: time.Now(), begun: time.Now()}
	m.at(0, 0, 0)
	return m
}

func (m *meter) at(done, total, pages int64) {
	if m.report == nil {
		return
	}
	now := time.Now()
	if now.Sub(m.last) < 100*time.Millisecond && done != total {
		return
	}
	m.last = now
	m.report(Progress{Phase: m.phase, Done: done, Total: total, Pages: pages, Took: now.Sub(m.start)})
}

// pace waits until the phase may go on after done bytes. 0 begins anew.
func (m *meter) pace(ctx context.Context, done int64) error {
	if done == 0 {
		m.begun = time.Now()
	}
	if m.limit <= 0 {
		return ctx.Err()
	}
	due := m.begun.Add(time.Duration(float64(done) / float64(m.limit) * float64(time.Second)))
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(due)):
		return nil
	}
}
