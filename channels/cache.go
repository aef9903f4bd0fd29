package channels

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// cacheFile is where the answer of a source is kept. The file holds the answer
// as it came, so that it can be given to [Read] as a saved file too; its
// modification time is when it came.
func cacheFile(source string, opts Options) string {
	sum := sha256.Sum256([]byte(source))
	return filepath.Join(opts.CacheDir, "channels-"+hex.EncodeToString(sum[:8])+".json")
}

func writeCache(source string, a answer, opts Options) error {
	if opts.CacheDir == "" {
		return nil
	}
	err := os.MkdirAll(opts.CacheDir, 0o755)
	if err == nil {
		err = renameio.WriteFile(cacheFile(source, opts), a.body, 0o644)
	}
	if err != nil {
		return fmt.Errorf("keeping the channels of %s: %w", redact(source), err)
	}
	return nil
}

// readCache gives the kept answer when the fault is that the server cannot be
// reached. A broken answer of a server that can be is not papered over.
func readCache(source string, fault error, opts Options) (*Catalog, bool) {
	var e *SourceError
	if opts.CacheDir == "" || !errors.As(fault, &e) || !e.unreachable || errors.Is(fault, context.Canceled) {
		return nil, false
	}
	c, err := readFile(cacheFile(source, opts), opts)
	if err != nil {
		return nil, false
	}
	c.Source, c.Cached = redact(source), true
	return c, true
}
