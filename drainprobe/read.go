package drainprobe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// MaxState is the most that ReadWorld reads, in bytes.
const MaxState = 1 << 30

// ReadWorld reads a cluster's objects from a v1 List, JSON or YAML, as
// `kubectl get nodes,namespaces,pods,pdb,... -A -o json` writes it, or from
// several documents one after another. Kinds that a forecast does not need are
// passed over. Kinds that its Pods need and that are missing altogether become
// Gaps. Taken is the newest time in the file.
func ReadWorld(r io.Reader) (*World, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxState+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxState {
		return nil, fmt.Errorf("the state is larger than %d bytes", MaxState)
	}
	w := &World{}
	kinds := map[string]bool{}
	dec := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for n := 1; ; n++ {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("document %d is neither JSON nor YAML: %w", n, err)
		}
		if len(bytes.TrimSpace(raw)) == 0 || string(raw) == "null" {
			continue
		}
		if err := w.add(raw, kinds, 0); err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
	}
	if len(w.Nodes)+len(w.Pods) == 0 {
		return nil, fmt.Errorf("no nodes and no pods in it: expected a v1 List as `kubectl get nodes,namespaces,pods,pdb,deployments,replicasets,statefulsets,daemonsets,jobs,pv,pvc,storageclasses,quota,limits -A -o json` writes")
	}
	if w.Taken = newest(data); w.Taken.IsZero() {
		w.Taken = time.Now()
	}
	// A file does not say when it was written. Pods with a grace of a few
	// seconds are taken to be past it.
	for _, p := range w.Pods {
		if s := p.DeletionGracePeriodSeconds; p.DeletionTimestamp != nil && s != nil && *s <= 5 {
			if due := p.DeletionTimestamp.Add(4 * time.Second); due.After(w.Taken) {
				w.Taken = due
			}
		}
	}
	w.identify()
	w.findGaps(kinds)
	w.admissionRead = kinds["MutatingWebhookConfiguration"]
	return w, nil
}

func (w *World) add(raw json.RawMessage, kinds map[string]bool, depth int) error {
	var head struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	if head.Items != nil {
		if depth > 3 {
			return fmt.Errorf("lists in lists")
		}
		item, _ := cutSuffix(head.Kind, "List")
		if item != "" {
			kinds[item] = true // an empty PodDisruptionBudgetList says that there are none
		}
		for i, it := range head.Items {
			if item != "" { // items of a typed list carry no kind
				it = withKind(it, head.APIVersion, item)
			}
			if err := w.add(it, kinds, depth+1); err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		}
		return nil
	}
	if head.Kind == "" {
		return fmt.Errorf("an object without a kind")
	}
	kinds[head.Kind] = true
	var err error
	switch head.APIVersion + " " + head.Kind {
	case "v1 Node":
		err = into(raw, &w.Nodes)
	case "v1 Namespace":
		err = into(raw, &w.Namespaces)
	case "v1 Pod":
		err = into(raw, &w.Pods)
	case "policy/v1 PodDisruptionBudget":
		err = into(raw, &w.Budgets)
	case "apps/v1 Deployment":
		err = into(raw, &w.Deployments)
	case "apps/v1 ReplicaSet":
		err = into(raw, &w.ReplicaSets)
	case "v1 ReplicationController":
		err = into(raw, &w.ReplicationControllers)
	case "apps/v1 StatefulSet":
		err = into(raw, &w.StatefulSets)
	case "apps/v1 DaemonSet":
		err = into(raw, &w.DaemonSets)
	case "batch/v1 Job":
		err = into(raw, &w.Jobs)
	case "v1 ResourceQuota":
		err = into(raw, &w.Quotas)
	case "v1 LimitRange":
		err = into(raw, &w.LimitRanges)
	case "v1 PersistentVolume":
		err = into(raw, &w.Volumes)
	case "v1 PersistentVolumeClaim":
		err = into(raw, &w.Claims)
	case "storage.k8s.io/v1 StorageClass":
		err = into(raw, &w.StorageClasses)
	case "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration":
		err = into(raw, &w.ValidatingWebhooks)
	case "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration":
		err = into(raw, &w.MutatingWebhooks)
	case "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy":
		err = into(raw, &w.AdmissionPolicies)
	case "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding":
		err = into(raw, &w.AdmissionBindings)
	case "policy/v1beta1 PodDisruptionBudget":
		err = fmt.Errorf("policy/v1beta1 budgets were removed in Kubernetes 1.25; export them as policy/v1")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", head.Kind, err)
	}
	return nil
}

// identified is an API object's pointer type.
type identified[T any] interface {
	*T
	metav1.Object
}

func into[T any, P identified[T]](raw json.RawMessage, list *[]P) error {
	o := P(new(T))
	if err := json.Unmarshal(raw, o); err != nil {
		return err
	}
	if o.GetName() == "" {
		return fmt.Errorf("an object without a name")
	}
	o.SetManagedFields(nil)
	*list = append(*list, o)
	return nil
}

func withKind(raw json.RawMessage, version, kind string) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil || o["kind"] != nil {
		return raw
	}
	o["kind"], _ = json.Marshal(kind)
	o["apiVersion"], _ = json.Marshal(version)
	out, err := json.Marshal(o)
	if err != nil {
		return raw
	}
	return out
}

func cutSuffix(s, suffix string) (string, bool) {
	if len(s) > len(suffix) && s[len(s)-len(suffix):] == suffix {
		return s[:len(s)-len(suffix)], true
	}
	return "", false
}

// findGaps notices kinds that Pods refer to and that the file has none of: it
// was taken without them. Without any budget in it there may be none.
func (w *World) findGaps(kinds map[string]bool) {
	resource := map[string]string{"ReplicaSet": "replicasets", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets",
		"Job": "jobs", "ReplicationController": "replicationcontrollers"}
	missing := map[string]bool{}
	note := func(kind, res string) {
		if !kinds[kind] && !missing[kind] {
			missing[kind] = true
			w.Gaps = append(w.Gaps, Gap{Resource: res, Reason: "the file has no " + kind})
		}
	}
	for _, p := range w.Pods {
		if ref := metav1.GetControllerOf(p); ref != nil && resource[ref.Kind] != "" {
			note(ref.Kind, resource[ref.Kind])
		}
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				note("PersistentVolumeClaim", "persistentvolumeclaims")
				note("PersistentVolume", "persistentvolumes")
			}
		}
	}
	for _, rs := range w.ReplicaSets {
		if ref := metav1.GetControllerOf(rs); ref != nil && ref.Kind == "Deployment" {
			note("Deployment", "deployments")
		}
	}
	if missing["DaemonSet"] {
		w.standInDaemonSets()
	}
}

// standInDaemonSets supplies the DaemonSets that Pods name: drain's filter
// looks them up, and takes Pods of one that is gone for orphans.
func (w *World) standInDaemonSets() {
	seen := map[types.UID]bool{}
	for _, p := range w.Pods {
		if ref := metav1.GetControllerOf(p); isDaemonSetPod(p) && !seen[ref.UID] {
			seen[ref.UID] = true
			w.DaemonSets = append(w.DaemonSets, &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: ref.Name, UID: ref.UID}})
		}
	}
}

// timestamp finds the times that the control plane and kubelets write. Others,
// a certificate's end in an annotation, may lie ahead.
var timestamp = regexp.MustCompile(`"?(?:creationTimestamp|lastTransitionTime|lastHeartbeatTime|lastUpdateTime|lastProbeTime|startTime|startedAt|finishedAt|timeAdded|time)"?: ?"?(2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)`)

// newest is the latest of them.
func newest(data []byte) time.Time {
	var last time.Time
	for _, m := range timestamp.FindAllSubmatch(data, -1) {
		if t, err := time.Parse(time.RFC3339Nano, string(m[1])); err == nil && t.After(last) {
			last = t
		}
	}
	return last
}
