package channels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Options are how a source is asked. The zero Options is the documented
// default.
type Options struct {
	// Client makes the requests; nil: one that takes its proxy from the
	// environment (HTTPS_PROXY, NO_PROXY). Its redirect policy is not used.
	Client *http.Client
	// Timeout bounds one attempt, with its body; zero: 15 seconds.
	Timeout time.Duration
	// Attempts is how often a request is made when the server answers 5xx or
	// the connection fails; zero: 3. Other faults are never retried.
	Attempts int
	// Backoff is the pause before the second attempt, doubled before each
	// further one; zero: 500 milliseconds.
	Backoff time.Duration
	// MaxBytes bounds an answer after decompression; zero: 4 MiB. k3s's list has
	// about 25 KiB.
	MaxBytes int64
	// UserAgent is sent with each request; empty: "k3sladder".
	UserAgent string
	// CacheDir is a folder in which good answers of servers are kept. When the
	// server cannot be reached, or answers 5xx, the kept answer is given instead
	// with Cached set; its age is the catalog's Date. Empty: no cache.
	CacheDir string
}

func (o Options) withDefaults() Options {
	if o.Client == nil {
		o.Client = &http.Client{Transport: http.DefaultTransport}
	}
	if o.Timeout <= 0 {
		o.Timeout = 15 * time.Second
	}
	if o.Attempts <= 0 {
		o.Attempts = 3
	}
	if o.Backoff <= 0 {
		o.Backoff = 500 * time.Millisecond
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 4 << 20
	}
	if o.UserAgent == "" {
		o.UserAgent = "k3sladder"
	}
	return o
}

// SourceError is a source that could not be read, or whose answer is unusable.
type SourceError struct {
	// Source is the URL or the file.
	Source string
	// Status is the HTTP status when there was an answer.
	Status int
	// Err is the fault.
	Err error

	// unreachable: the server gave no answer that says anything.
	unreachable bool
}

// Error names the source and the fault.
func (e *SourceError) Error() string {
	if e.Source == "" {
		return fmt.Sprintf(`channels from "": %v`, e.Err)
	}
	return fmt.Sprintf("channels from %s: %v", e.Source, e.Err)
}

// Unwrap gives the fault.
func (e *SourceError) Unwrap() error { return e.Err }

// Read reads a catalog from a source: the URL of a channel server's list
// (empty: [K3sServer]), the path of a file that holds such a list, or
// [BundledSource]. Nothing is retried but 5xx answers and failed connections;
// every fault is a [*SourceError] that names the source.
func Read(ctx context.Context, source string, opts Options) (*Catalog, error) {
	opts = opts.withDefaults()
	switch {
	case source == BundledSource:
		return Bundled(), nil
	case source == "":
		source = K3sServer
	}
	if !isURL(source) {
		return readFile(strings.TrimPrefix(source, "file://"), opts)
	}
	answer, err := get(ctx, source, opts)
	if err != nil {
		if cached, ok := readCache(source, err, opts); ok {
			return cached, nil
		}
		return nil, err
	}
	chs, err := decode(answer.body)
	if err != nil {
		return nil, &SourceError{Source: redact(source), Status: answer.status, Err: err}
	}
	if err := writeCache(source, answer, opts); err != nil {
		return nil, err
	}
	return &Catalog{Source: redact(source), Date: answer.date, Channels: chs}, nil
}

func readFile(path string, opts Options) (*Catalog, error) {
	fail := func(err error) (*Catalog, error) {
		return nil, &SourceError{Source: path, Err: err}
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(withoutPath(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fail(withoutPath(err))
	}
	body, err := readBounded(f, opts.MaxBytes)
	if err != nil {
		return fail(withoutPath(err))
	}
	chs, err := decode(body)
	if err != nil {
		return fail(err)
	}
	return &Catalog{Source: path, Date: info.ModTime().UTC(), Channels: chs}, nil
}

// readBounded reads r to its end, but no more than max bytes.
func readBounded(r io.Reader, max int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, max+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > max {
		return nil, fmt.Errorf("the answer is larger than %d bytes", max)
	}
	return body, nil
}

// withoutPath takes the path out of an error that will name it anyway.
func withoutPath(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func isURL(source string) bool {
	scheme, _, ok := strings.Cut(source, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// redact takes a password out of a URL.
func redact(source string) string {
	u, err := url.Parse(source)
	if err != nil {
		return source
	}
	return u.Redacted()
}
