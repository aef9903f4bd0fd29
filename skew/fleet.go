package skew

import (
	"errors"
	"fmt"
	"slices"
)

// Fleet is what runs in one cluster: its servers, its nodes and who talks to it.
type Fleet struct {
	Servers []Server `json:"servers"`
	Nodes   []Node   `json:"nodes,omitempty"`
	Clients []Client `json:"clients,omitempty"`
}

// Server is one kube-apiserver with the control plane beside it. In k3s and
// RKE2 all of it is one release.
type Server struct {
	Name    string  `json:"name"`
	Version Version `json:"version"`
	// The controllers' versions; zero: the same as Version.
	ControllerManager      Version `json:"controllerManager,omitzero"`
	Scheduler              Version `json:"scheduler,omitzero"`
	CloudControllerManager Version `json:"cloudControllerManager,omitzero"`
}

// Node is one kubelet with the kube-proxy beside it.
type Node struct {
	Name    string  `json:"name"`
	Kubelet Version `json:"kubelet"`
	// KubeProxy is zero where it is the same as Kubelet, as in k3s and RKE2.
	KubeProxy Version `json:"kubeProxy,omitzero"`
	// Server names the server that this node is a part of: a k3s server is one
	// process with one version, and its kubelet talks to the API server in it
	// (https://github.com/k3s-io/k3s/blob/master/pkg/cli/server/server.go). It is
	// empty for agents, which talk to any server.
	Server string `json:"server,omitempty"`
}

// Client is a kubectl, or a program built like it.
type Client struct {
	Name    string  `json:"name"`
	Version Version `json:"version"`
}

// Violation is a member of a fleet that breaks a rule.
type Violation struct {
	// Where is "server", "node" or "client", and Name its name.
	Where string `json:"where"`
	Name  string `json:"name"`
	*SkewError
}

// Error says who breaks what. As an error it is what fmt prints.
func (v Violation) Error() string { return v.Where + " " + v.Name + ": " + v.SkewError.Error() }

// Unwrap gives the *SkewError.
func (v Violation) Unwrap() error { return v.SkewError }

// String is what Error says.
func (v Violation) String() string { return v.Error() }

// Violations lists what breaks the version skew policy in the fleet as it is,
// in the order servers, nodes, clients; each component once, measured against
// the first server that forbids it.
func (f Fleet) Violations() []Violation {
	var vs []Violation
	note := func(where, name string, err error) {
		var e *SkewError
		if errors.As(err, &e) {
			vs = append(vs, Violation{where, name, e})
		}
	}
	all := f.serverVersions()
	for _, s := range f.Servers {
		oldest := slices.MinFunc(all, Compare)
		note("server", s.Name, Check(KubeAPIServer, s.Version, oldest))
		// The controllers of k3s and RKE2 talk to the API server beside them.
		for _, c := range []struct {
			component Component
			version   Version
		}{{ControllerManager, s.ControllerManager}, {Scheduler, s.Scheduler}, {CloudControllerManager, s.CloudControllerManager}} {
			if !c.version.IsZero() {
				note("server", s.Name, Check(c.component, c.version, s.Version))
			}
		}
	}
	for _, n := range f.Nodes {
		servers := all
		if own, ok := f.server(n.Server); ok {
			servers = []Version{own.Version}
		}
		proxy := n.KubeProxy
		if proxy.IsZero() {
			proxy = n.Kubelet
		}
		note("node", n.Name, Check(Kubelet, n.Kubelet, servers...))
		if proxy != n.Kubelet {
			note("node", n.Name, Check(KubeProxy, proxy, servers...))
			note("node", n.Name, CheckBesideKubelet(proxy, n.Kubelet))
		}
	}
	for _, c := range f.Clients {
		note("client", c.Name, Check(Kubectl, c.Version, all...))
	}
	return vs
}

// Raised is the fleet with all its servers at version to, together with the
// nodes that are part of them, and everything else as it is.
func (f Fleet) Raised(to Version) Fleet {
	for _, s := range f.Servers {
		f = f.After(Move{Kind: MoveServer, Name: s.Name, To: to})
	}
	return f
}

// Strands lists what raising the servers to a version newly breaks: nodes that
// are too old for it, clients that fall behind.
func (f Fleet) Strands(to Version) []Violation {
	return newViolations(f.Violations(), f.Raised(to).Violations())
}

// MoveKind is what a [Move] moves.
type MoveKind string

// The kinds of moves.
const (
	// MoveServer takes one server with its own node to a version.
	MoveServer MoveKind = "server"
	// MoveNode takes one agent to a version.
	MoveNode MoveKind = "node"
)

// Move takes one machine to a version.
type Move struct {
	Kind MoveKind `json:"kind"`
	Name string   `json:"name"`
	From Version  `json:"from"`
	To   Version  `json:"to"`
	// Why says why the machine moves now.
	Why string `json:"why"`
}

// String is the move in a line, with its reason.
func (m Move) String() string {
	return fmt.Sprintf("%s %s: %s -> %s, %s", m.Kind, m.Name, m.From, m.To, m.Why)
}

// After is the fleet after a move; f stays as it is.
func (f Fleet) After(m Move) Fleet {
	f.Servers, f.Nodes = slices.Clone(f.Servers), slices.Clone(f.Nodes)
	if m.Kind == MoveServer {
		for i := range f.Servers {
			if f.Servers[i].Name == m.Name {
				f.Servers[i] = Server{Name: m.Name, Version: m.To}
			}
		}
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if m.Kind == MoveNode && n.Name == m.Name || m.Kind == MoveServer && n.Server == m.Name {
			n.Kubelet, n.KubeProxy = m.To, Version{}
		}
	}
	return f
}

// Order is the work that takes the fleet to version to, as the version skew
// policy wants it: first the agents that the new servers would strand, as far up
// as the servers are now; then the servers one by one, the oldest first; then
// the agents. Machines that are at to or above stay. The error is an
// [*UpgradeError] when a server's way to the version is no single step,
// [ErrNoServers], or [ErrNoVersion] when to or a server's version is not known.
//
// See https://kubernetes.io/releases/version-skew-policy/#supported-component-upgrade-order
// and https://docs.k3s.io/upgrades.
func (f Fleet) Order(to Version) ([]Move, error) {
	if len(f.Servers) == 0 {
		return nil, ErrNoServers
	}
	if to.IsZero() {
		return nil, ErrNoVersion
	}
	servers := slices.Clone(f.Servers)
	slices.SortStableFunc(servers, func(a, b Server) int { return Compare(a.Version, b.Version) })
	var moves []Move
	now := servers[0].Version
	for _, n := range f.Nodes {
		if _, own := f.server(n.Server); own || !n.Kubelet.Less(now) || n.Kubelet.Minor() == now.Minor() {
			continue
		}
		if Check(Kubelet, n.Kubelet, to) != nil {
			reason := fmt.Sprintf("servers at %s would strand it", to.Minor())
			if n.Kubelet.IsZero() {
				reason = fmt.Sprintf("its version is not known, and servers at %s may strand it", to.Minor())
			}
			moves = append(moves, Move{MoveNode, n.Name, n.Kubelet, now, reason})
		}
	}
	for _, s := range servers {
		if !s.Version.Less(to) {
			continue
		}
		if _, err := CheckUpgrade(s.Version, to); err != nil {
			return nil, fmt.Errorf("server %s: %w", s.Name, err)
		}
		moves = append(moves, Move{MoveServer, s.Name, s.Version, to, "servers one by one, before agents"})
	}
	after := f
	for _, m := range moves {
		after = after.After(m)
	}
	for _, n := range after.Nodes {
		if _, own := f.server(n.Server); !own && n.Kubelet.Less(to) {
			moves = append(moves, Move{MoveNode, n.Name, n.Kubelet, to, "agents after the servers"})
		}
	}
	return moves, nil
}

// Stage is a move and what it leaves broken.
type Stage struct {
	Move
	// Violations are all that stand after the move, New those it brought.
	Violations []Violation `json:"violations,omitempty"`
	New        []Violation `json:"new,omitempty"`
}

// Stages plays moves through and says what breaks the policy after each of them.
func (f Fleet) Stages(moves []Move) []Stage {
	stages := make([]Stage, 0, len(moves))
	before := f.Violations()
	for _, m := range moves {
		f = f.After(m)
		after := f.Violations()
		stages = append(stages, Stage{m, after, newViolations(before, after)})
		before = after
	}
	return stages
}

// newViolations are those of after whose member and component were no violation
// before.
func newViolations(before, after []Violation) []Violation {
	var news []Violation
	for _, v := range after {
		if !slices.ContainsFunc(before, func(b Violation) bool {
			return b.Where == v.Where && b.Name == v.Name && b.Component == v.Component && b.Against == v.Against
		}) {
			news = append(news, v)
		}
	}
	return news
}

func (f Fleet) serverVersions() []Version {
	var vs []Version
	for _, s := range f.Servers {
		vs = append(vs, s.Version)
	}
	return vs
}

func (f Fleet) server(name string) (Server, bool) {
	if name == "" {
		return Server{}, false
	}
	i := slices.IndexFunc(f.Servers, func(s Server) bool { return s.Name == name })
	if i < 0 {
		return Server{}, false
	}
	return f.Servers[i], true
}
