package drainprobe

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// amounts are quantities by resource, in the order of resourceNames: cpu in
// thousandths, everything else in whole units. Short vectors end in zeros.
type amounts []int64

// resourceNames gives every resource that occurs a place in amounts.
type resourceNames struct {
	index map[corev1.ResourceName]int
	names []corev1.ResourceName
}

func newResourceNames() *resourceNames {
	r := &resourceNames{index: map[corev1.ResourceName]int{}}
	for _, n := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		r.place(n)
	}
	return r
}

func (r *resourceNames) place(n corev1.ResourceName) int {
	i, ok := r.index[n]
	if !ok {
		i = len(r.names)
		r.index[n] = i
		r.names = append(r.names, n)
	}
	return i
}

// amounts converts a list. The number of Pods is counted apart.
func (r *resourceNames) amounts(list corev1.ResourceList) amounts {
	out := make(amounts, len(r.names))
	for name, q := range list {
		if name == corev1.ResourcePods {
			continue
		}
		i := r.place(name)
		for len(out) <= i {
			out = append(out, 0)
		}
		if name == corev1.ResourceCPU {
			out[i] = q.MilliValue()
		} else {
			out[i] = q.Value()
		}
	}
	return out
}

func (a amounts) at(i int) int64 {
	if i < len(a) {
		return a[i]
	}
	return 0
}

func (a *amounts) add(b amounts, sign int64) {
	for len(*a) < len(b) {
		*a = append(*a, 0)
	}
	for i, v := range b {
		(*a)[i] += sign * v
	}
}

// requestsOf is what the scheduler counts for a Pod: init containers, sidecars,
// overhead, Pod-level requests, and a resize under way.
func (r *resourceNames) requestsOf(p *corev1.Pod) amounts {
	return r.amounts(resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{UseStatusResources: true}))
}

// revisionKey is the same for Pods made from one template.
func revisionKey(p *corev1.Pod) string {
	ref := metav1.GetControllerOf(p)
	if ref == nil {
		return ""
	}
	hash := p.Labels["pod-template-hash"]
	if hash == "" {
		hash = p.Labels["controller-revision-hash"]
	}
	return string(ref.UID) + "/" + hash
}

func resizing(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodResizeInProgress || c.Type == corev1.PodResizePending {
			return true
		}
	}
	return false
}

// hostPort is a port of the machine that a container takes.
type hostPort struct {
	ip       string
	protocol corev1.Protocol
	port     int32
}

func hostPorts(p *corev1.Pod) []hostPort {
	var out []hostPort
	add := func(list []corev1.Container, sidecars bool) {
		for i := range list {
			if sidecars && (list[i].RestartPolicy == nil || *list[i].RestartPolicy != corev1.ContainerRestartPolicyAlways) {
				continue
			}
			for _, port := range list[i].Ports {
				if port.HostPort > 0 {
					h := hostPort{port.HostIP, port.Protocol, port.HostPort}
					if h.ip == "" {
						h.ip = "0.0.0.0"
					}
					if h.protocol == "" {
						h.protocol = corev1.ProtocolTCP
					}
					out = append(out, h)
				}
			}
		}
	}
	add(p.Spec.Containers, false)
	add(p.Spec.InitContainers, true)
	return out
}

func (a hostPort) clashes(b hostPort) bool {
	return a.port == b.port && a.protocol == b.protocol && (a.ip == b.ip || a.ip == "0.0.0.0" || b.ip == "0.0.0.0")
}
