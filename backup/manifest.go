package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ManifestName is the manifest's file in a backup folder. The other names are
// DatabaseName, TokenName, and the extra files under their own paths below
// server/ and host/.
const (
	ManifestName = "backup.json"
	DatabaseName = "state.db"
	TokenName    = "token"
)

// FormatVersion is the version of the manifest that this package writes.
const FormatVersion = 1

// Manifest describes a backup: what it is of, every file in it, and what was
// found out about them when they were saved.
type Manifest struct {
	FormatVersion int `json:"formatVersion"`
	// Two keys are those of the lab, in its spelling: k3s_version, token_sha256.
	K3sVersion     string     `json:"k3s_version"`              // e.g. v1.34.4+k3s1; empty when unknown
	K3sVersionFrom string     `json:"k3sVersionFrom,omitempty"` // how it is known
	TokenSHA256    string     `json:"token_sha256"`             // of the token file's bytes, hex
	Created        time.Time  `json:"created"`
	Node           string     `json:"node"`
	DataDir        string     `json:"dataDir"`
	Datastore      string     `json:"datastore"` // the database file that was copied
	Minimal        bool       `json:"minimal"`   // without the extra files
	Database       Database   `json:"database"`
	TokenCheck     TokenCheck `json:"tokenCheck"`
	Files          []File     `json:"files"`
	Warnings       []string   `json:"warnings,omitempty"`
}

// File is one file of a backup.
type File struct {
	Path    string    `json:"path"` // in the backup folder, with slashes
	From    string    `json:"from"` // where it was
	Size    int64     `json:"size"`
	SHA256  string    `json:"sha256"`
	Mode    string    `json:"mode"` // of the original, octal; in the backup all are 0600
	ModTime time.Time `json:"modTime"`
}

const maxManifest = 64 << 20

// ReadManifest reads the manifest of the backup folder dir. The error is
// [ErrNotBackup] when there is none that this package understands.
func ReadManifest(dir string) (*Manifest, error) {
	path := filepath.Join(dir, ManifestName)
	b, err := readBounded(path, maxManifest)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(dir); err != nil {
			return nil, fail("read", dir, err, "")
		}
		return nil, fail("read", path, ErrNotBackup, "the folder has no %s", ManifestName)
	}
	if err != nil {
		return nil, fail("read", path, err, "")
	}
	m, err := parseManifest(path, b)
	if errors.Is(err, ErrNotBackup) {
		// The lab's folder has a backup.json of its own.
		inside := filepath.Join(dir, "backup")
		if _, err := os.Lstat(filepath.Join(inside, ManifestName)); err == nil {
			return nil, fail("read", path, ErrNotBackup, "the backup is in %s", inside)
		}
	}
	return m, err
}

func parseManifest(path string, b []byte) (*Manifest, error) {
	var version struct {
		FormatVersion int `json:"formatVersion"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, fail("read", path, fmt.Errorf("%w: %w", ErrNotBackup, err), "")
	}
	if version.FormatVersion == 0 {
		return nil, fail("read", path, fmt.Errorf("%w: it has no formatVersion", ErrNotBackup), "")
	}
	if version.FormatVersion < 1 || version.FormatVersion > FormatVersion {
		return nil, fail("read", path, fmt.Errorf("%w: format version %d, this program knows 1 to %d", ErrNotBackup, version.FormatVersion, FormatVersion), "use the program that wrote it, or a newer one")
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fail("read", path, fmt.Errorf("%w: %w", ErrNotBackup, err), "")
	}
	if err := checkVersion(m.K3sVersion); err != nil {
		return nil, fail("read", path, fmt.Errorf("%w: %w", ErrNotBackup, err), "do not restore it")
	}
	for _, f := range m.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return nil, fail("read", path, fmt.Errorf("%w: it lists %q, which is not inside the folder", ErrNotBackup, f.Path), "do not restore it")
		}
	}
	return &m, nil
}

func (m *Manifest) file(path string) (File, bool) {
	for _, f := range m.Files {
		if f.Path == path {
			return f, true
		}
	}
	return File{}, false
}

func (m *Manifest) bytes() int64 {
	var n int64
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

func (m *Manifest) write(path string) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o600)
}

// mode is the file's own mode, at most what its owner and group need.
func (f File) mode() os.FileMode {
	var m uint32
	if _, err := fmt.Sscanf(f.Mode, "%o", &m); err != nil {
		return 0o600
	}
	return os.FileMode(m) & 0o755
}
