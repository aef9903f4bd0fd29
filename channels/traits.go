package channels

import (
	"slices"
)

// Trait is something about a cluster that decides whether a note concerns it,
// such as "docker" or "flannel-backend-ipsec". [Traits] lists all of them.
type Trait string

// Traits that other facts answer.
const (
	TraitEmbeddedEtcd      Trait = "embedded-etcd"
	TraitExternalDatastore Trait = "external-datastore"
	TraitAgents            Trait = "agents"
	TraitSUC               Trait = "suc"
	TraitRKE2              Trait = "rke2"
)

// Traits that a cluster's nodes and API groups tell.
const (
	// TraitHA: more than one server.
	TraitHA Trait = "ha"
	// TraitCgroupV1: some node runs on cgroup v1.
	TraitCgroupV1 Trait = "cgroup-v1"
	// TraitDocker: some node runs with --docker.
	TraitDocker Trait = "docker"
	// TraitPackagedTraefik: k3s's own Traefik is deployed (not disabled).
	TraitPackagedTraefik Trait = "packaged-traefik"
	// TraitPackagedFlannel: k3s's own flannel (no flannel-backend=none).
	TraitPackagedFlannel Trait = "packaged-flannel"
	// TraitFlannelIPsec and TraitFlannelWireguard: the flannel backends ipsec
	// and wireguard (not wireguard-native).
	TraitFlannelIPsec     Trait = "flannel-backend-ipsec"
	TraitFlannelWireguard Trait = "flannel-backend-wireguard"
	// TraitKubeProxyIPVS: kube-proxy in mode ipvs.
	TraitKubeProxyIPVS Trait = "kube-proxy-ipvs"
	// TraitGatewayAPI: CRDs of gateway.networking.k8s.io are installed.
	TraitGatewayAPI Trait = "gateway-api-crds"
)

// Traits lists every trait that a note asks for, sorted. Those without a
// constant are named for the note they decide: what they mean is its Trigger.
func Traits() []Trait {
	var all []Trait
	for _, n := range notes() {
		for _, w := range n.When {
			all = append(all, w...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// trait is what the facts say about a trait.
func (f Facts) trait(t Trait) Answer {
	if a, ok := f.Traits[t]; ok && a != Unknown {
		return a
	}
	is := func(known, holds bool) Answer {
		switch {
		case !known:
			return Unknown
		case holds:
			return Yes
		default:
			return No
		}
	}
	switch t {
	case TraitEmbeddedEtcd:
		return is(f.Datastore != DatastoreUnknown, f.Datastore == EmbeddedEtcd)
	case TraitExternalDatastore:
		return is(f.Datastore != DatastoreUnknown, f.Datastore == ExternalDatastore)
	case TraitAgents:
		return f.Agents
	case TraitSUC:
		return is(f.Executor != ExecutorUnknown, f.Executor == SUC)
	case TraitHA:
		return is(f.Datastore == SQLite, false) // SQLite serves one server
	default:
		return Unknown
	}
}
