package backup_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/backup"
)

func TestVerifyOfABackupWithAFault(t *testing.T) {
	t.Parallel()
	type file = map[string]any
	edit := func(t *testing.T, dir string, change func(m file)) {
		t.Helper()
		path := filepath.Join(dir, "backup.json")
		b, err := os.ReadFile(path)
		must(t, err)
		var m file
		must(t, json.Unmarshal(b, &m))
		change(m)
		b, err = json.Marshal(m)
		must(t, err)
		must(t, os.WriteFile(path, b, 0o600))
	}
	for _, tc := range []struct {
		name  string
		spoil func(t *testing.T, dir string)
		check string // of the problem
		says  string
		err   error // instead of a verdict
	}{
		{"a changed token", func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "token"), []byte(token+"x"), 0o600))
		}, "token", "not the one that was saved", nil},
		{"an empty token", func(t *testing.T, dir string) { must(t, os.Truncate(filepath.Join(dir, "token"), 0)) }, "token", "no server token", nil},
		{"a missing token", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "token"))) }, "files", "token is missing", nil},
		{"a missing database", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "state.db"))) }, "files", "state.db is missing", nil},
		{"a missing extra file", func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, "server/tls/server-ca.crt")))
		}, "files", "server/tls/server-ca.crt is missing", nil},
		{"an extra file that was replaced with a link", func(t *testing.T, dir string) {
			path := filepath.Join(dir, "server/tls/server-ca.crt")
			must(t, os.Remove(path))
			must(t, os.Symlink("/etc/hostname", path))
		}, "files", "not a regular file", nil},
		{"a truncated database", func(t *testing.T, dir string) { must(t, os.Truncate(filepath.Join(dir, "state.db"), 8192)) }, "files", "8192 bytes", nil},
		{"an empty database", func(t *testing.T, dir string) { must(t, os.Truncate(filepath.Join(dir, "state.db"), 0)) }, "database", "empty", nil},
		{"a database folder", func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, "state.db")))
			must(t, os.Mkdir(filepath.Join(dir, "state.db"), 0o700))
		}, "files", "not a regular file", nil},
		{"one bit in the database", func(t *testing.T, dir string) {
			path := filepath.Join(dir, "state.db")
			b, err := os.ReadFile(path)
			must(t, err)
			b[len(b)/2] ^= 1
			must(t, os.WriteFile(path, b, 0o600))
		}, "files", "state.db was changed", nil},
		{"a manifest that lists no database", func(t *testing.T, dir string) {
			edit(t, dir, func(m file) { m["files"] = m["files"].([]any)[1:] })
		}, "manifest", "does not list state.db", nil},
		{"no manifest", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "backup.json"))) }, "", "", backup.ErrNotBackup},
		{"half a manifest", func(t *testing.T, dir string) { must(t, os.Truncate(filepath.Join(dir, "backup.json"), 100)) }, "", "", backup.ErrNotBackup},
		{"a manifest of the future", func(t *testing.T, dir string) {
			edit(t, dir, func(m file) { m["formatVersion"] = 2 })
		}, "", "newer", backup.ErrNotBackup},
		{"a manifest of something else", func(t *testing.T, dir string) {
			edit(t, dir, func(m file) { delete(m, "formatVersion") })
		}, "", "no formatVersion", backup.ErrNotBackup},
		{"a folder of the lab, whose backup is one further down", func(t *testing.T, dir string) {
			must(t, os.Mkdir(filepath.Join(dir, "backup"), 0o700))
			must(t, os.Rename(filepath.Join(dir, "backup.json"), filepath.Join(dir, "backup", "backup.json")))
			must(t, os.WriteFile(filepath.Join(dir, "backup.json"), []byte(`{"k3s_version":"v1.34.4+k3s1"}`), 0o600))
		}, "", "the backup is in ", backup.ErrNotBackup},
		{"a manifest that leads out of the folder", func(t *testing.T, dir string) {
			edit(t, dir, func(m file) { m["files"].([]any)[0].(file)["path"] = "../state.db" })
		}, "", "not inside the folder", backup.ErrNotBackup},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, dir := saved(t, backup.Options{})
			tc.spoil(t, dir)
			before := tree(t, dir)
			v, err := backup.Verify(t.Context(), dir, backup.VerifyOptions{})
			same(t, before, tree(t, dir))
			tellsNothing(t, errorText(err), v)
			if tc.err != nil {
				if !errors.Is(err, tc.err) || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("%v, want %v (%s)", err, tc.err, tc.says)
				}
				return
			}
			must(t, err)
			found := false
			for _, p := range v.Problems {
				found = found || p.Check == tc.check && strings.Contains(p.Detail, tc.says)
			}
			if v.OK || !found {
				t.Errorf("no problem (%s) says %q: %+v", tc.check, tc.says, v)
			}
			if _, err := backup.Restore(t.Context(), dir, t.TempDir(), backup.RestoreOptions{}); !errors.Is(err, backup.ErrVerify) {
				t.Errorf("restored: %v", err)
			}
		})
	}
}

// What kine's table may look like, and what it must not say.
func TestVerifyOfTheDatastore(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, change, check, says string }{
		{"kine's first schema, with fewer indexes", `DROP INDEX kine_name_id_index; DROP INDEX kine_id_deleted_index; DROP INDEX kine_prev_revision_index`, "", ""},
		{"kine's newest schema, with one more index", `CREATE INDEX kine_id_compact_rev_key_with_prev_revision_index ON kine(id, name, prev_revision) WHERE name != 'compact_rev_key' AND prev_revision != 0`, "", ""},
		{"a schema of the future, with one more column", `ALTER TABLE kine ADD COLUMN version INTEGER`, "", ""},
		{"rows that fill gaps", `INSERT INTO kine(id, name, created, deleted, create_revision, prev_revision, lease) VALUES (40, 'gap-40', 0, 1, 0, 0, 0)`, "", ""},
		{"compaction on its way", `UPDATE kine SET prev_revision = 20 WHERE name = 'compact_rev_key'`, "", ""},
		{"a row that replaces a later one", `UPDATE kine SET prev_revision = 999 WHERE id = 10`, "kine", "row 10"},
		{"a row made after itself", `UPDATE kine SET create_revision = 999 WHERE id = 11`, "kine", "row 11"},
		{"compacted further than it goes", `UPDATE kine SET prev_revision = 999 WHERE name = 'compact_rev_key'`, "kine", "rows are missing"},
		{"a sequence that goes back", `UPDATE sqlite_sequence SET seq = 3 WHERE name = 'kine'`, "kine", "given twice"},
		{"no API object", `DELETE FROM kine WHERE name LIKE '/registry/%'`, "kine", "no API object"},
		{"no row", `DELETE FROM kine`, "kine", "empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.exec(tc.change)
			dir := filepath.Join(t.TempDir(), "b")
			_, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: dir})
			must(t, err)
			v, err := backup.Verify(t.Context(), dir, backup.VerifyOptions{Full: true})
			must(t, err)
			if tc.check == "" {
				if !v.OK {
					t.Error(v)
				}
				return
			}
			if v.OK || v.Problems[0].Check != tc.check || !strings.Contains(v.Problems[0].Detail, tc.says) {
				t.Error(v)
			}
		})
	}
}

func TestVerifyWarnsOfAForeignFileAndALogBesideTheDatabase(t *testing.T) {
	t.Parallel()
	_, dir := saved(t, backup.Options{})
	must(t, os.WriteFile(filepath.Join(dir, "state.db-wal"), []byte("stale"), 0o600))
	v, err := backup.Verify(t.Context(), dir, backup.VerifyOptions{})
	must(t, err)
	if !v.OK || !strings.Contains(strings.Join(v.Warnings, "\n"), "state.db-wal is not part of the backup") {
		t.Error(v)
	}
	target := t.TempDir()
	_, err = backup.Restore(t.Context(), dir, target, backup.RestoreOptions{})
	must(t, err)
	if _, err := os.Stat(filepath.Join(target, "server/db/state.db-wal")); err == nil {
		t.Error("the stale log was restored")
	}
}

// A damaged index is what only the full check finds.
func TestFullFindsADamagedIndex(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.exec("CREATE TABLE t (a, b); CREATE INDEX t_a ON t(a); INSERT INTO t VALUES (1, 3), (2, 4)")
	s.exec("PRAGMA writable_schema=on; UPDATE sqlite_schema SET sql = 'CREATE INDEX t_a ON t(b)' WHERE name = 't_a'")
	dir := filepath.Join(t.TempDir(), "b")
	_, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: dir})
	must(t, err)
	quick, err := backup.Verify(t.Context(), dir, backup.VerifyOptions{})
	must(t, err)
	full, err := backup.Verify(t.Context(), dir, backup.VerifyOptions{Full: true})
	must(t, err)
	if !quick.OK || full.OK || full.Problems[0].Check != "database" {
		t.Error(quick, full)
	}
}
