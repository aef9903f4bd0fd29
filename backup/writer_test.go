package backup_test

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A process of its own has the database open, as k3s would: SQLite's locks are
// invisible, and easily lost, inside one process. It is this test binary, which
// reads commands from its standard input and answers each with a line:
//
//	put NAME VALUE    one revision
//	sql STATEMENT     anything
//	load HZ           commit that often from now on; 0 pauses
//	latencies         of the commits of load since the last time
//	count             how many commits of load there were so far
//	churn             begin to do everything that moves pages, see churn
const (
	writerEnv   = "K3SLADDER_TEST_WRITER"
	rollbackEnv = "K3SLADDER_TEST_ROLLBACK" // leave the journal mode as it is
)

func TestMain(m *testing.M) {
	if args := os.Getenv(runEnv); args != "" {
		if err := runVictim(strings.Split(args, "\n")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	if path := os.Getenv(writerEnv); path != "" {
		if err := serveWriter(path, os.Stdin, os.Stdout); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func serveWriter(path string, in io.Reader, out io.Writer) error {
	var t writerT
	db := openKine(&t, path)
	db.SetMaxOpenConns(1)
	loaded := make(chan []time.Duration, 1)
	loaded <- nil
	commits := 0
	var rate atomic.Int64
	rate.Store(-1)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		var err error
		answer := "ok"
		switch verb {
		case "put":
			name, value, _ := strings.Cut(rest, " ")
			putRow(&t, db, name, value)
		case "sql":
			_, err = db.Exec(rest)
		case "load":
			var hz int64
			fmt.Sscan(rest, &hz)
			if rate.Swap(hz) < 0 {
				go load(db, &rate, loaded)
			}
		case "churn":
			go churn(path)
		case "latencies":
			all := <-loaded
			loaded <- nil
			commits += len(all)
			answer = fmt.Sprint(all)
		case "count":
			all := <-loaded
			loaded <- all
			answer = fmt.Sprint(commits + len(all))
		}
		if err == nil {
			err = t.err
		}
		if err != nil {
			answer = "error: " + err.Error()
		}
		fmt.Fprintln(out, answer)
	}
	return lines.Err()
}

func load(db *sql.DB, rate *atomic.Int64, loaded chan []time.Duration) {
	var t writerT
	next := time.Now()
	for i := 0; ; i++ {
		hz := rate.Load()
		if hz == 0 {
			time.Sleep(10 * time.Millisecond)
			next = time.Now()
			continue
		}
		start := time.Now()
		putRow(&t, db, fmt.Sprintf("/registry/leases/load/l%03d", i%200), strings.Repeat("y", 900))
		took := time.Since(start)
		loaded <- append(<-loaded, took)
		next = next.Add(time.Second / time.Duration(hz))
		time.Sleep(time.Until(next))
	}
}

// churn commits as fast as it can: every transaction gives all 50 rows of same a
// new common number, writes and deletes blobs, and now and then it checkpoints
// in every mode, or vacuums, so that the log starts anew and the file shrinks.
func churn(path string) {
	var t writerT
	db := openKine(&t, path)
	db.SetMaxOpenConns(1)
	for i := 0; ; i++ {
		tx, err := db.Begin()
		if err != nil {
			continue
		}
		tx.Exec("UPDATE same SET n = (SELECT max(n) + 1 FROM same)")
		for range 4 {
			tx.Exec("INSERT OR REPLACE INTO blobs VALUES (abs(random()) % 300, randomblob(abs(random()) % 9000))")
			tx.Exec("DELETE FROM blobs WHERE k = abs(random()) % 300")
		}
		tx.Exec("UPDATE total SET n = (SELECT count(*) FROM blobs)")
		if i%7 == 3 {
			tx.Rollback()
		} else {
			tx.Commit()
		}
		switch i % 40 {
		case 10:
			db.Exec("PRAGMA wal_checkpoint(PASSIVE)")
		case 20:
			db.Exec("PRAGMA wal_checkpoint(FULL)")
		case 30:
			db.Exec("PRAGMA wal_checkpoint(RESTART)")
		case 39:
			db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
		}
		if i%331 == 330 {
			db.Exec("BEGIN IMMEDIATE; DELETE FROM blobs WHERE k > 20; UPDATE total SET n = (SELECT count(*) FROM blobs); COMMIT")
			db.Exec("VACUUM")
		}
	}
}

// writerT is a testing.TB for a process that is no test.
type writerT struct {
	testing.TB
	err error
}

func (t *writerT) Helper()           {}
func (t *writerT) Cleanup(func())    {}
func (t *writerT) Fatal(args ...any) { t.err = fmt.Errorf("%v", args) }

type writer struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startWriter starts the process and has it open the database.
func startWriter(t testing.TB, path string) *writer {
	t.Helper()
	return startProcess(t, writerEnv+"="+path)
}

// startRollbackWriter is the same without WAL mode.
func startRollbackWriter(t testing.TB, path string) *writer {
	t.Helper()
	return startProcess(t, writerEnv+"="+path, rollbackEnv+"=yes")
}

func startProcess(t testing.TB, env ...string) *writer {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	w := &writer{t: t, cmd: exec.Command(exe)}
	w.cmd.Env = append(os.Environ(), env...)
	w.in, err = w.cmd.StdinPipe()
	must(t, err)
	stdout, err := w.cmd.StdoutPipe()
	must(t, err)
	w.out = bufio.NewReader(stdout)
	must(t, w.cmd.Start())
	t.Cleanup(w.kill)
	w.do("sql SELECT 1 FROM kine")
	return w
}

func (w *writer) do(command string) string {
	w.t.Helper()
	fmt.Fprintln(w.in, command)
	line, err := w.out.ReadString('\n')
	must(w.t, err)
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "error:") {
		w.t.Fatal(command, line)
	}
	return line
}

// kill ends the process as a power cut would: the log stays.
func (w *writer) kill() {
	w.cmd.Process.Kill()
	w.cmd.Wait()
}
