package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// nameVersion finds out which node this is and which k3s wrote the datastore.
func (s *saver) nameVersion(ctx context.Context, db querier) error {
	found, err := nodes(ctx, db)
	if err != nil {
		return s.blame(err)
	}
	s.m.Node = s.opts.Node
	if s.m.Node == "" {
		s.m.Node = chooseNode(found, s.det.host.flags["node-name"])
	}
	recorded := recordedVersion(found, s.m.Node)
	installed := installedVersion(ctx, s.det.host.root)
	switch {
	case s.m.K3sVersion != "":
		s.m.K3sVersionFrom = "given"
	case recorded != "" && checkVersion(recorded) == nil:
		s.m.K3sVersion, s.m.K3sVersionFrom = recorded, "the node's kubelet version in the datastore"
	case installed != "":
		s.m.K3sVersion, s.m.K3sVersionFrom = installed, "k3s --version"
	default:
		s.warn("the version of k3s is unknown: restore with the version that was running, an older one may not understand the datastore")
	}
	if installed != "" && s.m.K3sVersion != "" && installed != s.m.K3sVersion {
		s.warn(fmt.Sprintf("the installed k3s is %s, the datastore was last used by %s: an upgrade has begun or k3s was not restarted", installed, s.m.K3sVersion))
	}
	return nil
}

func chooseNode(found map[string]node, configured string) string {
	hostname, _ := os.Hostname()
	var servers []string
	for name, n := range found {
		if n.server {
			servers = append(servers, name)
		}
	}
	for _, name := range []string{configured, hostname} {
		if _, ok := found[name]; ok {
			return name
		}
	}
	if len(servers) == 1 {
		return servers[0]
	}
	if configured != "" {
		return configured
	}
	return hostname
}

// recordedVersion is the version of this node, else the one all servers share.
func recordedVersion(found map[string]node, name string) string {
	if n, ok := found[name]; ok && n.server {
		return n.version
	}
	var versions []string
	for _, n := range found {
		if n.server {
			versions = append(versions, n.version)
		}
	}
	slices.Sort(versions)
	if versions = slices.Compact(versions); len(versions) == 1 {
		return versions[0]
	}
	return ""
}

var k3sVersionLine = regexp.MustCompile(`^k3s version (v\S+)`)

// installedVersion asks the k3s binary under root, where the install script puts
// it, or gives nothing.
func installedVersion(ctx context.Context, root string) string {
	for _, dir := range []string{"usr/local/bin", "opt/bin", "usr/bin"} {
		path := filepath.Join(root, dir, "k3s")
		st, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) || err == nil && !st.Mode().IsRegular() {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		out, err := exec.CommandContext(ctx, path, "--version").Output()
		if m := k3sVersionLine.FindSubmatch(out); err == nil && m != nil && versionPattern.Match(m[1]) {
			return string(m[1])
		}
		return ""
	}
	return ""
}
