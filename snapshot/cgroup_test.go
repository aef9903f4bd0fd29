package snapshot

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestKubeletsAreAskedForTheirCgroupVersion(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/nodes/one/proxy/metrics":
			_, _ = w.Write([]byte("kubelet_cgroup_version 1\n"))
		case "/api/v1/nodes/two/proxy/metrics":
			_, _ = w.Write([]byte("# TYPE kubelet_cgroup_version gauge\nkubelet_cgroup_version 2\nother 1\n"))
		default:
			http.Error(w, "no such kubelet", http.StatusBadGateway)
		}
	}))
	defer srv.Close()
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	c := &capture{clients: Clients{Kubernetes: kube}, opts: Options{Concurrency: 2}, out: &Snapshot{Nodes: []Node{
		{Object: Object{Name: "one"}}, {Object: Object{Name: "two"}}, {Object: Object{Name: "away"}}}}}
	if err := c.askKubelets(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 2, 0} {
		if got := c.out.Nodes[i].Cgroup; got != want {
			t.Errorf("node %s: %d, want %d", c.out.Nodes[i].Name, got, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.askKubelets(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
