package drainprobe

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	volumehelper "k8s.io/component-helpers/storage/volume"
)

// volumeIndex finds claims, volumes and classes by name.
type volumeIndex struct {
	claims  map[string]*corev1.PersistentVolumeClaim // namespace/name
	volumes map[string]*corev1.PersistentVolume
	classes map[string]*storagev1.StorageClass
	free    []*corev1.PersistentVolume
	gap     string
}

func indexVolumes(w *World) *volumeIndex {
	x := &volumeIndex{claims: map[string]*corev1.PersistentVolumeClaim{}, volumes: map[string]*corev1.PersistentVolume{}, classes: map[string]*storagev1.StorageClass{}}
	for _, c := range w.Claims {
		x.claims[c.Namespace+"/"+c.Name] = c
	}
	for _, v := range w.Volumes {
		x.volumes[v.Name] = v
		if v.Status.Phase == corev1.VolumeAvailable && v.Spec.ClaimRef == nil {
			x.free = append(x.free, v)
		}
	}
	for _, c := range w.StorageClasses {
		x.classes[c.Name] = c
	}
	for _, r := range []string{"persistentvolumeclaims", "persistentvolumes", "storageclasses"} {
		if g, ok := w.gap(r); ok && x.gap == "" {
			x.gap = g.Resource + " were not read (" + g.Reason + ")"
		}
	}
	return x
}

// claimNeeds is what a Pod's volumes ask of a node.
type claimNeeds struct {
	bound []*corev1.PersistentVolume
	// unbound claims take one of these volumes each, or are provisioned.
	unbound []unboundClaim
	missing string // a claim that does not exist: the Pod waits for ever
	open    string // cannot be told
}

type unboundClaim struct {
	name       string
	class      *storagev1.StorageClass
	candidates []*corev1.PersistentVolume // of a class without a provisioner
}

const noProvisioner = "kubernetes.io/no-provisioner"

func (x *volumeIndex) needs(p *corev1.Pod) claimNeeds {
	var n claimNeeds
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		var claim *corev1.PersistentVolumeClaim
		name := ""
		switch {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
			claim = x.claims[p.Namespace+"/"+name]
		case v.Ephemeral != nil:
			// A claim of its own for every Pod: the replacement gets a new one.
			name = ephemeral.VolumeClaimName(p, v)
			t := v.Ephemeral.VolumeClaimTemplate
			if t == nil {
				continue
			}
			claim = &corev1.PersistentVolumeClaim{Spec: t.Spec}
			claim.Name, claim.Namespace = name, p.Namespace
		default:
			continue
		}
		if x.gap != "" {
			n.open = x.gap
			continue
		}
		if claim == nil || claim.DeletionTimestamp != nil {
			n.missing = "volume claim " + name + " does not exist or is being deleted"
			continue
		}
		if claim.Spec.VolumeName != "" && v.Ephemeral == nil {
			pv := x.volumes[claim.Spec.VolumeName]
			if pv == nil {
				n.missing = "volume " + claim.Spec.VolumeName + " of claim " + name + " does not exist"
				continue
			}
			n.bound = append(n.bound, pv)
			continue
		}
		u := unboundClaim{name: name, class: x.classes[volumehelper.GetPersistentVolumeClaimClass(claim)]}
		switch {
		case u.class == nil && v.Ephemeral == nil:
			n.missing = "volume claim " + name + " is not bound"
			continue
		case u.class == nil:
			n.open = "the class of volume claim " + name + " is not known"
			continue
		case u.class.VolumeBindingMode == nil || *u.class.VolumeBindingMode == storagev1.VolumeBindingImmediate:
			if v.Ephemeral == nil {
				n.missing = "volume claim " + name + " is not bound"
				continue
			}
			n.open = "the volume of claim " + name + " is made before its Pod is placed"
			continue
		case u.class.Provisioner == noProvisioner:
			for _, pv := range x.free {
				if pv.Spec.StorageClassName == u.class.Name && fitsClaim(pv, claim) {
					u.candidates = append(u.candidates, pv)
				}
			}
		}
		n.unbound = append(n.unbound, u)
	}
	return n
}

func fitsClaim(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) bool {
	have, want := pv.Spec.Capacity[corev1.ResourceStorage], claim.Spec.Resources.Requests[corev1.ResourceStorage]
	return have.Cmp(want) >= 0 && volumehelper.CheckAccessModes(claim, pv) && !volumehelper.CheckVolumeModeMismatches(&claim.Spec, &pv.Spec)
}

// bars says why a node cannot have the Pod's volumes, "" if it can.
func (n claimNeeds) bars(node *corev1.Node) string {
	if n.missing != "" {
		return n.missing
	}
	for _, pv := range n.bound {
		if volumehelper.CheckNodeAffinity(pv, node.Labels) != nil {
			return "volume " + pv.Name + " is bound to another node"
		}
		for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion} {
			if want, ok := pv.Labels[key]; ok {
				if have, ok := node.Labels[key]; ok && !slices.Contains(strings.Split(want, "__"), have) {
					return fmt.Sprintf("volume %s is in %s", pv.Name, want)
				}
			}
		}
	}
	for _, u := range n.unbound {
		if u.class.Provisioner != noProvisioner {
			continue
		}
		if !slices.ContainsFunc(u.candidates, func(pv *corev1.PersistentVolume) bool {
			return volumehelper.CheckNodeAffinity(pv, node.Labels) == nil
		}) {
			return "no free volume there for claim " + u.name
		}
	}
	return ""
}

// single lists the volumes that only one node at a time can mount.
func (n claimNeeds) single() []*corev1.PersistentVolume {
	var out []*corev1.PersistentVolume
	for _, pv := range n.bound {
		s := pv.Spec
		if s.HostPath != nil || s.Local != nil || s.NFS != nil {
			continue // nothing attaches these
		}
		if !slices.ContainsFunc(s.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool {
			return m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
		}) {
			out = append(out, pv)
		}
	}
	return out
}
