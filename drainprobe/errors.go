package drainprobe

import (
	"errors"
	"fmt"
	"time"
)

// errNoClient says that a cluster cannot be asked.
var errNoClient = errors.New("no client of the cluster was given")

// ErrNoNode is what Attempt returns for a node that the cluster does not have.
var ErrNoNode = errors.New("no such node")

// ErrInterrupted is what Attempt returns, joined with the context's own error,
// when the caller's context ended before the drain did. The node was given
// back all the same, unless the error is a *RestoreError too.
var ErrInterrupted = errors.New("the attempt was interrupted")

// RestoreError says that the node could not be given back as it was found,
// and which command does it.
type RestoreError struct {
	Node string
	// Command gives the node back when a person runs it.
	Command string
	// Tried is how long Attempt tried.
	Tried time.Duration
	Err   error
}

// Error names the node and the command.
func (e *RestoreError) Error() string {
	return fmt.Sprintf("node %s is still cordoned by this attempt (tried for %v to undo it): %v; to give it back: %s",
		e.Node, e.Tried.Round(time.Second), e.Err, e.Command)
}

// Unwrap gives the cause.
func (e *RestoreError) Unwrap() error { return e.Err }

// BusyError says that another attempt holds the node.
type BusyError struct {
	Node string
	// Since and Until are when that attempt began, and when it counts as dead.
	Since, Until time.Time
}

// Error says since when and until when, and what if that attempt was killed.
func (e *BusyError) Error() string {
	return fmt.Sprintf("another drain attempt has held node %s since %s; it ends by %s; if it was killed, the node stays cordoned (kubectl uncordon %s), and another attempt can begin after that time",
		e.Node, e.Since.Format(time.RFC3339), e.Until.Format(time.RFC3339), e.Node)
}

// AccessError says which permission is missing.
type AccessError struct {
	// Verb and Resource are as RBAC names them, e.g. "list" and
	// "poddisruptionbudgets.policy".
	Verb, Resource string
	// Namespace is empty for all namespaces.
	Namespace string
	Err       error
}

// Error names the permission, and what grants it.
func (e *AccessError) Error() string {
	where := "in all namespaces"
	if e.Namespace != "" {
		where = "in namespace " + e.Namespace
	}
	return fmt.Sprintf("no permission to %s %s %s: %v; grant it with a ClusterRole that has verb %q on %q",
		e.Verb, e.Resource, where, e.Err, e.Verb, e.Resource)
}

// Unwrap gives the API server's answer.
func (e *AccessError) Unwrap() error { return e.Err }
