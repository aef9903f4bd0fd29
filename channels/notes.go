package channels

import (
	_ "embed"
	"encoding/json"
	"slices"
	"sync"

	"github.com/k3sladder/k3sladder/skew"
)

// Note is something that can break on a step of the ladder, or on any step.
type Note struct {
	// ID is stable.
	ID string `json:"id"`
	// To is the minor whose step brings the change; zero: every step.
	To skew.Minor `json:"to,omitzero"`
	// Arrives lists, line by line, the first patch that has the change, when it
	// is not the first release of To: some changes come by patch.
	Arrives []skew.Version `json:"arrives,omitempty"`
	// Until is the release from which on the note no longer says anything.
	Until skew.Version `json:"until,omitzero"`
	// Only lists the releases that the note is about, when it is about a few.
	Only []skew.Version `json:"only,omitempty"`
	// Etcd limits the note to steps that take etcd to this minor ("3.6"), or to
	// a new minor at all ("any").
	Etcd string `json:"etcd,omitempty"`
	// When lists alternatives; each is a list of [Trait] values that must all hold.
	// Empty: always.
	When [][]Trait `json:"when,omitempty"`
	// Trigger says in words when the note applies.
	Trigger string `json:"trigger"`
	// SafeStart says in words from which releases the step is safe; SafeFrom
	// lists them, the lowest one of each line.
	SafeStart string         `json:"safeStart,omitempty"`
	SafeFrom  []skew.Version `json:"safeFrom,omitempty"`
	// Do says what to do about it.
	Do string `json:"do"`
	// Sources are URLs.
	Sources []string `json:"sources"`
	// Verified: a primary text (release notes, documentation, source, a
	// maintainer) says so. Caveat says what is not covered by that.
	Verified bool   `json:"verified"`
	Caveat   string `json:"caveat,omitempty"`
}

//go:embed data/notes.json
var notesJSON []byte

var notes = sync.OnceValue(func() []Note {
	var ns []Note
	if err := json.Unmarshal(notesJSON, &ns); err != nil {
		panic("channels: the notes are broken: " + err.Error()) // a test reads them
	}
	return ns
})

// Notes lists everything this module knows that can break on an upgrade, oldest
// minor first. The slice is the caller's, the slices in it are shared.
func Notes() []Note { return slices.Clone(notes()) }

// Applying is a note with what the known facts say about it.
type Applying struct {
	Note
	// Certain: the facts say that the note applies. Otherwise the traits in
	// Unknown decide, and they are not known.
	Certain bool    `json:"certain"`
	Unknown []Trait `json:"unknown,omitempty"`
	// SafeStartMet says whether the rung starts from one of SafeFrom or later;
	// empty when the note names none.
	SafeStartMet Answer `json:"safeStartMet,omitempty"`
}

// arrivesOn reports whether the step from a to b brings what the note is about.
func (n *Note) arrivesOn(a, b *place) bool {
	if len(n.Only) > 0 {
		return slices.Contains(n.Only, b.version)
	}
	if n.To.IsZero() && n.Etcd == "" {
		return false // a note about the whole climb
	}
	if n.Etcd != "" && a.etcd.known() && b.etcd.known() {
		if a.etcd.minor == b.etcd.minor || n.Etcd != "any" && b.etcd.minor.String() != n.Etcd {
			return false
		}
		return n.To.IsZero() || n.present(b.version)
	}
	return !n.To.IsZero() && n.present(b.version) && !n.present(a.version)
}

// present reports whether release v has what the note is about. Only the
// Kubernetes version counts, so that RKE2's releases can be asked for too.
func (n *Note) present(v skew.Version) bool {
	v = v.Kubernetes()
	if !n.Until.IsZero() && !v.Less(n.Until) {
		return false
	}
	m := v.Minor()
	if len(n.Arrives) == 0 {
		return m.Compare(n.To) >= 0
	}
	for _, first := range n.Arrives {
		if first.Minor() == m {
			return !v.Less(first)
		}
	}
	return m.Compare(n.Arrives[len(n.Arrives)-1].Minor()) > 0
}

// judge says what the facts make of the note: certain, undecided, or out.
func (n *Note) judge(f Facts) (Applying, bool) {
	a := Applying{Note: *n, Certain: len(n.When) == 0}
	out := len(n.When) > 0
	for _, all := range n.When {
		answer := Yes
		var open []Trait
		for _, t := range all {
			switch f.trait(t) {
			case No:
				answer = No
			case Unknown:
				open = append(open, t)
			}
		}
		switch {
		case answer == No:
			continue
		case len(open) == 0:
			a.Certain = true
		default:
			a.Unknown = append(a.Unknown, open...)
		}
		out = false
	}
	if a.Certain {
		a.Unknown = nil
	}
	return a, !out
}

// safeStart says whether from is a safe start for the note.
func (n *Note) safeStart(from skew.Version) Answer {
	if len(n.SafeFrom) == 0 {
		return Unknown
	}
	for _, safe := range n.SafeFrom {
		if safe.Minor() != from.Minor() {
			continue
		}
		if safe.Distribution() != from.Distribution() {
			safe, from = safe.Kubernetes(), from.Kubernetes()
		}
		if from.Less(safe) {
			return No
		}
		return Yes
	}
	if from.Minor().Compare(n.SafeFrom[len(n.SafeFrom)-1].Minor()) > 0 {
		return Yes
	}
	return No
}
