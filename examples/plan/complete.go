package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/k3sladder/k3sladder/examples/internal/connect"
	"github.com/k3sladder/k3sladder/suc"
)

// planNames are those that the shell completes with.
func planNames(kube *connect.Flags) func(context.Context, *rest.Config) ([]string, error) {
	return func(ctx context.Context, config *rest.Config) ([]string, error) {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		list, err := client.Resource(suc.Resource).Namespace(or(*kube.Namespace, suc.DefaultNamespace)).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		var names []string
		for _, p := range list.Items {
			names = append(names, p.GetName())
		}
		return names, nil
	}
}
