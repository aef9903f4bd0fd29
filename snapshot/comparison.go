package snapshot

import (
	"time"

	"github.com/k3sladder/k3sladder/skew"
)

// Verdict is the answer of [Compare].
type Verdict string

const (
	// SameCluster: the same cluster, and nothing was lost.
	SameCluster Verdict = "same-cluster"
	// SameClusterWithLosses: the same datastore, and something is gone, was
	// made anew, is not well any more or was set back.
	SameClusterWithLosses Verdict = "same-cluster-with-losses"
	// OtherCluster: two clusters.
	OtherCluster Verdict = "other-cluster"
	// NotComparable: something that the answer depends on was not captured.
	NotComparable Verdict = "not-comparable"
)

// What says what kind of difference there is.
type What string

const (
	// Missing: it was there and is gone.
	Missing What = "missing"
	// Recreated: one of the same name, with another UID.
	Recreated What = "recreated"
	// Added: it was not there before.
	Added What = "added"
	// Changed: its spec or data is another.
	Changed What = "changed"
	// SetBack: its generation is lower than it was, which only a restored
	// datastore does.
	SetBack What = "set-back"
	// Moved: it runs another version.
	Moved What = "moved"
	// Unwell: it was ready, bound or schedulable, and is no more.
	Unwell What = "unwell"
	// CameBack: a packaged add-on that was not deployed is.
	CameBack What = "came-back"
	// Gone: an API version is served no more.
	Gone What = "api-gone"
	// Unreadable: a version in which a CRD's objects were stored is gone; a
	// loss unless they were seen to be readable all the same.
	Unreadable What = "stored-version-gone"
	// Restored: the datastore's revision went back.
	Restored What = "restored"
	// BrokenSkew: a node's kubelet is outside of what the version skew policy
	// allows for the API server.
	BrokenSkew What = "skew"
	// NotAStep: the server's version did not move by one legal step.
	NotAStep What = "not-a-step"
)

// Difference is one thing that is not as it was.
type Difference struct {
	What      What   `json:"what"`
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Field, Before and After are set where one value tells it.
	Field  string `json:"field,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Detail says more, in words.
	Detail string `json:"detail,omitempty"`
	// Loss makes the verdict same-cluster-with-losses.
	Loss bool `json:"loss,omitempty"`
	// Expected is why it does not count: who makes such changes by themselves.
	Expected string `json:"expected,omitempty"`
}

// Side is one of the two snapshots.
type Side struct {
	TakenAt       time.Time `json:"takenAt"`
	ServerVersion string    `json:"serverVersion"`
	ClusterUID    string    `json:"clusterUID"`
	Nodes         int       `json:"nodes"`
	NodesReady    int       `json:"nodesReady"`
	Objects       int       `json:"objects"`
}

// Step is how the API server's version moved.
type Step struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Kind is "no-op", "patch" or "step" where it is legal.
	Kind skew.UpgradeKind `json:"kind,omitempty"`
	// Illegal is why it is not one legal step.
	Illegal string `json:"illegal,omitempty"`
}

// NodeMove is a node on both sides; an empty UID is a side without it.
type NodeMove struct {
	Name          string `json:"name"`
	UIDBefore     string `json:"uidBefore"`
	UIDAfter      string `json:"uidAfter"`
	KubeletBefore string `json:"kubeletBefore"`
	KubeletAfter  string `json:"kubeletAfter"`
	ReadyAfter    bool   `json:"readyAfter"`
	// Rebooted: its boot ID is another.
	Rebooted bool `json:"rebooted,omitempty"`
}

// WorkloadMove is a workload on both sides.
type WorkloadMove struct {
	Kind        string `json:"kind"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	UIDBefore   string `json:"uidBefore"`
	UIDAfter    string `json:"uidAfter"`
	ReadyBefore int    `json:"readyBefore"`
	ReadyAfter  int    `json:"readyAfter"`
	Desired     int    `json:"desired"`
	// Restarts counts its containers' restarts between the snapshots, and
	// LastRestart when the last of them was.
	Restarts    int       `json:"restarts"`
	LastRestart time.Time `json:"lastRestart,omitzero"`
	// PodsKept are those with the same UID; PodsNew the others that are there.
	PodsKept int `json:"podsKept"`
	PodsNew  int `json:"podsNew"`
}

// Gap is a list that one side lacks.
type Gap struct {
	Resource string `json:"resource"`
	// Side is "before" or "after".
	Side   string `json:"side"`
	State  State  `json:"state"`
	Reason string `json:"reason"`
}

// Counts sum up a comparison. Objects here are those with a name of their own,
// not the Pods of workloads.
type Counts struct {
	Same      int `json:"same"`
	Missing   int `json:"missing"`
	Recreated int `json:"recreated"`
	Added     int `json:"added"`
	Changed   int `json:"changed"`
	// Losses and Expected count differences of all kinds.
	Losses   int `json:"losses"`
	Expected int `json:"expected"`
	// Restarts sums the containers' restarts between the snapshots.
	Restarts int `json:"restarts"`
	PodsKept int `json:"podsKept"`
	PodsNew  int `json:"podsNew"`
}

// Comparison is what [Compare] found.
type Comparison struct {
	Verdict Verdict `json:"verdict"`
	// Headline is the verdict in one sentence.
	Headline string `json:"headline"`
	// Reasons are what the verdict rests on.
	Reasons []string `json:"reasons"`

	Before Side   `json:"before"`
	After  Side   `json:"after"`
	Step   Step   `json:"step"`
	Counts Counts `json:"counts"`

	// Differences are those that count, losses first; Expected those that are
	// explained.
	Differences []Difference   `json:"differences"`
	Expected    []Difference   `json:"expected"`
	Nodes       []NodeMove     `json:"nodes"`
	Workloads   []WorkloadMove `json:"workloads"`
	Gaps        []Gap          `json:"gaps"`
}

// Same reports whether the verdict is [SameCluster] and nothing differs but what
// is expected.
func (c *Comparison) Same() bool { return c.Verdict == SameCluster && len(c.Differences) == 0 }

// Losses are the differences that are losses.
func (c *Comparison) Losses() []Difference {
	n := 0
	for n < len(c.Differences) && c.Differences[n].Loss {
		n++
	}
	return c.Differences[:n:n]
}
