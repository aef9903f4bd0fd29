//go:build bench

package backup_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMeasure compares a save with the sqlite3 shell's .backup and VACUUM INTO
// and with cp and fsync, on a kine-shaped database, idle and while another
// process commits 200 times a second. It prints a table for docs/benchmarks.md.
// Run it alone:
//
//	go test -tags bench -run TestMeasure -v -timeout 1h ./backup
//
// K3SLADDER_BENCH_MB lists the sizes in megabytes, default "400 4000"; the
// largest needs six times its size of free disk. K3SLADDER_BENCH_ROUNDS is how
// many rounds the medians are of, default 3. Without a sqlite3 shell the
// columns of the shell stay empty.
func TestMeasure(t *testing.T) {
	sizes := os.Getenv("K3SLADDER_BENCH_MB")
	if sizes == "" {
		sizes = "400 4000"
	}
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		fmt.Println("no sqlite3 shell on the PATH: .backup and VACUUM INTO are not measured (apt-get install sqlite3)")
	}
	program := filepath.Join(t.TempDir(), "backup")
	if out, err := exec.Command("go", "build", "-o", program, "../examples/backup").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, field := range strings.Fields(sizes) {
		mb, err := strconv.Atoi(field)
		must(t, err)
		m := &measurement{t: t, program: program, shell: shell, s: newServer(t), dir: t.TempDir()}
		fill(t, m.s.db, mb)
		m.run(mb)
	}
}

type measurement struct {
	t              *testing.T
	program, shell string
	s              *server
	dir            string
	outs           int
}

// result is one run of one way to copy.
type result struct {
	took time.Duration
	rss  int64 // KiB, peak
	note string
}

func (m *measurement) run(mb int) {
	t := m.t
	st, err := os.Stat(m.s.db)
	must(t, err)
	rounds, err := strconv.Atoi(cmp.Or(os.Getenv("K3SLADDER_BENCH_ROUNDS"), "3"))
	must(t, err)
	fmt.Printf("\n%d MB (%d bytes), medians of %d rounds\n\n", mb, st.Size(), rounds)
	ways := []struct {
		name string
		copy func() result
	}{
		{"cp + fsync", m.cp},
		{"sqlite3 .backup", func() result { return m.sqlite3(".backup '" + m.next() + "'") }},
		{"sqlite3 VACUUM INTO + fsync", func() result { return m.vacuum() }},
		{"backup save", func() result { return m.save() }},
		{"backup save --max-rate 200", func() result { return m.save("--max-rate", "200") }},
	}
	must(t, exec.Command("cat", m.s.db).Run()) // into the page cache
	w := startWriter(t, m.s.db)
	idle, busy, latency, growth := map[string][]result{}, map[string][]result{}, map[string][]time.Duration{}, map[string]int64{}
	var verified []result
	w.do("load 0")
	// A short copy sees too few commits for a percentile, so it is made again;
	// the time is that of the first.
	samples := max(1, min(8, 2400/mb))
	// In rounds, so that what else the machine does meets all alike.
	for range rounds {
		for _, way := range ways {
			m.clear()
			idle[way.name] = append(idle[way.name], way.copy())
		}
		verified = append(verified, m.verify())
		w.do("load 200")
		time.Sleep(time.Second)
		w.latencies()
		time.Sleep(5 * time.Second)
		latency["nothing"] = append(latency["nothing"], w.latencies()...)
		for _, way := range ways {
			if len(busy[way.name]) > 0 && busy[way.name][0].note != "" {
				continue // it did not end
			}
			w.do("sql PRAGMA wal_checkpoint(TRUNCATE)")
			before := logSize(m.s.db)
			m.clear()
			for i := range samples {
				time.Sleep(time.Second)
				w.latencies()
				r := way.copy()
				latency[way.name] = append(latency[way.name], w.latencies()...)
				if i == 0 {
					busy[way.name] = append(busy[way.name], r)
				}
				if r.note != "" {
					break
				}
			}
			growth[way.name] = max(growth[way.name], logSize(m.s.db)-before)
		}
		w.do("load 0")
	}

	base := median(idle["sqlite3 .backup"]).took
	fmt.Println("| way | idle | under load | load / idle .backup | peak RSS | writer p50 / p99 / max | log grew |")
	fmt.Println("|---|---|---|---|---|---|---|")
	fmt.Printf("| nothing | | | | | %s | |\n", percentiles(latency["nothing"]))
	for _, way := range ways {
		i, b := median(idle[way.name]), median(busy[way.name])
		ratio := ""
		if base > 0 && b.took > 0 && b.note == "" {
			ratio = fmt.Sprintf("%.2f", b.took.Seconds()/base.Seconds())
		}
		fmt.Printf("| %s | %s | %s | %s | %d MB | %s | %.1f MB |\n", way.name, i, b, ratio, max(i.rss, b.rss)>>10, percentiles(latency[way.name]), float64(growth[way.name])/1e6)
	}
	v, s := median(verified), median(idle["backup save"])
	fmt.Printf("\nverify: %s, %.2f of the idle save; peak RSS %d MB\n", v, v.took.Seconds()/s.took.Seconds(), v.rss>>10)
}

// latencies are those of the writer's commits since the last time.
func (w *writer) latencies() []time.Duration {
	var all []time.Duration
	for _, field := range strings.Fields(strings.Trim(w.do("latencies"), "[]")) {
		d, err := time.ParseDuration(field)
		must(w.t, err)
		all = append(all, d)
	}
	return all
}

func percentiles(all []time.Duration) string {
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return fmt.Sprintf("%.1f / %.1f / %.1f ms", ms(all[len(all)/2]), ms(all[len(all)*99/100]), ms(all[len(all)-1]))
}

func (r result) String() string {
	if r.note != "" || r.took == 0 {
		return r.note
	}
	return fmt.Sprintf("%.2f s", r.took.Seconds())
}

func median(all []result) result {
	if len(all) == 0 {
		return result{}
	}
	slices.SortFunc(all, func(a, b result) int { return int(a.took - b.took) })
	return all[len(all)/2]
}

// out is where the newest copy is, next where the one after it goes.
func (m *measurement) out() string { return filepath.Join(m.dir, strconv.Itoa(m.outs)) }

func (m *measurement) next() string {
	m.outs++
	return m.out()
}

// clear removes all copies, and waits until the disk is done with that: on a
// disk that is told of freed blocks, a removal takes longer than a commit.
func (m *measurement) clear() {
	must(m.t, os.RemoveAll(m.dir))
	must(m.t, os.Mkdir(m.dir, 0o700))
	must(m.t, exec.Command("sync").Run())
	time.Sleep(2 * time.Second)
}

// timed runs a command that makes a copy.
func (m *measurement) timed(name string, args ...string) result {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	start := time.Now()
	out, rss, err := watched(cmd)
	if ctx.Err() != nil {
		return result{note: "not done after 60 s"}
	}
	if err != nil {
		m.t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return result{took: time.Since(start), rss: rss}
}

// watched runs a command and looks at its peak of resident memory, in KiB, all
// the while: the kernel's account at the end begins with this process's own.
func watched(cmd *exec.Cmd) (output string, rss int64, err error) {
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return "", 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	status := fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)
	for {
		if b, err := os.ReadFile(status); err == nil {
			if _, after, ok := strings.Cut(string(b), "VmHWM:"); ok {
				var kib int64
				fmt.Sscan(after, &kib)
				rss = max(rss, kib)
			}
		}
		select {
		case err := <-done:
			return out.String(), rss, err
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (m *measurement) cp() result {
	return m.timed("sh", "-c", `cp "$0" "$1" && exec sync "$1"`, m.s.db, m.next())
}

func (m *measurement) sqlite3(command string) result {
	if m.shell == "" {
		return result{note: "no sqlite3 shell"}
	}
	return m.timed(m.shell, m.s.db, command)
}

func (m *measurement) vacuum() result {
	if m.shell == "" {
		return m.sqlite3("")
	}
	r := m.sqlite3("VACUUM INTO '" + m.next() + "'")
	start := time.Now()
	must(m.t, exec.Command("sync", m.out()).Run())
	r.took += time.Since(start)
	return r
}

func (m *measurement) save(flags ...string) result {
	args := []string{"save", "--data-dir", m.s.dataDir, "--out", m.next(), "-o", "json"}
	return m.timed(m.program, append(args, flags...)...)
}

// verify checks what the last save made.
func (m *measurement) verify() result {
	cmd := exec.Command(m.program, "verify", m.out(), "-o", "json")
	start := time.Now()
	out, rss, err := watched(cmd)
	took := time.Since(start)
	var v struct{ OK bool }
	if err := errors.Join(err, json.Unmarshal([]byte(out), &v)); err != nil || !v.OK {
		m.t.Fatal(err, out)
	}
	return result{took: took, rss: rss}
}

func logSize(db string) int64 {
	st, err := os.Stat(db + "-wal")
	if err != nil {
		return 0
	}
	return st.Size()
}

// fill grows a database to so many megabytes with rows like kine's: a third of
// the names, three revisions each, values of one to two kilobytes and the old
// value beside them.
func fill(t *testing.T, path string, mb int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(off)&_pragma=cache_size(-65536)")
	must(t, err)
	db.SetMaxOpenConns(1)
	names := mb * 1_000_000 / 4300 / 3
	start := time.Now()
	_, err = db.Exec("DROP INDEX kine_name_index; DROP INDEX kine_name_id_index; DROP INDEX kine_id_deleted_index; DROP INDEX kine_prev_revision_index; DROP INDEX kine_name_prev_revision_uindex")
	must(t, err)
	var base int
	must(t, db.QueryRow("SELECT max(id) + 1 FROM kine").Scan(&base))
	for revision := range 3 {
		for from := 0; from < names; from += 20_000 {
			_, err := db.Exec(fmt.Sprintf(`
				INSERT INTO kine(id, name, created, deleted, create_revision, prev_revision, lease, value, old_value)
				SELECT %[1]d + %[2]d * %[3]d + i, printf('/registry/pods/ns-%%03d/pod-%%08d-abcdefgh', i %% 100, i), %[2]d = 0, 0,
					CASE WHEN %[2]d > 0 THEN %[1]d + i ELSE 0 END, CASE WHEN %[2]d > 0 THEN %[1]d + (%[2]d - 1) * %[3]d + i ELSE 0 END, 0,
					randomblob(1000 + i * 7919 %% 1400), CASE WHEN %[2]d > 0 THEN randomblob(1000 + i * 104729 %% 1400) END
				FROM (WITH RECURSIVE c(i) AS (SELECT %[4]d UNION ALL SELECT i + 1 FROM c WHERE i < %[5]d) SELECT i FROM c)`,
				base, revision, names, from, min(from+20_000, names)-1))
			must(t, err)
		}
	}
	_, err = db.Exec(kineSchema)
	must(t, err)
	_, err = db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	must(t, errors.Join(err, db.Close()))
	fmt.Printf("made %d MB in %s\n", mb, time.Since(start).Round(time.Second))
}
