package snapshot

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// MaxSize bounds what [Read] takes, after decompression: 2 GiB, which is more
// than ten million objects.
const MaxSize = 2 << 30

var (
	// ErrNotSnapshot: the file is something else.
	ErrNotSnapshot = errors.New("not a snapshot")
	// ErrTooLarge: the file has more than [MaxSize] bytes.
	ErrTooLarge = errors.New("larger than any snapshot")
	// ErrExists: there is a file of that name, and it was to be kept.
	ErrExists = errors.New("exists already")
)

// Write writes the snapshot as JSON, one object a line, so that two files can be
// searched and compared by line.
func (s *Snapshot) Write(w io.Writer) error {
	b := bufio.NewWriterSize(w, 64<<10)
	e := &lineEncoder{w: b}
	e.field("format", s.Format)
	e.field("takenAt", s.TakenAt)
	e.field("clusterUID", s.ClusterUID)
	writeList(e, "servers", s.Servers)
	writeList(e, "lists", s.Lists)
	writeList(e, "apis", s.APIs)
	writeList(e, "nodes", s.Nodes)
	writeList(e, "workloads", s.Workloads)
	writeList(e, "pods", s.Pods)
	writeList(e, "claims", s.Claims)
	writeList(e, "volumes", s.Volumes)
	writeList(e, "services", s.Services)
	writeList(e, "ingresses", s.Ingresses)
	writeList(e, "data", s.Data)
	writeList(e, "crds", s.CRDs)
	writeList(e, "helmCharts", s.HelmCharts)
	writeList(e, "addons", s.Addons)
	writeList(e, "autoscalers", s.Autoscalers)
	writeList(e, "webhooks", s.Webhooks)
	writeList(e, "others", s.Others)
	if e.err == nil {
		_, e.err = b.WriteString("\n}\n")
	}
	if e.err != nil {
		return e.err
	}
	return b.Flush()
}

type lineEncoder struct {
	w      *bufio.Writer
	fields int
	err    error
}

func (e *lineEncoder) text(s string) {
	if e.err == nil {
		_, e.err = e.w.WriteString(s)
	}
}

func (e *lineEncoder) value(v any) {
	if e.err != nil {
		return
	}
	b, err := json.Marshal(v)
	if err != nil {
		e.err = err
		return
	}
	_, e.err = e.w.Write(b)
}

func (e *lineEncoder) field(name string, v any) {
	start := ",\n"
	if e.fields == 0 {
		start = "{\n"
	}
	e.fields++
	e.text(start + `"` + name + `": `)
	if v != nil {
		e.value(v)
	}
}

func writeList[T any](e *lineEncoder, name string, list []T) {
	e.field(name, nil)
	e.text("[")
	for i := range list {
		if i > 0 {
			e.text(",")
		}
		e.text("\n")
		e.value(&list[i])
	}
	e.text("]")
}

// Read reads what [Snapshot.Write] wrote. Anything else is [ErrNotSnapshot], a
// format of another version among it; [MaxSize] bounds it.
func Read(r io.Reader) (*Snapshot, error) {
	limited := &io.LimitedReader{R: r, N: MaxSize + 1}
	d := json.NewDecoder(limited)
	var s Snapshot
	err := d.Decode(&s)
	switch {
	case limited.N <= 0:
		return nil, ErrTooLarge
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: the file ends too early", ErrNotSnapshot)
	case isJSON(err):
		return nil, fmt.Errorf("%w: %v", ErrNotSnapshot, err)
	case err != nil:
		return nil, err
	case s.Format == "":
		return nil, fmt.Errorf("%w: it names no format", ErrNotSnapshot)
	case s.Format != Format:
		return nil, fmt.Errorf("%w that this version reads: its format is %q, not %q", ErrNotSnapshot, s.Format, Format)
	}
	// What follows must be blank: two snapshots in one file are a mistake.
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: something follows the snapshot", ErrNotSnapshot)
	}
	s.sort()
	return &s, nil
}

func isJSON(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) {
		return true
	}
	// Times and the like report in words of their own.
	return err != nil && (strings.HasPrefix(err.Error(), "parsing time") || strings.HasPrefix(err.Error(), "Time.UnmarshalJSON"))
}

// WriteFile writes the snapshot to a file whole or not at all, gzipped when the
// name ends in ".gz", readable by its owner alone. An existing file is
// [ErrExists] unless overwrite is set.
func (s *Snapshot) WriteFile(path string, overwrite bool) error {
	if path == "" {
		return errors.New("no file to write the snapshot to")
	}
	if !overwrite {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s %w", path, ErrExists)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	t, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o600), renameio.WithTempDir(filepath.Dir(path)))
	if err != nil {
		return err
	}
	defer func() { _ = t.Cleanup() }()
	if !strings.HasSuffix(path, ".gz") {
		if err := s.Write(t); err != nil {
			return err
		}
		return t.CloseAtomicallyReplace()
	}
	z := gzip.NewWriter(t)
	if err := s.Write(z); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return t.CloseAtomicallyReplace()
}

// ReadFile reads a file of [Snapshot.WriteFile], gzipped or not, whatever its
// name.
func ReadFile(path string) (*Snapshot, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := bufio.NewReaderSize(f, 64<<10)
	var r io.Reader = b
	if magic, _ := b.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		defer z.Close()
		r = z
	}
	s, err := Read(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}
