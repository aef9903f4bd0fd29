package snapshot

// passing is what comes and goes by itself, so that its coming and going says
// nothing about the cluster. It is never captured. A resource "*" is the whole
// group.
var passing = []struct{ group, resource, why string }{
	{"", "events", "reports that expire"},
	{"events.k8s.io", "events", "reports that expire"},
	{"coordination.k8s.io", "*", "heartbeats and elections"},
	{"", "endpoints", "derived from Services and Pods"},
	{"discovery.k8s.io", "endpointslices", "derived from Services and Pods"},
	{"apps", "controllerrevisions", "history of StatefulSets and DaemonSets"},
	{"", "componentstatuses", "computed on every request"},
	{"metrics.k8s.io", "*", "computed on every request"},
	{"custom.metrics.k8s.io", "*", "computed on every request"},
	{"external.metrics.k8s.io", "*", "computed on every request"},
	{"storage.k8s.io", "csistoragecapacities", "published by storage drivers"},
	{"storage.k8s.io", "volumeattachments", "follow the Pods"},
	{"resource.k8s.io", "resourceslices", "published by device drivers"},
	{"certificates.k8s.io", "certificatesigningrequests", "collected after an hour"},
	{"internal.apiserver.k8s.io", "*", "the API servers' own notes"},
}

func passes(l List) bool {
	for _, p := range passing {
		if p.group == l.Group && (p.resource == "*" || p.resource == l.Resource) {
			return true
		}
	}
	return false
}
