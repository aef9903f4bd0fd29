package snapshot

import "time"

// Format names the file format; a reader refuses any other.
const Format = "k3sladder.snapshot/v1"

// Snapshot is one cluster at one time. Its lists are sorted by namespace and
// name, those of several kinds by kind first.
type Snapshot struct {
	// Format is the constant [Format].
	Format string `json:"format"`
	// TakenAt is when the capture began, by the clock of the machine it ran on.
	TakenAt time.Time `json:"takenAt"`
	// ClusterUID is the UID of the namespace kube-system, which lives as long
	// as the cluster's datastore. Empty when it could not be read.
	ClusterUID string `json:"clusterUID"`
	// Servers are the API servers that answered.
	Servers []Server `json:"servers"`

	Nodes      []Node      `json:"nodes"`
	Workloads  []Workload  `json:"workloads"`
	Pods       []Pod       `json:"pods"`
	Claims     []Claim     `json:"claims"`
	Volumes    []Volume    `json:"volumes"`
	Services   []Service   `json:"services"`
	Ingresses  []Ingress   `json:"ingresses"`
	Data       []Data      `json:"data"`
	CRDs       []CRD       `json:"crds"`
	HelmCharts []HelmChart `json:"helmCharts"`
	Addons     []Addon     `json:"addons"`
	// Autoscalers are HorizontalPodAutoscalers.
	Autoscalers []Autoscaler `json:"autoscalers"`
	Webhooks    []Webhook    `json:"webhooks"`
	// Others are the objects of all other kinds, namespaces among them.
	Others []Object `json:"others"`
	// APIs are the group-versions that were served.
	APIs []API `json:"apis"`

	// Lists says for every resource whether it was read.
	Lists []List `json:"lists"`
}

// Server is one API server that answered.
type Server struct {
	// Address is where it was asked.
	Address string `json:"address,omitempty"`
	// Version is its own word: "v1.34.4+k3s1". Empty when it did not answer.
	Version string `json:"version"`
	// Error is why it did not answer.
	Error string `json:"error,omitempty"`
}

// Object is what every captured object has.
type Object struct {
	// Group is empty for the core group.
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// UID tells an object from one that was made again under the same name.
	UID string `json:"uid"`
	// Generation counts the changes of its spec, where the kind counts them.
	Generation int64     `json:"generation,omitempty"`
	Created    time.Time `json:"created,omitzero"`
	// Owner is its controller, or else its first owner.
	Owner *Ref `json:"owner,omitempty"`
	// KeptBy is who else puts it back when it changes, such as "Addon/coredns"
	// (packaged with k3s), "HelmChart/traefik", "HelmRelease/ns/name", or
	// "Kubernetes" for what an API server makes itself.
	KeptBy string `json:"keptBy,omitempty"`
	// WrittenAs are the apiVersions through which its managers wrote it, other
	// than the one it was read in.
	WrittenAs []string `json:"writtenAs,omitempty"`
}

// Ref names another object in the same namespace, or a cluster-scoped one.
type Ref struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Node is a node with what its kubelet says about itself.
type Node struct {
	Object
	Kubelet string `json:"kubelet"`
	// KubeProxy is empty from Kubernetes 1.33 on, where nodes do not say.
	KubeProxy        string `json:"kubeProxy,omitempty"`
	OS               string `json:"os"`
	OSImage          string `json:"osImage"`
	Kernel           string `json:"kernel"`
	Architecture     string `json:"architecture"`
	ContainerRuntime string `json:"containerRuntime"`
	// Cgroup is 1 or 2, and 0 where nobody said; see [Options.AskKubelets].
	Cgroup int `json:"cgroup,omitempty"`
	// MachineID and BootID change with the disk's system and with every boot.
	MachineID string `json:"machineID,omitempty"`
	BootID    string `json:"bootID,omitempty"`

	Ready       bool     `json:"ready"`
	Schedulable bool     `json:"schedulable"`
	Roles       []string `json:"roles,omitempty"`
	PodCIDRs    []string `json:"podCIDRs,omitempty"`
	InternalIP  string   `json:"internalIP,omitempty"`
}

// Workload is a Deployment, StatefulSet, DaemonSet, Job, CronJob, or a
// ReplicaSet, ReplicationController or Pod that nobody controls.
type Workload struct {
	Object
	// Images are those of its containers, init containers first.
	Images []string `json:"images,omitempty"`
	// Desired and Ready count Pods; for a Job completions wanted and reached.
	Desired int `json:"desired"`
	Ready   int `json:"ready"`
	// Restarts is the sum over the containers of its present Pods, and
	// LastRestart when the last one of them that is known began again.
	Restarts    int       `json:"restarts"`
	LastRestart time.Time `json:"lastRestart,omitzero"`
	// State is "complete" or "failed" for a Job that ended, "suspended" for a
	// Job or CronJob on hold.
	State string `json:"state,omitempty"`
	// Expires: a Job that is deleted by itself some time after it ended.
	Expires bool `json:"expires,omitempty"`
	// Schedule is a CronJob's.
	Schedule string `json:"schedule,omitempty"`
}

// Pod is a Pod that belongs to a workload.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Owner is the workload at the top: the Deployment, not its ReplicaSet.
	// It may be of a kind that [Snapshot.Workloads] has not, such as a Node for
	// a static Pod.
	Owner       Ref       `json:"owner"`
	Node        string    `json:"node,omitempty"`
	Phase       string    `json:"phase"`
	Ready       bool      `json:"ready"`
	Restarts    int       `json:"restarts,omitempty"`
	LastRestart time.Time `json:"lastRestart,omitzero"`
}

// Claim is a PersistentVolumeClaim.
type Claim struct {
	Object
	Phase    string `json:"phase"`
	Volume   string `json:"volume,omitempty"`
	Class    string `json:"class,omitempty"`
	Capacity string `json:"capacity,omitempty"`
}

// Volume is a PersistentVolume.
type Volume struct {
	Object
	Phase string `json:"phase"`
	// Claim is "namespace/name".
	Claim    string `json:"claim,omitempty"`
	Class    string `json:"class,omitempty"`
	Capacity string `json:"capacity,omitempty"`
	Reclaim  string `json:"reclaim,omitempty"`
	// Source is where the bytes are: "csi:driver/handle", "local:/path",
	// "hostPath:/path", "nfs:server:/path", or the plugin's name.
	Source string `json:"source,omitempty"`
}

// Service is a Service with the addresses that clients may have kept.
type Service struct {
	Object
	Type       string   `json:"type"`
	ClusterIPs []string `json:"clusterIPs,omitempty"`
	// Ports are "name:port/protocol", with ">nodePort" where there is one.
	Ports        []string `json:"ports,omitempty"`
	ExternalName string   `json:"externalName,omitempty"`
}

// Ingress is an Ingress with its class and hosts.
type Ingress struct {
	Object
	Class string   `json:"class,omitempty"`
	Hosts []string `json:"hosts,omitempty"`
}

// Data is a Secret or a ConfigMap.
type Data struct {
	Object
	// Type is a Secret's.
	Type string `json:"type,omitempty"`
	// Keys is how many keys it has.
	Keys int `json:"keys"`
	// Hash changes when the data does. It is keyed with the cluster's UID and
	// the object's name, so that equal values do not show as equal; whoever
	// holds the file can still try guesses of a short secret against it.
	Hash string `json:"hash"`
}

// CRD is a CustomResourceDefinition.
type CRD struct {
	Object
	Versions []CRDVersion `json:"versions"`
	// StoredVersions are those in which objects may lie in the datastore.
	StoredVersions []string `json:"storedVersions"`
	// Resource and ResourceGroup name what it defines.
	Resource      string `json:"resource"`
	ResourceGroup string `json:"resourceGroup"`
	ResourceKind  string `json:"resourceKind"`
	Established   bool   `json:"established"`
}

// CRDVersion is one version of a CRD.
type CRDVersion struct {
	Name    string `json:"name"`
	Served  bool   `json:"served"`
	Storage bool   `json:"storage"`
}

// HelmChart is a HelmChart of k3s' helm-controller.
type HelmChart struct {
	Object
	Chart   string `json:"chart,omitempty"`
	Version string `json:"version,omitempty"`
	Target  string `json:"targetNamespace,omitempty"`
	Job     string `json:"job,omitempty"`
}

// Addon is an Addon: a manifest that k3s keeps applied.
type Addon struct {
	Object
	Source   string `json:"source,omitempty"`
	Checksum string `json:"checksum,omitempty"`
}

// Autoscaler is a HorizontalPodAutoscaler: who may change replicas by itself.
type Autoscaler struct {
	Object
	// Target is what it scales: "Deployment/web".
	Target string `json:"target"`
	Min    int    `json:"min"`
	Max    int    `json:"max"`
}

// Webhook is a Validating- or MutatingWebhookConfiguration.
type Webhook struct {
	Object
	// Hooks are "name -> service-or-URL (failure policy)".
	Hooks []string `json:"hooks"`
}

// API is a group-version that the API server serves.
type API struct {
	// GroupVersion is "v1", "apps/v1".
	GroupVersion string   `json:"groupVersion"`
	Resources    []string `json:"resources,omitempty"`
	// Unavailable is why it does not answer: an aggregated API whose server
	// is away.
	Unavailable string `json:"unavailable,omitempty"`
}

// State says what became of one list.
type State string

const (
	// Captured: the whole list is in the snapshot.
	Captured State = "captured"
	// Forbidden: this user may not list it.
	Forbidden State = "forbidden"
	// Excluded: [Options] left it out.
	Excluded State = "excluded"
	// Failed: the server serves it and could not list it.
	Failed State = "failed"
)

// List is one resource of the cluster.
type List struct {
	Group      string `json:"group,omitempty"`
	Version    string `json:"version"`
	Resource   string `json:"resource"`
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced,omitempty"`
	State      State  `json:"state"`
	// Reason is why it is not captured.
	Reason string `json:"reason,omitempty"`
	Count  int    `json:"count"`
	// Revision is the resourceVersion the whole list was read at; with a
	// choice of namespaces the lowest of theirs.
	Revision string `json:"revision,omitempty"`
	// Namespaces is the choice that [Options.Namespaces] made; empty for all.
	Namespaces []string `json:"namespaces,omitempty"`
}
