package apiusage

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// Read asks API servers for their /metrics and merges the answers; any client of
// the server will do, such as a clientset's Discovery().RESTClient(). Through a
// load balancer one server answers, and which one is not told: pass a client for
// each to hear all of them.
//
// It needs the right to get the nonResourceURL /metrics (the ClusterRole
// system:monitoring has it). All servers answer or Read fails.
func Read(ctx context.Context, servers ...rest.Interface) (*Usage, error) {
	if len(servers) == 0 {
		return nil, errors.New("no API server to ask for its metrics")
	}
	var all []*Usage
	for _, c := range servers {
		if c == nil {
			return nil, errors.New("an API server to ask for its metrics has no client")
		}
		u, err := readOne(ctx, c)
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return Merge(all...), nil
}

func readOne(ctx context.Context, c rest.Interface) (*Usage, error) {
	req := c.Get().AbsPath("/metrics").SetHeader("Accept", "text/plain; version=0.0.4")
	name := req.URL().Host
	body, err := req.Stream(ctx)
	if err != nil {
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			return nil, fmt.Errorf("the metrics of %s are closed to this user: %w; "+
				"bind the ClusterRole system:monitoring to it", name, err)
		}
		return nil, fmt.Errorf("asking %s for its metrics: %w", name, err)
	}
	defer body.Close()
	u, err := Scan(body, name)
	if err != nil {
		return nil, fmt.Errorf("the metrics of %s: %w", name, err)
	}
	return u, nil
}
