//go:build practice

package suc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/k3sladder/k3sladder/internal/practice"
	"github.com/k3sladder/k3sladder/skew"
)

// cluster is one practice cluster for all tests here, with the CRD installed.
func cluster(t *testing.T) (*practice.Cluster, Clients) {
	t.Helper()
	c := practice.Start(t, practice.Options{})
	d, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	return c, Clients{Kube: c.Client(), Dynamic: d}
}

// The API server of the practice cluster, with the CRD generated from our
// types, is asked about every Plan that the decoder has an opinion on.
func TestAPIServer(t *testing.T) {
	c, clients := cluster(t)
	t.Run("apply installs the CRD and the Plan", func(t *testing.T) { applyForReal(t, clients) })
	t.Run("the decoder refuses what the API server refuses", func(t *testing.T) { refusesTheSame(t, clients) })
	t.Run("facts", func(t *testing.T) { readsFacts(t, c, clients) })
}

func applyForReal(t *testing.T, c Clients) {
	ctx := t.Context()
	server := ServerPlan(skew.MustParse("v1.35.9+k3s1"), Options{Name: "k3s-server-next"})
	dry, err := Apply(ctx, c.Dynamic, ApplyOptions{CRD: CRD(), Plans: []*Plan{server}, DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Dynamic.Resource(crdResource).Get(ctx, CRDName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after a dry run the CRD is there: %v", err)
	}
	t.Logf("dry run:\n%s", dry)
	first, err := Apply(ctx, c.Dynamic, ApplyOptions{CRD: CRD(), Plans: []*Plan{server}})
	if err != nil {
		t.Fatal(err)
	}
	want := "CustomResourceDefinition plans.upgrade.cattle.io created\nNamespace system-upgrade created\nPlan system-upgrade/k3s-server-next created\n"
	if first.String() != want {
		t.Errorf("first:\n%s", first)
	}
	second, err := Apply(ctx, c.Dynamic, ApplyOptions{CRD: CRD(), Plans: []*Plan{server, AgentPlan(server, Options{})}})
	if err != nil {
		t.Fatal(err)
	}
	want = "CustomResourceDefinition plans.upgrade.cattle.io kept\nPlan system-upgrade/k3s-server-next unchanged\nPlan system-upgrade/k3s-agent created\n"
	if second.String() != want {
		t.Errorf("second:\n%s", second)
	}
	live, err := GetPlan(ctx, c.Dynamic, "system-upgrade", "k3s-server-next")
	if err != nil {
		t.Fatal(err)
	}
	a, err := Marshal(live)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Marshal(server)
	if err != nil || string(a) != string(b) {
		t.Errorf("%v; the cluster has\n%s\nand applied was\n%s", err, a, b)
	}
	// A field that somebody else owns is a conflict, unless forced.
	o, err := c.Dynamic.Resource(Resource).Namespace("system-upgrade").Get(ctx, "k3s-server-next", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(o.Object, int64(3), "spec", "concurrency"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Dynamic.Resource(Resource).Namespace("system-upgrade").Update(ctx, o, metav1.UpdateOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	if _, err := Apply(ctx, c.Dynamic, ApplyOptions{Plans: []*Plan{server}}); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "somebody") {
		t.Errorf("a conflict gives %v", err)
	}
	if dry, err := Apply(ctx, c.Dynamic, ApplyOptions{Plans: []*Plan{server}, Force: true, DryRun: true}); err != nil || !strings.Contains(dry.String(), "k3s-server-next configured (dry run)") {
		t.Errorf("a forced dry run gives %v\n%s", err, dry)
	}
	if _, err := Apply(ctx, c.Dynamic, ApplyOptions{Plans: []*Plan{server}, Force: true}); err != nil {
		t.Error(err)
	}
}

// refusesTheSame sends each document as it is, without and with strict
// validation. What the server refuses without it must be a fault of form for
// the decoder; what only strict validation refuses must be an unknown field.
func refusesTheSame(t *testing.T, c Clients) {
	texts := map[string]string{}
	files, err := filepath.Glob("testdata/plans/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range split(b) {
			texts[fmt.Sprintf("%s/%d", filepath.Base(f), i)] = string(p.text)
		}
	}
	for name, change := range map[string]string{
		"concurrency as float":    "concurrency: 1.5",
		"whole float":             "concurrency: 2.0",
		"huge concurrency":        "concurrency: 99999999999999999999",
		"grace over 32 bits":      "drain: {gracePeriod: 3000000000}",
		"timeout over 32 bits":    "drain: {timeout: 300000000000}",
		"timeout float":           "drain: {timeout: 1.5}",
		"timeout bool":            "drain: {timeout: true}",
		"timeout text":            "drain: {timeout: 5m}",
		"yes for a boolean":       "cordon: yes",
		"text for a boolean":      `cordon: "true"`,
		"null list item":          "secrets: [null]",
		"null in matchLabels":     "nodeSelector: {matchLabels: {a: null}}",
		"capital day":             "window: {days: [Saturday]}",
		"day number":              "window: {days: [6]}",
		"quoted day number":       `window: {days: ["6"]}`,
		"no days":                 "window: {startTime: \"1\"}",
		"empty days":              "window: {days: []}",
		"secret without path":     "secrets: [{name: a}]",
		"empty secret path":       `secrets: [{name: a, path: ""}]`,
		"default mode octal":      "secrets: [{name: a, path: b, defaultMode: 0400}]",
		"default mode text":       `secrets: [{name: a, path: b, defaultMode: "0400"}]`,
		"volume without source":   "upgrade: {image: a, volumes: [{name: a, destination: b}]}",
		"expression without key":  "nodeSelector: {matchExpressions: [{operator: Exists}]}",
		"odd operator":            "nodeSelector: {matchExpressions: [{key: a, operator: Has}]}",
		"toleration without all":  "tolerations: [{}]",
		"toleration seconds text": `tolerations: [{tolerationSeconds: "1"}]`,
		"env without name":        "upgrade: {image: a, envs: [{value: b}]}",
		"env number":              "upgrade: {image: a, envs: [{name: b, value: 1}]}",
		"quantity":                "upgrade: {image: a, envs: [{name: b, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: x}}}]}",
		"security context":        "upgrade: {image: a, securityContext: {privileged: yes, runAsUser: 0}}",
		"security context text":   `upgrade: {image: a, securityContext: {runAsUser: "0"}}`,
		"pull secret as text":     "imagePullSecrets: [a]",
		"delay as number":         "postCompleteDelay: 60",
		"delay as text":           `postCompleteDelay: "60"`,
		"post labels number":      "postCompleteLabels: {a: 1}",
		"unknown deep field":      "upgrade: {image: a, securityContext: {privilegd: true}}",
		"list for object":         "drain: []",
		"object for list":         "secrets: {}",
		"null upgrade":            "upgrade:",
		"null image":              "upgrade: {image: }",
		"empty image":             `upgrade: {image: ""}`,
		"float in priority class": "priorityClassName: 1.0",
		"date as version":         "version: 2026-11-30",
		"underscore number":       "version: 1_000",
		"base 60":                 "window: {days: [sa], startTime: 19:00}",
	} {
		texts[name] = "apiVersion: upgrade.cattle.io/v1\nkind: Plan\nmetadata: {name: x, namespace: system-upgrade}\nspec:\n  upgrade: {image: a}\n  " + change + "\n"
		if strings.HasPrefix(change, "upgrade") {
			texts[name] = strings.Replace(texts[name], "  upgrade: {image: a}\n", "", 1)
		}
	}
	for name, text := range texts {
		docs := parse([]byte(text))
		if len(docs) != 1 || docs[0].apiVersion != APIVersion || docs[0].kind != Kind {
			continue
		}
		form, strict := false, false
		for _, p := range docs[0].problems {
			switch p.code {
			case "unknown-field":
				strict = true
			case "wrong-type", "required", "not-allowed", "too-few":
				form = true
			}
		}
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		o.SetNamespace("system-upgrade")
		o.SetName("case")
		create := func(validation string) error {
			_, err := c.Dynamic.Resource(Resource).Namespace("system-upgrade").Create(t.Context(), &o,
				metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: validation})
			return err
		}
		lenientErr, strictErr := create("Ignore"), create("Strict")
		if (lenientErr != nil) != form {
			t.Errorf("%s: the API server says %v, the decoder %v", name, lenientErr, docs[0].problems)
		}
		if lenientErr == nil && (strictErr != nil) != strict {
			t.Errorf("%s: strict validation says %v, the decoder %v", name, strictErr, docs[0].problems)
		}
	}
	if len(texts) < 100 {
		t.Errorf("only %d documents", len(texts))
	}
}

func readsFacts(t *testing.T, cl *practice.Cluster, c Clients) {
	f, err := ReadFacts(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if f.ServerVersion != cl.Version() || len(f.Nodes) != 1 || !f.Nodes[0].server() || f.Nodes[0].UID == "" || f.Nodes[0].Ready == nil {
		t.Errorf("%+v", f)
	}
	if f.SUC != nil || len(f.Plans) != 2 || f.ServiceAccounts != nil || len(f.Namespaces) == 0 {
		t.Errorf("%+v", f)
	}
	if err := f.Validate(); err != nil {
		t.Error(err)
	}
}
