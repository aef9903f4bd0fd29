package snapshot

import (
	"bytes"
	"fmt"
	"syscall"
	"testing"
	"time"
)

// large has n objects: a tenth of them Deployments, half of them Pods, the rest
// ConfigMaps, Secrets and custom resources.
func large(n int, version string, at time.Time) *Snapshot {
	s := cluster(version)
	s.TakenAt = at
	for i := range n {
		ns, uid := fmt.Sprintf("ns-%03d", i%500), fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)
		o := Object{Namespace: ns, UID: uid, Created: noon, Generation: 1}
		switch {
		case i%10 == 0:
			o.Group, o.Kind, o.Name = "apps", "Deployment", fmt.Sprintf("web-%06d", i)
			s.Workloads = append(s.Workloads, Workload{Object: o, Images: []string{"registry.example/web:1"}, Desired: 5, Ready: 5})
		case i%2 == 0:
			owner := i - i%10
			s.Pods = append(s.Pods, Pod{Namespace: ns, Name: fmt.Sprintf("web-%06d-%d", owner, i), UID: uid, Phase: "Running", Ready: true,
				Owner: Ref{"Deployment", fmt.Sprintf("web-%06d", owner), fmt.Sprintf("%08x-0000-4000-8000-%012x", owner, owner)}})
		case i%3 == 0:
			o.Kind, o.Name = "ConfigMap", fmt.Sprintf("config-%06d", i)
			s.Data = append(s.Data, Data{Object: o, Keys: 3, Hash: "0123456789abcdef0123456789abcdef"})
		case i%5 == 0:
			o.Kind, o.Name = "Secret", fmt.Sprintf("secret-%06d", i)
			s.Data = append(s.Data, Data{Object: o, Type: "Opaque", Keys: 3, Hash: "0123456789abcdef0123456789abcdef"})
		default:
			o.Group, o.Kind, o.Name = "upgrade.cattle.io", "Plan", fmt.Sprintf("plan-%06d", i)
			s.Others = append(s.Others, o)
		}
	}
	s.sort()
	return s
}

// cpu is the processor time of this process, which other programs on the
// machine do not lengthen as they do wall time.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkCompare200k(b *testing.B) {
	before, after := large(200_000, v34, noon), large(200_000, v35, noon.Add(time.Hour))
	b.ReportAllocs()
	start := cpu(b)
	defer func() { b.ReportMetric(float64((cpu(b)-start).Milliseconds())/float64(b.N), "cpu-ms/op") }()
	for b.Loop() {
		if c := Compare(before, after, CompareOptions{}); c.Verdict != SameCluster {
			b.Fatal(c)
		}
	}
}

func BenchmarkWrite200k(b *testing.B) {
	s := large(200_000, v34, noon)
	var out bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		if err := s.Write(&out); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(out.Len()))
}

func BenchmarkRead200k(b *testing.B) {
	var out bytes.Buffer
	if err := large(200_000, v34, noon).Write(&out); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(bytes.NewReader(out.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(out.Len()))
}
