package backup_test

import (
	"database/sql"
	"path/filepath"
	"testing"

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
	for range 60 {
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
	if moved < 30 {
		t.Errorf("only %d of 60 copies differ: the writers did not write", moved)
	}
	t.Logf("%d moments, the last at commit %d", moved, last)
}
