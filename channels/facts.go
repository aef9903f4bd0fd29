package channels

import (
	"fmt"
	"slices"
)

// Datastore is where a cluster keeps its state.
type Datastore string

// The datastores. The zero Datastore means that it is not known.
const (
	DatastoreUnknown Datastore = ""
	SQLite           Datastore = "sqlite"
	// EmbeddedEtcd is the etcd inside k3s (--cluster-init) and RKE2.
	EmbeddedEtcd Datastore = "etcd"
	// ExternalDatastore is a SQL server, NATS or an etcd of one's own, reached
	// through --datastore-endpoint: its version is not the release's business.
	ExternalDatastore Datastore = "external"
)

// Answer is what is known about a yes-or-no question. The zero Answer means
// that it is not known.
type Answer string

// The answers.
const (
	Unknown Answer = ""
	Yes     Answer = "yes"
	No      Answer = "no"
)

// Executor is what carries the upgrade out.
type Executor string

// The executors. The zero Executor means that it is not known.
const (
	ExecutorUnknown Executor = ""
	// SUC is system-upgrade-controller with the k3s-upgrade image.
	SUC Executor = "suc"
	// Script is the install script, or a binary put in place by hand.
	Script Executor = "script"
)

// Facts are what is known about a cluster. The zero Facts is a cluster of which
// nothing is known; every unknown fact narrows the ladder to what is safe for
// all of its values.
type Facts struct {
	Datastore Datastore `json:"datastore,omitempty"`
	// Agents: the cluster has agents, nodes that are not servers.
	Agents   Answer   `json:"agents,omitempty"`
	Executor Executor `json:"executor,omitempty"`
	// Traits are what else is known: they decide which notes concern the
	// cluster, never the path. An entry outweighs what the other fields say.
	Traits map[Trait]Answer `json:"traits,omitempty"`
}

// Validate says which fact has a value that is none of the constants here.
func (f Facts) Validate() error {
	switch f.Datastore {
	case DatastoreUnknown, SQLite, EmbeddedEtcd, ExternalDatastore:
	default:
		return fmt.Errorf("datastore %q is none of sqlite, etcd, external", f.Datastore)
	}
	switch f.Agents {
	case Unknown, Yes, No:
	default:
		return fmt.Errorf("agents %q is neither yes nor no", f.Agents)
	}
	switch f.Executor {
	case ExecutorUnknown, SUC, Script:
	default:
		return fmt.Errorf("executor %q is neither suc nor script", f.Executor)
	}
	for t, a := range f.Traits {
		if a != Unknown && a != Yes && a != No {
			return fmt.Errorf("%s %q is neither yes nor no", t, a)
		}
		if !slices.Contains(Traits(), t) {
			return fmt.Errorf("no note asks for the trait %q", t)
		}
	}
	return nil
}
