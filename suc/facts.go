package suc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/k3sladder/k3sladder/skew"
)

// Facts are what is known about the cluster that a Plan is meant for. Every
// field is optional, and what is absent is unknown: a nil list is unknown, an
// empty one is known to be empty.
//
// [ReadFacts] reads them from a cluster, [ParseFacts] from a file.
type Facts struct {
	// ServerVersion is that of the API server, such as v1.34.11+k3s1.
	ServerVersion string `json:"serverVersion,omitempty"`
	// Datastore is sqlite, etcd (the embedded one) or external; the name of a
	// database server means the same as external.
	Datastore string `json:"datastore,omitempty"`
	// Nodes of the cluster.
	Nodes []Node `json:"nodes,omitempty"`
	// SUC is the controller.
	SUC *Controller `json:"suc,omitempty"`
	// Channels says what each channel URL resolves to.
	Channels map[string]string `json:"channels,omitempty"`
	// Plans, ServiceAccounts and Secrets are "namespace/name" of those that
	// exist.
	Plans           []string `json:"plans,omitempty"`
	ServiceAccounts []string `json:"serviceAccounts,omitempty"`
	Secrets         []string `json:"secrets,omitempty"`
	// Namespaces that exist.
	Namespaces []string `json:"namespaces,omitempty"`
}

// Node is what is known about a node.
type Node struct {
	Name           string            `json:"name"`
	UID            string            `json:"uid,omitempty"`
	KubeletVersion string            `json:"kubeletVersion,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Taints         []corev1.Taint    `json:"taints,omitempty"`
	// Unschedulable: the node is cordoned.
	Unschedulable bool `json:"unschedulable,omitempty"`
	// Ready is nil when it is not known.
	Ready *bool `json:"ready,omitempty"`
}

// Controller is what is known about system-upgrade-controller.
type Controller struct {
	// Version of its image, such as v0.20.1.
	Version string `json:"version,omitempty"`
	// Namespace it runs in, the only one whose Plans it sees.
	Namespace string `json:"namespace,omitempty"`
	// JobDeadlineSeconds is its default for spec.jobActiveDeadlineSecs.
	JobDeadlineSeconds *int64 `json:"jobDeadlineSeconds,omitempty"`
	// Node it runs on.
	Node string `json:"node,omitempty"`
}

// ParseFacts reads facts from JSON or YAML. An unknown key is an error: a
// misspelt fact would silence the rules that need it.
func ParseFacts(data []byte) (*Facts, error) {
	var doc any
	pieces := split(data)
	for _, p := range pieces {
		nodes, err := p.nodes()
		if err != nil {
			return nil, fmt.Errorf("the facts are neither JSON nor YAML: %w", err)
		}
		for _, n := range nodes {
			w := &walker{root: n}
			v, _ := w.walk(&shape{}, n.Node, nil)
			if len(w.problems) > 0 {
				return nil, fmt.Errorf("the facts: line %d: %s %s", w.problems[0].line, w.problems[0].path, w.problems[0].message)
			}
			if v == nil {
				continue
			}
			if doc != nil {
				return nil, errors.New("the facts are more than one document")
			}
			doc = v
		}
	}
	if _, ok := doc.(map[string]any); !ok {
		return nil, errors.New("the facts are no object")
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("the facts: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	f := &Facts{}
	if err := dec.Decode(f); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the facts: %w", err)
	}
	return f, f.Validate()
}

// Validate says which fact cannot be true.
func (f *Facts) Validate() error {
	if f.ServerVersion != "" {
		if _, err := skew.Parse(f.ServerVersion); err != nil {
			return fmt.Errorf("the facts: serverVersion: %w", err)
		}
	}
	switch f.Datastore {
	case "", "sqlite", "etcd", "external", "mysql", "mariadb", "postgres", "postgresql", "nats":
	default:
		return fmt.Errorf("the facts: datastore %q is none of sqlite, etcd, external", f.Datastore)
	}
	for i, n := range f.Nodes {
		if n.Name == "" {
			return fmt.Errorf("the facts: nodes[%d] has no name", i)
		}
		if n.KubeletVersion != "" {
			if _, err := skew.Parse(n.KubeletVersion); err != nil {
				return fmt.Errorf("the facts: kubeletVersion of node %s: %w", n.Name, err)
			}
		}
	}
	return nil
}

// controlPlane reports whether a node runs an API server. Those are the nodes
// that prepare waits for.
func (n *Node) controlPlane() bool {
	_, now := n.Labels[ControlPlaneLabel]
	_, before := n.Labels[masterLabel]
	return now || before
}

// server reports whether a node runs any part of the control plane; RKE2 and
// k3s can have nodes for etcd alone.
func (n *Node) server() bool {
	for _, l := range []string{ControlPlaneLabel, masterLabel, etcdLabel} {
		if _, ok := n.Labels[l]; ok {
			return true
		}
	}
	return false
}

// version is the kubelet's, zero when it is not known.
func (n *Node) version() skew.Version {
	v, _ := skew.Parse(n.KubeletVersion)
	return v
}

// hostname is what the controller calls the node: its hostname label.
func (n *Node) hostname() string { return or(n.Labels[corev1.LabelHostname], n.Name) }

// servers are the nodes with the control plane; ok is false when no nodes are
// known.
func (f *Facts) servers() (servers []*Node, ok bool) {
	if f == nil || f.Nodes == nil {
		return nil, false
	}
	for i := range f.Nodes {
		if f.Nodes[i].server() {
			servers = append(servers, &f.Nodes[i])
		}
	}
	return servers, true
}

// etcd reports whether the cluster keeps its state in the embedded etcd, and
// whether that is known. The role label tells, since only etcd members have it.
func (f *Facts) etcd() (yes, known bool) {
	switch f.Datastore {
	case "etcd":
		return true, true
	case "":
		servers, ok := f.servers()
		return slices.ContainsFunc(servers, func(n *Node) bool { _, ok := n.Labels[etcdLabel]; return ok }), ok && len(servers) > 0
	}
	return false, true
}
