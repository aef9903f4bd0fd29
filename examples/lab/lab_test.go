package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/internal/practice"
	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/snapshot"
)

func TestFolderKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	f := folder{dir: filepath.Join(t.TempDir(), "out")}
	release, err := f.take()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := f.take(); err == nil || !strings.Contains(err.Error(), "another lab works in") {
		t.Errorf("a second lab in the folder: %v", err)
	}
	if left, _ := os.ReadDir(f.dir); len(left) != 0 {
		t.Errorf("the probe left %v", left)
	}
	if err := f.free(beforeFile, afterFile); err != nil {
		t.Fatal(err)
	}
	if err := f.writeJSON(beforeFile, beforeRecord{NodeName: "n"}); err != nil {
		t.Fatal(err)
	}
	if err := f.free(afterFile, beforeFile); !errors.Is(err, errThere) {
		t.Errorf("got %v", err)
	}
	f.force = true
	if err := f.free(beforeFile); err != nil {
		t.Error(err)
	}
	var record beforeRecord
	if err := f.read(beforeFile, "before", &record); err != nil || record.NodeName != "n" {
		t.Errorf("got %v, %v", record, err)
	}
	err = f.read(afterFile, "after", &record)
	if err == nil || !strings.Contains(err.Error(), "lab step after --dir "+f.dir) {
		t.Errorf("a missing file does not name the step that writes it: %v", err)
	}
	write(t, f.path(afterFile), "{")
	if err := f.read(afterFile, "after", &record); err == nil || !strings.Contains(err.Error(), f.path(afterFile)) {
		t.Errorf("got %v", err)
	}
}

func TestFetchReadsURLsAndFiles(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			_, _ = w.Write([]byte("#!/bin/sh\n"))
		case "/large":
			_, _ = w.Write(bytes.Repeat([]byte("x"), fetchLimit+1))
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	file := filepath.Join(t.TempDir(), "install.sh")
	write(t, file, "#!/bin/sh\n")
	for _, source := range []string{web.URL + "/good", file} {
		if got, err := fetch(t.Context(), source); err != nil || string(got) != "#!/bin/sh\n" {
			t.Errorf("%s: %q, %v", source, got, err)
		}
	}
	for source, want := range map[string]string{
		web.URL + "/none":    "404",
		web.URL + "/large":   "more than",
		file + ".missing":    "no such file",
		"http://127.0.0.1:1": "127.0.0.1:1",
	} {
		if _, err := fetch(t.Context(), source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not say %q", source, err, want)
		}
	}
}

func TestDeprecatedCountIsCountedAnew(t *testing.T) {
	t.Parallel()
	const old = `apiserver_requested_deprecated_apis{group="a",removed_release="1.9",resource="r",subresource="",version="v1beta1"} 1` + "\n"
	const future = `apiserver_requested_deprecated_apis{group="b",removed_release="1.40",resource="r",subresource="",version="v1beta1"} 1` + "\n"
	const never = `apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1` + "\n"
	to := skew.MustParse("v1.35.4+k3s1")
	for text, good := range map[string]bool{
		old + future + never + "removed_by_target=1\n": true, // 1.9 is older than 1.35
		old + future + never + "removed_by_target=2\n": false,
		"removed_by_target=0\n":                        true,
		"removed_by_target=1\n":                        false,
		old:                                            false,
		"something else\nremoved_by_target=0\n":        false,
		old + "removed_by_target=many\n":               false,
		"":                                             false,
	} {
		if _, err := deprecatedCount([]byte(text), to); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestUpgradeTargetIsExactlyOneStep(t *testing.T) {
	t.Parallel()
	from := skew.MustParse("v1.34.4+k3s1")
	for to, want := range map[string]struct {
		code int
		text string
	}{
		"v1.35.4+k3s1":   {cli.ExitOK, ""},
		"v1.34.12+k3s1":  {cli.ExitOK, ""}, // a newer patch
		"1.35.4":         {cli.ExitNegative, "refused"},
		"v1.36.4+k3s1":   {cli.ExitNegative, "1.35"}, // names what is skipped
		"v1.34.4+k3s1":   {cli.ExitNegative, "already; name the next version with --to (a before.json recorded now proves nothing"},
		"v1.33.4+k3s1":   {cli.ExitNegative, "refused"},
		"v1.35.4+rke2r1": {cli.ExitNegative, "refused"},
		"stable":         {cli.ExitFailed, "--to"},
	} {
		l := &lab{to: to}
		_, err := l.upgradeTarget(t.Context(), from, nil)
		if code := cli.Code(err); code != want.code || (err != nil && !strings.Contains(err.Error(), want.text)) {
			t.Errorf("--to %s: exit code %d, %v; want %d with %q", to, code, err, want.code, want.text)
		}
	}
}

func TestWithoutToTheLabTakesTheLaddersRung(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"v1.34.11+k3s1": "v1.35.8+k3s1", // not 1.35.9, from which the upgrade image does not go to 1.36.4
		"v1.34.12+k3s1": "v1.35.9+k3s1", // where only the script gets on
		"v1.35.8+k3s1":  "v1.36.4+k3s1",
		"v1.36.3+k3s1":  "v1.36.4+k3s1",
		"v1.36.4+k3s1":  "",
		"v1.37.1+k3s1":  "",
	} {
		got, err := (&lab{channels: channels.BundledSource, term: &terminal{}}).target(t.Context(), skew.MustParse(from), newTerminal(io.Discard, io.Discard).begin("target"))
		if want == "" && cli.Code(err) == cli.ExitNegative && strings.Contains(err.Error(), "stable points at v1.36.4+k3s1") {
			continue
		}
		if err != nil || got.String() != want {
			t.Errorf("from %s: %s, %v; want %s", from, got, err, want)
		}
	}
}

func TestAPlanPastStableIsNotApplied(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{
		"v1.34.4+k3s1": "v1.35.8+k3s1",
		"v1.35.4+k3s1": "v1.36.4+k3s1",
		"v1.35.9+k3s1": "v1.36.5+k3s1", // the upgrade image does not take 1.35.9 to 1.36.4
		"v1.36.4+k3s1": "v1.37.1+k3s1",
	} {
		l := &lab{channels: channels.BundledSource}
		next, stable, err := l.planned(t.Context(), skew.MustParse(server), newTerminal(io.Discard, io.Discard).begin("plan"))
		if err != nil || next.String() != want || stable.String() != "v1.36.4+k3s1" {
			t.Errorf("above %s: %s with stable %s, %v; want %s", server, next, stable, err, want)
		}
	}
}

func TestAFolderMadeForNothingIsTakenAway(t *testing.T) {
	t.Parallel()
	for name, kept := range map[string]bool{"made": false, "used": true, "there": true} {
		f := folder{dir: filepath.Join(t.TempDir(), name)}
		if name == "there" {
			if err := os.Mkdir(f.dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		release, err := f.take()
		if err != nil {
			t.Fatal(err)
		}
		if name == "used" {
			write(t, f.path(beforeFile), "{}")
		}
		release()
		if _, err := os.Stat(f.dir); (err == nil) != kept {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPracticeClustersAreAskedForNothingTheyDoNotHave(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]bool{"v1.35.4+k3s1": true, "v1.35.8+k3s1": false} {
		if err := (keptEngine{}).can(t.Context(), skew.MustParse(to)); (err == nil) != want {
			t.Errorf("%s: %v", to, err)
		}
	}
}

func TestThatGoIsMissingIsNoticedBeforeTheDrain(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := (keptEngine{}).can(t.Context(), skew.MustParse(practice.To)); !errors.Is(err, practice.ErrNoGo) {
		t.Errorf("got %v", err)
	}
}

func TestAnInstallScriptThatIsNotThereIsNoticedBeforeTheDrain(t *testing.T) {
	t.Parallel()
	to, dir := skew.MustParse("v1.35.8+k3s1"), t.TempDir()
	script := filepath.Join(dir, "install.sh")
	write(t, script, "#!/bin/sh\n")
	if err := (installEngine{script: script}).can(t.Context(), to); err != nil {
		t.Error(err)
	}
	if err := (installEngine{script: filepath.Join(dir, "nothing")}).can(t.Context(), to); err == nil || !strings.Contains(err.Error(), "--install-script") {
		t.Errorf("got %v", err)
	}
}

func TestAnInstallScriptThatFailsNamesTheWayBack(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]bool{
		"#!/bin/sh\nexit 1\n":      true, // systemctl says that k3s does not start
		"not what was to be there": false,
	} {
		dir := t.TempDir()
		service, source := filepath.Join(dir, "k3s.service"), filepath.Join(dir, "install.sh")
		write(t, service, "[Service]\nExecStart=/usr/local/bin/k3s server\n")
		write(t, source, script)
		l := &lab{folder: folder{dir: dir}, dataDir: "/srv/k3s", engine: installEngine{
			script: source, service: service, config: filepath.Join(dir, "config.yaml"), log: filepath.Join(dir, "install.log")}}
		live := newTerminal(io.Discard, io.Discard).begin("upgrade")
		err := l.climb(t.Context(), &corev1.Node{}, skew.MustParse("v1.34.11+k3s1"), skew.MustParse("v1.35.8+k3s1"), live)
		live.end("")
		if err == nil || strings.Contains(err.Error(), "backup restore "+l.path(backupDir)+" --data-dir /srv/k3s") != want {
			t.Errorf("%q: %v", script, err)
		}
	}
}

func TestWaitingForWebSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	server := func(cordoned bool) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"node-role.kubernetes.io/control-plane": "true"}},
			Spec: corev1.NodeSpec{Unschedulable: cordoned}}
	}
	pod := func(status corev1.PodStatus) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: namespace, Labels: map[string]string{"app": webName}}, Status: status}
	}
	pending := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes are available"}}}
	pulling := corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}}}}
	for want, objects := range map[string][]runtime.Object{
		"; kubectl uncordon a: cordoned, so web-1 stays Pending": {server(true), pod(pending)},
		"; web-1 stays Pending: 0/1 nodes are available":         {server(false), pod(pending)},
		"; web-1: ImagePullBackOff: no such image":               {server(false), pod(pulling)},
		"": {server(true), pod(corev1.PodStatus{})},
	} {
		if got := (&lab{client: fake.NewClientset(objects...)}).webWaitsFor(t.Context()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWrapKeepsEveryWord(t *testing.T) {
	t.Parallel()
	got := wrap("one two three  averyveryverylongword four", 9)
	if diff := cmp.Diff([]string{"one two", "three", "averyveryverylongword", "four"}, got); diff != "" {
		t.Error(diff)
	}
	if got := clip("日本語のテキスト", 4); got != "日本語…" {
		t.Errorf("clip gave %q", got)
	}
}

func TestReportsInBothLanguagesHaveTheLinesAndTheReasons(t *testing.T) {
	t.Parallel()
	v := skew.MustParse
	for language, text := range reportTexts {
		for jump, stable := range map[int]string{2: "v1.36.4+k3s1", 1: "v1.35.9+k3s1"} {
			var out bytes.Buffer
			if err := text.Execute(&out, &reportFacts{
				Initial: v("v1.34.4+k3s1"), Current: v("v1.35.4+k3s1"), NextPlan: v("v1.36.5+k3s1"), Stable: v(stable),
				StableJump: jump, Skip: jump > 1, PolicySource: skew.PolicySource,
			}); err != nil {
				t.Fatal(err)
			}
			for _, line := range []string{"initial=v1.34.4+k3s1", "current=v1.35.4+k3s1", "next_plan=v1.36.5+k3s1", "stable_channel=" + stable} {
				if !strings.Contains(out.String(), "\n"+line+"\n") {
					t.Errorf("%s: no line %s in\n%s", language, line, out.String())
				}
			}
			dir := t.TempDir()
			l := &lab{folder: folder{dir: dir}}
			write(t, filepath.Join(dir, reportFile), out.String())
			g := &Grade{OK: true}
			e := &evidence{before: beforeRecord{ServerVersion: "v1.34.4+k3s1"}, after: afterRecord{ServerVersion: "v1.35.4+k3s1"}}
			l.checkReport(g, e, v("v1.36.5+k3s1"))
			if !g.OK {
				t.Errorf("%s: check does not pass its own report: %+v", language, g.Findings)
			}
		}
	}
}

// A node left cordoned is a loss wherever the run is summed up: one file that
// says all is well would be believed.
func TestAReportSaysWhatIsNotAsItWas(t *testing.T) {
	t.Parallel()
	l := &lab{folder: folder{dir: t.TempDir()}}
	if known, _, _ := l.losses(beforeRecord{}); known {
		t.Error("a loss is known without snapshots")
	}
	for file, schedulable := range map[string]bool{snapshotBefore: true, snapshotAfter: false} {
		snap := &snapshot.Snapshot{Format: snapshot.Format, Nodes: []snapshot.Node{{Object: snapshot.Object{Name: "server-1"}, Schedulable: schedulable}}}
		if err := snap.WriteFile(l.path(file), true); err != nil {
			t.Fatal(err)
		}
	}
	facts := reportFacts{SameNode: true, SameWorkload: true}
	for _, c := range []struct {
		as               string
		ok               bool
		summary, en, ja  string
		known, wantsLoss bool
	}{
		{"without snapshots", true, "nothing lost   not known", "", "", false, false},
		{"as it was", true, "nothing lost   yes", "nothing was lost", "失われたものはありません", true, false},
		{"left cordoned", false, "nothing lost   NO", "NOT as it was. node server-1 took Pods", "【元どおりではありません】 node server-1 took Pods", true, true},
	} {
		facts.LossKnown, facts.Loss = c.known, nil
		if c.wantsLoss {
			known, cordoned, gone := l.losses(beforeRecord{})
			facts.LossKnown, facts.Loss = known, errors.Join(cordoned, gone)
		}
		var out bytes.Buffer
		l.term = newTerminal(&out, io.Discard)
		if c.ok && c.known {
			write(t, l.path(pageFile), "") // the file to look at, so the summary names it
			c.summary = "report         " + l.path(pageFile) + ", " + reportFile
		}
		if ok := l.summary(&facts); ok != c.ok || !strings.Contains(out.String(), c.summary) {
			t.Errorf("%s: %v\n%s", c.as, ok, out.String())
		}
		for language, want := range map[string]string{"en": c.en, "ja": c.ja} {
			untried := map[string]string{"en": "No drain was tried.", "ja": "drain は試していません。"}[language]
			out.Reset()
			if err := reportTexts[language].Execute(&out, &facts); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), untried) || !strings.Contains(out.String(), want) || want == "" && (strings.Contains(out.String(), "The whole cluster") || strings.Contains(out.String(), "クラスタ全体")) {
				t.Errorf("%s, %s: no %q in\n%s", c.as, language, want, out.String())
			}
		}
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]struct {
		code int
		text string
	}{
		"--help":                           {cli.ExitOK, "lab run --practice"},
		"step --help":                      {cli.ExitOK, "before"},
		"step drain --help":                {cli.ExitOK, "Really drains the node"},
		"step":                             {cli.ExitFailed, "name a step: before, workload"},
		"step up":                          {cli.ExitFailed, `no step "up"`},
		"run now":                          {cli.ExitFailed, "unknown command"},
		"check --dir /nonexistent/lab":     {cli.ExitFailed, "no folder to grade"},
		"check --dir .":                    {cli.ExitFailed, "none of the lab's files"},
		"check --dir main.go":              {cli.ExitFailed, "no folder to grade"},
		"run --practice --to v1.36.4":      {cli.ExitNegative, "refused"},
		"run --practice --to v1.35.9+k3s1": {cli.ExitFailed, "the practice cluster goes from"},
		"run --ready-timeout -5s":          {cli.ExitFailed, "some seconds"},
		"run --drain-timeout soon":         {cli.ExitFailed, "invalid"},
		"run --practice --lang fr":         {cli.ExitFailed, "there are en and ja"},
		"step before --kubeconfig /none":   {cli.ExitFailed, "/none"},
		"run --practice --context box":     {cli.ExitFailed, "[practice context]"},
	} {
		var stdout, stderr bytes.Buffer
		code := cli.Run(t.Context(), newCommand(), strings.Fields(args), &stdout, &stderr)
		if code != want.code || !strings.Contains(stdout.String()+stderr.String(), want.text) {
			t.Errorf("lab %s: exit code %d\n%s%s", args, code, stdout.String(), stderr.String())
		}
	}
}

// A folder holds one cluster's records: what the wrong kubeconfig or --dir
// leads to is not written over them.
func TestARecordOfAnotherClusterIsNotWrittenOver(t *testing.T) {
	t.Parallel()
	for before, same := range map[string]bool{
		`{"cluster_uid": "here"}`:  true,
		`{"cluster_uid": "there"}`: false,
		`{}`:                       true, // another program's record may lack it
	} {
		l := &lab{folder: folder{dir: t.TempDir()}, client: fake.NewClientset(
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "here"}})}
		write(t, l.path(beforeFile), before)
		for _, s := range steps {
			want := cli.ExitOK
			switch {
			case same || s.name == "before" || s.name == "report":
			case s.name == "after":
				want = cli.ExitNegative
			default:
				want = cli.ExitFailed
			}
			if err := l.sameCluster(t.Context(), s); cli.Code(err) != want {
				t.Errorf("%s, step %s: exit code %d, want %d: %v", before, s.name, cli.Code(err), want, err)
			}
		}
		ran := false
		l.term, l.force = newTerminal(io.Discard, io.Discard), true
		err := l.run(t.Context(), []step{{"drain", []string{drainFile}, false, "", func(*lab, context.Context, *live) (string, error) { ran = true; return "", nil }}})
		if ran != same || (err == nil) != same {
			t.Errorf("%s: the step ran: %v, %v", before, ran, err)
		}
	}
}

// labOn is a lab whose API server says that version, and nothing else.
func labOn(t *testing.T, version string) *lab {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"gitVersion":%q}`, version)
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &lab{folder: folder{dir: t.TempDir()}, config: config, client: client, term: newTerminal(io.Discard, io.Discard)}
}

func TestACRDThatIsNotThereIsNoticedBeforeTheDrain(t *testing.T) {
	t.Parallel()
	l := labOn(t, "v1.34.11+k3s1")
	script := filepath.Join(l.dir, "install.sh")
	write(t, script, "#!/bin/sh\n")
	l.engine, l.to = installEngine{script: script}, "v1.35.8+k3s1"
	for crd, want := range map[string]string{"": "", "bundled": "", filepath.Join(l.dir, "nothing"): "--crd"} {
		l.crd = crd
		if err := l.preflight(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("--crd %q: %v", crd, err)
		}
	}
}

func TestTheShellCompletesTheNode(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"srv-1"}}]}`))
	}))
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	write(t, kubeconfig, fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","clusters":[{"name":"a","cluster":{"server":%q}}],
		"contexts":[{"name":"a","context":{"cluster":"a"}}],"current-context":"a"}`, server.URL))
	for _, command := range [][]string{{"run"}, {"step", "drain"}} {
		var out bytes.Buffer
		args := append(append([]string{"__complete"}, command...), "--kubeconfig", kubeconfig, "--node", "")
		if code := cli.Run(t.Context(), newCommand(), args, &out, io.Discard); code != cli.ExitOK || !strings.HasPrefix(out.String(), "srv-1\n") {
			t.Errorf("%v: exit code %d, %q", command, code, &out)
		}
	}
}

func TestForceIsNotProposedWhereItWouldBeRefused(t *testing.T) {
	t.Parallel()
	l := labOn(t, "v1.35.4+k3s1")
	for before, want := range map[string]string{
		"v1.35.4+k3s1": "already there; --force writes it anew",
		"v1.34.4+k3s1": "already there, of v1.34.4+k3s1, and the cluster runs v1.35.4+k3s1: it stays, --force or not",
	} {
		write(t, l.path(beforeFile), fmt.Sprintf(`{"server_version": %q}`, before))
		if err := l.run(t.Context(), steps[:1]); !errors.Is(err, errThere) || !strings.Contains(err.Error(), want) {
			t.Errorf("before.json of %s: %v", before, err)
		}
	}
}

func TestAStepOfBeforeIsNotDoneAfterTheUpgrade(t *testing.T) {
	t.Parallel()
	l := labOn(t, "v1.35.4+k3s1")
	for before, late := range map[string]bool{"": false, "v1.35.4+k3s1": false, "v1.34.4+k3s1": true} {
		if before != "" {
			write(t, l.path(beforeFile), fmt.Sprintf(`{"server_version": %q}`, before))
		}
		for _, s := range steps {
			want := late && slices.Contains([]string{"workload", "deprecated", "backup", "drain"}, s.name)
			if err := l.inTime(t.Context(), s); (err != nil) != want {
				t.Errorf("before %q, step %s: %v", before, s.name, err)
			}
		}
		if err := os.RemoveAll(l.path(beforeFile)); err != nil {
			t.Fatal(err)
		}
	}
}

// A report made by steps that ran alone shows the deprecated APIs too.
func TestThePageReadsDeprecatedAPIsFromTheFile(t *testing.T) {
	t.Parallel()
	l := &lab{folder: folder{dir: t.TempDir()}}
	facts := &reportFacts{Current: skew.MustParse("v1.35.4+k3s1")}
	if d, err := l.pageDeprecated(facts); d != nil || err != nil {
		t.Errorf("without a file: %+v, %v", d, err)
	}
	for text, apis := range map[string]int{
		"removed_by_target=0\n": 0,
		`apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1` + "\nremoved_by_target=0\n": 1,
	} {
		write(t, l.path(deprecatedFile), text)
		if d, err := l.pageDeprecated(facts); err != nil || len(d.Usage.APIs) != apis || d.Target != facts.Current.Minor() {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
	}
	write(t, l.path(deprecatedFile), "nonsense\nremoved_by_target=0\n")
	if _, err := l.pageDeprecated(facts); err == nil {
		t.Error("a file that cannot be read is left out silently")
	}
}
