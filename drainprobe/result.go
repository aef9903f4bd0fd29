package drainprobe

// Forecasted is what a drain would do, worked out without touching anything.
type Forecasted struct {
	Node    string  `json:"node"`
	Verdict Verdict `json:"verdict"`
	// Reasons are why the verdict is what it is, the most telling first.
	Reasons []string `json:"reasons"`
	// Pods on the node, one entry each, in the cluster's order.
	Pods []PodForecast `json:"pods"`
	// Services are the workloads that lose ready Pods on the way.
	Services []ServiceForecast `json:"services"`
	// Unblock holds the shortest ways out, each enough by itself.
	Unblock []Fix `json:"unblock"`
	// Hints are what the documentation of a known operator says about it.
	Hints []Hint `json:"hints"`
	// Time a drain that finishes would take, in seconds.
	Time Estimate `json:"time"`
	// OtherNodes is the number of other nodes that are Ready and take Pods.
	OtherNodes int `json:"otherNodes"`
	// Missing: the cluster has no such node, so the drain fails at once.
	Missing bool `json:"missing,omitempty"`
	// Gaps are parts of the cluster that could not be read.
	Gaps []Gap `json:"gaps"`

	heldByFlags bool
}

// Fate is what a drain does to a Pod.
type Fate string

// What can happen to a Pod on the node.
const (
	FateEvicted Fate = "evicted"
	// FateBlocked: its eviction is refused to the end.
	FateBlocked Fate = "blocked"
	// FateStuck: its eviction is accepted, but it does not end in time.
	FateStuck Fate = "stuck"
	// FateSkipped: the drain passes it over.
	FateSkipped Fate = "skipped"
	// FateHeld: it would go, but a filter stops the drain before it starts.
	FateHeld Fate = "held"
	// FateOpen: it depends on what the reasons name.
	FateOpen Fate = "open"
)

// PodForecast is what a drain does to one Pod and what comes in its place.
type PodForecast struct {
	PodRef
	Fate   Fate   `json:"fate"`
	Reason string `json:"reason,omitempty"`
	// Budget is the one that refuses, as it stands when the drain gives up.
	Budget *BudgetState `json:"budget,omitempty"`
	// Replacement is the Pod that its controller makes instead.
	Replacement *Replacement `json:"replacement,omitempty"`
}

// BudgetState is a PodDisruptionBudget at one moment.
type BudgetState struct {
	Name string `json:"name"`
	// Allowed disruptions, Needed healthy Pods, Current healthy Pods, and the
	// number of Pods Expected.
	Allowed  int `json:"allowed"`
	Needed   int `json:"needed"`
	Current  int `json:"current"`
	Expected int `json:"expected"`
}

// Replacement is where the Pod in place of an evicted one ends up.
type Replacement struct {
	// State is "ready", "unready" or "pending"; "refused" when the API server
	// lets nobody make one; "none" when nobody wants to.
	State string `json:"state"`
	// Node it would run on; the scheduler may choose another that suits.
	Node string `json:"node,omitempty"`
	// Rejected is why the nodes do not take it, the same reason once.
	Rejected []Rejection `json:"rejected,omitempty"`
}

// Rejection is a reason and the nodes it holds for.
type Rejection struct {
	Reason string `json:"reason"`
	// Nodes has at most 5 names; Count is how many there are.
	Nodes []string `json:"nodes"`
	Count int      `json:"count"`
}

// ServiceForecast is a workload that loses ready Pods.
type ServiceForecast struct {
	// Name is namespace/Kind/name.
	Name string `json:"name"`
	// Ready Pods before, at the worst moment, and when the drain has ended.
	Before int `json:"before"`
	Lowest int `json:"lowest"`
	AtEnd  int `json:"atEnd"`
}

// Fix is a list of changes that together let the drain finish.
type Fix struct {
	Changes []string `json:"changes"`
}

// Hint is advice that an operator's own documentation gives.
type Hint struct {
	Operator string   `json:"operator"`
	Pods     []string `json:"pods"`
	Advice   string   `json:"advice"`
	URL      string   `json:"url"`
}

// Estimate is how long a drain takes: if every process ends at once, if all is
// as usual, and if every grace period is used up. In seconds.
type Estimate struct {
	Least  float64 `json:"least"`
	Likely float64 `json:"likely"`
	Most   float64 `json:"most"`
}
