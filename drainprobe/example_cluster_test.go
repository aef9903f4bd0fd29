package drainprobe_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/k3sladder/k3sladder/drainprobe"
)

func ExampleForecast() {
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
	f, err := drainprobe.Forecast(context.Background(), client, "server-1", drainprobe.Options{
		IgnoreDaemonSets: true, DeleteEmptyDirData: true, Timeout: 5 * time.Minute,
	})
	var access *drainprobe.AccessError
	switch {
	case errors.As(err, &access):
		fmt.Println("grant", access.Verb, "on", access.Resource)
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Print(f)
	}
}

// A real drain, after which the node is as it was.
func ExampleAttempt() {
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
	a, err := drainprobe.Attempt(context.Background(), client, "server-1", drainprobe.Options{
		IgnoreDaemonSets: true, DeleteEmptyDirData: true, Timeout: 40 * time.Second,
		OnOutput: func(text string) { fmt.Print(text) },
	})
	var restore *drainprobe.RestoreError
	if errors.As(err, &restore) {
		fmt.Println("the node is still cordoned; run", restore.Command)
	} else if err != nil {
		fmt.Println(err)
	}
	if a == nil {
		return // the drain has not begun
	}
	fmt.Print(a)
	fmt.Println(drainprobe.Decide(a, drainprobe.Policy{}))
}
