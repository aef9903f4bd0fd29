package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/k3sladder/k3sladder/snapshot"
)

// versions lists what has a version: the API server, and per component of the
// nodes one row for all nodes where they agree, else one for each.
func versions(before, after *snapshot.Snapshot) []Version {
	out := []Version{{"API server", before.ServerVersion(), after.ServerVersion()}}
	for _, c := range []struct {
		name string
		of   func(*snapshot.Node) string
	}{
		{"kubelet", func(n *snapshot.Node) string { return n.Kubelet }},
		{"kube-proxy", func(n *snapshot.Node) string { return n.KubeProxy }},
		{"container runtime", func(n *snapshot.Node) string { return n.ContainerRuntime }},
		{"kernel", func(n *snapshot.Node) string { return n.Kernel }},
		{"OS image", func(n *snapshot.Node) string { return n.OSImage }},
	} {
		a, b := byNode(before, c.of), byNode(after, c.of)
		names := map[string]bool{}
		pairs := map[[2]string]bool{}
		for _, m := range []map[string]string{a, b} {
			for n := range m {
				names[n] = true
				pairs[[2]string{a[n], b[n]}] = true
			}
		}
		switch {
		case len(pairs) == 1:
			for p := range pairs {
				if p != [2]string{} {
					out = append(out, Version{c.name, p[0], p[1]})
				}
			}
		case len(names) <= 12:
			for _, n := range sorted(names) {
				out = append(out, Version{c.name + " on " + n, a[n], b[n]})
			}
		default:
			for _, p := range sortedPairs(pairs) {
				k := 0
				for n := range names {
					if a[n] == p[0] && b[n] == p[1] {
						k++
					}
				}
				out = append(out, Version{fmt.Sprintf("%s on %d nodes", c.name, k), p[0], p[1]})
			}
		}
	}
	return out
}

func byNode(s *snapshot.Snapshot, of func(*snapshot.Node) string) map[string]string {
	out := map[string]string{}
	for i := range s.Nodes {
		out[s.Nodes[i].Name] = of(&s.Nodes[i])
	}
	return out
}

func sorted(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func sortedPairs(m map[[2]string]bool) [][2]string {
	var out [][2]string
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b [2]string) int {
		return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
	})
	return out
}

// identities are the cluster, the nodes and the workloads, what is not the same
// first.
func identities(c *snapshot.Comparison) []Identity {
	var out []Identity
	if c.Before.ClusterUID != "" || c.After.ClusterUID != "" {
		out = append(out, Identity{Kind: "Cluster", Name: "kube-system", Before: c.Before.ClusterUID, After: c.After.ClusterUID})
	}
	for _, n := range c.Nodes {
		i := Identity{Kind: "Node", Name: n.Name, Before: n.UIDBefore, After: n.UIDAfter, Ready: "not Ready"}
		if n.ReadyAfter {
			i.Ready = "Ready"
		}
		if n.UIDAfter == "" {
			i.Ready = ""
		}
		if n.Rebooted {
			i.Restarts = 1
		}
		out = append(out, i)
	}
	for _, m := range c.Workloads {
		if m.UIDBefore == "" && m.UIDAfter == "" {
			continue // Pods of an owner that is no workload
		}
		i := Identity{Kind: m.Kind, Namespace: m.Namespace, Name: m.Name, Before: m.UIDBefore, After: m.UIDAfter, Restarts: m.Restarts, LastRestart: m.LastRestart}
		if m.UIDAfter != "" && m.Kind != "CronJob" {
			i.Ready = fmt.Sprintf("%d/%d", m.ReadyAfter, m.Desired)
		}
		var pods []string
		if m.PodsKept > 0 {
			pods = append(pods, fmt.Sprintf("%d kept", m.PodsKept))
		}
		if m.PodsNew > 0 {
			pods = append(pods, fmt.Sprintf("%d new", m.PodsNew))
		}
		i.Pods = strings.Join(pods, ", ")
		out = append(out, i)
	}
	// Losses first, then what restarted, the system's own last.
	rank := func(i Identity) int {
		switch {
		case i.Kind == "Cluster":
			return 0
		case !i.Same() && i.Before != "":
			return 1
		case i.Kind == "Node":
			return 2
		case i.Restarts > 0:
			return 3
		case i.Namespace != "kube-system":
			return 4
		}
		return 5
	}
	slices.SortStableFunc(out, func(a, b Identity) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// shown cuts the table for a page, and says how many rows are left out.
func (r *Report) shown() (rows []Identity, left int) {
	n := len(r.Identities)
	for n > maxIdentities && r.Identities[n-1].Same() && r.Identities[n-1].Restarts == 0 {
		n--
	}
	return r.Identities[:n], len(r.Identities) - n
}

// took writes a duration for people: 40 ms, 1.4 s, 12 s, 3 min 05 s.
func took(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Second:
		return fmt.Sprintf("%d ms", max(d.Milliseconds(), 1))
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%d min %02d s", d/time.Minute, d%time.Minute/time.Second)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%d h %02d min", d/time.Hour, d%time.Hour/time.Minute)
}

func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
