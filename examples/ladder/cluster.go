package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
)

// Labels and annotations that k3s and RKE2 set on nodes:
// https://github.com/k3s-io/k3s/blob/master/pkg/nodeconfig/nodeconfig.go
const (
	labelControlPlane = "node-role.kubernetes.io/control-plane"
	labelMaster       = "node-role.kubernetes.io/master" // servers before 1.20 have only this one
	labelEtcd         = "node-role.kubernetes.io/etcd"
	annotationArgs    = ".io/node-args" // after "k3s" or "rke2"
	annotationEnv     = ".io/node-env"
	annotationFlannel = "flannel.alpha.coreos.com/backend-type"
)

// sighting is what a cluster shows of itself.
type sighting struct {
	from  skew.Version
	fleet skew.Fleet
	facts channels.Facts
}

// look asks the cluster. It only reads: the server's version, the nodes and the
// names of the API groups.
func (o *options) look(ctx context.Context) (*sighting, error) {
	config, err := o.kube.Config()
	if err != nil {
		return nil, fmt.Errorf("%w; or give --from VERSION", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	info, err := client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking %s for its version: %w", config.Host, err)
	}
	server, err := skew.Parse(info.GitVersion)
	if err != nil {
		return nil, fmt.Errorf("the version of %s: %w", config.Host, err)
	}
	groups, err := client.Discovery().ServerGroups()
	if err != nil {
		return nil, fmt.Errorf("asking %s for its API groups: %w", config.Host, err)
	}
	var nodes []corev1.Node
	for opts := (metav1.ListOptions{Limit: 500}); ; {
		list, err := client.CoreV1().Nodes().List(ctx, opts)
		if err != nil {
			return nil, fmt.Errorf("asking %s for its nodes: %w", config.Host, err)
		}
		nodes = append(nodes, list.Items...)
		if opts.Continue = list.Continue; opts.Continue == "" {
			break
		}
	}
	gateway := slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == "gateway.networking.k8s.io" })
	return sight(server, nodes, gateway)
}

// sight reads a cluster's versions and facts from what it answered.
func sight(server skew.Version, nodes []corev1.Node, gateway bool) (*sighting, error) {
	s := &sighting{from: server}
	servers, agents := 0, 0
	for _, n := range nodes {
		kubelet, err := skew.Parse(n.Status.NodeInfo.KubeletVersion)
		if err != nil {
			return nil, fmt.Errorf("the kubelet of node %s: %w", n.Name, err)
		}
		node := skew.Node{Name: n.Name, Kubelet: kubelet}
		if isServer(n) {
			servers++
			node.Server = n.Name
			// One process: the API server has the version of the kubelet beside it.
			s.fleet.Servers = append(s.fleet.Servers, skew.Server{Name: n.Name, Version: kubelet})
			if kubelet.Less(s.from) && kubelet.Distribution() == s.from.Distribution() {
				s.from = kubelet
			}
		} else {
			agents++
		}
		s.fleet.Nodes = append(s.fleet.Nodes, node)
	}
	if !slices.ContainsFunc(s.fleet.Servers, func(x skew.Server) bool { return x.Version == server }) {
		// Servers that run no kubelet (--disable-agent) are no nodes.
		s.fleet.Servers = append(s.fleet.Servers, skew.Server{Name: "(the API server that answered)", Version: server})
	}
	s.facts = readFacts(nodes, servers, agents, gateway)
	return s, nil
}

func isServer(n corev1.Node) bool {
	_, new := n.Labels[labelControlPlane]
	_, old := n.Labels[labelMaster]
	return new || old
}

// readFacts is what the nodes tell about the cluster. What they do not tell
// stays unknown.
func readFacts(nodes []corev1.Node, servers, agents int, gateway bool) channels.Facts {
	f := channels.Facts{Agents: channels.No, Traits: map[channels.Trait]channels.Answer{}}
	if agents > 0 {
		f.Agents = channels.Yes
	}
	if servers > 1 {
		f.Traits[channels.TraitHA] = channels.Yes
	}
	f.Traits[channels.TraitGatewayAPI] = answer(gateway)
	docker, told, ipvs, traefikOff, etcd, external := false, 0, false, 0, false, false
	for _, n := range nodes {
		docker = docker || strings.HasPrefix(n.Status.NodeInfo.ContainerRuntimeVersion, "docker:")
		if backend := n.Annotations[annotationFlannel]; backend != "" {
			f.Traits[channels.TraitPackagedFlannel] = channels.Yes
			if strings.EqualFold(backend, "ipsec") {
				f.Traits[channels.TraitFlannelIPsec] = channels.Yes
			}
		}
		args, ok := nodeArgs(n)
		if ok && hasValue(args, "--kube-proxy-arg", "proxy-mode=ipvs") {
			ipvs = true
		}
		if _, label := n.Labels[labelEtcd]; label {
			etcd = true // also on nodes that serve nothing else
		}
		if !ok || !isServer(n) {
			continue
		}
		told++
		external = external || hasFlag(args, "--datastore-endpoint") || strings.Contains(annotation(n, annotationEnv), "K3S_DATASTORE_ENDPOINT")
		if hasValue(args, "--disable", "traefik") {
			traefikOff++
		}
	}
	if len(nodes) > 0 {
		f.Traits[channels.TraitDocker] = answer(docker)
	}
	allTold := servers > 0 && told == servers
	switch {
	case etcd:
		f.Datastore = channels.EmbeddedEtcd
	case external:
		f.Datastore = channels.ExternalDatastore
	case allTold && servers == 1:
		f.Datastore = channels.SQLite
	}
	if ipvs {
		f.Traits[channels.TraitKubeProxyIPVS] = channels.Yes
	}
	switch {
	case allTold && traefikOff == servers:
		f.Traits[channels.TraitPackagedTraefik] = channels.No
	case allTold && traefikOff == 0:
		f.Traits[channels.TraitPackagedTraefik] = channels.Yes
	}
	return f
}

func answer(yes bool) channels.Answer {
	if yes {
		return channels.Yes
	}
	return channels.No
}

// annotation is what k3s or RKE2 wrote under a name of its own.
func annotation(n corev1.Node, name string) string {
	if v := n.Annotations["k3s"+name]; v != "" {
		return v
	}
	return n.Annotations["rke2"+name]
}

// nodeArgs are the arguments that k3s runs with on a node, with those from its
// configuration file; k3s writes them to an annotation as a JSON list.
func nodeArgs(n corev1.Node) ([]string, bool) {
	var args []string
	if json.Unmarshal([]byte(annotation(n, annotationArgs)), &args) != nil {
		return nil, false
	}
	return args, true
}

// hasFlag reports whether a flag is among args, as "--flag value" or
// "--flag=value".
func hasFlag(args []string, flag string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == flag || strings.HasPrefix(a, flag+"=") })
}

// hasValue reports whether a flag that takes a list has a value in it.
func hasValue(args []string, flag, value string) bool {
	for i, a := range args {
		given, ok := strings.CutPrefix(a, flag+"=")
		if !ok && a == flag && i+1 < len(args) {
			given, ok = args[i+1], true
		}
		if ok && slices.Contains(strings.Split(given, ","), value) {
			return true
		}
	}
	return false
}

// complete is what the flags say, and where they say nothing, what was seen.
func (s *sighting) complete(flags channels.Facts) channels.Facts {
	f := s.facts
	if flags.Datastore != channels.DatastoreUnknown {
		f.Datastore = flags.Datastore
	}
	if flags.Agents != channels.Unknown {
		f.Agents = flags.Agents
	}
	f.Executor = flags.Executor
	for t, a := range flags.Traits {
		f.Traits[t] = a
	}
	return f
}
