package suc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/k3sladder/k3sladder/skew"
)

// plan is a small good Plan; change is put below spec.
func plan(change string) string {
	return `apiVersion: upgrade.cattle.io/v1
kind: Plan
metadata: {name: k3s-server, namespace: system-upgrade}
spec:
  concurrency: 1
  cordon: true
  version: v1.35.8+k3s1
  serviceAccountName: system-upgrade
  nodeSelector:
    matchExpressions:
    - {key: node-role.kubernetes.io/control-plane, operator: In, values: ["true"]}
  upgrade: {image: rancher/k3s-upgrade}
` + change
}

func TestDecodeNamesPathLineAndNearestName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want DecodeError // of the message only a part
	}{
		"misspelt field":                    {plan("  prioritClassName: x\n"), DecodeError{13, "spec.prioritClassName", "no field", "priorityClassName"}},
		"the name that Pods use":            {plan("  prepare: {image: a, env: []}\n"), DecodeError{13, "spec.prepare.env", "no field", "envs"}},
		"wrong case":                        {plan("  Cordon: true\n"), DecodeError{13, "spec.Cordon", "no field", "cordon"}},
		"nothing alike":                     {plan("  replicas: 3\n"), DecodeError{13, "spec.replicas", "no field", ""}},
		"misspelt metadata":                 {strings.Replace(plan(""), "namespace:", "nmespace:", 1), DecodeError{3, "metadata.nmespace", "no field", "namespace"}},
		"deep inside a Pod's field":         {plan("  tolerations:\n  - key: a\n    operater: Exists\n"), DecodeError{15, "spec.tolerations[0].operater", "no field", "operator"}},
		"a key with dots":                   {plan("  postCompleteLabels:\n    a.b/c: 1\n"), DecodeError{14, `spec.postCompleteLabels["a.b/c"]`, "must be a string", ""}},
		"key twice":                         {plan("  version: v1.35.7+k3s1\n"), DecodeError{13, "spec.version", "given twice, first in line 7", ""}},
		"text for a number":                 {plan("  jobActiveDeadlineSecs: \"900\"\n"), DecodeError{13, "spec.jobActiveDeadlineSecs", "must be an integer", ""}},
		"YAML 1.1 boolean for text":         {plan("  priorityClassName: yes\n"), DecodeError{13, "spec.priorityClassName", "is a boolean for YAML", ""}},
		"list for an object":                {plan("  drain: []\n"), DecodeError{13, "spec.drain", "must be an object", ""}},
		"null in a list":                    {plan("  secrets: [~]\n"), DecodeError{13, "spec.secrets[0]", "has no value", ""}},
		"missing required field":            {plan("  secrets:\n  - name: a\n"), DecodeError{14, "spec.secrets[0].path", "is missing", ""}},
		"required field without value":      {strings.Replace(plan(""), "image: rancher/k3s-upgrade", "image: ", 1), DecodeError{12, "spec.upgrade.image", "is missing", ""}},
		"duration without unit":             {plan("  postCompleteDelay: \"60\"\n"), DecodeError{13, "spec.postCompleteDelay", "no Go duration", ""}},
		"timeout of more than 32 bits":      {plan("  drain: {force: true, timeout: 300000000000}\n"), DecodeError{13, "spec.drain.timeout", "32 bits", ""}},
		"grace period of more than 32 bits": {plan("  drain: {force: true, gracePeriod: 3000000000}\n"), DecodeError{13, "spec.drain.gracePeriod", "32 bits", ""}},
		"no day":                            {plan("  window: {days: [Sonntag]}\n"), DecodeError{13, "spec.window.days[0]", "none of", ""}},
		"empty list of days":                {plan("  window: {days: []}\n"), DecodeError{13, "spec.window.days", "empty list", ""}},
		"other version of the API":          {strings.Replace(plan(""), "/v1", "/v1beta1", 1), DecodeError{1, "apiVersion", "has no Plan", ""}},
		"misspelt group":                    {strings.Replace(plan(""), "upgrade.cattle", "upgrades.cattle", 1), DecodeError{1, "apiVersion", "has no Plan", ""}},
		"misspelt kind":                     {strings.Replace(plan(""), "kind: Plan", "kind: plan", 1), DecodeError{2, "kind", "no kind", ""}},
		"no kind":                           {strings.Replace(plan(""), "kind: Plan", "x: y", 1), DecodeError{1, "kind", "is missing", ""}},
		"second document":                   {"a: 1\n--- # two\n" + plan("  x: 1\n"), DecodeError{15, "spec.x", "no field", ""}},
		"after a broken document":           {"a: [\n---\n" + plan(""), DecodeError{1, "", "no YAML", ""}},
		"item of a list":                    {"kind: List\napiVersion: v1\nitems:\n- apiVersion: upgrade.cattle.io/v1\n  kind: Plan\n  spec: {upgrade: {image: 7}}\n", DecodeError{6, "items[0].spec.upgrade.image", "must be a string", ""}},
		"a list for a document":             {"- a\n", DecodeError{1, "", "must be an object", ""}},
		"template that is not YAML":         {plan("  channel: {{ channel }}\n"), DecodeError{13, "spec.channel", "must be a string", ""}},
		"JSON with tabs":                    {"{\n\t\"apiVersion\": \"upgrade.cattle.io/v1\",\n\t\"kind\": \"Plan\",\n\t\"spec\": {\"upgrade\": {\"image\": \"a\", \"arg\": []}}\n}", DecodeError{4, "spec.upgrade.arg", "no field", "args"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Decode([]byte(c.text))
			var got *DecodeError
			if !errors.As(err, &got) {
				t.Fatalf("error is %v", err)
			}
			if !strings.Contains(got.Message, c.want.Message) {
				t.Errorf("message %q does not say %q", got.Message, c.want.Message)
			}
			c.want.Message = got.Message
			if diff := cmp.Diff(c.want, *got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeTakesWhatKubectlTakes(t *testing.T) {
	t.Parallel()
	good := plan("")
	for name, text := range map[string]string{
		"YAML":                           good,
		"byte order mark":                "\uFEFF" + good,
		"Windows line ends":              strings.ReplaceAll(good, "\n", "\r\n"),
		"comments and empty documents":   "# a\n---\n---\n# b\n---\n" + good + "---\n...\n",
		"directive":                      "%YAML 1.1\n---\n" + good,
		"other kinds":                    "apiVersion: v1\nkind: ConfigMap\nx: {kind: Plan}\n---\n" + good + "---\napiVersion: forklift.konveyor.io/v1beta1\nkind: Plan\nspec: {a: b}\n",
		"anchors and merge keys":         strings.Replace(good, "  upgrade: {image: rancher/k3s-upgrade}", "  prepare: &c {image: rancher/k3s-upgrade}\n  upgrade:\n    <<: *c", 1),
		"nulls":                          good + "  drain:\n  window: ~\n  tolerations: null\n",
		"whole number with a point":      strings.Replace(good, "concurrency: 1", "concurrency: 1.0", 1),
		"dashes inside a quoted text":    strings.Replace(good, "metadata: {", "metadata: {annotations: {a: \"x\\n---\\ny\"}, ", 1),
		"a status and server's metadata": strings.Replace(good, "metadata: {", "status: {latestVersion: a}\nmetadata: {creationTimestamp: null, resourceVersion: \"1\", uid: x, ", 1),
	} {
		t.Run(name, func(t *testing.T) {
			plans, err := Decode([]byte(text))
			if err != nil || len(plans) != 1 || plans[0].Name != "k3s-server" || plans[0].Spec.Upgrade.Image != "rancher/k3s-upgrade" || plans[0].Spec.Concurrency != 1 {
				t.Errorf("%d Plans, error %v", len(plans), err)
			}
		})
	}
}

func TestDecodeKeepsTheGoodPlans(t *testing.T) {
	t.Parallel()
	plans, err := Decode([]byte(plan("") + "---\n" + plan("  x: 1\n") + "---\n" + plan("  y: 1\n")))
	var list interface{ Unwrap() []error }
	if len(plans) != 1 || !errors.As(err, &list) || len(list.Unwrap()) != 2 {
		t.Errorf("%d Plans, error %v", len(plans), err)
	}
}

func TestDecodeBoundsWhatAliasesMake(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("apiVersion: upgrade.cattle.io/v1\nkind: Plan\nmetadata:\n  name: a\n  managedFields:\n  - &x0 [a,a,a,a,a,a,a,a,a,a]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&b, "  - &x%d [*x%d,*x%d,*x%d,*x%d,*x%d,*x%d,*x%d,*x%d,*x%d]\n", i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	b.WriteString("spec:\n  upgrade: {image: a}\n")
	if _, err := Decode([]byte(b.String())); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("error is %.200v", err)
	}
	if _, err := Decode([]byte("apiVersion: upgrade.cattle.io/v1\nkind: Plan\nspec: &a\n  upgrade: *a\n")); err == nil {
		t.Error("an alias to what it stands in was taken")
	}
}

func TestPlansComeBackTheSame(t *testing.T) {
	t.Parallel()
	p := ServerPlan(skew.MustParse("v1.35.9+k3s1"), Options{Stage: true, Window: &TimeWindowSpec{Days: []Day{"sa"}, StartTime: "02:00", EndTime: "03:00"}})
	b, err := Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, b)
}

// roundTrip decodes and encodes until nothing can change any more.
func roundTrip(t *testing.T, text []byte) {
	t.Helper()
	plans, err := Decode(text)
	if err != nil {
		return
	}
	for _, p := range plans {
		b, err := Marshal(p)
		if err != nil {
			t.Fatalf("a decoded Plan cannot be written: %v", err)
		}
		again, err := Decode(b)
		if err != nil || len(again) != 1 {
			t.Fatalf("what was written cannot be read: %v\n%s", err, b)
		}
		c, err := Marshal(again[0])
		if err != nil || string(b) != string(c) {
			t.Fatalf("%v; written first\n%s\nand then\n%s", err, b, c)
		}
		j, err := yaml.YAMLToJSON(b)
		if err != nil || !json.Valid(j) {
			t.Fatal(err)
		}
		fromJSON, err := Decode(j)
		if err != nil || len(fromJSON) != 1 {
			t.Fatalf("the JSON form cannot be read: %v\n%s", err, j)
		}
		if diff := cmp.Diff(again[0], fromJSON[0]); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(again[0], again[0].DeepCopy()); diff != "" {
			t.Fatal(diff)
		}
	}
}
