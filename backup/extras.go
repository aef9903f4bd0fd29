package backup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Where the files besides database and token lie in a backup: those of the data
// directory below their own names, those of the machine below host/.
const hostFolder = "host"

// addExtras copies what a restore on another machine needs besides database and
// token, as reports from the field have it: the certificates and credentials
// (https://github.com/k3s-io/k3s/issues/3015), the agents' token, the node's
// password, the configuration, and the service's arguments and environment,
// which the install script forgets when it runs again
// (https://github.com/k3s-io/k3s/issues/7593).
func (s *saver) addExtras(ctx context.Context, dir string) error {
	server := filepath.Join(s.det.DataDir, "server")
	for _, name := range []string{"agent-token", "tls", "cred"} {
		if err := s.addTree(ctx, dir, filepath.Join(server, name), path.Join("server", name)); err != nil {
			return err
		}
	}
	if !exists(filepath.Join(server, "tls")) {
		s.warn("there is no server/tls: the certificates exist only inside the datastore's bootstrap record")
	}
	if len(s.det.host.files) > 0 && !s.det.host.belongsTo(s.det.DataDir) {
		s.warn("the machine's k3s configuration and service are of another data directory and were left out")
		return nil
	}
	for _, from := range s.det.host.files {
		name, err := filepath.Rel(s.det.host.root, from)
		if err != nil || !filepath.IsLocal(name) {
			name = strings.TrimPrefix(from, "/")
		}
		if err := s.addFile(ctx, dir, from, path.Join(hostFolder, filepath.ToSlash(name))); err != nil {
			return err
		}
	}
	return nil
}

func (s *saver) addTree(ctx context.Context, dir, from, to string) error {
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil // absent, or gone since it was listed
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		return s.addFile(ctx, dir, p, path.Join(to, filepath.ToSlash(rel)))
	})
}

// addFile copies one file, what a symbolic link points to instead of the link,
// and nothing that is no regular file.
func (s *saver) addFile(ctx context.Context, dir, from, to string) error {
	st, err := os.Stat(from)
	if errors.Is(err, os.ErrNotExist) || err == nil && !st.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return fail("read", from, err, "run as root, or leave the extra files out with Minimal")
	}
	dst := filepath.Join(dir, filepath.FromSlash(to))
	if err := os.MkdirAll(filepath.Dir(dst), 0o700); err != nil {
		return err
	}
	if err := copyFile(ctx, from, dst, nil); err != nil {
		if errors.Is(err, os.ErrPermission) {
			return fail("read", from, err, "run as root, or leave the extra files out with Minimal")
		}
		return err
	}
	s.m.Files = append(s.m.Files, File{Path: to, From: from, Mode: modeText(st), ModTime: st.ModTime().UTC()})
	return nil
}
