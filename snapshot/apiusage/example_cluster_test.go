package apiusage_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/snapshot/apiusage"
)

func ExampleRead() {
	config, err := clientcmd.BuildConfigFromFlags("", "/etc/rancher/k3s/k3s.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	usage, err := apiusage.Read(context.Background(), client.Discovery().RESTClient())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, api := range usage.Removed(skew.Minor{Major: 1, Minor: 36}) {
		fmt.Println(api, "goes in", api.RemovedRelease, "- use", api.Replacement)
	}
}

// Nothing found is an answer only where nothing was left unread.
func ExampleFindObjects() {
	config, err := clientcmd.BuildConfigFromFlags("", "/etc/rancher/k3s/k3s.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	client, meta := kubernetes.NewForConfigOrDie(config), metadata.NewForConfigOrDie(config)
	found, err := apiusage.FindObjects(context.Background(), client.Discovery(), meta, skew.Minor{Major: 1, Minor: 36})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range found.Objects {
		fmt.Println(o, "is", o.How, o.GroupVersion, "which goes in", o.Removed)
	}
	for _, n := range found.NotRead {
		fmt.Println("not read:", n)
	}
}
