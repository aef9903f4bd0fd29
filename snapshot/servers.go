package snapshot

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// serverTimeout is how long another API server may take to say its version.
const serverTimeout = 5 * time.Second

// askServers asks every API server behind the Service "kubernetes" for its
// version, where there is more than one. The one that answers everything else
// comes first; one that cannot be reached from here has the reason instead.
func (c *capture) askServers(ctx context.Context) {
	if c.clients.Config == nil {
		return
	}
	list, err := c.clients.Kubernetes.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx,
		metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=kubernetes"})
	if err != nil {
		return // it is not told how many there are
	}
	var addresses []string
	for _, s := range list.Items {
		for _, p := range s.Ports {
			if p.Port == nil {
				continue
			}
			for _, e := range s.Endpoints {
				for _, a := range e.Addresses {
					addresses = append(addresses, net.JoinHostPort(a, strconv.Itoa(int(*p.Port))))
				}
			}
		}
	}
	slices.Sort(addresses)
	addresses = slices.Compact(addresses)
	if len(addresses) < 2 {
		return
	}
	answers := make([]Server, len(addresses))
	done := make(chan struct{})
	for i, a := range addresses {
		go func() {
			defer func() { done <- struct{}{} }()
			answers[i] = askServer(c.clients.Config, a)
		}()
	}
	for range addresses {
		<-done
	}
	c.out.Servers = append(c.out.Servers, answers...)
}

func askServer(config *rest.Config, address string) Server {
	s := Server{Address: address}
	one := rest.CopyConfig(config)
	one.Host, one.APIPath, one.Timeout = "https://"+address, "", serverTimeout
	d, err := discovery.NewDiscoveryClientForConfig(one)
	if err == nil {
		v, askErr := d.ServerVersion()
		if err = askErr; err == nil {
			s.Version = v.GitVersion
			return s
		}
	}
	s.Error = firstLine(err)
	return s
}

// mixed finds API servers of other versions than the one that answered: an
// upgrade that has not reached all of them.
func (w *world) mixed() []string {
	var notes []string
	for _, s := range w.after.Servers[1:] {
		switch {
		case s.Error != "":
			notes = append(notes, fmt.Sprintf("the API server at %s was not reached: %s", s.Address, s.Error))
		case s.Version != w.after.ServerVersion():
			w.found = append(w.found, Difference{What: NotAStep, Kind: "API server", Name: s.Address, Before: w.after.ServerVersion(), After: s.Version,
				Detail: fmt.Sprintf("it runs %s, another one %s: the upgrade has not reached all servers", s.Version, w.after.ServerVersion())})
		}
	}
	return notes
}
