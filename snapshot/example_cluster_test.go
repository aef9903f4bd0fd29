package snapshot_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/k3sladder/k3sladder/snapshot"
)

func ExampleCapture() {
	config, err := clientcmd.BuildConfigFromFlags("", "/etc/rancher/k3s/k3s.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	clients, err := snapshot.NewClients(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	before, err := snapshot.Capture(context.Background(), clients, snapshot.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range before.NotCaptured() {
		fmt.Println(l.Resource, l.State, l.Reason) // what this user may not list
	}
	if err := before.WriteFile("before.json.gz", false); err != nil {
		fmt.Println(err) // snapshot.ErrExists when it is there
	}
}
