package snapshot

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func deployment(d *appsv1.Deployment) Workload {
	return Workload{Object: object("apps", "Deployment", "apps/v1", d), Images: images(&d.Spec.Template.Spec),
		Desired: orOne(d.Spec.Replicas), Ready: int(d.Status.ReadyReplicas)}
}

func statefulSet(s *appsv1.StatefulSet) Workload {
	return Workload{Object: object("apps", "StatefulSet", "apps/v1", s), Images: images(&s.Spec.Template.Spec),
		Desired: orOne(s.Spec.Replicas), Ready: int(s.Status.ReadyReplicas)}
}

func daemonSet(d *appsv1.DaemonSet) Workload {
	return Workload{Object: object("apps", "DaemonSet", "apps/v1", d), Images: images(&d.Spec.Template.Spec),
		Desired: int(d.Status.DesiredNumberScheduled), Ready: int(d.Status.NumberReady)}
}

func replicaSet(r *appsv1.ReplicaSet) Workload {
	return Workload{Object: object("apps", "ReplicaSet", "apps/v1", r), Images: images(&r.Spec.Template.Spec),
		Desired: orOne(r.Spec.Replicas), Ready: int(r.Status.ReadyReplicas)}
}

func replicationController(r *corev1.ReplicationController) Workload {
	w := Workload{Object: object("", "ReplicationController", "v1", r),
		Desired: orOne(r.Spec.Replicas), Ready: int(r.Status.ReadyReplicas)}
	if r.Spec.Template != nil {
		w.Images = images(&r.Spec.Template.Spec)
	}
	return w
}

func job(j *batchv1.Job) Workload {
	w := Workload{Object: object("batch", "Job", "batch/v1", j), Images: images(&j.Spec.Template.Spec),
		Desired: orOne(j.Spec.Completions), Ready: int(j.Status.Succeeded), Expires: j.Spec.TTLSecondsAfterFinished != nil}
	if j.Spec.Suspend != nil && *j.Spec.Suspend {
		w.State = "suspended"
	}
	for _, c := range j.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			w.State = "complete"
		case c.Type == batchv1.JobFailed:
			w.State = "failed"
		}
	}
	return w
}

func cronJob(c *batchv1.CronJob) Workload {
	w := Workload{Object: object("batch", "CronJob", "batch/v1", c), Images: images(&c.Spec.JobTemplate.Spec.Template.Spec),
		Schedule: c.Spec.Schedule}
	if c.Spec.Suspend != nil && *c.Spec.Suspend {
		w.State = "suspended"
	}
	return w
}

func images(spec *corev1.PodSpec) []string {
	var out []string
	for i := range spec.InitContainers {
		out = append(out, spec.InitContainers[i].Image)
	}
	for i := range spec.Containers {
		out = append(out, spec.Containers[i].Image)
	}
	return out
}

func orOne(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

// podRecord is a Pod on its way to the workload it belongs to.
type podRecord struct {
	Pod
	// bare is the Pod as a workload of its own, when nobody controls it.
	bare *Workload
}

// readPods keeps what says whether a Pod is the same and well. Whom it belongs
// to is settled by [capture.settle], once every list is read.
func readPods(ctx context.Context, c *capture, l *List, namespace string) (string, error) {
	var got []podRecord
	revision, err := pages(ctx, c.pageSize(l), c.clients.Kubernetes.CoreV1().Pods(namespace).List,
		func() { got = nil },
		func(p *corev1.PodList) error { got = append(got, each(p.Items, pod)...); return nil })
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods = append(c.pods, got...)
	l.Count += len(got)
	return revision, nil
}

func pod(p *corev1.Pod) podRecord {
	r := podRecord{Pod: Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Node: p.Spec.NodeName, Phase: string(p.Status.Phase)}}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			r.Ready = c.Status == corev1.ConditionTrue
		}
	}
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range list {
			s := &list[i]
			r.Restarts += int(s.RestartCount)
			if s.RestartCount > 0 {
				if at := restartedAt(s); at.After(r.LastRestart) {
					r.LastRestart = at.UTC()
				}
			}
		}
	}
	if o := metav1.GetControllerOf(p); o != nil {
		r.Owner = Ref{Kind: o.Kind, Name: o.Name, UID: string(o.UID)}
		return r
	}
	w := Workload{Object: object("", "Pod", "v1", p), Images: images(&p.Spec), Desired: 1, Restarts: r.Restarts, LastRestart: r.LastRestart}
	switch {
	case r.Ready:
		w.Ready = 1
	case p.Status.Phase == corev1.PodSucceeded:
		w.State, w.Ready = "complete", 1
	case p.Status.Phase == corev1.PodFailed:
		w.State = "failed"
	}
	r.bare = &w
	return r
}

func restartedAt(s *corev1.ContainerStatus) (t metav1.Time) {
	if s.State.Running != nil {
		return s.State.Running.StartedAt
	}
	if s.LastTerminationState.Terminated != nil {
		return s.LastTerminationState.Terminated.FinishedAt
	}
	return t
}

// readReplicaSets reads who owns the ReplicaSets, which leads from Pods to
// Deployments, and reads the rest of them only where some belong to nobody.
func readReplicaSets(ctx context.Context, c *capture, l *List, namespace string) (string, error) {
	owners := map[string]Ref{}
	bare := 0
	gvr := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	revision, err := pages(ctx, c.pageSize(l), c.clients.Metadata.Resource(gvr).Namespace(namespace).List,
		func() { clear(owners); bare = 0 },
		func(p *metav1.PartialObjectMetadataList) error {
			for i := range p.Items {
				m := &p.Items[i]
				if o := metav1.GetControllerOf(m); o != nil {
					owners[string(m.UID)] = Ref{Kind: o.Kind, Name: o.Name, UID: string(o.UID)}
				} else {
					bare++
				}
			}
			return nil
		})
	if err != nil {
		return "", err
	}
	if bare > 0 {
		var sets []Workload
		// This list is the newer one, so it decides.
		revision, err = pages(ctx, c.pageSize(l), c.clients.Kubernetes.AppsV1().ReplicaSets(namespace).List,
			func() { sets = nil },
			func(p *appsv1.ReplicaSetList) error {
				for i := range p.Items {
					if metav1.GetControllerOf(&p.Items[i]) == nil {
						sets = append(sets, replicaSet(&p.Items[i]))
					}
				}
				return nil
			})
		if err != nil {
			return "", err
		}
		c.mu.Lock()
		c.out.Workloads = append(c.out.Workloads, sets...)
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for uid, o := range owners {
		c.owners[uid] = o
	}
	l.Count += len(owners) + bare
	return revision, nil
}
