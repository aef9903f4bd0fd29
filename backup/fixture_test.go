package backup_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/k3sladder/k3sladder/internal/bootstrap"
	_ "modernc.org/sqlite"
)

const (
	caHash   = "4f1c7a0f0c6b0c9f5a1d7e55c0c5be7df10dbb2a2ef3fba1d5a4f2b8a4f0e1d2"
	password = "zanzibar-pineapple-4711"
	token    = "K10" + caHash + "::server:" + password
)

// kineSchema is kine 0.17's for SQLite.
const kineSchema = `
CREATE TABLE IF NOT EXISTS kine (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, created INTEGER, deleted INTEGER,
	create_revision INTEGER, prev_revision INTEGER, lease INTEGER, value BLOB, old_value BLOB);
CREATE INDEX IF NOT EXISTS kine_name_index ON kine (name);
CREATE INDEX IF NOT EXISTS kine_name_id_index ON kine (name,id);
CREATE INDEX IF NOT EXISTS kine_id_deleted_index ON kine (id,deleted);
CREATE INDEX IF NOT EXISTS kine_prev_revision_index ON kine (prev_revision);
CREATE UNIQUE INDEX IF NOT EXISTS kine_name_prev_revision_uindex ON kine (name, prev_revision);
`

// server is a data directory as k3s leaves it, on a host of its own, with no
// process behind it.
type server struct {
	t       testing.TB
	host    string // the root of its file system
	dataDir string
	db      string
	token   string
}

// newServer makes a server with a few objects and a bootstrap record sealed
// with token's password. Its database is in WAL mode and cleanly closed.
func newServer(t testing.TB) *server {
	t.Helper()
	host := t.TempDir()
	s := &server{t: t, host: host, dataDir: filepath.Join(host, "var/lib/rancher/k3s")}
	s.db = filepath.Join(s.dataDir, "server/db/state.db")
	s.token = filepath.Join(s.dataDir, "server/token")
	s.write("var/lib/rancher/k3s/server/token", token+"\n")
	s.write("var/lib/rancher/k3s/server/tls/server-ca.crt", "certificate\n")
	s.write("var/lib/rancher/k3s/server/cred/passwd", "admin\n")
	must(t, os.MkdirAll(filepath.Dir(s.db), 0o700))
	must(t, os.WriteFile(s.db, template(), 0o600))
	return s
}

// template is the database of every new server.
var template = sync.OnceValue(func() []byte {
	var t exampleT
	defer t.done()
	path := filepath.Join(t.TempDir(), "state.db")
	db := openKine(&t, path)
	_, err := db.Exec(kineSchema)
	must(&t, err)
	sealed, err := bootstrap.Seal(password, []byte(`{"ServerCA":{}}`))
	must(&t, err)
	putRow(&t, db, "compact_rev_key", "")
	putRow(&t, db, bootstrap.Key(password), string(sealed))
	putRow(&t, db, "/registry/minions/one", nodeValue("one", "v1.34.4+k3s1", true))
	for i := range 20 {
		putRow(&t, db, fmt.Sprintf("/registry/configmaps/default/c%02d", i), strings.Repeat("x", 200))
	}
	must(&t, db.Close())
	b, err := os.ReadFile(path)
	must(&t, err)
	return b
})

// write makes a file of the host.
func (s *server) write(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.host, name)
	must(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(s.t, os.WriteFile(path, []byte(content), 0o600))
}

// open opens the database as kine does; the test closes it.
func (s *server) open() *sql.DB { return openKine(s.t, s.db) }

func openKine(t testing.TB, path string) *sql.DB {
	t.Helper()
	mode := "_pragma=journal_mode(WAL)&"
	if os.Getenv(rollbackEnv) != "" {
		mode = ""
	}
	u := url.URL{Scheme: "file", Path: path}
	db, err := sql.Open("sqlite", u.String()+"?"+mode+"_pragma=busy_timeout(30000)&_pragma=synchronous(NORMAL)&_txlock=immediate")
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// exec runs statements on the database and closes it again.
func (s *server) exec(query string, args ...any) {
	s.t.Helper()
	db := s.open()
	_, err := db.Exec(query, args...)
	must(s.t, err)
	must(s.t, db.Close())
}

// rollback runs statements without setting WAL mode first.
func (s *server) rollback(query string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+s.db)
	must(s.t, err)
	db.SetMaxOpenConns(1)
	_, err = db.Exec(query)
	must(s.t, errors.Join(err, db.Close()))
}

func (s *server) put(name, value string) {
	s.t.Helper()
	db := s.open()
	putRow(s.t, db, name, value)
	must(s.t, db.Close())
}

// putRow writes a revision of name the way kine does.
func putRow(t testing.TB, db *sql.DB, name, value string) {
	t.Helper()
	_, err := db.Exec(`INSERT INTO kine(name, created, deleted, create_revision, prev_revision, lease, value, old_value)
		SELECT ?1, prev = 0, 0, coalesce((SELECT create_revision FROM kine WHERE id = prev), 0), prev, 0, ?2, (SELECT value FROM kine WHERE id = prev)
		FROM (SELECT coalesce(max(id), 0) AS prev FROM kine WHERE name = ?1)`, name, []byte(value))
	must(t, err)
}

func (s *server) record(password, key string) {
	s.t.Helper()
	sealed, err := bootstrap.Seal(password, []byte(`{"ServerCA":{}}`))
	must(s.t, err)
	s.put(key, string(sealed))
}

// nodeValue is the part of a stored Node that is read: kubeletVersion after its
// tag and length, and the label of a server.
func nodeValue(name, version string, server bool) string {
	v := "k8s\x00\n\x0a\x0a\x02v1\x12\x04Node" + name
	if server {
		v += "\x0a&node-role.kubernetes.io/control-plane\x12\x04true"
	}
	return v + "\x3a" + string(rune(len(version))) + version + "\x42\x00"
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
