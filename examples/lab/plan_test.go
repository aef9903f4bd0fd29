package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/k3sladder/k3sladder/channels"
)

func TestAPlanThatNobodyShouldCarryOutIsOnlyWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ version, deployments, plans, says, pinned string }{
		"a controller would act on it": {
			version: "v1.35.4+k3s1",
			deployments: `{"metadata":{"name":"system-upgrade-controller","namespace":"system-upgrade"},
				"spec":{"selector":{},"template":{"spec":{"containers":[{"name":"c","image":"rancher/system-upgrade-controller:v0.20.1"}]}}}}`,
			says: "kubectl apply -f ", pinned: "version: v1.36",
		},
		"it leads past stable, and the one of the climb before is there": {
			version: "v1.36.4+k3s1",
			plans:   `{"apiVersion":"upgrade.cattle.io/v1","kind":"Plan","metadata":{"name":"k3s-server-next","namespace":"system-upgrade"}}`,
			says:    "kubectl -n system-upgrade delete plan k3s-server-next", pinned: "version: v1.37",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := func(kind, version, items string) string {
				return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"items":[%s]}`, kind+"List", version, items)
			}
			answers := map[string]string{
				"/version":                               fmt.Sprintf(`{"gitVersion":%q}`, c.version),
				"/api/v1/nodes":                          list("Node", "v1", ""),
				"/apis/apps/v1/deployments":              list("Deployment", "apps/v1", c.deployments),
				"/api/v1/namespaces/system-upgrade/pods": list("Pod", "v1", ""),
				"/apis/upgrade.cattle.io/v1/plans":       list("Plan", "upgrade.cattle.io/v1", c.plans),
				"/api/v1/secrets":                        list("Secret", "v1", ""),
				"/api/v1/serviceaccounts":                list("ServiceAccount", "v1", ""),
				"/api/v1/namespaces":                     list("Namespace", "v1", ""),
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet {
					t.Errorf("%s %s reached the cluster", r.Method, r.URL.Path)
				}
				w.Header().Set("Content-Type", "application/json")
				if answers[r.URL.Path] == "" {
					http.NotFound(w, r)
					return
				}
				_, _ = w.Write([]byte(answers[r.URL.Path]))
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
			if err != nil || !strings.Contains(result, "NOT applied") || !strings.Contains(result, c.says) {
				t.Errorf("got %q, %v", result, err)
			}
			if content, err := os.ReadFile(l.path(planFile)); err != nil || !strings.Contains(string(content), c.pinned) {
				t.Errorf("the Plan was not written: %s, %v", content, err)
			}
		})
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
	if err == nil || !strings.Contains(err.Error(), "2 of 9 steps left") || !strings.HasSuffix(err.Error(), "lab step plan --dir "+l.dir+", then report") {
		t.Errorf("got %v", err)
	}
	// To drain now would empty a node for an upgrade that is done.
	if err := os.Remove(l.path(drainFile)); err != nil {
		t.Fatal(err)
	}
	if err := l.run(t.Context(), steps); err == nil || strings.Contains(err.Error(), "drain") {
		t.Errorf("the drain was left out: %v", err)
	}
	if err := l.run(t.Context(), steps[:1]); err == nil || strings.Contains(err.Error(), "steps left") {
		t.Errorf("a single step: %v", err)
	}
	l.engine = practiceEngine{} // its cluster is gone when the run ends
	if err := l.goOn(steps, steps[7:]); err != nil {
		t.Errorf("on a practice cluster: %v", err)
	}
}

// Only a drain can be taken back: nobody may read that an upgrade was.
func TestAnInterruptedUpgradeIsNotSaidToBeTakenBack(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := &lab{engine: installEngine{}}
	if err := l.failed(ctx, step{name: "upgrade"}, ctx.Err()); !strings.Contains(err.Error(), "interrupted") || !strings.Contains(err.Error(), "not taken back") {
		t.Errorf("upgrade: %v", err)
	}
	if err := l.failed(ctx, step{name: "drain"}, ctx.Err()); !strings.Contains(err.Error(), "is given back") {
		t.Errorf("drain: %v", err)
	}
}
