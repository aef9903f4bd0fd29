package snapshot

import (
	"fmt"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// Clients are what [Capture] reads through. The four clients are needed.
type Clients struct {
	Kubernetes kubernetes.Interface
	// Metadata reads kinds of which the metadata is enough.
	Metadata metadata.Interface
	// Dynamic reads HelmCharts and Addons, where the cluster has them.
	Dynamic dynamic.Interface
	// Extensions reads CRDs.
	Extensions apiextensions.Interface
	// Config, where set, is for asking each of several API servers for its
	// version; without it the one that answers stands for all.
	Config *rest.Config
}

// NewClients makes the four clients from one configuration, which it leaves as
// it is. Built-in kinds travel as protobuf. The clients do not slow themselves
// down: [Options.Concurrency] bounds what they ask for at a time, and the API
// server's own priority and fairness does the rest. Warnings of the API server
// are not printed.
func NewClients(config *rest.Config) (Clients, error) {
	if config == nil {
		return Clients{}, fmt.Errorf("no cluster to connect to: the configuration is nil")
	}
	plain := rest.CopyConfig(config)
	plain.QPS, plain.Burst, plain.RateLimiter = -1, 0, nil
	plain.WarningHandler = rest.NoWarnings{}
	if plain.UserAgent == "" {
		plain.UserAgent = "k3sladder-snapshot"
	}
	proto := rest.CopyConfig(plain)
	proto.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	proto.ContentType = runtime.ContentTypeProtobuf

	// One transport, so that all share the server's connection.
	http, err := rest.HTTPClientFor(proto)
	if err != nil {
		return Clients{}, err
	}
	c := Clients{Config: rest.CopyConfig(plain)}
	if c.Kubernetes, err = kubernetes.NewForConfigAndClient(proto, http); err != nil {
		return Clients{}, err
	}
	if c.Extensions, err = apiextensions.NewForConfigAndClient(proto, http); err != nil {
		return Clients{}, err
	}
	if c.Metadata, err = metadata.NewForConfigAndClient(metadata.ConfigFor(plain), http); err != nil {
		return Clients{}, err
	}
	if c.Dynamic, err = dynamic.NewForConfigAndClient(plain, http); err != nil {
		return Clients{}, err
	}
	return c, nil
}

func (c Clients) check() error {
	switch {
	case c.Kubernetes == nil:
		return fmt.Errorf("no Kubernetes client; NewClients makes all four")
	case c.Metadata == nil:
		return fmt.Errorf("no metadata client; NewClients makes all four")
	case c.Dynamic == nil:
		return fmt.Errorf("no dynamic client; NewClients makes all four")
	case c.Extensions == nil:
		return fmt.Errorf("no client for CRDs; NewClients makes all four")
	}
	return nil
}
