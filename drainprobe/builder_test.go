package drainprobe

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// cell is a small cluster of its own: nodes and objects in one namespace.
// Several run side by side on one practice cluster, kept apart by a node label
// and a taint that only their own Pods select and tolerate.
type cell struct {
	id      string // unique, a DNS label
	objects []runtime.Object
}

func newCell(id string) *cell {
	c := &cell{id: id}
	return c.add(&corev1.Namespace{TypeMeta: meta("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: c.space()}})
}

func meta(version, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}
func (c *cell) space() string              { return "app-" + c.id }
func (c *cell) nodeName(n string) string   { return "n" + c.id + "-" + n }
func (c *cell) add(o runtime.Object) *cell { c.objects = append(c.objects, o); return c }

// node adds a node: name a letter, cpu a quantity.
func (c *cell) node(name, cpu string, edit ...func(*corev1.Node)) *cell {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110")}
	n := &corev1.Node{TypeMeta: meta("v1", "Node"), ObjectMeta: metav1.ObjectMeta{Name: c.nodeName(name),
		Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		Labels:      map[string]string{corev1.LabelHostname: c.nodeName(name), corev1.LabelOSStable: "linux"}},
		Status: corev1.NodeStatus{Capacity: list, Allocatable: list.DeepCopy()}}
	for _, e := range edit {
		e(n)
	}
	return c.add(n)
}

func label(k, v string) func(*corev1.Node) { return func(n *corev1.Node) { n.Labels[k] = v } }
func closed(n *corev1.Node)                { n.Spec.Unschedulable = true }
func tainted(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: "x", Effect: effect})
	}
}
func extra(name, amount string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Capacity[corev1.ResourceName(name)] = resource.MustParse(amount)
		n.Status.Allocatable[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
}

// podEdit changes a Pod template.
type podEdit func(*corev1.PodTemplateSpec)

func template(app string, edits []podEdit) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "pause"}}}}
	for _, e := range edits {
		e(&t)
	}
	return t
}

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func (c *cell) deploy(app string, replicas int32, edits ...podEdit) *cell {
	return c.add(&appsv1.Deployment{TypeMeta: meta("apps/v1", "Deployment"), ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: c.space()},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector(app), Template: template(app, edits)}})
}

func (c *cell) replicaSet(app string, replicas int32, edits ...podEdit) *cell {
	return c.add(&appsv1.ReplicaSet{TypeMeta: meta("apps/v1", "ReplicaSet"), ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: c.space()},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: selector(app), Template: template(app, edits)}})
}

func (c *cell) controller(app string, replicas int32, edits ...podEdit) *cell {
	t := template(app, edits)
	return c.add(&corev1.ReplicationController{TypeMeta: meta("v1", "ReplicationController"), ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: c.space()},
		Spec: corev1.ReplicationControllerSpec{Replicas: &replicas, Selector: map[string]string{"app": app}, Template: &t}})
}

func (c *cell) stateful(app string, replicas int32, policy appsv1.PodManagementPolicyType, edits ...podEdit) *cell {
	return c.add(&appsv1.StatefulSet{TypeMeta: meta("apps/v1", "StatefulSet"), ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: c.space()},
		Spec: appsv1.StatefulSetSpec{Replicas: &replicas, ServiceName: app, PodManagementPolicy: policy, Selector: selector(app), Template: template(app, edits)}})
}

func (c *cell) daemon(app string, edits ...podEdit) *cell {
	return c.add(&appsv1.DaemonSet{TypeMeta: meta("apps/v1", "DaemonSet"), ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: c.space()},
		Spec: appsv1.DaemonSetSpec{Selector: selector(app), Template: template(app, edits)}})
}

func (c *cell) job(app string, parallel, limit int32, edits ...podEdit) *cell {
	t := template(app, edits)
	t.Spec.RestartPolicy = corev1.RestartPolicyNever
	return c.add(&batchv1.Job{TypeMeta: meta("batch/v1", "Job"), ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: c.space()},
		Spec: batchv1.JobSpec{Parallelism: &parallel, Completions: &parallel, BackoffLimit: &limit, Template: t}})
}

func (c *cell) bare(name, app string, edits ...podEdit) *cell {
	t := template(app, edits)
	p := &corev1.Pod{TypeMeta: meta("v1", "Pod"), ObjectMeta: t.ObjectMeta, Spec: t.Spec}
	p.Name, p.Namespace = name, c.space()
	return c.add(p)
}

func (c *cell) priority(name string, value int32, policy corev1.PreemptionPolicy) *cell {
	return c.add(&schedulingv1.PriorityClass{TypeMeta: meta("scheduling.k8s.io/v1", "PriorityClass"),
		ObjectMeta: metav1.ObjectMeta{Name: c.id + "-" + name}, Value: value, PreemptionPolicy: &policy})
}

// volume adds a local volume on a node, its class and its claim.
func (c *cell) volume(name, node string) *cell {
	class, mode := c.id+"-"+name, storagev1.VolumeBindingWaitForFirstConsumer
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	c.add(&storagev1.StorageClass{TypeMeta: meta("storage.k8s.io/v1", "StorageClass"), ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: noProvisioner, VolumeBindingMode: &mode})
	c.add(&corev1.PersistentVolume{TypeMeta: meta("v1", "PersistentVolume"), ObjectMeta: metav1.ObjectMeta{Name: class},
		Spec: corev1.PersistentVolumeSpec{Capacity: size, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: class,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{c.nodeName(node)}}}}}}}}})
	return c.add(&corev1.PersistentVolumeClaim{TypeMeta: meta("v1", "PersistentVolumeClaim"), ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.space()},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: size}}})
}

// budget adds a PodDisruptionBudget: field min or max.
func (c *cell) budget(name string, s *metav1.LabelSelector, field, value string, edit ...func(*policyv1.PodDisruptionBudgetSpec)) *cell {
	v := intstr.Parse(value)
	b := &policyv1.PodDisruptionBudget{TypeMeta: meta("policy/v1", "PodDisruptionBudget"), ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.space()},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: s}}
	if field == "min" {
		b.Spec.MinAvailable = &v
	} else {
		b.Spec.MaxUnavailable = &v
	}
	for _, e := range edit {
		e(&b.Spec)
	}
	return c.add(b)
}

func alwaysAllow(s *policyv1.PodDisruptionBudgetSpec) {
	s.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow)
}

func asks(name, amount string) podEdit {
	return func(t *corev1.PodTemplateSpec) {
		r := &t.Spec.Containers[0].Resources
		if r.Requests == nil {
			r.Requests, r.Limits = corev1.ResourceList{}, corev1.ResourceList{}
		}
		r.Requests[corev1.ResourceName(name)] = resource.MustParse(amount)
		if name != "cpu" && name != "memory" {
			r.Limits[corev1.ResourceName(name)] = resource.MustParse(amount)
		}
	}
}

func behaves(how string) podEdit {
	return func(t *corev1.PodTemplateSpec) {
		t.Annotations = map[string]string{"drain.test/behave": how}
	}
}

func on(key, value string) podEdit {
	return func(t *corev1.PodTemplateSpec) {
		if t.Spec.NodeSelector == nil {
			t.Spec.NodeSelector = map[string]string{}
		}
		t.Spec.NodeSelector[key] = value
	}
}

func tolerates(key string) podEdit {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.Tolerations = append(t.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
}

func ranked(class string) podEdit {
	return func(t *corev1.PodTemplateSpec) { t.Spec.PriorityClassName = class }
}

func grace(seconds int64) podEdit {
	return func(t *corev1.PodTemplateSpec) { t.Spec.TerminationGracePeriodSeconds = &seconds }
}

func labelled(k, v string) podEdit {
	return func(t *corev1.PodTemplateSpec) { t.Labels[k] = v }
}

func apart(key string) podEdit {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": t.Labels["app"]}}, TopologyKey: key}}}}
	}
}

func near(app, key string) podEdit {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{LabelSelector: selector(app), TopologyKey: key}}}}
	}
}

func spreads(key string, skew int32, edit ...func(*corev1.TopologySpreadConstraint)) podEdit {
	return func(t *corev1.PodTemplateSpec) {
		r := corev1.TopologySpreadConstraint{MaxSkew: skew, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector(t.Labels["app"])}
		for _, e := range edit {
			e(&r)
		}
		for _, have := range t.Spec.TopologySpreadConstraints {
			if have.TopologyKey == r.TopologyKey && have.WhenUnsatisfiable == r.WhenUnsatisfiable {
				return // the API server refuses a second one
			}
		}
		t.Spec.TopologySpreadConstraints = append(t.Spec.TopologySpreadConstraints, r)
	}
}

func honorTaints(r *corev1.TopologySpreadConstraint) {
	r.NodeTaintsPolicy = new(corev1.NodeInclusionPolicyHonor)
}

func listens(port int32) podEdit {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[0].Ports = append(t.Spec.Containers[0].Ports, corev1.ContainerPort{ContainerPort: port, HostPort: port})
	}
}

func mounts(claim string) podEdit {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.Volumes = append(t.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	}
}

func scratch(t *corev1.PodTemplateSpec) {
	t.Spec.Volumes = append(t.Spec.Volumes, corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
}

func static(t *corev1.PodTemplateSpec) {
	t.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "0123456789abcdef", "kubernetes.io/config.source": "file"}
}

func pinned(node string) podEdit {
	return func(t *corev1.PodTemplateSpec) { t.Spec.NodeName = node }
}

// The label and taint that keep cells apart.
const cellKey = "drain.test/cell"

// isolate gives every node of the cell its taint and label, and every Pod what
// it needs for them.
func (c *cell) isolate() {
	for _, o := range c.objects {
		switch o := o.(type) {
		case *corev1.Node:
			o.Labels[cellKey] = c.id
			o.Spec.Taints = append(o.Spec.Taints, corev1.Taint{Key: cellKey, Value: c.id, Effect: corev1.TaintEffectNoSchedule})
		default:
			if t := podSpecOf(o); t != nil {
				if t.NodeSelector == nil {
					t.NodeSelector = map[string]string{}
				}
				t.NodeSelector[cellKey] = c.id
				t.Tolerations = append(t.Tolerations, corev1.Toleration{Key: cellKey, Value: c.id, Effect: corev1.TaintEffectNoSchedule})
			}
		}
	}
}

func podSpecOf(o runtime.Object) *corev1.PodSpec {
	switch o := o.(type) {
	case *corev1.Pod:
		return &o.Spec
	case *appsv1.Deployment:
		return &o.Spec.Template.Spec
	case *appsv1.ReplicaSet:
		return &o.Spec.Template.Spec
	case *appsv1.StatefulSet:
		return &o.Spec.Template.Spec
	case *appsv1.DaemonSet:
		return &o.Spec.Template.Spec
	case *batchv1.Job:
		return &o.Spec.Template.Spec
	case *corev1.ReplicationController:
		return &o.Spec.Template.Spec
	}
	return nil
}

// cellFrom reads a recorded cluster.yaml.
func cellFrom(t testing.TB, dir string) *cell {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c := &cell{id: filepath.Base(dir)[:2]}
	for _, doc := range splitYAML(string(data)) {
		var head metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
			t.Fatal(err)
		}
		o, ok := map[string]runtime.Object{
			"Node": &corev1.Node{}, "Namespace": &corev1.Namespace{}, "Pod": &corev1.Pod{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudget{},
			"Deployment": &appsv1.Deployment{}, "StatefulSet": &appsv1.StatefulSet{}, "DaemonSet": &appsv1.DaemonSet{}, "ReplicaSet": &appsv1.ReplicaSet{},
			"Job": &batchv1.Job{}, "PriorityClass": &schedulingv1.PriorityClass{}, "StorageClass": &storagev1.StorageClass{},
			"PersistentVolume": &corev1.PersistentVolume{}, "PersistentVolumeClaim": &corev1.PersistentVolumeClaim{},
		}[head.Kind]
		if !ok {
			t.Fatalf("%s: kind %q", dir, head.Kind)
		}
		if err := yaml.Unmarshal([]byte(doc), o); err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		c.add(o)
	}
	return c
}

func splitYAML(s string) []string {
	var out []string
	start := 0
	for i := 0; i+4 <= len(s); i++ {
		if s[i:i+4] == "---\n" && (i == 0 || s[i-1] == '\n') {
			out = append(out, s[start:i])
			start = i + 4
		}
	}
	out = append(out, s[start:])
	var kept []string
	for _, d := range out {
		var any map[string]any
		if yaml.Unmarshal([]byte(d), &any) == nil && len(any) > 0 {
			kept = append(kept, d)
		}
	}
	return kept
}

// listJSON writes objects as a v1 List, one a line.
func listJSON(objects []runtime.Object) ([]byte, error) {
	out := []byte(`{"apiVersion":"v1","kind":"List","items":[` + "\n")
	for i, o := range objects {
		b, err := json.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", i, err)
		}
		if i > 0 {
			out = append(out, ",\n"...)
		}
		out = append(out, b...)
	}
	return append(out, "\n]}\n"...), nil
}

func intOrString(s string) intstr.IntOrString { return intstr.Parse(s) }
