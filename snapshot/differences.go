package snapshot

import (
	"fmt"
	"slices"
	"strings"
)

// objects compares every object of the two sides.
func (w *world) objects() {
	gone := w.noMoreServed()
	for a, b := range pairs(w.a, w.b) {
		if a.Object != nil {
			w.unnamed("before", a.Object)
		}
		if b.Object != nil {
			w.unnamed("after", b.Object)
		}
		switch {
		case b.Object == nil:
			d := differs(Missing, a.Object)
			if d.Loss = true; gone[[2]string{a.Group, a.Kind}] {
				d.Detail = "the cluster serves no " + a.Kind + " any more"
			}
			w.add(d, a, b)
		case a.Object == nil:
			d := differs(Added, b.Object)
			if packaged(b) {
				d.What, d.Loss = CameBack, true
				d.Detail = "the setting that kept it out is lost, as when the installer is run again without its --disable flags"
			}
			w.add(d, a, b)
		case a.UID != b.UID:
			d := differs(Recreated, b.Object)
			d.Field, d.Before, d.After, d.Loss = "UID", a.UID, b.UID, true
			w.add(d, a, b)
		default:
			w.same++
			w.compare(a, b)
		}
	}
}

func differs(what What, o *Object) Difference {
	return Difference{What: what, Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

// add explains a difference, where somebody is known to make it.
func (w *world) add(d Difference, a, b item) {
	d.Expected = w.explain(d, a, b)
	w.found = append(w.found, d)
}

// compare looks at an object that is still the same one.
func (w *world) compare(a, b item) {
	note := func(what What, field, before, after string, loss bool) bool {
		if before == after {
			return false
		}
		d := differs(what, b.Object)
		d.Field, d.Before, d.After, d.Loss = field, before, after, loss
		w.add(d, a, b)
		return true
	}
	if b.Generation < a.Generation && b.Generation > 0 {
		note(SetBack, "generation", fmt.Sprint(a.Generation), fmt.Sprint(b.Generation), true)
		return
	}
	told := false
	changed := func(field, before, after string) {
		told = note(Changed, field, before, after, w.backed) || told
	}
	switch x := a.body.(type) {
	case *Node:
		y := b.body.(*Node)
		w.compareNodes(x, y, a, b)
		told = true
	case *Workload:
		y := b.body.(*Workload)
		changed("images", join(x.Images), join(y.Images))
		switch {
		case x.Kind != "DaemonSet":
			changed("replicas", fmt.Sprint(x.Desired), fmt.Sprint(y.Desired))
		case x.Desired-y.Desired > max(0, len(w.before.Nodes)-len(w.after.Nodes)):
			// It follows the nodes, and they are there; unless somebody changed
			// where it runs.
			if x.Generation == y.Generation {
				note(Unwell, "nodes", fmt.Sprint(x.Desired), fmt.Sprint(y.Desired), true)
			} else {
				changed("nodes", fmt.Sprint(x.Desired), fmt.Sprint(y.Desired))
			}
		}
		changed("schedule", x.Schedule, y.Schedule)
		switch {
		case y.State == "failed" && x.State != "failed":
			note(Unwell, "state", orWord(x.State, "running"), y.State, true)
		case y.State != "complete":
			changed("state", x.State, y.State)
		}
		if lessReady(x, y) {
			note(Unwell, "ready", fmt.Sprintf("%d of %d", x.Ready, x.Desired), fmt.Sprintf("%d of %d", y.Ready, y.Desired), true)
		}
	case *Claim:
		y := b.body.(*Claim)
		note(Unwell, "volume", x.Volume, y.Volume, x.Volume != "")
		note(Unwell, "phase", x.Phase, y.Phase, x.Phase == "Bound")
		changed("class", x.Class, y.Class)
		changed("capacity", x.Capacity, y.Capacity)
	case *Volume:
		y := b.body.(*Volume)
		note(Unwell, "phase", x.Phase, y.Phase, x.Phase == "Bound" || y.Phase == "Failed")
		note(Unwell, "claim", x.Claim, y.Claim, x.Claim != "")
		note(Unwell, "source", x.Source, y.Source, true)
		changed("class", x.Class, y.Class)
		changed("capacity", x.Capacity, y.Capacity)
		changed("reclaim policy", x.Reclaim, y.Reclaim)
	case *Service:
		y := b.body.(*Service)
		changed("type", x.Type, y.Type)
		changed("clusterIPs", join(x.ClusterIPs), join(y.ClusterIPs))
		changed("ports", join(x.Ports), join(y.Ports))
		changed("externalName", x.ExternalName, y.ExternalName)
	case *Ingress:
		y := b.body.(*Ingress)
		changed("class", x.Class, y.Class)
		changed("hosts", join(x.Hosts), join(y.Hosts))
	case *Data:
		y := b.body.(*Data)
		changed("type", x.Type, y.Type)
		if x.Hash != y.Hash {
			changed("data", x.Hash[:min(8, len(x.Hash))]+" (hash)", y.Hash[:min(8, len(y.Hash))]+" (hash)")
		}
	case *CRD:
		y := b.body.(*CRD)
		w.compareCRDs(x, y, a, b)
		changed("served versions", x.served(), y.served())
		if x.Established && !y.Established {
			note(Unwell, "established", "yes", "no", true)
		}
	case *HelmChart:
		y := b.body.(*HelmChart)
		changed("chart", x.Chart, y.Chart)
		changed("version", x.Version, y.Version)
		changed("target namespace", x.Target, y.Target)
	case *Addon:
		y := b.body.(*Addon)
		changed("checksum", short(x.Checksum), short(y.Checksum))
	case *Autoscaler:
		y := b.body.(*Autoscaler)
		changed("target", x.Target, y.Target)
		changed("replicas", fmt.Sprintf("%d to %d", x.Min, x.Max), fmt.Sprintf("%d to %d", y.Min, y.Max))
	case *Webhook:
		y := b.body.(*Webhook)
		changed("webhooks", join(x.Hooks), join(y.Hooks))
	}
	if !told {
		changed("generation", fmt.Sprint(a.Generation), fmt.Sprint(b.Generation))
	}
}

// compareNodes: versions move with an upgrade; readiness must not.
func (w *world) compareNodes(x, y *Node, a, b item) {
	note := func(what What, field, before, after string, loss bool) {
		if before != after {
			d := differs(what, b.Object)
			d.Field, d.Before, d.After, d.Loss = field, before, after, loss
			w.add(d, a, b)
		}
	}
	if x.Ready && !y.Ready {
		note(Unwell, "ready", "yes", "no", true)
	}
	if x.Schedulable && !y.Schedulable {
		note(Unwell, "schedulable", "yes", "no: cordoned", true)
	}
	note(Moved, "kubelet", x.Kubelet, y.Kubelet, false)
	if y.KubeProxy != "" { // nodes stopped saying in 1.33
		note(Moved, "kube-proxy", x.KubeProxy, y.KubeProxy, false)
	}
	note(Moved, "container runtime", x.ContainerRuntime, y.ContainerRuntime, false)
	note(Moved, "kernel", x.Kernel, y.Kernel, false)
	note(Moved, "OS image", x.OSImage, y.OSImage, false)
	note(Changed, "architecture", x.Architecture, y.Architecture, w.backed)
	if x.Cgroup != 0 && y.Cgroup != 0 {
		note(Changed, "cgroup version", fmt.Sprint(x.Cgroup), fmt.Sprint(y.Cgroup), w.backed)
	}
	note(Changed, "machine ID", x.MachineID, y.MachineID, w.backed)
	note(Changed, "roles", join(x.Roles), join(y.Roles), w.backed)
	note(Changed, "pod CIDRs", join(x.PodCIDRs), join(y.PodCIDRs), w.backed)
	note(Changed, "internal IP", x.InternalIP, y.InternalIP, w.backed)
}

// compareCRDs: an object that lies in the datastore in a version that the CRD
// does not have any more can be read by nobody
// (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#upgrade-existing-objects-to-a-new-stored-version).
func (w *world) compareCRDs(x, y *CRD, a, b item) {
	for _, v := range x.StoredVersions {
		has := slices.ContainsFunc(y.Versions, func(have CRDVersion) bool { return have.Name == v })
		if has {
			continue
		}
		d := differs(Unreadable, b.Object)
		d.Field, d.Before = "stored version", v
		// The API server fails to list a kind of which it cannot read an object.
		l, ok := w.after.List(y.ResourceGroup, y.Resource)
		switch {
		case ok && l.State == Captured && len(l.Namespaces) == 0:
			d.Detail = "all objects that are there can be read"
		case ok && l.State == Failed:
			d.Loss, d.Detail = true, "its objects cannot be listed: "+l.Reason
		default:
			d.Loss, d.Detail = true, "whether its objects can still be read was not captured"
		}
		w.add(d, a, b)
	}
}

func (c *CRD) served() string {
	var out []string
	for _, v := range c.Versions {
		if v.Served {
			out = append(out, v.Name)
		}
	}
	return join(out)
}

// lessReady: it had what it wanted, or more than now, and lacks some.
func lessReady(x, y *Workload) bool {
	if x.Kind == "Job" || x.Kind == "CronJob" || y.State == "complete" || y.State == "failed" {
		return false
	}
	return y.Ready < y.Desired && (x.Ready >= x.Desired || y.Ready < x.Ready)
}

func join(list []string) string { return strings.Join(list, " ") }

func short(s string) string { return s[:min(12, len(s))] }

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}
