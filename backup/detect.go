package backup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Kind is where a k3s node keeps the cluster's data
// (https://docs.k3s.io/datastore).
type Kind string

// The kinds of datastore. Only KindSQLite is saved and restored here.
const (
	KindSQLite   Kind = "sqlite"
	KindEtcd     Kind = "embedded-etcd"
	KindExternal Kind = "external"
	KindAgent    Kind = "agent" // an agent has no datastore
	KindNone     Kind = "none"  // no k3s here
)

// DetectOptions change where [Detect] looks. The zero value looks at the
// machine it runs on.
type DetectOptions struct {
	// HostRoot is where the file system of the machine is mounted whose
	// /etc/rancher and service files count. Empty: what precedes
	// /var/lib/rancher/k3s in the data directory, else "/".
	HostRoot string
	// Config is k3s's configuration file. Empty: what the service names, else
	// /etc/rancher/k3s/config.yaml below HostRoot.
	Config string
}

// Detection says which datastore a data directory has, and why.
type Detection struct {
	Kind     Kind     `json:"kind"`
	DataDir  string   `json:"dataDir"`
	Path     string   `json:"path,omitempty"`     // the database file, for KindSQLite
	Endpoint string   `json:"endpoint,omitempty"` // the scheme of an external one; never its credentials
	Evidence []string `json:"evidence"`           // what was seen
	Instead  string   `json:"instead,omitempty"`  // what to use when it is not SQLite
	Warnings []string `json:"warnings,omitempty"`

	host *host
	live holder
}

// String is the verdict in a line, with what was seen.
func (d *Detection) String() string {
	s := fmt.Sprintf("%s: %s (%s)", d.DataDir, d.Kind, strings.Join(d.Evidence, "; "))
	if d.Instead != "" {
		s += "; " + d.Instead
	}
	return s
}

// UnsupportedError says that a data directory has no SQLite datastore, and what
// to use instead of this package.
type UnsupportedError struct{ Detection *Detection }

// Error says what is there, and what to use instead.
func (e *UnsupportedError) Error() string {
	what := map[Kind]string{
		KindEtcd:     "embedded etcd is the datastore, not SQLite",
		KindExternal: "an external datastore is in use, not SQLite",
		KindAgent:    "this is a k3s agent, which has no datastore",
		KindNone:     "no k3s server data here",
	}[e.Detection.Kind]
	return fmt.Sprintf("%s: %s (%s); %s", e.Detection.DataDir, what, strings.Join(e.Detection.Evidence, "; "), e.Detection.Instead)
}

var instead = map[Kind]string{
	KindEtcd:  `use "k3s etcd-snapshot save" and keep server/token with the snapshot (https://docs.k3s.io/cli/etcd-snapshot)`,
	KindAgent: "run this on a server of the cluster",
	KindNone:  "give the data directory of a k3s server (k3s's own default is " + DefaultDataDir + "; --data-dir)",
}

var insteadOfExternal = map[string]string{
	"mysql":    "use mysqldump --single-transaction on the database, and keep server/token with the dump",
	"postgres": "use pg_dump on the database, and keep server/token with the dump",
	"http":     "use etcdctl snapshot save on the etcd cluster, and keep server/token with the snapshot",
	"https":    "use etcdctl snapshot save on the etcd cluster, and keep server/token with the snapshot",
	"nats":     "use nats stream backup on the KV bucket, and keep server/token with it",
}

// Detect finds out which datastore the k3s server of dataDir uses: SQLite,
// embedded etcd (server/db/etcd, cluster-init, server), an external one
// (datastore-endpoint in config.yaml, config.yaml.d, the service's arguments or
// environment), or none. An error means that it could not be decided.
func Detect(ctx context.Context, dataDir string, opts DetectOptions) (*Detection, error) {
	if dataDir == "" {
		return nil, errNoFolder
	}
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	root := opts.HostRoot
	if root == "" {
		root = hostRoot(dataDir)
	}
	h, err := readHost(root, opts.Config, dataDir)
	if err != nil {
		return nil, err
	}
	d := &Detection{DataDir: dataDir, host: h}
	path := filepath.Join(dataDir, "server", "db", "state.db")
	if scheme, dbPath := sqliteEndpoint(h, dataDir); scheme != "" {
		path = dbPath
	}
	if exists(path) {
		if d.live, err = whoHolds(path); err != nil {
			return nil, fail("look for locks on", path, err, "run as root")
		}
	}
	d.decide(path)
	if d.Kind != KindSQLite && d.Instead == "" {
		d.Instead = instead[d.Kind]
	}
	return d, nil
}

// decide weighs what is on disk against what the configuration says. A process
// that has state.db open proves SQLite, whatever a file says that the next
// start will read.
func (d *Detection) decide(path string) {
	server := filepath.Join(d.DataDir, "server")
	etcd := filepath.Join(server, "db", "etcd")
	say := func(format string, args ...any) { d.Evidence = append(d.Evidence, fmt.Sprintf(format, args...)) }
	inUse := d.live.held && exists(path)
	flag := func(name string) (value, from string) {
		if !d.host.belongsTo(d.DataDir) {
			return "", ""
		}
		return d.host.flags[name], d.host.from[name]
	}

	endpoint, endpointFrom := flag("datastore-endpoint")
	scheme, _, _ := strings.Cut(endpoint, "://")
	external := endpoint != "" && scheme != "sqlite" && scheme != "litestream"
	if external && !strings.Contains(endpoint, "://") {
		scheme = "unknown"
	}
	clusterInit, clusterInitFrom := flag("cluster-init")
	join, joinFrom := flag("server")
	switch {
	case inUse:
		d.Kind, d.Path = KindSQLite, path
		say("%s is open in %s", path, d.live)
		if external {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s sets datastore-endpoint (%s): k3s will leave this database at its next start", endpointFrom, scheme))
		}
		if clusterInit == "true" || exists(etcd) {
			d.Warnings = append(d.Warnings, "cluster-init is set or server/db/etcd exists: k3s will move to embedded etcd at its next start")
		}
	case external:
		d.Kind, d.Endpoint = KindExternal, scheme
		say("datastore-endpoint (%s) in %s", scheme, endpointFrom)
		d.Instead = insteadOfExternal[scheme]
		if d.Instead == "" {
			d.Instead = "use that database's own dump, and keep server/token with it"
		}
		d.Instead += " (https://docs.k3s.io/datastore/backup-restore)"
	case exists(etcd):
		d.Kind = KindEtcd
		say("%s exists", etcd)
		if exists(path) {
			say("k3s starts from it although %s is there too", path)
		}
	case clusterInit == "true" && exists(server):
		d.Kind = KindEtcd
		say("cluster-init in %s", clusterInitFrom)
	case join != "" && exists(server):
		d.Kind = KindEtcd
		say("server (the address of another server) in %s", joinFrom)
	case exists(path):
		d.Kind, d.Path = KindSQLite, path
		say("%s exists", path)
	case exists(filepath.Join(server, "token")):
		d.Kind = KindNone
		say("there is %s, but no %s", filepath.Join(server, "token"), path)
		d.Instead = "the database is gone: restore a backup"
	case exists(filepath.Join(d.DataDir, "agent")) || join != "" || d.agentUnit() != "":
		d.Kind = KindAgent
		switch unit := d.agentUnit(); {
		case exists(filepath.Join(d.DataDir, "agent")):
			say("there is agent/ and no datastore under server/")
		case unit != "":
			say("%s exists", unit)
		default:
			say("server (the address of a server) in %s", joinFrom)
		}
	default:
		d.Kind = KindNone
		say("no %s", path)
	}
}

func (d *Detection) agentUnit() string {
	for _, name := range agentFiles {
		if path := filepath.Join(d.host.root, name); exists(path) && d.host.belongsTo(d.DataDir) {
			return path
		}
	}
	return ""
}

// sqliteEndpoint is the database file that a sqlite:// or litestream://
// endpoint names (kine's endpoints, relative ones below server/).
func sqliteEndpoint(h *host, dataDir string) (scheme, path string) {
	if !h.belongsTo(dataDir) {
		return "", ""
	}
	scheme, rest, ok := strings.Cut(h.flags["datastore-endpoint"], "://")
	if !ok || scheme != "sqlite" && scheme != "litestream" {
		return "", ""
	}
	path, _, _ = strings.Cut(rest, "?")
	switch {
	case path == "":
		path = filepath.Join(dataDir, "server", "db", "state.db")
	case filepath.IsAbs(path):
		path = filepath.Join(h.root, path)
	default:
		path = filepath.Join(dataDir, "server", path)
	}
	return scheme, path
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
