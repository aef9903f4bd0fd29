package suc

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Names of the API this package speaks, and of what the controller writes on
// Jobs, Pods and Nodes.
const (
	Group      = "upgrade.cattle.io"
	APIVersion = Group + "/v1"
	Kind       = "Plan"

	// LabelPlanPrefix and the Plan's name make the node label that holds the
	// hash of the last Plan applied there, or "disabled".
	LabelPlanPrefix = "plan." + Group + "/"
	LabelController = Group + "/controller"
	LabelExclusive  = Group + "/exclusive"
	LabelNode       = Group + "/node"
	LabelPlan       = Group + "/plan"
	LabelVersion    = Group + "/version"

	// AnnotationDigest lists, separated by commas, the dotted paths of Plan
	// fields that count for the hash besides the version.
	AnnotationDigest = Group + "/digest"
)

// Condition types of a Plan's status.
const (
	ConditionResolved  = "LatestResolved"
	ConditionValidated = "Validated"
	ConditionComplete  = "Complete"
)

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=plans,singular=plan,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.upgrade.image`
// +kubebuilder:printcolumn:name="Channel",type=string,JSONPath=`.spec.channel`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Complete",type=string,JSONPath=`.status.conditions[?(@.type=='Complete')].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.message!='')].message`
// +kubebuilder:printcolumn:name="Applying",type=string,JSONPath=`.status.applying`,priority=10

// Plan is an upgrade, or any other operation, that system-upgrade-controller
// carries out as one Job a node. The fields are those of v0.20.1:
// https://github.com/rancher/system-upgrade-controller/blob/v0.20.1/doc/plan.md
type Plan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	Spec   PlanSpec   `json:"spec,omitempty,omitzero"`
	Status PlanStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// PlanList is a list of Plans, as the API server answers it.
type PlanList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	Items []Plan `json:"items"`
}

// +kubebuilder:object:generate=true

// PlanSpec is what the author of a Plan says. A field's comment says what the
// controller makes of it, and what of its absence.
type PlanSpec struct {
	// Concurrency is how many nodes are taken at once. Absent, zero or
	// negative: no node is ever taken, and the Plan still says Complete.
	Concurrency int64 `json:"concurrency,omitempty"`
	// JobActiveDeadlineSecs ends a node's Job after so many seconds; the Plan
	// then stops until its spec is edited. Zero: no deadline. Absent or
	// negative: the controller's default (900 in the shipped manifest).
	JobActiveDeadlineSecs *int64 `json:"jobActiveDeadlineSecs,omitempty"`
	// NodeSelector picks the nodes. Absent: no node. Empty: every node.
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	// ServiceAccountName is the account of the Job's Pod. Absent: the
	// namespace's default account, which may neither cordon nor drain.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// Channel is a URL that answers 302; the last path element of its Location
	// is the version. Not asked when Version is set.
	Channel string `json:"channel,omitempty"`
	// Version is taken as it is, "+" written as "-".
	Version string `json:"version,omitempty"`
	// Secrets are mounted into every container of the Job.
	Secrets []SecretSpec `json:"secrets,omitempty"`
	// Tolerations are added to the only built-in one,
	// node.kubernetes.io/unschedulable:NoSchedule.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Exclusive keeps two exclusive Plans from running on one node at once.
	Exclusive bool `json:"exclusive,omitempty"`
	// Window limits when work may start; work under way goes on after it.
	Window *TimeWindowSpec `json:"window,omitempty"`
	// Prepare runs before the node is cordoned or drained.
	Prepare *ContainerSpec `json:"prepare,omitempty"`
	// Upgrade runs last.
	Upgrade *ContainerSpec `json:"upgrade"`
	// Cordon marks the node unschedulable before Upgrade runs; without effect
	// when Drain is set, which cordons anyway.
	Cordon bool `json:"cordon,omitempty"`
	// Drain empties the node before Upgrade runs. Absent or null: no drain.
	// Empty: a drain with defaults.
	Drain *DrainSpec `json:"drain,omitempty"`
	// ImagePullSecrets are for the images of the Job's Pod.
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// PostCompleteDelay keeps the slot of a finished node for so long before
	// the next node is taken. A Go duration such as "2m".
	PostCompleteDelay *metav1.Duration `json:"postCompleteDelay,omitempty"`
	// PriorityClassName is the priority class of the Job's Pod.
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// PostCompleteLabels are put on a node when its Job is done;
	// $(LATEST_VERSION) and $(LATEST_HASH) are expanded in the values.
	PostCompleteLabels map[string]string `json:"postCompleteLabels,omitempty"`
}

// +kubebuilder:object:generate=true

// PlanStatus is what the controller says.
type PlanStatus struct {
	// Conditions are LatestResolved, Validated and Complete.
	//
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []Condition `json:"conditions,omitempty"`
	// LatestVersion is the resolved version, "+" written as "-".
	LatestVersion string `json:"latestVersion,omitempty"`
	// LatestHash identifies one application of the Plan.
	LatestHash string `json:"latestHash,omitempty"`
	// Applying lists the hostname labels of the nodes being worked on.
	Applying []string `json:"applying,omitempty"`
}

// +kubebuilder:object:generate=true

// Condition is one condition of a Plan's status. The controller writes times
// as RFC 3339 text.
type Condition struct {
	// Type of the condition.
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`
	// LastUpdateTime is when the condition was last written.
	LastUpdateTime string `json:"lastUpdateTime,omitempty"`
	// LastTransitionTime is when Status last changed.
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
	// Reason is one word for the last change.
	Reason string `json:"reason,omitempty"`
	// Message explains the last change.
	Message string `json:"message,omitempty"`
}

// +kubebuilder:object:generate=true

// ContainerSpec is one container of the Job's Pod.
type ContainerSpec struct {
	// Image of the container. Without tag and digest the Plan's version
	// becomes the tag.
	Image   string   `json:"image"`
	Command []string `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	// Env is called envs in a Plan.
	Env     []corev1.EnvVar        `json:"envs,omitempty"`
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// Volumes are mounted into this container; only those of the upgrade
	// container become volumes of the Pod.
	Volumes []VolumeSpec `json:"volumes,omitempty"`
	// SecurityContext replaces the upgrade container's default, which is
	// privileged with CAP_SYS_BOOT.
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
}

// +kubebuilder:object:generate=true

// VolumeSpec mounts a path of the host.
type VolumeSpec struct {
	// Name of the volume in the Pod.
	Name string `json:"name"`
	// Source is the path on the host.
	Source string `json:"source"`
	// Destination is the path in the container.
	Destination string `json:"destination"`
}

// +kubebuilder:object:generate=true

// DrainSpec holds the options of kubectl drain.
type DrainSpec struct {
	// Timeout is handed to kubectl as it is when it is a string such as "5m";
	// an integer counts nanoseconds.
	Timeout            *intstr.IntOrString `json:"timeout,omitempty"`
	GracePeriod        *int32              `json:"gracePeriod,omitempty"`
	DeleteLocalData    *bool               `json:"deleteLocalData,omitempty"`
	DeleteEmptydirData *bool               `json:"deleteEmptydirData,omitempty"`
	IgnoreDaemonSets   *bool               `json:"ignoreDaemonSets,omitempty"`
	// Force also deletes Pods that no controller will make again.
	Force                    bool                  `json:"force,omitempty"`
	DisableEviction          bool                  `json:"disableEviction,omitempty"`
	SkipWaitForDeleteTimeout int                   `json:"skipWaitForDeleteTimeout,omitempty"`
	PodSelector              *metav1.LabelSelector `json:"podSelector,omitempty"`
}

// +kubebuilder:object:generate=true

// SecretSpec mounts a Secret of the Plan's namespace into the containers.
type SecretSpec struct {
	// Name of the Secret.
	Name string `json:"name"`
	// Path in the container; a relative one is under
	// /run/system-upgrade/secrets.
	Path string `json:"path"`
	// IgnoreUpdates keeps the Secret's content out of the Plan's hash and
	// makes the Secret optional.
	IgnoreUpdates bool `json:"ignoreUpdates,omitempty"`
	// DefaultMode is the mode of the mounted files.
	//
	// +optional
	DefaultMode *int32 `json:"defaultMode,omitempty"`
}

// Day is a day of the week.
//
// +kubebuilder:validation:Enum={"0","su","sun","sunday","1","mo","mon","monday","2","tu","tue","tuesday","3","we","wed","wednesday","4","th","thu","thursday","5","fr","fri","friday","6","sa","sat","saturday"}
type Day string

// +kubebuilder:object:generate=true

// TimeWindowSpec is when a Plan may start work on nodes. Days count by the
// zone's local date, so a window over midnight needs both days.
type TimeWindowSpec struct {
	// Days on which the window is open. Absent: never.
	//
	// +kubebuilder:validation:MinItems=1
	Days []Day `json:"days,omitempty"`
	// StartTime such as "02:00".
	StartTime string `json:"startTime,omitempty"`
	// EndTime such as "05:30"; its last second still counts.
	EndTime string `json:"endTime,omitempty"`
	// TimeZone is an IANA name such as Europe/Vienna. Absent: UTC.
	TimeZone string `json:"timeZone,omitempty"`
}
