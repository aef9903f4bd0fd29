package snapshot

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k3sladder/k3sladder/internal/golden"
)

func TestWhatIsKeptOfEachKind(t *testing.T) {
	t.Parallel()
	two, ttl, yes, class, url := int32(2), int32(60), true, "fast", "https://hook.example"
	ignore := admissionv1.Ignore
	name := metav1.ObjectMeta{Name: "x"}
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "a:1"}, {Image: "b:1"}}}}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	volumeIs := func(source corev1.PersistentVolumeSource) string {
		return volume(&corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: source}}).Source
	}
	for what, c := range map[string]struct{ got, want any }{
		"StatefulSet": {statefulSet(&appsv1.StatefulSet{ObjectMeta: name, Spec: appsv1.StatefulSetSpec{Replicas: &two, Template: template}, Status: appsv1.StatefulSetStatus{ReadyReplicas: 1}}),
			Workload{Object: Object{Group: "apps", Kind: "StatefulSet", Name: "x"}, Images: []string{"a:1", "b:1"}, Desired: 2, Ready: 1}},
		"replicas not set are one": {deployment(&appsv1.Deployment{ObjectMeta: name}), Workload{Object: Object{Group: "apps", Kind: "Deployment", Name: "x"}, Desired: 1}},
		"DaemonSet": {daemonSet(&appsv1.DaemonSet{ObjectMeta: name, Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 3, NumberReady: 2}}),
			Workload{Object: Object{Group: "apps", Kind: "DaemonSet", Name: "x"}, Desired: 3, Ready: 2}},
		"ReplicaSet": {replicaSet(&appsv1.ReplicaSet{ObjectMeta: name, Spec: appsv1.ReplicaSetSpec{Replicas: &two}}), Workload{Object: Object{Group: "apps", Kind: "ReplicaSet", Name: "x"}, Desired: 2}},
		"ReplicationController": {replicationController(&corev1.ReplicationController{ObjectMeta: name, Spec: corev1.ReplicationControllerSpec{Replicas: &two, Template: &template}}),
			Workload{Object: Object{Kind: "ReplicationController", Name: "x"}, Images: []string{"a:1", "b:1"}, Desired: 2}},
		"a Job that is done": {job(&batchv1.Job{ObjectMeta: name, Spec: batchv1.JobSpec{TTLSecondsAfterFinished: &ttl}, Status: batchv1.JobStatus{Succeeded: 1,
			Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionFalse}, {Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}}}),
			Workload{Object: Object{Group: "batch", Kind: "Job", Name: "x"}, Desired: 1, Ready: 1, State: "complete", Expires: true}},
		"a Job that failed": {job(&batchv1.Job{ObjectMeta: name, Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}}}),
			Workload{Object: Object{Group: "batch", Kind: "Job", Name: "x"}, Desired: 1, State: "failed"}},
		"a Job on hold":     {job(&batchv1.Job{ObjectMeta: name, Spec: batchv1.JobSpec{Suspend: &yes}}), Workload{Object: Object{Group: "batch", Kind: "Job", Name: "x"}, Desired: 1, State: "suspended"}},
		"a CronJob on hold": {cronJob(&batchv1.CronJob{ObjectMeta: name, Spec: batchv1.CronJobSpec{Suspend: &yes, Schedule: "@daily"}}), Workload{Object: Object{Group: "batch", Kind: "CronJob", Name: "x"}, State: "suspended", Schedule: "@daily"}},
		"claim": {claim(&corev1.PersistentVolumeClaim{ObjectMeta: name, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class, VolumeName: "pv"}, Status: corev1.PersistentVolumeClaimStatus{Phase: "Bound", Capacity: size}}),
			Claim{Object: Object{Kind: "PersistentVolumeClaim", Name: "x"}, Phase: "Bound", Volume: "pv", Class: "fast", Capacity: "1Gi"}},
		"volume": {volume(&corev1.PersistentVolume{ObjectMeta: name, Spec: corev1.PersistentVolumeSpec{Capacity: size, StorageClassName: "fast", PersistentVolumeReclaimPolicy: "Retain",
			ClaimRef: &corev1.ObjectReference{Namespace: "n", Name: "c"}, PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}}}, Status: corev1.PersistentVolumeStatus{Phase: "Bound"}}),
			Volume{Object: Object{Kind: "PersistentVolume", Name: "x"}, Phase: "Bound", Claim: "n/c", Class: "fast", Capacity: "1Gi", Reclaim: "Retain", Source: "csi:d/h"}},
		"local volume":     {volumeIs(corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/p"}}), "local:/p"},
		"hostPath volume":  {volumeIs(corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/p"}}), "hostPath:/p"},
		"NFS volume":       {volumeIs(corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/p"}}), "nfs:s:/p"},
		"any other volume": {volumeIs(corev1.PersistentVolumeSource{}), "other"},
		"Ingress": {ingress(&networkingv1.Ingress{ObjectMeta: name, Spec: networkingv1.IngressSpec{IngressClassName: &class, Rules: []networkingv1.IngressRule{{Host: "a.test"}, {}}}}),
			Ingress{Object: Object{Group: "networking.k8s.io", Kind: "Ingress", Name: "x"}, Class: "fast", Hosts: []string{"a.test", ""}}},
		"Ingress with the old annotation": {ingress(&networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kubernetes.io/ingress.class": "traefik"}}}).Class, "traefik"},
		"autoscaler": {autoscaler(&autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: name, Spec: autoscalingv1.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv1.CrossVersionObjectReference{Kind: "Deployment", Name: "web"}, MaxReplicas: 5}}),
			Autoscaler{Object: Object{Group: "autoscaling", Kind: "HorizontalPodAutoscaler", Name: "x"}, Target: "Deployment/web", Min: 1, Max: 5}},
		"validating webhooks": {validating(&admissionv1.ValidatingWebhookConfiguration{Webhooks: []admissionv1.ValidatingWebhook{{Name: "a", ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "n", Name: "s"}}}, {Name: "b"}}}).Hooks,
			[]string{"a -> n/s (Fail)", "b -> nowhere (Fail)"}},
		"mutating webhooks": {mutating(&admissionv1.MutatingWebhookConfiguration{Webhooks: []admissionv1.MutatingWebhook{{Name: "a", FailurePolicy: &ignore, ClientConfig: admissionv1.WebhookClientConfig{URL: &url}}}}).Hooks,
			[]string{"a -> https://hook.example (Ignore)"}},
		"Addon": {addon(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"source": "/m.yaml", "checksum": "c"}}}),
			Addon{Object: Object{Group: "k3s.cattle.io", Kind: "Addon", Name: "x"}, Source: "/m.yaml", Checksum: "c"}},
		"an Addon with another shape": {addon(&unstructured.Unstructured{Object: map[string]any{"spec": "no map"}}).Source, ""},
		"a bare Pod that is done":     {pod(&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}).bare.State, "complete"},
		"a bare Pod that failed":      {pod(&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed}}).bare.State, "failed"},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
}

func TestWhoKeepsAnObject(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]metav1.ObjectMeta{
		"Addon/coredns":          {Annotations: map[string]string{"objectset.rio.cattle.io/owner-gvk": "k3s.cattle.io/v1, Kind=Addon", "objectset.rio.cattle.io/owner-name": "coredns"}},
		"HelmChart/traefik":      {Annotations: map[string]string{"objectset.rio.cattle.io/owner-gvk": "helm.cattle.io/v1, Kind=HelmChart", "objectset.rio.cattle.io/owner-name": "traefik"}},
		"HelmRelease/apps/redis": {Annotations: map[string]string{"meta.helm.sh/release-name": "redis", "meta.helm.sh/release-namespace": "apps"}},
		"Kubernetes":             {Labels: map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}},
		"":                       {Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"objectset.rio.cattle.io/owner-gvk": "nonsense", "objectset.rio.cattle.io/owner-name": "x"}},
	} {
		if got := keptBy(&m); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAReplicaSetOfNobodyIsAWorkload(t *testing.T) {
	t.Parallel()
	f := newFakes(t)
	meta := metav1.ObjectMeta{Namespace: "upg", Name: "alone", UID: "uid-alone"}
	if err := f.meta.Tracker().Add(&metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, ObjectMeta: meta}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.kube.AppsV1().ReplicaSets("upg").Create(context.Background(), &appsv1.ReplicaSet{ObjectMeta: meta, Status: appsv1.ReplicaSetStatus{ReadyReplicas: 1}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s := mustCapture(t, f, Options{})
	if w, ok := s.Workload("ReplicaSet", "upg", "alone"); !ok || w.Ready != 1 {
		t.Errorf("got %+v", w)
	}
	if text := s.String(); !strings.HasPrefix(text, "v1.34.4+k3s1, 1 node, ") {
		t.Errorf("got %q", text)
	}
}

// TestTheTextOfAComparison has everything that a text can have.
func TestTheTextOfAComparison(t *testing.T) {
	t.Parallel()
	a, b := cluster(v34), later()
	n := a.Nodes[0]
	n.Name, n.UID = "n0", "uid-n0"
	a.Nodes = append(a.Nodes, n)
	n.Name, n.UID, n.Ready, n.Kubelet = "n2", "uid-n2", false, v35
	b.Nodes = append(b.Nodes, n)
	b.Nodes[0].BootID = "b2"
	b.Pods[0].Restarts, b.Pods[0].LastRestart = 4, noon.Add(30*time.Minute)
	w := workload(b, "web")
	w.Images, w.Generation, w.Ready = []string{"nginx:2"}, 4, 1
	l, _ := b.List("", "secrets")
	l.State, l.Reason = Forbidden, "secrets is forbidden"
	for range 25 {
		b.Others = append(b.Others, Object{Kind: "Namespace", Name: "ns-" + string(rune('a'+len(b.Others))), UID: "n"})
	}
	c := Compare(a, b, CompareOptions{})
	if c.Same() {
		t.Error("it is called the same")
	}
	golden.Check(t, "comparison.txt", []byte(c.String()))
	b.ClusterUID = "uid-other"
	golden.Check(t, "other.txt", []byte(Compare(a, b, CompareOptions{}).String()))
}
