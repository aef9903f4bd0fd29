//go:build practice

package snapshot_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/k3sladder/k3sladder/internal/practice"
	"github.com/k3sladder/k3sladder/snapshot"
)

// usage is what one program needed.
type usage struct {
	wall, cpu time.Duration
	rss       int64 // bytes at the peak
	out       int
}

func run(b *testing.B, name string, args ...string) usage {
	b.Helper()
	cmd := exec.Command(name, args...)
	var out countingWriter
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v: %s", name, err, stderr.String())
	}
	u := usage{wall: time.Since(start), out: int(out)}
	r := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	u.cpu, u.rss = time.Duration(r.Utime.Nano()+r.Stime.Nano()), r.Maxrss<<10
	return u
}

type countingWriter int

func (c *countingWriter) Write(p []byte) (int, error) {
	*c += countingWriter(len(p))
	return len(p), nil
}

// BenchmarkCaptureAgainstKubectl fills a practice cluster with 20,000 Pods and
// 2,000 ConfigMaps and Secrets, and has both programs read the same kinds. Run
// it with -benchtime 1x -timeout 30m; it needs kubectl in the PATH.
func BenchmarkCaptureAgainstKubectl(b *testing.B) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		b.Fatal("no kubectl in the PATH to measure against")
	}
	c := practice.Start(b, practice.Options{NoNodes: true})
	fill(b, c.Config(), 20_000, 2_000)

	binary := filepath.Join(b.TempDir(), "snapshot")
	if out, err := exec.Command("go", "build", "-o", binary, "../examples/snapshot").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	file := filepath.Join(b.TempDir(), "s.json.gz")
	capture := func() usage {
		return run(b, binary, "capture", "--kubeconfig", c.Kubeconfig(), "--out", file, "--force", "--quiet")
	}
	capture() // whatever the first one warms
	s, err := snapshot.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	var kinds []string
	for _, l := range s.Lists {
		kinds = append(kinds, strings.TrimSuffix(l.Resource+"."+l.Group, "."))
	}
	b.ResetTimer()
	for b.Loop() {
		ours := capture()
		theirs := run(b, kubectl, "--kubeconfig", c.Kubeconfig(), "get", strings.Join(kinds, ","), "--all-namespaces", "-o", "json")
		b.ReportMetric(ours.wall.Seconds(), "capture-s")
		b.ReportMetric(theirs.wall.Seconds(), "kubectl-s")
		b.ReportMetric(ours.cpu.Seconds(), "capture-cpu-s")
		b.ReportMetric(theirs.cpu.Seconds(), "kubectl-cpu-s")
		b.ReportMetric(float64(ours.rss)/(1<<20), "capture-MiB")
		b.ReportMetric(float64(theirs.rss)/(1<<20), "kubectl-MiB")
		b.ReportMetric(float64(theirs.out)/(1<<20), "json-MiB")
		b.ReportMetric(float64(s.Objects()), "objects")
	}
}

// fill makes Pods as a cluster has them, with a spec and a status of some
// length, and data. No scheduler takes the Pods up, so that they stay as they
// are.
func fill(b *testing.B, config *rest.Config, pods, data int) {
	b.Helper()
	config = rest.CopyConfig(config)
	config.QPS, config.ContentType, config.WarningHandler = -1, runtime.ContentTypeProtobuf, rest.NoWarnings{}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	for i := range 50 {
		if _, err := kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("load-%02d", i)}}, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	var g errgroup.Group
	g.SetLimit(24)
	for i := range pods {
		g.Go(func() error {
			ns := fmt.Sprintf("load-%02d", i%50)
			p, err := kube.CoreV1().Pods(ns).Create(ctx, busyPod(i), metav1.CreateOptions{})
			if err != nil {
				return err
			}
			p.Status = busyStatus(p)
			_, err = kube.CoreV1().Pods(ns).UpdateStatus(ctx, p, metav1.UpdateOptions{})
			return err
		})
	}
	for i := range data {
		g.Go(func() error {
			m := metav1.ObjectMeta{Namespace: fmt.Sprintf("load-%02d", i%50), Name: fmt.Sprintf("data-%05d", i)}
			text := strings.Repeat(fmt.Sprintf("key-%d: value\n", i), 100)
			if i%2 == 0 {
				_, err := kube.CoreV1().ConfigMaps(m.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: m, Data: map[string]string{"config.yaml": text}}, metav1.CreateOptions{})
				return err
			}
			_, err := kube.CoreV1().Secrets(m.Namespace).Create(ctx, &corev1.Secret{ObjectMeta: m, StringData: map[string]string{"config.yaml": text}}, metav1.CreateOptions{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
}

func busyPod(i int) *corev1.Pod {
	container := func(name string) corev1.Container {
		return corev1.Container{Name: name, Image: "registry.example.test/team/" + name + ":v1.2.3", Args: []string{"--listen=:8080", "--log-level=info"},
			Env: []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}, {Name: "MODE", Value: "production"}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
				Limits: corev1.ResourceList{"memory": resource.MustParse("256Mi")}},
			Ports:          []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
			ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/ready"}}}, PeriodSeconds: 5},
			VolumeMounts:   []corev1.VolumeMount{{Name: "config", MountPath: "/etc/config"}, {Name: "tmp", MountPath: "/tmp"}},
		}
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%05d", i), Labels: map[string]string{"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": fmt.Sprint(i), "team": "load"}},
		Spec: corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{container("app"), container("sidecar")},
			Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "config"}}}},
				{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}}}
}

func busyStatus(p *corev1.Pod) corev1.PodStatus {
	now := metav1.Now()
	s := corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.42.0.9", PodIPs: []corev1.PodIP{{IP: "10.42.0.9"}}, HostIP: "10.0.0.1", StartTime: &now, QOSClass: corev1.PodQOSBurstable}
	for _, t := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	yes := true
	for _, c := range p.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Ready: true, Started: &yes, Image: c.Image, ImageID: c.Image + "@sha256:" + strings.Repeat("ab", 32),
			ContainerID: "containerd://" + strings.Repeat("cd", 32), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}})
	}
	return s
}
