package suc_test

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/suc"
)

// Apply a Plan that was checked against the cluster's facts, and follow it.
func ExampleApply() {
	ctx := context.Background()
	config, err := clientcmd.BuildConfigFromFlags("", "/etc/rancher/k3s/k3s.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	clients := suc.Clients{Kube: kubernetes.NewForConfigOrDie(config), Dynamic: dynamic.NewForConfigOrDie(config)}
	facts, err := suc.ReadFacts(ctx, clients)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan := suc.ServerPlan(skew.MustParse("v1.35.9+k3s1"), suc.Options{Stage: true})
	_, err = suc.Apply(ctx, clients.Dynamic, suc.ApplyOptions{Plans: []*suc.Plan{plan}, Facts: facts})
	var lint *suc.LintError
	switch {
	case errors.As(err, &lint):
		fmt.Print(lint.Findings) // skips-minor, when the cluster is below 1.34
		return
	case err != nil: // suc.ErrNoCRD when the controller is not there
		fmt.Println(err)
		return
	}
	ended, err := suc.Watch(ctx, clients, plan.Namespace, plan.Name, suc.WatchOptions{
		OnEvent: func(e suc.Event) { fmt.Println(e) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(ended)
}
