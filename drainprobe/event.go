package drainprobe

import (
	"time"
)

// EventType says what an Event reports.
type EventType string

// What happens during an attempt, in about this order.
const (
	// EventCordoned: the node takes no new Pods; the attempt did this.
	EventCordoned EventType = "cordoned"
	// EventEvicting: an eviction (or deletion) is being asked for.
	EventEvicting EventType = "evicting"
	// EventRefused: a budget, a webhook or the API server said no.
	EventRefused EventType = "refused"
	// EventAccepted: the Pod was told to end; it has its grace period.
	EventAccepted EventType = "accepted"
	// EventEvicted: the Pod is gone.
	EventEvicted EventType = "evicted"
	// EventServerLost and EventServerBack: the API server stopped answering,
	// and answers again. The drain goes on with the Pods that are left.
	EventServerLost EventType = "serverLost"
	EventServerBack EventType = "serverBack"
	// EventDrained and EventNotDrained: the drain has ended.
	EventDrained    EventType = "drained"
	EventNotDrained EventType = "notDrained"
	// EventRestored: the node is as it was before.
	EventRestored EventType = "restored"
	// EventWaiting: evicted workloads are not ready again yet.
	EventWaiting EventType = "waiting"
	// EventReady: they are.
	EventReady EventType = "ready"
)

// Event is one thing that happened during an attempt.
type Event struct {
	Time time.Time `json:"time"`
	Type EventType `json:"type"`
	// Pod is nil for events of the node.
	Pod *PodRef `json:"pod,omitempty"`
	// Message is one line: the API server's answer for refusals, what is
	// waited for in EventWaiting.
	Message string `json:"message,omitempty"`
	// Gone of Total Pods have left the node.
	Gone  int `json:"gone"`
	Total int `json:"total"`
}

// PodRef names a Pod and who makes it again when it is gone.
type PodRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	// Owner is the controller as Kind/name; a ReplicaSet of a Deployment
	// stands as the Deployment. Empty for a bare Pod.
	Owner string `json:"owner,omitempty"`
}

// String is namespace/name.
func (p PodRef) String() string { return p.Namespace + "/" + p.Name }

// WorkloadKey is namespace/Kind/name of the controller, or of the Pod itself
// when nothing owns it.
func (p PodRef) WorkloadKey() string {
	if p.Owner == "" {
		return p.Namespace + "/Pod/" + p.Name
	}
	return p.Namespace + "/" + p.Owner
}
