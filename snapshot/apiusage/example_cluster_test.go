package apiusage_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
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
