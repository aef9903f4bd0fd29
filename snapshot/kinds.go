package snapshot

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func node(n *corev1.Node) Node {
	i := n.Status.NodeInfo
	//lint:ignore SA1019 nodes before 1.33 tell it, and those are upgraded too
	proxy := i.KubeProxyVersion
	out := Node{Object: object("", "Node", "v1", n),
		Kubelet: i.KubeletVersion, KubeProxy: proxy, OS: i.OperatingSystem, OSImage: i.OSImage, Kernel: i.KernelVersion,
		Architecture: i.Architecture, ContainerRuntime: i.ContainerRuntimeVersion, MachineID: i.MachineID, BootID: i.BootID,
		Schedulable: !n.Spec.Unschedulable, PodCIDRs: n.Spec.PodCIDRs}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			out.Ready = c.Status == corev1.ConditionTrue
		}
	}
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && out.InternalIP == "" {
			out.InternalIP = a.Address
		}
	}
	for k := range n.Labels {
		if role, ok := strings.CutPrefix(k, "node-role.kubernetes.io/"); ok && role != "" {
			out.Roles = append(out.Roles, role)
		}
	}
	slices.Sort(out.Roles)
	return out
}

func claim(p *corev1.PersistentVolumeClaim) Claim {
	c := Claim{Object: object("", "PersistentVolumeClaim", "v1", p), Phase: string(p.Status.Phase), Volume: p.Spec.VolumeName}
	if p.Spec.StorageClassName != nil {
		c.Class = *p.Spec.StorageClassName
	}
	if q, ok := p.Status.Capacity[corev1.ResourceStorage]; ok {
		c.Capacity = q.String()
	}
	return c
}

func volume(p *corev1.PersistentVolume) Volume {
	v := Volume{Object: object("", "PersistentVolume", "v1", p), Phase: string(p.Status.Phase), Class: p.Spec.StorageClassName,
		Reclaim: string(p.Spec.PersistentVolumeReclaimPolicy)}
	if q, ok := p.Spec.Capacity[corev1.ResourceStorage]; ok {
		v.Capacity = q.String()
	}
	if r := p.Spec.ClaimRef; r != nil {
		v.Claim = r.Namespace + "/" + r.Name
	}
	switch s := p.Spec.PersistentVolumeSource; {
	case s.CSI != nil:
		v.Source = "csi:" + s.CSI.Driver + "/" + s.CSI.VolumeHandle
	case s.Local != nil:
		v.Source = "local:" + s.Local.Path
	case s.HostPath != nil:
		v.Source = "hostPath:" + s.HostPath.Path
	case s.NFS != nil:
		v.Source = "nfs:" + s.NFS.Server + ":" + s.NFS.Path
	default:
		v.Source = "other"
	}
	return v
}

func service(s *corev1.Service) Service {
	out := Service{Object: object("", "Service", "v1", s), Type: string(s.Spec.Type), ClusterIPs: s.Spec.ClusterIPs, ExternalName: s.Spec.ExternalName}
	for _, p := range s.Spec.Ports {
		text := fmt.Sprintf("%s:%d/%s", p.Name, p.Port, p.Protocol)
		if p.NodePort != 0 {
			text += fmt.Sprintf(">%d", p.NodePort)
		}
		out.Ports = append(out.Ports, text)
	}
	return out
}

func ingress(i *networkingv1.Ingress) Ingress {
	out := Ingress{Object: object("networking.k8s.io", "Ingress", "networking.k8s.io/v1", i)}
	if i.Spec.IngressClassName != nil {
		out.Class = *i.Spec.IngressClassName
	} else {
		out.Class = i.Annotations["kubernetes.io/ingress.class"]
	}
	for _, r := range i.Spec.Rules {
		out.Hosts = append(out.Hosts, r.Host)
	}
	return out
}

func crd(d *apiextensionsv1.CustomResourceDefinition) CRD {
	out := CRD{Object: object("apiextensions.k8s.io", "CustomResourceDefinition", "apiextensions.k8s.io/v1", d),
		StoredVersions: d.Status.StoredVersions,
		Resource:       d.Spec.Names.Plural, ResourceGroup: d.Spec.Group, ResourceKind: d.Spec.Names.Kind}
	for _, v := range d.Spec.Versions {
		out.Versions = append(out.Versions, CRDVersion{Name: v.Name, Served: v.Served, Storage: v.Storage})
	}
	for _, c := range d.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			out.Established = c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return out
}

func autoscaler(h *autoscalingv1.HorizontalPodAutoscaler) Autoscaler {
	return Autoscaler{Object: object("autoscaling", "HorizontalPodAutoscaler", "autoscaling/v1", h),
		Target: h.Spec.ScaleTargetRef.Kind + "/" + h.Spec.ScaleTargetRef.Name, Min: orOne(h.Spec.MinReplicas), Max: int(h.Spec.MaxReplicas)}
}

func validating(w *admissionv1.ValidatingWebhookConfiguration) Webhook {
	out := Webhook{Object: object("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1", w)}
	for _, h := range w.Webhooks {
		out.Hooks = append(out.Hooks, hook(h.Name, h.ClientConfig, h.FailurePolicy))
	}
	return out
}

func mutating(w *admissionv1.MutatingWebhookConfiguration) Webhook {
	out := Webhook{Object: object("admissionregistration.k8s.io", "MutatingWebhookConfiguration", "admissionregistration.k8s.io/v1", w)}
	for _, h := range w.Webhooks {
		out.Hooks = append(out.Hooks, hook(h.Name, h.ClientConfig, h.FailurePolicy))
	}
	return out
}

func hook(name string, c admissionv1.WebhookClientConfig, policy *admissionv1.FailurePolicyType) string {
	where, fail := "nowhere", "Fail"
	switch {
	case c.Service != nil:
		where = c.Service.Namespace + "/" + c.Service.Name
	case c.URL != nil:
		where = *c.URL
	}
	if policy != nil {
		fail = string(*policy)
	}
	return name + " -> " + where + " (" + fail + ")"
}

func helmChart(u *unstructured.Unstructured) HelmChart {
	text := func(fields ...string) string { s, _, _ := unstructured.NestedString(u.Object, fields...); return s }
	return HelmChart{Object: object("helm.cattle.io", "HelmChart", "helm.cattle.io/v1", u),
		Chart: text("spec", "chart"), Version: text("spec", "version"), Target: text("spec", "targetNamespace"), Job: text("status", "jobName")}
}

func addon(u *unstructured.Unstructured) Addon {
	text := func(fields ...string) string { s, _, _ := unstructured.NestedString(u.Object, fields...); return s }
	return Addon{Object: object("k3s.cattle.io", "Addon", "k3s.cattle.io/v1", u), Source: text("spec", "source"), Checksum: text("spec", "checksum")}
}
