package apiusage

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/k3sladder/k3sladder/skew"
)

// Metric is the name of the metric family that is read.
// Source: https://kubernetes.io/docs/reference/instrumentation/metrics/
const Metric = "apiserver_requested_deprecated_apis"

const startMetric = "process_start_time_seconds"

// maxLine bounds a line that is kept. The longest one an API server writes has
// about 300 bytes.
const maxLine = 64 << 10

// maxKept bounds how many lines one stream may have of the family; a Kubernetes
// release knows fewer than 200 deprecated resources.
const maxKept = 10_000

var (
	// ErrNotMetrics: the stream is no API server's /metrics page, so that
	// finding nothing in it means nothing.
	ErrNotMetrics = errors.New("not a /metrics page of an API server: no apiserver_ line in it")
	// ErrTruncated: the stream ends in the middle of a line.
	ErrTruncated = errors.New("the metrics end in the middle of a line: the stream was cut")
)

// LineError is a line of the family that cannot be read.
type LineError struct {
	// Line counts from 1.
	Line int
	Text string
	Err  error
}

// Error names the line.
func (e *LineError) Error() string {
	text := e.Text
	if len(text) > 200 {
		text = text[:200] + "..."
	}
	return fmt.Sprintf("line %d: %v: %q", e.Line, e.Err, text)
}

// Unwrap gives the cause.
func (e *LineError) Unwrap() error { return e.Err }

// Scan reads one server's /metrics in the Prometheus text format and keeps the
// lines of [Metric]. Server names the answering server in the result; it may be
// empty. Memory does not grow with the stream: everything else is skipped
// unparsed, line by line.
//
// A stream that is no metrics page is [ErrNotMetrics], one that was cut is
// [ErrTruncated], a line of the family that cannot be read, or whose
// removed_release is no version, is a [*LineError]: a count is right or there is
// none.
func Scan(r io.Reader, server string) (*Usage, error) {
	u := &Usage{}
	s := Server{Name: server}
	var api bool // some apiserver_ line was seen
	br := bufio.NewReaderSize(r, 4*maxLine)
	const byteOrderMark = "\xef\xbb\xbf" // PowerShell's > writes one
	if b, _ := br.Peek(len(byteOrderMark)); string(b) == byteOrderMark {
		_, _ = br.Discard(len(b))
	}
	for n := 1; ; n++ {
		line, err := br.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			if kind(line) != other {
				return nil, &LineError{n, string(line[:200]), fmt.Errorf("longer than %d bytes", maxLine)}
			}
			if err = skipLine(br); err == nil {
				continue
			}
			if err == io.EOF {
				return nil, ErrTruncated
			}
		}
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("reading metrics: %w", err)
		}
		switch kind(line) {
		case kept:
			api = true
			if len(line) > maxLine {
				return nil, &LineError{n, string(line), fmt.Errorf("longer than %d bytes", maxLine)}
			}
			if len(u.Lines) == maxKept {
				return nil, &LineError{n, string(line), fmt.Errorf("more than %d lines of %s", maxKept, Metric)}
			}
			text := strings.TrimRight(string(line), "\r\n")
			a, perr := parseLine(text)
			if perr != nil {
				return nil, &LineError{n, text, perr}
			}
			u.Lines = append(u.Lines, text)
			a.line = text
			a.Servers = []string{server}
			u.APIs = append(u.APIs, a)
		case start:
			if err == io.EOF {
				return nil, ErrTruncated
			}
			if t, perr := parseStart(line); perr == nil {
				s.Started = t
			}
		default:
			api = api || bytes.HasPrefix(line, []byte("apiserver_"))
			if err == io.EOF && len(bytes.TrimSpace(line)) > 0 {
				return nil, ErrTruncated
			}
		}
		if err == io.EOF {
			break
		}
	}
	if !api {
		return nil, ErrNotMetrics
	}
	s.Lines = len(u.Lines)
	u.Servers = []Server{s}
	return u, nil
}

type lineKind int

const (
	other lineKind = iota
	kept
	start
)

// kind tells the few lines that matter from the rest by their first bytes.
func kind(line []byte) lineKind {
	if len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
		line = bytes.TrimLeft(line, " \t")
	}
	// Nearly every line ends here: both names begin with letters that others
	// share, so the test is for one in the middle.
	if len(line) <= len(startMetric) {
		return other
	}
	switch {
	case line[0] == 'a' && hasName(line, Metric):
		return kept
	case line[0] == 'p' && hasName(line, startMetric):
		return start
	}
	return other
}

// hasName reports whether line is a sample of the metric, not of one whose name
// begins with it.
func hasName(line []byte, name string) bool {
	if len(line) <= len(name) || string(line[:len(name)]) != name {
		return false
	}
	switch line[len(name)] {
	case '{', ' ', '\t':
		return true
	}
	return false
}

func skipLine(br *bufio.Reader) error {
	for {
		_, err := br.ReadSlice('\n')
		if err != bufio.ErrBufferFull {
			return err
		}
	}
}

// parseLine reads one kept line with Prometheus' own parser.
func parseLine(line string) (API, error) {
	families, err := parseText(line)
	if err != nil {
		return API{}, err
	}
	f := families[Metric]
	if f == nil || len(f.Metric) != 1 {
		return API{}, errors.New("no sample of the family")
	}
	var a API
	for _, l := range f.Metric[0].Label {
		switch l.GetName() {
		case "group":
			a.Group = l.GetValue()
		case "version":
			a.Version = l.GetValue()
		case "resource":
			a.Resource = l.GetValue()
		case "subresource":
			a.Subresource = l.GetValue()
		case "removed_release":
			a.RemovedRelease = l.GetValue()
		}
	}
	if a.Version == "" || a.Resource == "" {
		return API{}, errors.New("no version or no resource label")
	}
	if a.RemovedRelease != "" {
		m, err := skew.ParseMinor(a.RemovedRelease)
		if err != nil {
			return API{}, fmt.Errorf("removed_release %q is no version", a.RemovedRelease)
		}
		a.removed = m
	}
	a.lookUp()
	return a, nil
}

func parseStart(line []byte) (time.Time, error) {
	families, err := parseText(strings.TrimSpace(string(line)))
	if err != nil {
		return time.Time{}, err
	}
	f := families[startMetric]
	if f == nil || len(f.Metric) != 1 {
		return time.Time{}, errors.New("no sample")
	}
	m := f.Metric[0]
	v := m.GetGauge().GetValue() + m.GetUntyped().GetValue()
	if !(v > 0 && v < 1e11) {
		return time.Time{}, errors.New("no time")
	}
	sec, frac := math.Modf(v)
	return time.Unix(int64(sec), int64(frac*1e9)).UTC().Truncate(time.Millisecond), nil
}

func parseText(line string) (map[string]*dto.MetricFamily, error) {
	p := expfmt.NewTextParser(model.UTF8Validation)
	return p.TextToMetricFamilies(strings.NewReader(line + "\n"))
}
