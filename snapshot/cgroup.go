package snapshot

import (
	"bufio"
	"context"
	"io"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// askKubelets asks every kubelet for its cgroup version. Only the end of ctx is
// an error.
func (c *capture) askKubelets(ctx context.Context) error {
	rc := c.clients.Kubernetes.CoreV1().RESTClient()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(c.opts.Concurrency)
	for i := range c.out.Nodes {
		n := &c.out.Nodes[i]
		g.Go(func() error {
			body, err := rc.Get().Resource("nodes").Name(n.Name).SubResource("proxy").Suffix("metrics").Stream(gctx)
			if err != nil {
				return ctx.Err()
			}
			defer body.Close()
			n.Cgroup = cgroupVersion(body)
			return ctx.Err()
		})
	}
	return g.Wait()
}

// cgroupVersion finds kubelet_cgroup_version in a kubelet's metrics; 0 where it
// is not told, which is also what a kubelet on another system than Linux says.
func cgroupVersion(r io.Reader) int {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		value, ok := strings.CutPrefix(lines.Text(), "kubelet_cgroup_version ")
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || v != 1 && v != 2 {
			return 0
		}
		return int(v)
	}
	return 0
}
