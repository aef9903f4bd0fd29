package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"

	"github.com/k3sladder/k3sladder/examples/internal/scripts"
	"github.com/k3sladder/k3sladder/internal/bootstrap"
)

const secret = "zanzibar-pineapple-4711"

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"backup": main,
		"hold":   hold,
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	scripts.Run(t, testscript.Params{
		Setup: func(env *testscript.Env) error {
			env.Setenv("DATA", filepath.Join(env.WorkDir, "host", "var/lib/rancher/k3s"))
			env.Setenv("SECRET", secret)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"server": makeServer,
			"sql":    runSQL,
			"held":   waitHeld,
			"exit":   exit,
		},
	})
}

const schema = `
PRAGMA journal_mode=WAL;
CREATE TABLE kine (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, created INTEGER, deleted INTEGER,
	create_revision INTEGER, prev_revision INTEGER, lease INTEGER, value BLOB, old_value BLOB);
CREATE UNIQUE INDEX kine_name_prev_revision_uindex ON kine (name, prev_revision);
INSERT INTO kine(name, created, deleted, create_revision, prev_revision, lease, value)
	VALUES ('compact_rev_key', 1, 0, 0, 0, 0, ''), ('/registry/namespaces/default', 1, 0, 0, 0, 0, 'x');`

// makeServer makes a stopped server's data directory: server DIR [PASSWORD].
func makeServer(ts *testscript.TestScript, _ bool, args []string) {
	dir, password := ts.MkAbs(args[0]), secret
	if len(args) > 1 {
		password = args[1]
	}
	ts.Check(os.MkdirAll(filepath.Join(dir, "server/db"), 0o700))
	ts.Check(os.MkdirAll(filepath.Join(dir, "server/tls"), 0o700))
	ts.Check(os.WriteFile(filepath.Join(dir, "server/tls/server-ca.crt"), []byte("certificate"), 0o600))
	ts.Check(os.WriteFile(filepath.Join(dir, "server/token"), []byte("K10::server:"+password+"\n"), 0o600))
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "server/db/state.db"))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(schema)
	ts.Check(err)
	sealed, err := bootstrap.Seal(password, []byte("{}"))
	ts.Check(err)
	_, err = db.Exec("INSERT INTO kine(name, created, deleted, create_revision, prev_revision, lease, value) VALUES (?, 1, 0, 0, 0, 0, ?)", bootstrap.Key(password), sealed)
	ts.Check(err)
}

// runSQL runs a statement: sql FILE STATEMENT. A query's first value is printed
// to the file "result".
func runSQL(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	if !strings.HasPrefix(args[1], "SELECT") {
		_, err = db.Exec(args[1])
		ts.Check(err)
		return
	}
	var value string
	ts.Check(db.QueryRow(args[1]).Scan(&value))
	ts.Check(os.WriteFile(ts.MkAbs("result"), []byte(value+"\n"), 0o600))
}

// hold keeps a database open like k3s, until it is killed: hold FILE READY.
func hold() {
	db, err := sql.Open("sqlite", "file:"+os.Args[1])
	if err == nil {
		_, err = db.Exec("INSERT INTO kine(name, value) VALUES ('/registry/live', 'x')")
	}
	if err == nil {
		err = os.WriteFile(os.Args[2], nil, 0o600)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	select {}
}

// waitHeld waits for hold: held READY.
func waitHeld(ts *testscript.TestScript, _ bool, args []string) {
	deadline := time.Now().Add(30 * time.Second)
	for {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not come", args[0])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// exit runs a command that must end with a status: exit STATUS COMMAND...
func exit(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%v: status %s, want %s", args[1:], got, args[0])
	}
}
