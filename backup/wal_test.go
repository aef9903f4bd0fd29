package backup

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// A log that goes round the same pages for long costs no more memory than its
// pages, and the last version of each still wins.
func TestALongLogOverFewPages(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	uri, err := dsn(path, "_pragma=wal_autocheckpoint(0)", "_pragma=synchronous(off)")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", uri)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	must := func(query string) {
		t.Helper()
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	must("PRAGMA page_size=512")
	must("PRAGMA journal_mode=wal")
	must("CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER, v BLOB)")
	must("WITH RECURSIVE c(k) AS (SELECT 1 UNION ALL SELECT k+1 FROM c WHERE k < 400) INSERT INTO t SELECT k, 0, zeroblob(400) FROM c")
	for range 200 {
		must("UPDATE t SET n = n + 1")
	}
	f, err := os.Open(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := readWAL(f, 512)
	if err != nil {
		t.Fatal(err)
	}
	if w.commit < 64<<10 {
		t.Fatalf("only %d frames", w.commit)
	}
	if len(w.newest) > int(w.pages) || cap(w.newest) > 256<<10 {
		t.Errorf("%d entries, room for %d, for %d pages in %d frames", len(w.newest), cap(w.newest), w.pages, w.commit)
	}
	// The newest version of a page is the last in the file.
	last := map[uint32]uint32{}
	b, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.commit {
		at := walHeader + i*(frameHeader+512)
		last[binary.BigEndian.Uint32(b[at:])] = uint32(i + 1)
	}
	for page, number := range last {
		if got, ok := w.find(page); !ok || got != number {
			t.Fatalf("page %d: frame %d, %v, want %d", page, got, ok, number)
		}
	}
	page := make([]byte, 512)
	number, _ := w.find(1)
	if err := w.read(number, page); err != nil || !bytes.HasPrefix(page, []byte(magic)) {
		t.Errorf("page 1 of the log is no first page: %v", err)
	}
}
