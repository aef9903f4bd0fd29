package drainprobe

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
)

// scenario is one drain and what a real control plane did with it. The recorded
// ones were observed with kube-apiserver, kube-controller-manager,
// kube-scheduler and kubectl v1.34.4; kwok played the kubelets.
type scenario struct {
	dir     string
	Node    string   `json:"node"`
	Flags   []string `json:"flags"`
	Timeout string   `json:"timeout"`
	Kind    string   `json:"kind"`
	Why     string   `json:"why"`
	Setup   []string `json:"setup,omitempty"`
	Expect  int      `json:"expect_on_node"`
	Compare string   `json:"compare,omitempty"`
	// Verdict is what the forecast has to say where the record alone would
	// ask more of it than can be known beforehand.
	Verdict  Verdict `json:"verdict,omitempty"`
	Observed *seen   `json:"observed,omitempty"`
	Dry      *struct {
		SaysDrained bool `json:"says_drained"`
	} `json:"dry_run_server,omitempty"`
}

type seen struct {
	Finished    bool        `json:"finished"`
	Seconds     float64     `json:"seconds"`
	Evicted     []ownerPods `json:"evicted"`
	Terminating []ownerPods `json:"terminating"`
	Left        []ownerPods `json:"left"`
	Ignored     []ownerPods `json:"ignored"`
	Running     []ownerPods `json:"replacements_running"`
	Pending     []ownerPods `json:"replacements_pending"`
}

type ownerPods struct {
	Owner string `json:"owner"`
	Count int    `json:"count"`
}

func readScenario(t testing.TB, dir string) scenario {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "scenario.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := scenario{dir: dir}
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func scenarios(t testing.TB, root string) []scenario {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("testdata", root, "*", "scenario.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out []scenario
	for _, d := range dirs {
		out = append(out, readScenario(t, filepath.Dir(d)))
	}
	return out
}

func (s scenario) name() string { return filepath.Base(s.dir) }

// options turns kubectl's flags into Options. The selector of nodes is apart.
func (s scenario) options(t testing.TB) (o Options, nodeSelector string) {
	t.Helper()
	var err error
	if s.Timeout != "" {
		if o.Timeout, err = time.ParseDuration(s.Timeout); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < len(s.Flags); i++ {
		flag, value, _ := strings.Cut(s.Flags[i], "=")
		switch flag {
		case "--ignore-daemonsets":
			o.IgnoreDaemonSets = true
		case "--delete-emptydir-data":
			o.DeleteEmptyDirData = true
		case "--force":
			o.Force = true
		case "--disable-eviction":
			o.DisableEviction = true
		case "--pod-selector":
			o.PodSelector = value
		case "--grace-period":
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			g := time.Duration(n) * time.Second
			o.GracePeriod = &g
		case "--skip-wait-for-delete-timeout":
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			o.SkipWaitForDeleteTimeout = time.Duration(n) * time.Second
		case "--selector", "-l":
			nodeSelector = value
		default:
			t.Fatalf("%s: unknown flag %s", s.name(), s.Flags[i])
		}
	}
	return o, nodeSelector
}

func readState(t testing.TB, dir string) *World {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := ReadWorld(f)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// tally counts a forecast's Pods the way the records do.
func tally(f *Forecasted) map[string]map[string]int {
	out := map[string]map[string]int{}
	add := func(what string, p PodForecast) {
		if out[what] == nil {
			out[what] = map[string]int{}
		}
		out[what][p.WorkloadKey()]++
	}
	for _, p := range f.Pods {
		switch p.Fate {
		case FateEvicted:
			add("evicted", p)
		case FateStuck:
			add("terminating", p)
		case FateSkipped:
			if strings.HasPrefix(p.Reason, "terminating") {
				add("terminating", p)
			}
		case FateBlocked, FateHeld:
			add("left", p)
		}
		if p.Replacement != nil {
			switch p.Replacement.State {
			case "ready", "unready":
				add("running", p)
			case "pending":
				add("pending", p)
			}
		}
	}
	return out
}

func sums(list []ownerPods) string {
	var out []string
	for _, o := range list {
		out = append(out, fmt.Sprintf("%s x%d", o.Owner, o.Count))
	}
	sort.Strings(out)
	return strings.Join(out, ", ")
}

func sumsOf(m map[string]int) string {
	var out []string
	for k, n := range m {
		out = append(out, fmt.Sprintf("%s x%d", k, n))
	}
	sort.Strings(out)
	return strings.Join(out, ", ")
}

func total(list []ownerPods) int {
	n := 0
	for _, o := range list {
		n += o.Count
	}
	return n
}

func totalOf(m map[string]int) int {
	n := 0
	for _, c := range m {
		n += c
	}
	return n
}
