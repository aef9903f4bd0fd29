package drainprobe

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// identify keeps the last of objects of one name, as a file that was put
// together from several may hold, and gives those written by hand UIDs, in
// themselves and in the references to them: identity is by UID everywhere.
func (w *World) identify() {
	identify(&w.Nodes)
	identify(&w.Namespaces)
	identify(&w.Budgets)
	identify(&w.Quotas)
	identify(&w.LimitRanges)
	identify(&w.Volumes)
	identify(&w.Claims)
	identify(&w.StorageClasses)
	identify(&w.ValidatingWebhooks)
	identify(&w.MutatingWebhooks)
	identify(&w.AdmissionPolicies)
	identify(&w.AdmissionBindings)
	uids := map[string]types.UID{}
	for kind, known := range map[string]map[string]types.UID{
		"Deployment": identify(&w.Deployments), "ReplicaSet": identify(&w.ReplicaSets), "ReplicationController": identify(&w.ReplicationControllers),
		"StatefulSet": identify(&w.StatefulSets), "DaemonSet": identify(&w.DaemonSets), "Job": identify(&w.Jobs), "Pod": identify(&w.Pods),
	} {
		for name, uid := range known {
			uids[kind+"/"+name] = uid
		}
	}
	adopt := func(o metav1.Object) {
		refs := o.GetOwnerReferences()
		for i := range refs {
			name := refs[i].Kind + "/" + o.GetNamespace() + "/" + refs[i].Name
			if refs[i].UID == "" {
				refs[i].UID = uids[name]
			}
			if refs[i].UID == "" {
				refs[i].UID = types.UID(name)
			}
		}
	}
	for _, p := range w.Pods {
		adopt(p)
	}
	for _, r := range w.ReplicaSets {
		adopt(r)
	}
	for _, j := range w.Jobs {
		adopt(j)
	}
}

// identify gives the UIDs of a list by namespace and name.
func identify[T any, P identified[T]](list *[]P) map[string]types.UID {
	at := map[string]int{}
	uids := map[string]types.UID{}
	kept := (*list)[:0]
	for _, o := range *list {
		name := o.GetNamespace() + "/" + o.GetName()
		if o.GetUID() == "" {
			o.SetUID(types.UID(fmt.Sprintf("%T/%s", o, name)))
		}
		uids[name] = o.GetUID()
		if i, again := at[name]; again {
			kept[i] = o
			continue
		}
		at[name] = len(kept)
		kept = append(kept, o)
	}
	*list = kept
	return uids
}
