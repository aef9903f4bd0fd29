package snapshot

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// object takes from an object's metadata what a snapshot keeps. gv is the
// apiVersion it was read in.
func object(group, kind, gv string, m metav1.Object) Object {
	o := Object{
		Group: group, Kind: kind,
		Namespace: m.GetNamespace(), Name: m.GetName(), UID: string(m.GetUID()),
		Generation: m.GetGeneration(), Created: m.GetCreationTimestamp().UTC(),
		KeptBy: keptBy(m),
	}
	if owners := m.GetOwnerReferences(); len(owners) > 0 {
		owner := owners[0]
		for _, r := range owners {
			if r.Controller != nil && *r.Controller {
				owner = r
			}
		}
		o.Owner = &Ref{Kind: owner.Kind, Name: owner.Name, UID: string(owner.UID)}
	}
	for _, f := range m.GetManagedFields() {
		if f.APIVersion != gv && f.APIVersion != "" && !slices.Contains(o.WrittenAs, f.APIVersion) {
			o.WrittenAs = append(o.WrittenAs, f.APIVersion)
		}
	}
	slices.Sort(o.WrittenAs)
	return o
}

// keptBy reads the marks of those who put objects back by themselves:
//   - k3s and its helm-controller, by the annotations of wrangler's object sets
//     (https://github.com/rancher/wrangler, pkg/apply)
//   - Helm (https://helm.sh/docs/chart_best_practices/labels/)
//   - the API server: default roles, flow schemas, its own APIService records,
//     service IPs (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#auto-reconciliation,
//     https://kubernetes.io/docs/concepts/cluster-administration/flow-control/#maintenance-of-the-mandatory-and-suggested-configuration-objects)
func keptBy(m metav1.Object) string {
	a, l := m.GetAnnotations(), m.GetLabels()
	if gvk, name := a["objectset.rio.cattle.io/owner-gvk"], a["objectset.rio.cattle.io/owner-name"]; gvk != "" && name != "" {
		if _, kind, ok := strings.Cut(gvk, "Kind="); ok {
			return kind + "/" + name
		}
	}
	if release := a["meta.helm.sh/release-name"]; release != "" {
		return "HelmRelease/" + a["meta.helm.sh/release-namespace"] + "/" + release
	}
	switch {
	case l["kubernetes.io/bootstrapping"] == "rbac-defaults",
		a["apf.kubernetes.io/autoupdate-spec"] == "true",
		l["kube-aggregator.kubernetes.io/automanaged"] != "",
		l["ipaddress.kubernetes.io/managed-by"] == "ipallocator.k8s.io":
		return "Kubernetes"
	}
	return ""
}
