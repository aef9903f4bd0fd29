package drainprobe

import "time"

// elapsed adds up how long a drain takes, at least, probably and at most.
type elapsed struct {
	least, likely, most time.Duration
	// of the round under way
	endLeast, endLikely, endMost time.Duration
	ready                        time.Duration
	rounds                       int
	// unready Pods went under a budget: if one changes at that moment, the API
	// server asks to come back after 10 s.
	unready bool
	// lingering is a Job whose evicted Pods may stay for its back-off.
	lingering string
}

func (e *elapsed) ending(x ending) {
	e.endLeast, e.endLikely, e.endMost = max(e.endLeast, x.least), max(e.endLikely, x.likely), max(e.endMost, x.most)
}

// round closes one round: the Pods left ask again after the retry delay, as
// often as it takes until the replacements are ready.
func (e *elapsed) round(r *simulation, accepted, left int) {
	if accepted == 0 {
		return
	}
	e.rounds++
	r.jobsLinger()
	if left == 0 {
		e.least, e.likely, e.most = e.least+e.endLeast, e.likely+e.endLikely, e.most+e.endMost
	} else {
		// At least: no time at all. A conflict inside the API server may let
		// several evictions through one after another within a second.
		delay := r.m.opts.retryDelay()
		e.likely += delay * max(1, (e.ready+delay-1)/delay)
		e.most += delay * max(1, (e.ready+e.endMost+delay-1)/delay)
	}
	e.endLeast, e.endLikely, e.endMost, e.ready = 0, 0, 0, 0
}
