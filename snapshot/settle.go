package snapshot

import (
	"cmp"
	"slices"
	"strings"
)

// settle gives Pods to their workloads and puts everything in order.
func (c *capture) settle() {
	s := c.out
	s.Pods = make([]Pod, 0, len(c.pods))
	jobs := map[string]*Object{}
	at := map[string]int{}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		at[w.UID] = i
		if w.Kind == "Job" {
			jobs[w.UID] = &w.Object
		}
	}
	var bare []Workload
	for i := range c.pods {
		p := &c.pods[i]
		if p.bare != nil {
			bare = append(bare, *p.bare)
			continue
		}
		if o, ok := c.owners[p.Owner.UID]; ok {
			p.Owner = o
		}
		// The Job first, then the CronJob above it: both have restarted.
		for ref := p.Owner; ; {
			if j, ok := at[ref.UID]; ok {
				w := &s.Workloads[j]
				w.Restarts += p.Restarts
				if p.LastRestart.After(w.LastRestart) {
					w.LastRestart = p.LastRestart
				}
			}
			j, ok := jobs[ref.UID]
			if !ok || j.Owner == nil {
				break
			}
			ref = *j.Owner
		}
		s.Pods = append(s.Pods, p.Pod)
	}
	s.Workloads = append(s.Workloads, bare...)
	s.sort()
}

func (s *Snapshot) sort() {
	sortObjects(s.Nodes, func(x *Node) *Object { return &x.Object })
	sortObjects(s.Workloads, func(x *Workload) *Object { return &x.Object })
	sortObjects(s.Claims, func(x *Claim) *Object { return &x.Object })
	sortObjects(s.Volumes, func(x *Volume) *Object { return &x.Object })
	sortObjects(s.Services, func(x *Service) *Object { return &x.Object })
	sortObjects(s.Ingresses, func(x *Ingress) *Object { return &x.Object })
	sortObjects(s.Data, func(x *Data) *Object { return &x.Object })
	sortObjects(s.CRDs, func(x *CRD) *Object { return &x.Object })
	sortObjects(s.HelmCharts, func(x *HelmChart) *Object { return &x.Object })
	sortObjects(s.Addons, func(x *Addon) *Object { return &x.Object })
	sortObjects(s.Autoscalers, func(x *Autoscaler) *Object { return &x.Object })
	sortObjects(s.Webhooks, func(x *Webhook) *Object { return &x.Object })
	sortObjects(s.Others, func(x *Object) *Object { return x })
	slices.SortFunc(s.Pods, func(a, b Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

func sortObjects[T any](list []T, o func(*T) *Object) {
	slices.SortFunc(list, func(x, y T) int {
		a, b := o(&x), o(&y)
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}
