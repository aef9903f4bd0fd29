package skew_test

import (
	"errors"
	"fmt"

	"github.com/k3sladder/k3sladder/skew"
)

func Example() {
	running, err := skew.Parse("rancher/k3s:v1.34.11-k3s1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(running, "allows kubelets", skew.Allowed(skew.Kubelet, running))

	stable := skew.MustParse("v1.36.4+k3s1")
	_, err = skew.CheckUpgrade(running, stable)
	fmt.Println("skips:", errors.Is(err, skew.ErrSkip))
	// Output:
	// v1.34.11+k3s1 allows kubelets [1.31 1.32 1.33 1.34]
	// skips: true
}

func ExampleAllowed() {
	// An HA control plane in the middle of its upgrade allows less.
	fmt.Println(skew.Allowed(skew.Kubectl, skew.MustParse("v1.36.4"), skew.MustParse("v1.35.8")))
	// Output: [1.35 1.36]
}

func ExampleCheck() {
	err := skew.Check(skew.Kubelet, skew.MustParse("v1.32.13+k3s1"), skew.MustParse("v1.36.4+k3s1"))
	fmt.Println(err)
	// Output:
	// kubelet v1.32.13+k3s1 is 4 minors older than kube-apiserver v1.36.4+k3s1; rule kubelet: kubelet is at most three minors older than kube-apiserver, and never newer
}

func ExampleParse() {
	_, err := skew.Parse("stable")
	fmt.Println(err)
	// Output:
	// no Kubernetes version: "stable": it does not begin with a number such as 1.34.11 (an example: v1.34.11+k3s1)
}
