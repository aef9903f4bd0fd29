package practice

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// layout is where things lie. root looks like the file system of a k3s server
// (https://docs.k3s.io/cli/token, https://docs.k3s.io/datastore/backup-restore),
// except that the two files of /etc/rancher/k3s lie in the data directory, so
// that it is whole by itself; /etc/rancher/k3s has links to them.
type layout struct{ root string }

func (l layout) data() string       { return filepath.Join(l.root, "var", "lib", "rancher", "k3s") }
func (l layout) etc() string        { return filepath.Join(l.root, "etc", "rancher", "k3s") }
func (l layout) server() string     { return filepath.Join(l.data(), "server") }
func (l layout) tls() string        { return filepath.Join(l.server(), "tls") }
func (l layout) cred() string       { return filepath.Join(l.server(), "cred") }
func (l layout) database() string   { return filepath.Join(l.server(), "db", "state.db") }
func (l layout) token() string      { return filepath.Join(l.server(), "token") }
func (l layout) kubeconfig() string { return filepath.Join(l.data(), "k3s.yaml") }
func (l layout) config() string     { return filepath.Join(l.data(), "config.yaml") }
func (l layout) logs() string       { return filepath.Join(l.root, "logs") }
func (l layout) stages() string     { return filepath.Join(l.root, "stages") }

// create makes the folders and writes token and config.yaml; what is there
// from an earlier start stays.
func (l layout) create(caPEM []byte) error {
	if err := os.MkdirAll(filepath.Dir(l.database()), 0o700); err != nil {
		return diskError(err, l.root)
	}
	if err := writeNew(l.config(), []byte("disable:\n  - traefik\n"), 0o600); err != nil {
		return diskError(err, l.root)
	}
	token := fmt.Sprintf("K10%x::server:%s\n", sha256.Sum256(caPEM), randomHex(16))
	if err := writeNew(l.token(), []byte(token), 0o600); err != nil {
		return diskError(err, l.root)
	}
	if err := os.MkdirAll(l.etc(), 0o700); err != nil {
		return diskError(err, l.root)
	}
	for link, target := range map[string]string{
		filepath.Join(l.server(), "node-token"): "token",
		filepath.Join(l.etc(), "config.yaml"):   l.config(),
		filepath.Join(l.etc(), "k3s.yaml"):      l.kubeconfig(),
	} {
		if err := os.Symlink(target, link); err != nil && !errors.Is(err, os.ErrExist) {
			return diskError(err, l.root)
		}
	}
	return nil
}

// writeNew writes path unless it exists.
func writeNew(path string, content []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails: https://pkg.go.dev/crypto/rand#Read
	return hex.EncodeToString(b)
}

// diskError says which file system is full, when that is what err is.
func diskError(err error, dir string) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w: %s: %w", ErrDiskFull, dir, err)
	}
	return err
}
