package suc

// Explanation is what the controller will do with a Plan.
type Explanation struct {
	Plan string `json:"plan"`
	// Version as the controller writes it into the status, Resolved by spec.version
	// or the channel; empty when it is not known, see Unresolved.
	Version    string `json:"version,omitempty"`
	ResolvedBy string `json:"resolvedBy,omitempty"`
	Unresolved string `json:"unresolved,omitempty"`
	// Hash identifies this application of the Plan; empty when not known.
	Hash string `json:"hash,omitempty"`
	// Containers in the order in which they run on a node.
	Containers []PlannedContainer `json:"containers"`
	// DrainArgs are kubectl's, with NODE for the node's name; nil without drain.
	DrainArgs []string `json:"drainArgs,omitempty"`
	// DeadlineSeconds of one node's Job; 0: none. DeadlineAssumed: the
	// controller's setting is not known, and this is what it ships with.
	DeadlineSeconds int64 `json:"deadlineSeconds"`
	DeadlineAssumed bool  `json:"deadlineAssumed,omitempty"`
	Concurrency     int64 `json:"concurrency"`
	// Window is nil when the Plan has none.
	Window *PlannedWindow `json:"window,omitempty"`
	// Nodes in the order in which the controller takes them, then those that it
	// does not take. Nil when no nodes are known.
	Nodes []PlannedNode `json:"nodes,omitempty"`
	// OrderKnown: the order of the nodes is the controller's. It needs the UIDs
	// of nodes and Plan.
	OrderKnown bool `json:"orderKnown"`
	// Answers to what people ask afterwards.
	Answers []Answer `json:"answers"`
}

// PlannedContainer is one container of every node's Job.
type PlannedContainer struct {
	Name    string   `json:"name"`
	Image   string   `json:"image"`
	Command []string `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	// Does says in words what it is for.
	Does string `json:"does"`
}

// PlannedWindow is when work may start.
type PlannedWindow struct {
	// Open: it is open at the time asked about.
	Open bool `json:"open"`
	// Opening is the present or next one; nil when it never opens.
	Opening *Opening `json:"opening,omitempty"`
	// Invalid says why the controller refuses the window.
	Invalid string `json:"invalid,omitempty"`
}

// PlannedNode is what happens to one node.
type PlannedNode struct {
	Name string `json:"name"`
	// State is todo, applying, done, never or not-selected.
	State string `json:"state"`
	// Batch counts from 1: nodes of one batch are taken at once. 0 when the
	// node is not taken or the order is not known.
	Batch int `json:"batch,omitempty"`
	// Job is the name its Job gets; empty when the hash is not known.
	Job     string `json:"job,omitempty"`
	Server  bool   `json:"server,omitempty"`
	Kubelet string `json:"kubelet,omitempty"`
	// Skew is step, patch, no-op, or refused with the reason in SkewReason;
	// empty when the versions cannot be compared.
	Skew       string `json:"skew,omitempty"`
	SkewReason string `json:"skewReason,omitempty"`
	// Cordoned: the node is unschedulable already.
	Cordoned bool `json:"cordoned,omitempty"`
	// Why says what the state, or what will go wrong, follows from.
	Why   []string       `json:"why,omitempty"`
	Drain *DrainForecast `json:"drain,omitempty"`

	controlPlane bool
}

// Answer is a question with its answer: yes, no or undecided.
type Answer struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	Because  string `json:"because"`
}
