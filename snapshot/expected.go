package snapshot

import (
	"strings"

	"github.com/k3sladder/k3sladder/skew"
)

// An explanation says who makes a difference without being asked, so that it
// tells nothing about the cluster.
type explanation struct {
	why string
	// source is where that is written down.
	source string
	fits   func(w *world, d Difference, a, b item) bool
}

// explanations in the order in which they are tried.
var explanations = []explanation{
	{"the API server keeps these objects itself", "https://kubernetes.io/docs/reference/access-authn-authz/rbac/#auto-reconciliation",
		func(_ *world, _ Difference, a, b item) bool { return either(a, b).KeptBy == "Kubernetes" }},
	{"a kubelet's version moves with the server's", "https://docs.k3s.io/upgrades",
		func(w *world, d Difference, _, _ item) bool {
			switch d.Field {
			case "kubelet", "kube-proxy":
				return d.What == Moved && w.moved && upward(d.Before, d.After)
			case "container runtime":
				return d.What == Moved && w.moved
			}
			return false
		}},
	{"came with a packaged add-on that came back", "",
		func(w *world, d Difference, _, b item) bool {
			return (d.What == Added || d.What == CameBack) && w.cameWith(b)
		}},
	{"went with the add-on that kept it", "",
		func(w *world, d Difference, a, _ item) bool { return d.What == Missing && w.wentWith(a) }},
	{"packaged with the server, whose version moved", "https://docs.k3s.io/installation/packaged-components",
		func(w *world, d Difference, a, b item) bool {
			switch d.What {
			case Added, Changed, Missing:
				return w.moved && w.fromServer(either(a, b))
			case Recreated:
				return w.moved && w.fromServer(b.Object) && replaceable(b.Object)
			}
			return false
		}},
	{"k3s makes these definitions itself, and its version moved", "https://docs.k3s.io/add-ons/helm",
		func(w *world, d Difference, _, _ item) bool {
			return w.moved && d.Kind == "CustomResourceDefinition" && (d.What == Added || d.What == Changed) &&
				(strings.HasSuffix(d.Name, ".k3s.cattle.io") || strings.HasSuffix(d.Name, ".helm.cattle.io"))
		}},
	{"the new version serves this kind for the first time", "https://kubernetes.io/docs/reference/using-api/deprecation-policy/",
		func(w *world, d Difference, _, b item) bool {
			return w.moved && d.What == Added && builtIn(b.Group) && !w.served[[2]string{b.Group, b.Kind}]
		}},
	{"an autoscaler sets its replicas", "https://kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale/",
		func(w *world, d Difference, _, b item) bool {
			return d.What == Changed && d.Field == "replicas" && w.autoscaled(b)
		}},
	{"system-upgrade-controller makes a Job for each node of a Plan", "https://docs.k3s.io/upgrades/automated",
		func(_ *world, d Difference, a, b item) bool {
			return d.Kind == "Job" && strings.HasPrefix(either(a, b).KeptBy, "Plan/")
		}},
	{"its owner makes it anew", "https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/",
		func(w *world, d Difference, a, b item) bool {
			switch d.What {
			case Missing, Recreated, Added, Changed:
				return replaceable(either(a, b)) && w.ownerStays(a, b)
			}
			return false
		}},
	{"its owner is new", "https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/",
		func(w *world, d Difference, _, b item) bool {
			return d.What == Added && b.Owner != nil && w.has(b.Owner.UID) && !w.had(b.Owner.UID)
		}},
	{"went with its owner, which is listed", "https://kubernetes.io/docs/concepts/architecture/garbage-collection/",
		func(w *world, d Difference, a, _ item) bool {
			return d.What == Missing && replaceable(a.Object) && a.Owner != nil && w.had(a.Owner.UID) && !w.has(a.Owner.UID)
		}},
	{"finished Jobs of this kind delete themselves", "https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/",
		func(_ *world, d Difference, a, _ item) bool {
			j, ok := a.body.(*Workload)
			return d.What == Missing && ok && j.Kind == "Job" && j.Expires
		}},
	{"tokens are renewed", "https://kubernetes.io/docs/concepts/configuration/secret/#secret-types",
		func(_ *world, d Difference, a, b item) bool {
			s, ok := a.body.(*Data)
			if b.Object != nil {
				s, ok = b.body.(*Data)
			}
			t := ""
			if ok {
				t = s.Type
			}
			return t == "kubernetes.io/service-account-token" || t == "bootstrap.kubernetes.io/token"
		}},
	{"Helm keeps a release's last revisions", "https://helm.sh/docs/helm/helm_upgrade/",
		func(w *world, d Difference, a, b item) bool { return w.helmRevision(d, a, b) }},
	{"k3s renews its serving certificate", "https://docs.k3s.io/cli/certificate",
		func(_ *world, d Difference, _, _ item) bool {
			return d.What == Changed && d.Kind == "Secret" && d.Namespace == "kube-system" && (d.Name == "k3s-serving" || d.Name == "rke2-serving")
		}},
	{"k3s writes the nodes' names into it", "https://docs.k3s.io/networking/networking-services",
		func(_ *world, d Difference, _, _ item) bool {
			return d.What == Changed && d.Kind == "ConfigMap" && d.Namespace == "kube-system" && d.Name == "coredns"
		}},
	{"the API server keeps it", "https://kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer/",
		func(_ *world, d Difference, _, _ item) bool {
			return d.Kind == "ConfigMap" && d.Namespace == "kube-system" && (d.What == Changed || d.What == Added) &&
				(d.Name == "extension-apiserver-authentication" || d.Name == "kube-apiserver-legacy-service-account-token-tracking")
		}},
	{"an account of one of Kubernetes' controllers", "https://kubernetes.io/docs/reference/access-authn-authz/rbac/#controller-roles",
		func(w *world, d Difference, _, _ item) bool {
			return w.moved && d.What == Added && d.Kind == "ServiceAccount" && d.Namespace == "kube-system" && strings.HasSuffix(d.Name, "-controller")
		}},
	{"etcd snapshots come and go", "https://docs.k3s.io/cli/etcd-snapshot",
		func(_ *world, d Difference, _, _ item) bool {
			return d.Kind == "ETCDSnapshotFile" || d.Kind == "ConfigMap" && d.Namespace == "kube-system" && strings.HasSuffix(d.Name, "-etcd-snapshots")
		}},
	{"made in every new namespace", "https://kubernetes.io/docs/concepts/security/service-accounts/#default-service-accounts",
		func(w *world, d Difference, _, b item) bool {
			if d.What != Added || !(d.Kind == "ServiceAccount" && d.Name == "default" || d.Kind == "ConfigMap" && d.Name == "kube-root-ca.crt") {
				return false
			}
			return !w.a.has(key{"", "Namespace", "", b.Namespace})
		}},
	{"a password for a new node", "https://docs.k3s.io/architecture#how-agent-node-registration-works",
		func(w *world, d Difference, _, b item) bool {
			node, ok := strings.CutSuffix(d.Name, ".node-password.k3s")
			return ok && d.What == Added && d.Kind == "Secret" && d.Namespace == "kube-system" && !w.a.has(key{"", "Node", "", node})
		}},
	{"ServiceLB makes one for each Service of type LoadBalancer", "https://docs.k3s.io/networking/networking-services#service-load-balancer",
		func(w *world, d Difference, _, _ item) bool {
			return (d.What == Added || d.What == Changed && w.moved) && d.Kind == "DaemonSet" && d.Namespace == "kube-system" && strings.HasPrefix(d.Name, "svclb-")
		}},
}

// explain says why a difference does not count, or nothing.
func (w *world) explain(d Difference, a, b item) string {
	switch d.What {
	case Unwell, SetBack, Unreadable:
		return ""
	}
	for _, e := range explanations {
		if e.fits(w, d, a, b) {
			return e.why
		}
	}
	return ""
}

// upward: a newer version of the same distribution.
func upward(before, after string) bool {
	a, errA := skew.Parse(before)
	b, errB := skew.Parse(after)
	return errA == nil && errB == nil && a.Less(b) && a.Distribution() == b.Distribution()
}

func either(a, b item) *Object {
	if b.Object != nil {
		return b.Object
	}
	return a.Object
}
