// Package practice runs a practice cluster: what a person would try k3sladder
// on before touching a k3s server, in user space, without root, containers or
// systemd.
//
// Real: kube-apiserver, kube-controller-manager and kube-scheduler, kine on
// SQLite as the datastore, certificates, the token, the bootstrap record, and
// an upgrade that stops one minor's binaries and starts the next one's on the
// same database. Simulated: the kubelets (kwok), hence containers, images and
// everything that runs in them; there is no k3s binary either.
//
//	cluster, err := practice.New(ctx, practice.Options{})
//	if err != nil { ... }
//	defer cluster.Close()
//	pods, err := cluster.Client().CoreV1().Pods("").List(ctx, metav1.ListOptions{})
//
// The components are built once with the Go toolchain from the modules under
// components/ and kept in the user's cache folder, keyed by content.
package practice
