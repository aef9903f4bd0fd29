package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/k3sladder/k3sladder/channels"
)

func TestPlanIsNotAppliedWhereAControllerWouldActOnIt(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s reached the cluster", r.Method, r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		answer := map[string]string{
			"/version":      `{"gitVersion":"v1.35.4+k3s1"}`,
			"/api/v1/nodes": `{"kind":"NodeList","apiVersion":"v1","items":[]}`,
			"/apis/apps/v1/deployments": `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{
				"metadata":{"name":"system-upgrade-controller","namespace":"system-upgrade"},
				"spec":{"selector":{},"template":{"spec":{"containers":[{"name":"c","image":"rancher/system-upgrade-controller:v0.20.1"}]}}}}]}`,
			"/api/v1/namespaces/system-upgrade/pods": `{"kind":"PodList","apiVersion":"v1","items":[]}`,
			"/apis/upgrade.cattle.io/v1/plans":       `{"kind":"PlanList","apiVersion":"upgrade.cattle.io/v1","items":[]}`,
			"/api/v1/secrets":                        `{"kind":"SecretList","apiVersion":"v1","items":[]}`,
			"/api/v1/serviceaccounts":                `{"kind":"ServiceAccountList","apiVersion":"v1","items":[]}`,
			"/api/v1/namespaces":                     `{"kind":"NamespaceList","apiVersion":"v1","items":[]}`,
		}[r.URL.Path]
		if answer == "" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	term := newTerminal(&bytes.Buffer{}, &bytes.Buffer{})
	l := &lab{folder: folder{dir: t.TempDir()}, term: term, config: config, client: client, channels: channels.BundledSource, engine: installEngine{}}
	live := term.begin("plan")
	result, err := l.plan(t.Context(), live)
	live.end("")
	if err != nil || !strings.Contains(result, "NOT applied") || !strings.Contains(result, "kubectl apply -f "+l.path(planFile)) {
		t.Errorf("got %q, %v", result, err)
	}
	if content, err := os.ReadFile(l.path(planFile)); err != nil || !strings.Contains(string(content), "version: v1.36") {
		t.Errorf("the Plan was not written: %s, %v", content, err)
	}
}

func TestARunThatStoppedSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	l := &lab{folder: folder{dir: t.TempDir()}, engine: installEngine{}}
	if err := l.goOn(steps, l.missing(steps)); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	for _, s := range steps[:7] {
		for _, name := range s.files {
			if err := os.MkdirAll(l.path(backupDir), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, l.path(name), "")
		}
	}
	err := l.run(t.Context(), steps)
	if err == nil || !strings.Contains(err.Error(), "7 of 9 steps are done") || !strings.HasSuffix(err.Error(), "lab step plan --dir "+l.dir+", then report") {
		t.Errorf("got %v", err)
	}
	if err := l.run(t.Context(), steps[:1]); err == nil || strings.Contains(err.Error(), "steps are done") {
		t.Errorf("a single step: %v", err)
	}
	l.engine = practiceEngine{} // its cluster is gone when the run ends
	if err := l.goOn(steps, steps[7:]); err != nil {
		t.Errorf("on a practice cluster: %v", err)
	}
}
