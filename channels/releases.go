package channels

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/k3sladder/k3sladder/skew"
)

// Release is a k3s release with what it ships, from the table at the top of each
// minor's release notes, such as https://docs.k3s.io/release-notes/v1.34.X.
type Release struct {
	Version skew.Version `json:"version"`
	// Date is the day of the release (UTC).
	Date time.Time `json:"date"`
	// Components are the versions of what is packed into the release, by name:
	// kine, sqlite, etcd, containerd, runc, flannel, metrics-server, traefik,
	// coredns, helm-controller, local-path-provisioner.
	Components map[string]string `json:"components"`

	etcd etcdVersion
}

//go:embed data/k3s-releases.tsv
var releasesTSV string

// known is the release table, oldest first, read once.
var known = sync.OnceValue(func() *table {
	rs, err := parseReleases(releasesTSV)
	if err != nil {
		panic("channels: the release table is broken: " + err.Error()) // a test reads it
	}
	return newTable(rs)
})

// Releases are the k3s releases that this module knows, oldest first by
// [skew.Compare]. Newer ones exist: a release that is missing here is not wrong.
// The slice is the caller's, the maps in it are shared.
func Releases() []Release { return slices.Clone(known().releases) }

// table is a list of releases with what the ladder asks of it.
type table struct {
	// releases in ascending order.
	releases []Release
	// date is the day of the newest one: what the table does not know is newer.
	date time.Time
}

func newTable(rs []Release) *table {
	rs = slices.Clone(rs)
	slices.SortFunc(rs, func(a, b Release) int { return skew.Compare(a.Version, b.Version) })
	t := &table{releases: rs}
	for _, r := range rs {
		if r.Date.After(t.date) {
			t.date = r.Date
		}
	}
	return t
}

// find gives the index of v and whether the table has it; without it, the index
// at which it would stand.
func (t *table) find(v skew.Version) (int, bool) {
	return slices.BinarySearchFunc(t.releases, v, func(r Release, v skew.Version) int { return skew.Compare(r.Version, v) })
}

// componentNames maps the columns of the table to the names people know.
var componentNames = map[string]string{
	"kine": "kine", "sqlite": "sqlite", "etcd": "etcd", "containerd": "containerd", "runc": "runc", "flannel": "flannel",
	"metrics_server": "metrics-server", "traefik": "traefik", "coredns": "coredns",
	"helm_controller": "helm-controller", "local_path": "local-path-provisioner",
}

func parseReleases(tsv string) ([]Release, error) {
	lines := strings.Split(strings.TrimSpace(tsv), "\n")
	header := strings.Split(lines[0], "\t")
	releases := make([]Release, 0, len(lines)-1)
	for n, line := range lines[1:] {
		fields := strings.Split(line, "\t")
		if len(fields) != len(header) {
			return nil, fmt.Errorf("line %d has %d fields, not %d", n+2, len(fields), len(header))
		}
		r := Release{Components: make(map[string]string, len(fields))}
		for i, name := range header {
			var err error
			switch name {
			case "version":
				r.Version, err = skew.Parse(fields[i])
			case "date":
				r.Date, err = time.Parse(time.DateOnly, fields[i])
			default:
				if c, ok := componentNames[name]; ok && fields[i] != "" && fields[i] != "-" {
					r.Components[c] = fields[i]
				}
			}
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n+2, err)
			}
		}
		if text, ok := r.Components["etcd"]; ok {
			v, err := skew.Parse(text)
			if err != nil {
				return nil, fmt.Errorf("line %d: etcd: %w", n+2, err)
			}
			r.etcd = etcdVersion{v.Minor(), v.Patch()}
		}
		releases = append(releases, r)
	}
	return releases, nil
}

// etcdVersion is etcd's own version, without the revision k3s puts behind it.
// The zero value means unknown.
type etcdVersion struct {
	minor skew.Minor
	patch int
}

func (e etcdVersion) known() bool { return e != etcdVersion{} }

func (e etcdVersion) less(o etcdVersion) bool {
	c := e.minor.Compare(o.minor)
	return c < 0 || c == 0 && e.patch < o.patch
}

func (e etcdVersion) String() string { return fmt.Sprintf("%s.%d", e.minor, e.patch) }
