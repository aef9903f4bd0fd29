package snapshot

import (
	"regexp"
	"strings"
)

// packagedAddons are the names that k3s gives to the Addons it brings along:
// its manifests' file names. What a user puts beside them is an Addon too, and
// does not move with the server.
// Source: https://github.com/k3s-io/k3s/tree/main/manifests, https://docs.k3s.io/installation/packaged-components
var packagedAddons = map[string]bool{
	"ccm": true, "coredns": true, "local-storage": true, "rolebindings": true, "runtimes": true, "traefik": true, "gateway-api-crd": true,
	"metrics-server": true, "aggregated-metrics-reader": true, "auth-delegator": true, "auth-reader": true, "metrics-apiservice": true,
	"metrics-server-deployment": true, "metrics-server-service": true, "resource-reader": true,
}

// disableable are the packaged Addons that --disable keeps out, by the Addon's
// name, and the HelmCharts and Deployments that stand for them where the Addons
// cannot be seen.
// Source: https://docs.k3s.io/installation/packaged-components#disabling-manifests
var disableable = map[string]map[string]bool{
	"Addon":      {"traefik": true, "coredns": true, "local-storage": true, "metrics-server-deployment": true, "runtimes": true},
	"HelmChart":  {"traefik": true, "traefik-crd": true},
	"Deployment": {"traefik": true, "coredns": true, "local-path-provisioner": true, "metrics-server": true},
}

// packaged: an add-on that k3s brings along unless it is told not to.
func packaged(b item) bool {
	return b.Namespace == "kube-system" && disableable[b.Kind][b.Name] && (b.Kind != "Deployment" || b.Group == "apps")
}

// keeper is the object that [Object.KeptBy] names.
func keeper(o *Object) (key, bool) {
	kind, name, ok := strings.Cut(o.KeptBy, "/")
	if !ok {
		return key{}, false
	}
	switch kind {
	case "Addon":
		return key{"k3s.cattle.io", "Addon", "kube-system", name}, true
	case "HelmChart":
		return key{"helm.cattle.io", "HelmChart", "kube-system", name}, true
	case "HelmRelease":
		_, name, _ = strings.Cut(name, "/")
		return key{"helm.cattle.io", "HelmChart", "kube-system", name}, true
	}
	return key{}, false
}

// cameWith: what keeps it was not there before.
func (w *world) cameWith(b item) bool {
	k, ok := keeper(b.Object)
	if !ok {
		return false
	}
	return w.b.has(k) && !w.a.has(k)
}

// wentWith: what kept it is gone, and listed as missing itself.
func (w *world) wentWith(a item) bool {
	k, ok := keeper(a.Object)
	if !ok || !replaceable(a.Object) && a.Kind != "Deployment" && a.Kind != "DaemonSet" && a.Kind != "HelmChart" {
		return false
	}
	return w.a.has(k) && !w.b.has(k)
}

// fromServer: it comes out of the server's own manifests, at the end of the
// chain of those who keep it.
func (w *world) fromServer(o *Object) bool {
	for range 4 {
		if o.Kind == "Addon" && o.Group == "k3s.cattle.io" {
			return packagedAddons[o.Name] || strings.HasPrefix(o.Name, "rke2-")
		}
		k, ok := keeper(o)
		if !ok {
			return false
		}
		next, ok := w.b.find(k)
		if !ok {
			next, ok = w.a.find(k)
		}
		if !ok {
			return k.kind == "Addon" && (packagedAddons[k.name] || strings.HasPrefix(k.name, "rke2-"))
		}
		o = next.Object
	}
	return false
}

// lasting are the kinds that are a loss when they are made anew, whoever does
// it: they hold data, addresses or the workloads themselves.
var lasting = map[string]bool{
	"PersistentVolumeClaim": true, "PersistentVolume": true, "Deployment": true, "StatefulSet": true, "DaemonSet": true, "CronJob": true,
	"ReplicationController": true, "Service": true, "Ingress": true, "Namespace": true, "Node": true, "CustomResourceDefinition": true,
	"HelmChart": true, "Addon": true,
}

func replaceable(o *Object) bool { return o != nil && !lasting[o.Kind] }

// ownerStays: the owner, or who else keeps the object, is the same one on both
// sides.
func (w *world) ownerStays(a, b item) bool {
	o := either(a, b)
	if o.Owner != nil && w.had(o.Owner.UID) && w.has(o.Owner.UID) {
		return true
	}
	k, ok := keeper(o)
	if !ok || k.kind == "Addon" {
		return false // k3s applies an Addon's manifest only when that changes
	}
	was, had := w.a.find(k)
	is, has := w.b.find(k)
	return had && has && was.UID == is.UID
}

// autoscaled: a HorizontalPodAutoscaler sets the workload's replicas, within
// whose bounds they are.
func (w *world) autoscaled(b item) bool {
	x, ok := b.body.(*Workload)
	if !ok {
		return false
	}
	_, found := find(w.after.Autoscalers, func(h *Autoscaler) bool {
		return h.Namespace == x.Namespace && h.Target == x.Kind+"/"+x.Name && h.Min <= x.Desired && x.Desired <= h.Max
	})
	return found
}

var helmSecret = regexp.MustCompile(`^sh\.helm\.release\.v1\.(.+)\.v[0-9]+$`)

// helmRevision: a revision of a release that has others.
func (w *world) helmRevision(d Difference, a, b item) bool {
	m := helmSecret.FindStringSubmatch(d.Name)
	if m == nil || d.Kind != "Secret" {
		return false
	}
	if d.What != Missing {
		return d.What == Added || d.What == Changed
	}
	return w.releases()[a.Namespace+"/"+m[1]]
}

// releases are the Helm releases that the cluster has after.
func (w *world) releases() map[string]bool {
	if w.helm != nil {
		return w.helm
	}
	w.helm = map[string]bool{}
	for i := range w.after.Data {
		o := &w.after.Data[i]
		if m := helmSecret.FindStringSubmatch(o.Name); m != nil && o.Kind == "Secret" {
			w.helm[o.Namespace+"/"+m[1]] = true
		}
	}
	return w.helm
}
