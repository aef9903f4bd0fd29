package suc

import (
	"fmt"
	"time"
)

// EventType says what happened.
type EventType string

// Events of a Plan, in the order in which they usually come.
const (
	EventValidated  EventType = "validated"
	EventResolved   EventType = "resolved"
	EventWaiting    EventType = "waiting" // for the window
	EventJobStarted EventType = "job-started"
	EventPrepared   EventType = "prepared"
	EventCordoned   EventType = "cordoned"
	EventDrained    EventType = "drained"
	EventUpgraded   EventType = "upgraded" // the upgrade container ended well; the node may still restart
	EventNodeDone   EventType = "node-done"
	EventFailed     EventType = "failed"
	EventStuck      EventType = "stuck"
	EventComplete   EventType = "complete"
	EventLost       EventType = "connection-lost"
	EventBack       EventType = "connection-back"
)

// Event is one thing that happened to a Plan.
type Event struct {
	Time    time.Time `json:"time"`
	Type    EventType `json:"type"`
	Node    string    `json:"node,omitempty"`
	Job     string    `json:"job,omitempty"`
	Message string    `json:"message,omitempty"`
	// Container that failed, with its last lines.
	Container string   `json:"container,omitempty"`
	Log       []string `json:"log,omitempty"`
}

// String is one line, with the log below it.
func (e Event) String() string {
	s := fmt.Sprintf("%s  %-15s", e.Time.Format(time.TimeOnly), e.Type)
	for _, part := range []string{e.Node, e.Container, e.Message} {
		if part != "" {
			s += "  " + part
		}
	}
	for _, l := range e.Log {
		s += "\n            | " + l
	}
	return s
}

// Outcome is how a watched Plan ended.
type Outcome string

const (
	// Done: every selected node reports the version and is Ready.
	Done Outcome = "complete"
	// Failed: a Job failed and its node did not move.
	Failed Outcome = "failed"
	// Stuck: nothing will happen any more until somebody acts.
	Stuck Outcome = "stuck"
)

// WatchResult is how a Plan ended.
type WatchResult struct {
	Outcome Outcome `json:"outcome"`
	// Because says why; empty when complete.
	Because string         `json:"because,omitempty"`
	Version string         `json:"version,omitempty"`
	Nodes   []NodeProgress `json:"nodes"`
	// LeftCordoned are nodes that were schedulable when the watch began and are
	// not any more.
	LeftCordoned []string `json:"leftCordoned,omitempty"`
	// Commands put the cluster back, or let the Plan go on.
	Commands []string `json:"commands,omitempty"`
}

// NodeProgress is how far a node is.
type NodeProgress struct {
	Name string `json:"name"`
	// Phase is waiting, started, prepared, cordoned, drained, upgraded, done or
	// failed.
	Phase    string `json:"phase"`
	Kubelet  string `json:"kubelet,omitempty"`
	Ready    bool   `json:"ready"`
	Cordoned bool   `json:"cordoned,omitempty"`
}
