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
