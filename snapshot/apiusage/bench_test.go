package apiusage

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// page60 is a /metrics page of about 60 MB in the mix of a busy API server:
// nearly all of it is buckets of histograms.
func page60() []byte {
	var b bytes.Buffer
	verbs := []string{"GET", "LIST", "WATCH", "PATCH", "PUT", "POST", "DELETE"}
	deprecated := func() {
		fmt.Fprintf(&b, "# HELP %s [STABLE] Gauge of deprecated APIs that have been requested\n# TYPE %s gauge\n", Metric, Metric)
		for _, r := range table() {
			fmt.Fprintf(&b, "%s{group=%q,removed_release=%q,resource=%q,subresource=\"\",version=%q} 1\n", Metric, r.Group, r.Removed, r.Resource, r.Version)
		}
	}
	b.WriteString("# HELP apiserver_request_duration_seconds [STABLE] Response latency\n# TYPE apiserver_request_duration_seconds histogram\n")
	for i := 0; b.Len() < 60_000_000; i++ {
		labels := fmt.Sprintf(`component="apiserver",dry_run="",group="group-%d.example.test",resource="resource-%d",scope="cluster",subresource="",verb="%s",version="v1"`, i%97, i, verbs[i%7])
		for _, le := range []string{"0.005", "0.025", "0.05", "0.1", "0.2", "0.4", "0.6", "0.8", "1", "2", "5", "10", "30", "60", "+Inf"} {
			fmt.Fprintf(&b, "apiserver_request_duration_seconds_bucket{%s,le=%q} %d\n", labels, le, i)
		}
		fmt.Fprintf(&b, "apiserver_request_duration_seconds_sum{%s} %d.5\napiserver_request_duration_seconds_count{%s} %d\n", labels, i, labels, i)
	}
	deprecated()
	b.WriteString("# HELP process_start_time_seconds [ALPHA] Start time\n# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.7962524e+09\n")
	return b.Bytes()
}

func BenchmarkScan60MB(b *testing.B) {
	page := page60()
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		if u, err := Scan(bytes.NewReader(page), ""); err != nil || len(u.Lines) != len(table()) {
			b.Fatal(u, err)
		}
	}
}

func BenchmarkFullParse60MB(b *testing.B) {
	page := page60()
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		p := expfmt.NewTextParser(model.UTF8Validation)
		f, err := p.TextToMetricFamilies(bytes.NewReader(page))
		if err != nil || len(f[Metric].GetMetric()) != len(table()) {
			b.Fatal(err)
		}
	}
}
