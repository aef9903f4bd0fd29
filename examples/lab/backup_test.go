package main

import (
	"database/sql"
	"testing"
)

func TestHoldsClusterWhateverThePath(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"state.db", "a b?c#d%41.db", "データ.db"} {
		write(t, name, "") // so that no part of the name is read as a parameter
		db, err := sql.Open("sqlite", "plain.db")
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{
			`DROP TABLE IF EXISTS kine`,
			`CREATE TABLE kine (id INTEGER PRIMARY KEY, name TEXT, value BLOB)`,
			`INSERT INTO kine (name, value) VALUES ('/registry/namespaces/kube-system', 'old uid-0'), ('/registry/namespaces/kube-system', 'k8s uid-1')`,
		} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		copyFile(t, "plain.db", name)
		for uid, want := range map[string]bool{"uid-1": true, "uid-0": false} {
			if got, err := holdsCluster(t.Context(), name, uid); got != want || err != nil {
				t.Errorf("%s holds %s: %v, %v", name, uid, got, err)
			}
		}
	}
}
