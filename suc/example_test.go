package suc_test

import (
	"fmt"

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
