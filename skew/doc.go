// Package skew reads Kubernetes versions as people paste them and knows which
// of them may run beside each other.
//
// It is pure: no files, no network, no Kubernetes client. A [Version] is what a
// node status, an image tag, a release page or `k3s --version` shows; a [Minor]
// is the "1.34" that the version skew policy speaks of.
//
//	v, err := skew.Parse("rancher/k3s:v1.34.11-k3s1")
//	if err != nil {
//		return err
//	}
//	fmt.Println(v)                              // v1.34.11+k3s1
//	fmt.Println(skew.Allowed(skew.Kubelet, v))  // [1.31 1.32 1.33 1.34]
//
//	_, err = skew.CheckUpgrade(v, skew.MustParse("v1.36.4+k3s1"))
//	fmt.Println(errors.Is(err, skew.ErrSkip))   // true
//
// The rules come from https://kubernetes.io/releases/version-skew-policy/ and
// are data: [Rules] lists them with their identifiers, numbers and sources.
package skew
