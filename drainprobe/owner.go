package drainprobe

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ownerKind is how a controller answers the loss of a Pod.
type ownerKind int

const (
	ownerNone    ownerKind = iota // bare Pod: gone for good
	ownerReplica                  // ReplicaSet or ReplicationController: a new Pod at once
	ownerStateful
	ownerDaemon // leaves and returns with its node
	ownerJob
	ownerStatic  // the kubelet's own
	ownerMissing // the controller that the Pod names is not there
	ownerUnknown // a kind this package does not know
)

// owner is the controller of some Pods.
type owner struct {
	name     string // namespace/Kind/name as people know it
	kind     ownerKind
	uid      types.UID
	replicas int
	pods     []int // ids in the model, those of the start

	// scale is what the disruption controller counts for this owner. scaleUID
	// keeps two ReplicaSets of one Deployment from counting twice.
	scaleUID types.UID
	scale    int
	scaleErr string // the controller's own sync error
	noScale  bool   // not to be known from here

	ordered   bool // StatefulSet that makes one Pod at a time
	first     int  // StatefulSet's first ordinal
	otherRev  bool // comes back from another template revision
	revisions bool // StatefulSet in the middle of an update
	gated     bool // template has scheduling gates
	template  *corev1.PodTemplateSpec
	jobLimit  int // Job: Pods that may fail before all are ended, -1 never
	jobFailed int
	policy    bool // Job: a podFailurePolicy has a say
}

type ownerIndex struct {
	deployments map[types.UID]*appsv1.Deployment
	rs          map[types.UID]*appsv1.ReplicaSet
	rc          map[types.UID]*corev1.ReplicationController
	sts         map[types.UID]*appsv1.StatefulSet
	jobs        map[types.UID]*batchv1.Job
	w           *World
}

func indexOwners(w *World) *ownerIndex {
	x := &ownerIndex{w: w,
		deployments: byUID(w.Deployments), rs: byUID(w.ReplicaSets), rc: byUID(w.ReplicationControllers),
		sts: byUID(w.StatefulSets), jobs: byUID(w.Jobs)}
	return x
}

func byUID[T metav1.Object](list []T) map[types.UID]T {
	m := make(map[types.UID]T, len(list))
	for _, o := range list {
		m[o.GetUID()] = o
	}
	return m
}

// of describes the controller of a Pod. Scale rules:
// https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/controller/disruption/disruption.go
func (x *ownerIndex) of(p *corev1.Pod) *owner {
	o := &owner{name: refOf(p).WorkloadKey(), replicas: 1, jobLimit: -1}
	ref := metav1.GetControllerOf(p)
	if ref == nil {
		return o
	}
	o.uid, o.scaleUID = ref.UID, ref.UID
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	if ref.APIVersion == "v1" {
		group = ""
	}
	switch {
	case ref.Kind == "ReplicaSet" && group == "apps":
		o.kind = ownerReplica
		rs := x.rs[ref.UID]
		if rs == nil {
			return x.absent(o, "replicasets", "found no controllers for pod")
		}
		o.replicas = replicasOf(rs.Spec.Replicas)
		o.scale = o.replicas
		o.template = &rs.Spec.Template
		if up := metav1.GetControllerOf(rs); up != nil {
			switch {
			case up.Kind == "Deployment" && strings.HasPrefix(up.APIVersion, "apps/"):
				o.name = p.Namespace + "/Deployment/" + up.Name
				d := x.deployments[up.UID]
				if d == nil {
					return x.absentScale(o, "deployments", "found no controllers for pod")
				}
				o.scaleUID, o.scale = d.UID, replicasOf(d.Spec.Replicas)
			}
		}
	case ref.Kind == "ReplicationController" && group == "":
		o.kind = ownerReplica
		rc := x.rc[ref.UID]
		if rc == nil {
			return x.absent(o, "replicationcontrollers", "found no controllers for pod")
		}
		o.replicas = replicasOf(rc.Spec.Replicas)
		o.scale = o.replicas
		o.template = rc.Spec.Template
	case ref.Kind == "StatefulSet" && group == "apps":
		o.kind = ownerStateful
		s := x.sts[ref.UID]
		if s == nil {
			return x.absent(o, "statefulsets", "found no controllers for pod")
		}
		o.replicas = replicasOf(s.Spec.Replicas)
		o.scale = o.replicas
		o.ordered = s.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
		o.otherRev = s.Status.UpdateRevision != s.Status.CurrentRevision
		o.revisions = severalRevisions(s)
		o.template = &s.Spec.Template
		if s.Spec.Ordinals != nil {
			o.first = int(s.Spec.Ordinals.Start)
		}
	case ref.Kind == "DaemonSet" && group == "apps":
		o.kind = ownerDaemon
		o.scaleErr = "daemonsets.apps does not implement the scale subresource"
	case ref.Kind == "Job" && group == "batch":
		o.kind = ownerJob
		o.scaleErr = "jobs.batch does not implement the scale subresource"
		j := x.jobs[ref.UID]
		if j == nil {
			return x.absent(o, "jobs", o.scaleErr)
		}
		x.job(o, j)
	case ref.Kind == "Node" && group == "":
		o.kind = ownerStatic
		o.scaleErr = "nodes does not implement the scale subresource"
	default:
		o.kind, o.noScale = ownerUnknown, true
	}
	if x.leaving(ref.UID) {
		o.kind = ownerMissing // its controller makes nobody new
	}
	o.gated = o.template != nil && len(o.template.Spec.SchedulingGates) > 0
	return o
}

// leaving: the controller is being deleted, and waits for its Pods to go.
func (x *ownerIndex) leaving(uid types.UID) bool {
	return beingDeleted(x.rs, uid) || beingDeleted(x.rc, uid) || beingDeleted(x.sts, uid) || beingDeleted(x.jobs, uid)
}

func beingDeleted[T metav1.Object](known map[types.UID]T, uid types.UID) bool {
	o, ok := known[uid]
	return ok && o.GetDeletionTimestamp() != nil
}

// absent is an owner whose object the world lacks: gone from the cluster, or
// not read.
func (x *ownerIndex) absent(o *owner, resource, scaleErr string) *owner {
	if _, gap := x.w.gap(resource); gap {
		o.kind = ownerUnknown
	} else {
		o.kind = ownerMissing
	}
	return x.absentScale(o, resource, scaleErr)
}

func (x *ownerIndex) absentScale(o *owner, resource, scaleErr string) *owner {
	if _, gap := x.w.gap(resource); gap {
		o.noScale = true
	} else {
		o.scaleErr = scaleErr
	}
	return o
}

// job reads how many Pods a Job keeps and when it gives up. An evicted Pod
// counts as failed unless a policy ignores disruptions.
// https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-backoff-failure-policy
func (x *ownerIndex) job(o *owner, j *batchv1.Job) {
	o.replicas = 1
	if j.Spec.Parallelism != nil {
		o.replicas = int(*j.Spec.Parallelism)
	}
	switch {
	case j.Spec.Completions != nil:
		o.replicas = min(o.replicas, int(*j.Spec.Completions)-int(j.Status.Succeeded))
	case j.Status.Succeeded > 0:
		o.replicas = 0 // a work queue: one that is done means that nobody new is wanted
	}
	if by := j.Spec.ManagedBy; by != nil && *by != batchv1.JobControllerName {
		o.kind = ownerUnknown
	}
	if j.Spec.Suspend != nil && *j.Spec.Suspend {
		o.replicas = 0
	}
	for _, c := range j.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			o.replicas = 0
		}
	}
	o.jobLimit, o.jobFailed = 6, int(j.Status.Failed)
	if j.Spec.BackoffLimit != nil {
		o.jobLimit = int(*j.Spec.BackoffLimit)
	}
	if j.Spec.BackoffLimitPerIndex != nil {
		o.jobLimit = -1
		o.otherRev = true // per index: not followed, so its return is open
	}
	if policy := j.Spec.PodFailurePolicy; policy != nil {
		o.policy = true
		for _, rule := range policy.Rules {
			for _, c := range rule.OnPodConditions {
				if c.Type == corev1.DisruptionTarget && rule.Action == batchv1.PodFailurePolicyActionIgnore {
					o.jobLimit = -1
				}
			}
		}
	}
	o.template = &j.Spec.Template
}

func replicasOf(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

// ordinalOf is the number at the end of a StatefulSet Pod's name, -1 if there
// is none.
func ordinalOf(name string) int {
	i := strings.LastIndex(name, "-")
	if i < 0 {
		return -1
	}
	n, err := strconv.Atoi(name[i+1:])
	if err != nil {
		return -1
	}
	return n
}
