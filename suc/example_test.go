package suc_test

import (
	"context"
	"fmt"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/suc"
)

func ExampleServerPlan() {
	next := skew.MustParse("v1.35.9+k3s1")
	plan := suc.ServerPlan(next, suc.Options{Name: "k3s-server-next"})
	text, err := suc.Marshal(plan)
	if err != nil {
		panic(err)
	}
	fmt.Print(string(text))
	// Output:
	// apiVersion: upgrade.cattle.io/v1
	// kind: Plan
	// metadata:
	//   name: k3s-server-next
	//   namespace: system-upgrade
	// spec:
	//   concurrency: 1
	//   cordon: true
	//   nodeSelector:
	//     matchExpressions:
	//     - key: node-role.kubernetes.io/control-plane
	//       operator: In
	//       values:
	//       - "true"
	//   serviceAccountName: system-upgrade
	//   upgrade:
	//     image: rancher/k3s-upgrade
	//   version: v1.35.9+k3s1
}

func ExampleLint() {
	file := suc.File{Name: "servers.yaml", Data: []byte(`
apiVersion: upgrade.cattle.io/v1
kind: Plan
metadata: {name: k3s-server, namespace: system-upgrade}
spec:
  concurrency: 1
  cordon: true
  version: v1.36.4+k3s1
  serviceAccountName: system-upgrade
  nodeSelector:
    matchExpressios:
    - {key: node-role.kubernetes.io/control-plane, operator: In, values: ["true"]}
  upgrade: {image: rancher/k3s-upgrade}
`)}
	facts := &suc.Facts{ServerVersion: "v1.34.11+k3s1"}
	for _, f := range suc.Lint([]suc.File{file}, suc.LintOptions{Facts: facts}) {
		fmt.Println(f.Line, f.Severity, f.Code, f.Path)
	}
	// Output:
	// 8 error skips-minor spec.version
	// 10 error empty-selector spec.nodeSelector
	// 11 error unknown-field spec.nodeSelector.matchExpressios
}

func ExampleDecode() {
	_, err := suc.Decode([]byte(`
apiVersion: upgrade.cattle.io/v1
kind: Plan
metadata: {name: k3s-server}
spec:
  upgrade:
    image: rancher/k3s-upgrade
    env: []
`))
	fmt.Println(err)
	// Output:
	// line 8: spec.upgrade.env is no field of a Plan: kubectl refuses it, every other client drops it without a word; did you mean envs?
}

func ExampleNext() {
	running := skew.MustParse("v1.34.11+k3s1")
	step, err := suc.Next(running, channels.Bundled(), suc.NextOptions{
		Facts: channels.Facts{Datastore: channels.SQLite},
	})
	if err != nil {
		panic(err)
	}
	for _, p := range step.Plans {
		fmt.Println(p.Name, p.Spec.Version)
	}
	// Output:
	// k3s-server v1.35.9+k3s1
	// k3s-agent v1.35.9+k3s1
}

func ExampleExplain() {
	plan := suc.ServerPlan(skew.MustParse("v1.35.9+k3s1"), suc.Options{})
	e, err := suc.Explain(context.Background(), plan, suc.ExplainOptions{Facts: &suc.Facts{
		Nodes: []suc.Node{
			{Name: "srv-1", KubeletVersion: "v1.34.11+k3s1", Labels: map[string]string{"kubernetes.io/hostname": "srv-1", suc.ControlPlaneLabel: "true"}},
			{Name: "agt-1", KubeletVersion: "v1.34.11+k3s1", Labels: map[string]string{"kubernetes.io/hostname": "agt-1"}},
		},
	}})
	if err != nil {
		panic(err)
	}
	for _, n := range e.Nodes {
		fmt.Println(n.Name, n.State, n.Skew, n.Why)
	}
	// Output:
	// srv-1 todo step []
	// agt-1 not-selected  [it has no label node-role.kubernetes.io/control-plane]
}
