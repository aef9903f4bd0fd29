package apiusage

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/k3sladder/k3sladder/skew"
)

func sample(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestScanKeepsTheLinesVerbatimAndInOrder(t *testing.T) {
	t.Parallel()
	text := sample(t)
	var want []string
	for _, l := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(l, Metric+"{") {
			want = append(want, l)
		}
	}
	for name, r := range map[string]io.Reader{
		"whole":         bytes.NewReader(text),
		"byte by byte":  iotest.OneByteReader(bytes.NewReader(text)),
		"half the read": iotest.HalfReader(bytes.NewReader(text)),
		"data with EOF": iotest.DataErrReader(bytes.NewReader(text)),
		"between very long lines": io.MultiReader(strings.NewReader("apiserver_x{a=\""+strings.Repeat("y", 1<<20)+"\"} 1\n"),
			bytes.NewReader(text)),
	} {
		u, err := Scan(r, "server-1")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, u.Lines); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		s := u.Servers[0]
		if s.Name != "server-1" || s.Lines != 6 || s.Started.Unix() != 1796252400 {
			t.Errorf("%s: server %+v", name, s)
		}
	}
}

// What editors and shells of other systems do to a file changes no count.
func TestScanReadsFilesAsOtherSystemsSaveThem(t *testing.T) {
	t.Parallel()
	const line = `apiserver_requested_deprecated_apis{group="policy",removed_release="1.25",resource="poddisruptionbudgets",subresource="",version="v1beta1"} 1`
	for name, text := range map[string]string{
		"a byte order mark":             "\xef\xbb\xbf" + line + "\n",
		"carriage returns":              line + "\r\n",
		"both":                          "\xef\xbb\xbf" + line + "\r\n",
		"no newline at the end":         line,
		"a byte order mark and a title": "\xef\xbb\xbf# HELP x y\n" + line + "\n",
	} {
		u, err := Scan(strings.NewReader(text), "")
		if err != nil || len(u.Lines) != 1 || u.Lines[0] != line {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
	}
}

func TestRemovedByComparesReleasesAsVersions(t *testing.T) {
	t.Parallel()
	u, err := Scan(bytes.NewReader(sample(t)), "")
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]int{"1.8": 0, "1.9": 1, "1.25": 2, "1.31": 2, "1.32": 3, "1.35": 3, "1.38": 4, "2.0": 4} {
		m, err := skew.ParseMinor(target)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.RemovedBy(m); got != want {
			t.Errorf("RemovedBy(%s) = %d, want %d", target, got, want)
		}
	}
}

func TestAPIsCarryTheReplacement(t *testing.T) {
	t.Parallel()
	u, err := Scan(bytes.NewReader(sample(t)), "")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"componentstatuses.v1": "",
		"endpoints.v1":         "discovery.k8s.io/v1 endpointslices",
		"flowschemas.v1beta3.flowcontrol.apiserver.k8s.io": "flowcontrol.apiserver.k8s.io/v1",
		"resourceclaims/status.v1beta1.resource.k8s.io":    "resource.k8s.io/v1",
		"widgets.v1alpha1.example.test":                    "",
		"poddisruptionbudgets.v1beta1.policy":              "policy/v1",
	}
	got := map[string]string{}
	for _, a := range u.APIs {
		got[a.String()] = a.Replacement
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestScanRefusesWhatWouldMakeTheCountWrong(t *testing.T) {
	t.Parallel()
	line := Metric + `{group="policy",removed_release="1.25",resource="pods",subresource="eviction",version="v1beta1"} 1`
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"an empty answer":                      {"", ErrNotMetrics},
		"a login page":                         {"<!doctype html>\n<title>Sign in</title>\n", ErrNotMetrics},
		"a Status object":                      {`{"kind":"Status","code":403}` + "\n", ErrNotMetrics},
		"another program's metrics":            {"go_goroutines 7\n", ErrNotMetrics},
		"a stream cut in another line":         {line + "\napiserver_requ", ErrTruncated},
		"a stream cut in a long line":          {line + "\n" + strings.Repeat("x", 1<<20), ErrTruncated},
		"a stream cut in the start time":       {line + "\nprocess_start_time_seconds 1.7", ErrTruncated},
		"a line cut in its labels":             {line[:60], &LineError{}},
		"a line without value":                 {strings.TrimSuffix(line, " 1") + "\n", &LineError{}},
		"a release that is no version":         {strings.Replace(line, "1.25", "soon", 1) + "\n", &LineError{}},
		"a release with a blank for a version": {strings.Replace(line, "1.25", " ", 1) + "\n", &LineError{}},
		"a line without resource":              {strings.Replace(line, `resource="pods"`, `resource=""`, 1) + "\n", &LineError{}},
		"a label longer than any":              {strings.Replace(line, "pods", strings.Repeat("p", 1<<20), 1) + "\n", &LineError{}},
		"a label just longer than any":         {strings.Replace(line, "pods", strings.Repeat("p", 70_000), 1) + "\n", &LineError{}},
		"lines without end":                    {strings.Repeat(line+"\n", maxKept+1), &LineError{}},
	} {
		u, err := Scan(strings.NewReader(c.text), "")
		var le *LineError
		if _, wantLine := c.want.(*LineError); wantLine {
			if !errors.As(err, &le) || le.Line == 0 {
				t.Errorf("%s: got %v, %v, want a LineError", name, u, err)
			}
		} else if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, %v, want %v", name, u, err, c.want)
		}
	}
	broken := errors.New("connection reset")
	if _, err := Scan(io.MultiReader(strings.NewReader(line+"\n"), iotest.ErrReader(broken)), ""); !errors.Is(err, broken) {
		t.Errorf("a broken connection: got %v", err)
	}
}

func TestScanTellsTheFamilyFromNamesLikeIt(t *testing.T) {
	t.Parallel()
	u, err := Scan(strings.NewReader(strings.Join([]string{
		"apiserver_requested_deprecated_apis_total 9",
		"  " + Metric + ` { group = "a" , version = "v1" , resource = "b" } 1`,
		"#" + Metric + `{group="",version="v1",resource="c"} 1`,
		"process_start_time_seconds_x 5",
		Metric + `{group="",version="v1",resource="d"} 1` + "\r",
		"",
	}, "\n")), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(u.APIs) != 2 || u.APIs[0].Resource != "b" || u.APIs[1].Resource != "d" || !u.Servers[0].Started.IsZero() {
		t.Errorf("got %+v", u)
	}
}

func TestMergeNamesEveryServerThatSawACall(t *testing.T) {
	t.Parallel()
	scan := func(server string, lines ...string) *Usage {
		u, err := Scan(strings.NewReader("apiserver_x 1\n"+strings.Join(lines, "\n")+"\n"), server)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	endpoints := Metric + `{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1`
	old := Metric + `{group="resource.k8s.io",removed_release="1.36",resource="resourceslices",subresource="",version="v1beta1"} 1`
	later := strings.Replace(old, "1.36", "1.38", 1)
	m := Merge(scan("a", endpoints, later), nil, scan("b", old), scan("c", endpoints))
	if diff := cmp.Diff([]string{endpoints, old}, m.Lines); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "c"}, m.APIs[0].Servers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, m.APIs[1].Servers); diff != "" {
		t.Error(diff)
	}
	if got := m.RemovedBy(skew.Minor{Major: 1, Minor: 36}); got != 1 || len(m.Servers) != 3 {
		t.Errorf("removed %d, servers %d", got, len(m.Servers))
	}
}

func TestMemorySaysSinceWhenTheServerCounts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 3, 12, 0, 0, 0, time.UTC)
	for want, s := range map[string]Server{
		"The server counts from its last start only, and when that was is not known.":                                     {},
		"Server a counts since its start at 2026-12-03T11:58:30Z, 1m30s before this answer; older calls are forgotten.":   {Name: "a", Started: now.Add(-90 * time.Second)},
		"Server a counts since its start at 2026-12-01T11:00:00Z, 49h0m0s before this answer; older calls are forgotten.": {Name: "a", Started: now.Add(-49 * time.Hour)},
		"The server counts since its start at 2026-12-03T13:00:00Z, which by this clock has not come yet.":                {Started: now.Add(time.Hour)},
	} {
		if got := s.Memory(now); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// FuzzScan holds what Scan finds against Prometheus' own parser of the whole.
func FuzzScan(f *testing.F) {
	b, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(Metric + "{version=\"v1\",resource=\"a\\\"\\n\"} 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		u, err := Scan(bytes.NewReader(b), "s")
		if err != nil {
			return
		}
		if len(u.Lines) != len(u.APIs) || u.Servers[0].Lines != len(u.Lines) {
			t.Fatalf("lines and APIs differ: %+v", u)
		}
		for i, l := range u.Lines {
			if !bytes.Contains(b, []byte(l)) {
				t.Fatalf("line %d is not verbatim: %q", i, l)
			}
		}
		p := expfmt.NewTextParser(model.UTF8Validation)
		families, err := p.TextToMetricFamilies(bytes.NewReader(b))
		if err != nil {
			return // the rest of the stream is not our business
		}
		if got := len(families[Metric].GetMetric()); got != len(u.Lines) {
			t.Fatalf("expfmt finds %d samples, Scan %d", got, len(u.Lines))
		}
	})
}

func TestScanNeedsTheSameMemoryForAnySize(t *testing.T) {
	page := sample(t)
	bulk := bytes.Repeat([]byte("apiserver_request_duration_seconds_bucket{component=\"apiserver\",le=\"0.005\"} 1\n"), 1000)
	allocs := func(n int) float64 {
		return testing.AllocsPerRun(3, func() {
			rs := []io.Reader{}
			for range n {
				rs = append(rs, bytes.NewReader(bulk))
			}
			if _, err := Scan(io.MultiReader(append(rs, bytes.NewReader(page))...), ""); err != nil {
				t.Fatal(err)
			}
		})
	}
	// The reader of each piece is one allocation of the test's own.
	if few, many := allocs(1), allocs(100); many-few > 150 {
		t.Errorf("%.0f allocations for 0.1 MB, %.0f for 8 MB", few, many)
	}
}
