package backup_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/k3sladder/k3sladder/backup"
)

// Two processes write, checkpoint in every mode and vacuum without a pause,
// while the database is saved again and again: each copy is one moment.
func TestEveryCopyOfABusyDatabaseIsOneMoment(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.exec(`CREATE TABLE same (k INTEGER PRIMARY KEY, n INTEGER);
		WITH RECURSIVE c(k) AS (SELECT 1 UNION ALL SELECT k+1 FROM c WHERE k < 50) INSERT INTO same SELECT k, 0 FROM c;
		CREATE TABLE blobs (k INTEGER PRIMARY KEY, v BLOB);
		CREATE INDEX blobs_v ON blobs (v);
		CREATE TABLE total (n INTEGER);
		INSERT INTO total VALUES (0)`)
	for range 2 {
		startWriter(t, s.db).do("churn")
	}
	root := t.TempDir()
	last, moved := -1, 0
	copies := 60
	if slow {
		copies = 8
	}
	for range copies {
		r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Root: root, Minimal: true})
		must(t, err)
		db, err := sql.Open("sqlite", "file:"+filepath.Join(r.Dir, "state.db")+"?mode=ro&immutable=1")
		must(t, err)
		var check string
		must(t, db.QueryRow("PRAGMA integrity_check").Scan(&check))
		var low, high, blobs, total int
		must(t, db.QueryRow("SELECT min(n), max(n) FROM same").Scan(&low, &high))
		must(t, db.QueryRow("SELECT (SELECT count(*) FROM blobs), (SELECT n FROM total)").Scan(&blobs, &total))
		must(t, db.Close())
		if check != "ok" || low != high || blobs != total || high < last {
			t.Fatalf("%s: integrity %s, numbers %d to %d after %d, %d blobs of %d", r.Dir, check, low, high, last, blobs, total)
		}
		if high > last {
			moved++
		}
		last = high
	}
	if moved < copies/2 {
		t.Errorf("only %d of %d copies differ: the writers did not write", moved, copies)
	}
	t.Logf("%d moments, the last at commit %d", moved, last)
}

// kine checkpoints after each compaction in a mode that keeps writers out while
// it waits for readers: a copy that goes on for long gives way.
func TestACopyGivesWayToACheckpointThatWaitsForIt(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	w := startWriter(t, s.db)
	w.do("sql PRAGMA wal_autocheckpoint=0")
	w.do("sql CREATE TABLE pad (b BLOB)")
	w.do("sql INSERT INTO pad VALUES (randomblob(8000000))")
	w.do("put /registry/configmaps/default/before one") // a mark that is not the newest
	asked, passed := make(chan struct{}), make(chan struct{})
	go func() {
		<-asked
		w.do("put /registry/configmaps/default/meanwhile two")
		w.do("sql PRAGMA wal_checkpoint(FULL)")
		close(passed)
	}()
	copies := 0
	r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: filepath.Join(t.TempDir(), "b"), Progress: func(p backup.Progress) {
		if p.Phase != backup.PhaseCopy {
			return
		}
		if p.Done > 0 {
			if copies++; copies == 1 {
				close(asked)
			}
		}
		select { // the disk is slow as long as the checkpoint waits
		case <-passed:
		case <-time.After(200 * time.Millisecond):
		}
	}})
	must(t, err)
	select {
	case <-passed:
	default:
		t.Fatal("the checkpoint waited until the copy was done")
	}
	if got := rows(t, filepath.Join(r.Dir, "state.db"))["/registry/configmaps/default/meanwhile"]; got != "two" {
		t.Errorf("the copy did not begin again: %q", got)
	}
}
