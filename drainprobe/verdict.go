package drainprobe

// Verdict answers "does a drain of this node finish?".
type Verdict string

// The three answers.
const (
	VerdictDrains    Verdict = "drains"
	VerdictBlocked   Verdict = "blocked"
	VerdictUndecided Verdict = "undecided"
)
