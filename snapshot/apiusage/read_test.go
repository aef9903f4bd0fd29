package apiusage

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func client(t *testing.T, h http.HandlerFunc) rest.Interface {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	// A path before the API, as behind a proxy.
	c, err := kubernetes.NewForConfig(&rest.Config{Host: srv.URL + "/k8s/clusters/c-1"})
	if err != nil {
		t.Fatal(err)
	}
	return c.Discovery().RESTClient()
}

func TestReadAsksEveryServerAndMerges(t *testing.T) {
	t.Parallel()
	page := sample(t)
	serve := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/k8s/clusters/c-1/metrics" || !strings.HasPrefix(r.Header.Get("Accept"), "text/plain") {
			http.Error(w, "asked for "+r.URL.Path+" as "+r.Header.Get("Accept"), http.StatusNotFound)
			return
		}
		_, _ = w.Write(page)
	}
	u, err := Read(context.Background(), client(t, serve), client(t, serve))
	if err != nil {
		t.Fatal(err)
	}
	if len(u.Lines) != 6 || len(u.Servers) != 2 || len(u.APIs[0].Servers) != 2 || u.Servers[0].Name == u.Servers[1].Name {
		t.Errorf("got %+v", u)
	}
}

func TestReadSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	forbidden := client(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"forbidden"}`))
	})
	login := client(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>\n")) })
	cut := client(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5000")
		_, _ = w.Write([]byte("apiserver_x 1\n"))
	})
	for want, servers := range map[string][]rest.Interface{
		"no API server to ask": nil,
		"system:monitoring":    {forbidden},
		"not a /metrics page":  {login},
		"unexpected EOF":       {cut},
	} {
		if u, err := Read(context.Background(), servers...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v, %v", want, u, err)
		}
	}
}
