package practice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/k3sladder/k3sladder/internal/bootstrap"
)

// putBootstrap stores the record through kine, as k3s does with its own
// datastore client: made once, never overwritten.
func (c *Cluster) putBootstrap(ctx context.Context, password string) error {
	plaintext, err := c.bootstrapData()
	if err != nil {
		return err
	}
	sealed, err := bootstrap.Seal(password, plaintext)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(c.root, "record-")
	if err != nil {
		return diskError(err, c.root)
	}
	defer os.Remove(file.Name())
	_, err = file.Write(sealed)
	if err := errors.Join(err, file.Close()); err != nil {
		return diskError(err, c.root)
	}
	put := exec.CommandContext(ctx, c.binaries[kine.name], "put", "unix://"+c.socket, bootstrap.Key(password), file.Name())
	// Its standard input is its lifeline too.
	lifeline, err := put.StdinPipe()
	if err != nil {
		return err
	}
	defer lifeline.Close()
	out, err := put.CombinedOutput()
	if err != nil && !strings.Contains(string(out), " exists") {
		return fmt.Errorf("storing the bootstrap record: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// bootstrapData is the record's plaintext in k3s's form: a JSON object, by
// name, of the files that every server of the cluster must share
// (https://github.com/k3s-io/k3s, pkg/bootstrap and the tags of
// config.ControlRuntimeBootstrap).
func (c *Cluster) bootstrapData() ([]byte, error) {
	type file struct {
		Timestamp time.Time
		Content   []byte
	}
	files := map[string]file{}
	for name, base := range map[string]string{
		"ServerCA": "server-ca.crt", "ServerCAKey": "server-ca.key",
		"ClientCA": "client-ca.crt", "ClientCAKey": "client-ca.key",
		"ServiceKey": "service.key",
	} {
		path := filepath.Join(c.tls(), base)
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		files[name] = file{Timestamp: info.ModTime().UTC(), Content: content}
	}
	return json.Marshal(files)
}
