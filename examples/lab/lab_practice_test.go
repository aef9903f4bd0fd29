//go:build practice

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/k3sladder/k3sladder/backup"
	"github.com/k3sladder/k3sladder/internal/practice"
	"github.com/k3sladder/k3sladder/snapshot"
	"github.com/k3sladder/k3sladder/suc"
)

// The tests run the built programs, as a person would.
var labBinary, practiceBinary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "k3sladder-lab-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	labBinary, practiceBinary = filepath.Join(dir, "lab"), filepath.Join(dir, "practice")
	for binary, source := range map[string]string{labBinary: ".", practiceBinary: "../../internal/practice/cmd/practice"} {
		if out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building %s: %v\n%s", source, err, out)
			return 1
		}
	}
	return m.Run()
}

// drainTimeout leaves time for two refusals.
const drainTimeout = "8s"

// runLab runs the binary and gives its exit code and what it printed.
func runLab(t *testing.T, env []string, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command(labBinary, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func expectLab(t *testing.T, code int, args ...string) string {
	t.Helper()
	return expectLabWith(t, nil, code, args...)
}

func expectLabWith(t *testing.T, env []string, code int, args ...string) string {
	t.Helper()
	got, out := runLab(t, env, args...)
	if got != code {
		t.Fatalf("lab %s ended with %d, want %d:\n%s", strings.Join(args, " "), got, code, out)
	}
	return out
}

func TestPracticeRunPassesCheckAndTheSecondRunNeedsForce(t *testing.T) {
	t.Parallel()
	temp := shortTemp(t)
	dir := filepath.Join(t.TempDir(), "out")
	out := expectLabWith(t, []string{"TMPDIR=" + temp}, 0, "run", "--practice", "--dir", dir, "--drain-timeout", drainTimeout, "--lang", "ja")
	for _, want := range []string{"decision=upgrade-without-drain", "same node      yes", "same workload  yes", "next rung      v1.36", "bundled snapshot"} {
		if !strings.Contains(out, want) {
			t.Errorf("the run did not print %q:\n%s", want, out)
		}
	}
	expectLab(t, 0, "check", "--dir", dir)
	if left, err := filepath.Glob(temp + "/*"); err != nil || len(left) > 0 {
		t.Errorf("the run left %v in the temporary folder (%v)", left, err)
	}

	out = expectLab(t, 2, "run", "--practice", "--dir", dir)
	if !strings.Contains(out, "before.json is already there; --force") {
		t.Errorf("a second run said:\n%s", out)
	}
	expectLab(t, 0, "run", "--practice", "--dir", dir, "--drain-timeout", drainTimeout, "--force")
	expectLab(t, 0, "check", "--dir", dir)
	if report, err := os.ReadFile(filepath.Join(dir, reportFile)); err != nil || !strings.Contains(string(report), "Why a version was pinned") {
		t.Errorf("--force did not write the report anew: %v", err)
	}

	checkFindsTampering(t, dir)
}

// checkFindsTampering changes one thing at a time in copies of a good folder.
func checkFindsTampering(t *testing.T, good string) {
	replace := func(name, old, new string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			content, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(content, []byte(old)) {
				t.Fatalf("%s does not hold %q (%v):\n%s", name, old, err, content)
			}
			keepTime(t, path, func() error {
				return os.WriteFile(path, bytes.ReplaceAll(content, []byte(old), []byte(new)), 0o600)
			})
		}
	}
	for name, c := range map[string]struct {
		tamper func(t *testing.T, dir string)
		file   string
	}{
		"another node":               {replace(upgradeFile, `"node_uid": "`, `"node_uid": "0`), upgradeFile},
		"another workload":           {replace(afterFile, `"deployment_uid": "`, `"deployment_uid": "0`), afterFile},
		"a minor skipped":            {replace(upgradeFile, `"to": "v1.35`, `"to": "v1.36`), upgradeFile},
		"a key missing":              {replace(beforeFile, `"node_name"`, `"node"`), beforeFile},
		"a replica not ready":        {replace(afterFile, `"web_ready": 2`, `"web_ready": 1`), afterFile},
		"kubelets not allowed":       {replace(afterFile, `"1.32"`, `"1.31"`), afterFile},
		"a wrong count":              {replace(deprecatedFile, "removed_by_target=0", "removed_by_target=1"), deprecatedFile},
		"metric lines edited":        {replace(deprecatedFile, "apiserver_requested", "apiserver_asked"), deprecatedFile},
		"no decision":                {replace(drainFile, "decision=upgrade-without-drain", "decision=none"), drainFile},
		"the node stayed cordoned":   {replace(drainFile, "uncordoned", "seen"), drainFile},
		"another token's hash":       {replace(backupFile, `"token_sha256": "`, `"token_sha256": "0`), backupDir},
		"a plan that follows":        {replace(planFile, "  version: ", "  channel: https://update.k3s.io/v1-release/channels/stable\n  version: "), planFile},
		"a plan for every node":      {replace(planFile, "node-role.kubernetes.io/control-plane", "kubernetes.io/os"), planFile},
		"a plan two rungs up":        {replace(planFile, "version: v1.36", "version: v1.37"), planFile},
		"a wrong jump":               {replace(reportFile, "stable_minor_jump=", "stable_minor_jump=1"), reportFile},
		"a backup that was damaged":  {replace(backupDatabase, "/registry/", "/Registry/"), backupDir},
		"a token that is not secret": {func(t *testing.T, dir string) { must(t, os.Chmod(filepath.Join(dir, backupToken), 0o644)) }, backupDir},
		"before.json written after the upgrade": {func(t *testing.T, dir string) {
			must(t, os.Chtimes(filepath.Join(dir, beforeFile), time.Now(), time.Now()))
		}, upgradeFile},
		"the kubelet stayed behind": {replace(afterFile, `"kubelet_version": "v1.35`, `"kubelet_version": "v1.34`), afterFile},
		"a node made anew since":    {replace(afterFile, `"node_uid": "`, `"node_uid": "0`), afterFile},
		"another cluster since":     {replace(afterFile, `"cluster_uid": "`, `"cluster_uid": "0`), afterFile},
		"restarts made up":          {replace(afterFile, `"web_restarts": 0`, `"web_restarts": 57`), snapshotAfter},
		"a backup of another cluster": {func(t *testing.T, dir string) {
			replace(beforeFile, `"cluster_uid": "`, `"cluster_uid": "0`)(t, dir)
			replace(afterFile, `"cluster_uid": "`, `"cluster_uid": "0`)(t, dir)
		}, backupDir},
		"a node forged twice": {func(t *testing.T, dir string) {
			for _, file := range []string{beforeFile, upgradeFile, afterFile} {
				replace(file, `"node_uid": "`, `"node_uid": "0`)(t, dir)
			}
		}, snapshotBefore},
		"a plan for the agents":     {replace(planFile, "operator: In", "operator: NotIn"), planFile},
		"a plan with another image": {replace(planFile, "image: rancher/k3s-upgrade", "image: evil/image"), planFile},
		"a drain of another node":   {replace(drainFile, "node/practice-server", "node/other"), drainFile},
		"the node was cordoned since": {func(t *testing.T, dir string) {
			path := filepath.Join(dir, snapshotAfter)
			snap, err := snapshot.ReadFile(path)
			must(t, err)
			for i := range snap.Nodes {
				snap.Nodes[i].Schedulable = false
			}
			keepTime(t, path, func() error { return snap.WriteFile(path, true) })
		}, snapshotAfter},
		"a failed drain to be done":  {replace(drainFile, "decision=upgrade-without-drain", "decision=drain"), drainFile},
		"a token that was not tried": {replace(backupFile, `"token_opens_datastore": "yes"`, `"token_opens_datastore": "no"`), backupDir},
		"after.json older than upgrade.json": {func(t *testing.T, dir string) {
			must(t, os.Chtimes(filepath.Join(dir, afterFile), time.Unix(1, 0), time.Unix(1, 0)))
		}, afterFile},
		"a file missing": {func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, drainFile))) }, drainFile},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "copy")
			if out, err := exec.Command("cp", "-a", good, dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			c.tamper(t, dir)
			out := expectLab(t, 1, "check", "--dir", dir, "-o", "json")
			var grade Grade
			must(t, json.Unmarshal([]byte(out), &grade))
			if grade.OK || !slices.ContainsFunc(grade.Findings, func(f Finding) bool { return !f.OK && f.File == c.file }) {
				t.Errorf("no failure on %s:\n%s", c.file, out)
			}
		})
	}
}

func keepTime(t *testing.T, path string, write func() error) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	must(t, write())
	must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// served is a practice cluster that outlives single runs of the lab, with what
// a real k3s server has around it: an install script, channels, a CRD.
type served struct {
	*practice.Running
	client kubernetes.Interface
	flags  []string
	web    *httptest.Server
	asked  chan string // paths that were fetched
}

func serve(t *testing.T) *served {
	t.Helper()
	dir := filepath.Join(shortTemp(t), "c")
	running, err := practice.Up(t.Context(), dir, []string{practiceBinary, "serve", "--dir", dir}, func(line string) { t.Log(line) })
	must(t, err)
	t.Cleanup(func() {
		if err := practice.Down(context.Background(), dir); err != nil {
			t.Error(err)
		}
	})
	config, err := clientcmd.BuildConfigFromFlags("", running.Kubeconfig)
	must(t, err)
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	s := &served{Running: running, client: client, asked: make(chan string, 100)}
	mux := http.NewServeMux()
	mux.HandleFunc("/install.sh", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "#!/bin/sh\nset -e\necho \"installing $INSTALL_K3S_VERSION with:\" \"$@\"\necho \"variable: $K3S_EXTRA\"\nexec %q upgrade --dir %q --to \"$INSTALL_K3S_VERSION\"\n", practiceBinary, dir)
	})
	mux.HandleFunc("/channels", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"type":"collection","resourceType":"channels","data":[
			{"id":"stable","type":"channel","name":"stable","latest":"v1.36.4+k3s1"},
			{"id":"v1.34","type":"channel","name":"v1.34","latest":"v1.34.4+k3s1"},
			{"id":"v1.35","type":"channel","name":"v1.35","latest":"v1.35.4+k3s1"},
			{"id":"v1.36","type":"channel","name":"v1.36","latest":"v1.36.5+k3s1"}]}`)
	})
	mux.HandleFunc("/crd.yaml", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(suc.CRD()) })
	s.web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked <- r.URL.Path
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.web.Close)
	unit := filepath.Join(t.TempDir(), "k3s.service")
	must(t, os.WriteFile(unit, []byte("[Service]\nExecStart=/usr/local/bin/k3s \\\n    server \\\n\t'--disable' \\\n\t'traefik' \\\n\t'--node-label=a b' \\\n\n"), 0o644))
	must(t, os.WriteFile(unit+".env", []byte("K3S_EXTRA='kept value'\nPATH=/nowhere\n"), 0o600))
	s.flags = []string{
		"--kubeconfig", running.Kubeconfig, "--data-dir", running.DataDir, "--drain-timeout", drainTimeout,
		"--channels", s.web.URL + "/channels", "--install-script", s.web.URL + "/install.sh", "--crd", s.web.URL + "/crd.yaml",
		"--service", unit, "--k3s-config", filepath.Join(running.DataDir, "config.yaml"),
	}
	return s
}

// shortTemp is a temporary folder with a path short enough for sockets.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "k3sl-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

func (s *served) schedulable(t *testing.T) bool {
	t.Helper()
	node, err := s.client.CoreV1().Nodes().Get(t.Context(), practice.DefaultNode().Name, metav1.GetOptions{})
	must(t, err)
	return !node.Spec.Unschedulable
}

// Everything that a person on a real server meets, in the order of a climb:
// guards that refuse, an interrupted drain, the upgrade by install script, and
// what is refused afterwards.
func TestRealModeWithAnInstallScriptOfItsOwn(t *testing.T) {
	t.Parallel()
	s := serve(t)
	dir := filepath.Join(t.TempDir(), "out")
	step := func(code int, name string, more ...string) string {
		t.Helper()
		return expectLab(t, code, slices.Concat([]string{"step", name, "--dir", dir}, s.flags, more)...)
	}
	expect := func(out, want string) {
		t.Helper()
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}

	expect(step(2, "upgrade"), "before.json is not there; it must be written first: lab step before")
	step(0, "before")
	expect(step(2, "before"), "already there; --force")
	step(0, "before", "--force")
	expect(step(2, "upgrade"), "workload.json is not there")
	step(0, "workload")
	step(0, "deprecated")
	expect(step(2, "upgrade"), "there is no backup")
	step(0, "backup")
	step(0, "backup", "--force")

	interruptedDrain(t, s, dir)
	expect(step(0, "drain", "--keep-budgets"), "decision=add-node-first")
	expect(step(1, "upgrade"), "add a node and drain again")
	step(0, "drain", "--force")
	if !s.schedulable(t) {
		t.Error("the node is still cordoned after the drain")
	}

	expect(step(1, "upgrade", "--to", "v1.36.4+k3s1"), "refused")
	expect(step(1, "upgrade", "--to", "v1.33.9+k3s1"), "refused")
	expect(step(1, "upgrade", "--to", "v1.34.4+k3s1"), "refused")
	expect(step(2, "upgrade", "--to", "newest"), "newest")
	version, err := s.client.Discovery().ServerVersion()
	must(t, err)
	if version.GitVersion != practice.From {
		t.Fatalf("a refused upgrade moved the cluster to %s", version.GitVersion)
	}

	expect(step(2, "upgrade", "--install-script", s.web.URL+"/nothing"), "404")
	expect(step(2, "upgrade", "--install-script", s.web.URL+"/channels"), "is no script")
	failing := filepath.Join(t.TempDir(), "fails.sh")
	must(t, os.WriteFile(failing, []byte("#!/bin/sh\necho no space for you\nexit 7\n"), 0o755))
	if out := step(2, "upgrade", "--install-script", failing); strings.Contains(out, "no space for you") {
		t.Errorf("what a script says may hold secrets, and was printed:\n%s", out)
	}
	idle := filepath.Join(t.TempDir(), "idle.sh")
	must(t, os.WriteFile(idle, []byte("#!/bin/sh\nexit 0\n"), 0o755))
	expect(step(2, "upgrade", "--install-script", idle, "--ready-timeout", "6s"), "ended without an error and the cluster runs v1.34.4+k3s1, not v1.35.4+k3s1")

	out := step(0, "upgrade")
	// --disable is in config.yaml, --node-label only in the unit.
	expect(out, "--node-label")
	expect(out, "K3S_EXTRA")
	if strings.Contains(out, "a b") || strings.Contains(out, "kept value") {
		t.Errorf("values of flags and variables may be secrets, and were printed:\n%s", out)
	}
	if strings.Contains(out, "--disable") {
		t.Errorf("warned about an argument that config.yaml keeps:\n%s", out)
	}
	log, err := os.ReadFile(filepath.Join(dir, "install.log"))
	must(t, err)
	expect(string(log), "installing "+practice.To+" with: server --disable traefik --node-label=a b")
	expect(string(log), "variable: kept value")

	// The classic mistake: recording "before" when it is after.
	expect(step(2, "before", "--force"), "the only record of what was before")
	expect(step(2, "backup", "--force"), "belongs before the upgrade")
	expect(step(2, "drain", "--force"), "belongs before the upgrade")
	step(0, "upgrade", "--force") // an upgrade that is done is not done again
	step(0, "after")
	step(0, "plan")
	step(0, "plan", "--force")
	step(0, "report")
	expectLab(t, 0, "check", "--dir", dir)
}

// The way back that docs/lab.md walks: the datastore of before under the
// version of before, from the lab's own backup. Who leaves the drain out, as here,
// gets a report nevertheless.
func TestTheWayBackFromTheLabsBackup(t *testing.T) {
	t.Parallel()
	s := serve(t)
	dir := filepath.Join(t.TempDir(), "out")
	for _, name := range []string{"before", "workload", "deprecated", "backup", "upgrade", "after", "plan", "report"} {
		expectLab(t, 0, append([]string{"step", name, "--dir", dir}, s.flags...)...)
	}
	_, err := s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "later"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = backup.Restore(t.Context(), filepath.Join(dir, backupDir), s.DataDir, backup.RestoreOptions{})
	if !errors.Is(err, backup.ErrRunning) {
		t.Fatalf("restored into a running cluster: %v", err)
	}

	_, err = practice.StopRunning(t.Context(), s.Dir)
	must(t, err)
	_, err = backup.Restore(t.Context(), filepath.Join(dir, backupDir), s.DataDir, backup.RestoreOptions{Installed: practice.To})
	must(t, err)
	running, err := practice.StartRunning(t.Context(), s.Dir, practice.From)
	must(t, err)
	version, err := s.client.Discovery().ServerVersion()
	must(t, err)
	if running.Version != practice.From || version.GitVersion != practice.From {
		t.Errorf("started as %s, and the API server says %s", running.Version, version.GitVersion)
	}
	var workload workloadRecord
	must(t, folder{dir: dir}.read(workloadFile, "workload", &workload))
	web, err := s.client.AppsV1().Deployments(namespace).Get(t.Context(), webName, metav1.GetOptions{})
	must(t, err)
	if string(web.UID) != workload.DeploymentUID {
		t.Errorf("web has UID %s, before the upgrade it had %s", web.UID, workload.DeploymentUID)
	}
	if _, err := s.client.CoreV1().Namespaces().Get(t.Context(), "later", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what was made after the backup is there: %v", err)
	}
}

// With a second node the drain finishes, so it is done for the upgrade: the
// node is empty meanwhile, and given back.
func TestADrainThatFinishesIsDoneForTheUpgrade(t *testing.T) {
	t.Parallel()
	s := serve(t)
	server, err := s.client.CoreV1().Nodes().Get(t.Context(), practice.DefaultNode().Name, metav1.GetOptions{})
	must(t, err)
	second := server.DeepCopy()
	second.ObjectMeta = metav1.ObjectMeta{Name: "agent", Annotations: server.Annotations, Labels: map[string]string{"kubernetes.io/hostname": "agent"}}
	second.Spec = corev1.NodeSpec{}
	_, err = s.client.CoreV1().Nodes().Create(t.Context(), second, metav1.CreateOptions{})
	must(t, err)
	dir := filepath.Join(t.TempDir(), "out")
	out := expectLab(t, 0, slices.Concat([]string{"run", "--dir", dir}, s.flags, []string{"--drain-timeout", "1m"})...)
	if !strings.Contains(out, "decision=drain") {
		t.Fatalf("the drain did not finish:\n%s", out)
	}
	if !s.schedulable(t) {
		t.Error("the node was not given back")
	}
	pods, err := s.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + server.Name})
	must(t, err)
	if len(pods.Items) != 0 {
		t.Errorf("%d Pods were on the node during the upgrade", len(pods.Items))
	}
	expectLab(t, 0, "check", "--dir", dir)
	report, err := os.ReadFile(filepath.Join(dir, reportFile))
	must(t, err)
	if !strings.Contains(string(report), "The node was drained for the upgrade") {
		t.Errorf("the report does not say so:\n%s", report)
	}
}

// interruptedDrain sends SIGINT in mid-drain: the node must come back.
func interruptedDrain(t *testing.T, s *served, dir string) {
	t.Helper()
	cmd := exec.Command(labBinary, slices.Concat([]string{"step", "drain", "--dir", dir}, s.flags, []string{"--drain-timeout", "5m"})...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	deadline := time.Now().Add(time.Minute)
	for s.schedulable(t) {
		if time.Now().After(deadline) {
			t.Fatalf("the drain does not cordon:\n%s", out.String())
		}
		time.Sleep(50 * time.Millisecond)
	}
	must(t, cmd.Process.Signal(syscall.SIGINT))
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("the interrupted drain ended with %v:\n%s", err, out.String())
	}
	if !s.schedulable(t) {
		t.Errorf("the node is still cordoned after the interrupt:\n%s", out.String())
	}
	if _, err := os.Stat(filepath.Join(dir, drainFile)); err == nil {
		t.Error("an interrupted drain wrote drain.txt")
	}
}

// An interrupted practice run leaves nothing behind, wherever it is hit.
func TestAnInterruptedPracticeRunLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"cluster", "workload", "backup"} {
		t.Run("after "+at, func(t *testing.T) {
			t.Parallel()
			temp := shortTemp(t)
			cmd := exec.Command(labBinary, "run", "--practice", "--dir", filepath.Join(temp, "out"), "--drain-timeout", "5m")
			cmd.Env = append(os.Environ(), "TMPDIR="+temp)
			var errors bytes.Buffer
			cmd.Stderr = &errors
			stdout, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			seen, buffer := "", make([]byte, 4096)
			for !strings.Contains(seen, at) {
				n, err := stdout.Read(buffer)
				if err != nil {
					t.Fatalf("%v before %q appeared:\n%s%s", err, at, seen, errors.String())
				}
				seen += string(buffer[:n])
			}
			must(t, cmd.Process.Signal(syscall.SIGINT))
			if _, err := stdout.Read(buffer); err == nil {
				for err == nil {
					_, err = stdout.Read(buffer)
				}
			}
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 2 || !strings.Contains(errors.String(), "interrupted") {
				t.Errorf("ended with %v:\n%s", err, errors.String())
			}
			left, err := filepath.Glob(temp + "/k3sladder-*")
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v (%v)", left, err)
			}
			processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
			must(t, err)
			for _, p := range processes {
				if content, err := os.ReadFile(p); err == nil && bytes.Contains(content, []byte(temp)) {
					t.Errorf("still runs: %s", bytes.ReplaceAll(content, []byte{0}, []byte{' '}))
				}
			}
		})
	}
}

// A folder that cannot be written is found out before a cluster is started or
// a node cordoned.
func TestAFullOrReadOnlyFolderIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ mount, want string }{
		"read-only": {"mount -t tmpfs -o ro,size=64k tmpfs %s", "cannot be written"},
		"full":      {"mount -t tmpfs -o size=64k tmpfs %[1]s && (head -c 1000000 /dev/zero > %[1]s/fill || true) 2>/dev/null", "is full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			script := fmt.Sprintf(c.mount, dir) + " && exec " + labBinary + " run --practice --dir " + dir
			cmd := exec.Command("/bin/sh", "-c", script)
			// A mount namespace of its own: nothing is mounted outside of it, and
			// nothing is left when it ends.
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
			}
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), c.want) {
				t.Errorf("ended with %v:\n%s", err, out)
			}
			if strings.Contains(string(out), "starting") {
				t.Errorf("a cluster was started first:\n%s", out)
			}
		})
	}
}
