package backup

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
)

// Database says what a datastore held.
type Database struct {
	Bytes       int64  `json:"bytes"`       // size of state.db in the backup
	WALBytes    int64  `json:"walBytes"`    // size of the source's write-ahead log
	PageSize    int64  `json:"pageSize"`    // bytes
	Pages       int64  `json:"pages"`       // including free ones
	FreePages   int64  `json:"freePages"`   // space that SQLite keeps for later
	JournalMode string `json:"journalMode"` // of the source; the copy's is "delete"

	Revision        int64 `json:"revision"`        // kine's newest: the API's resourceVersion
	CompactRevision int64 `json:"compactRevision"` // kine's oldest that can still be asked for
	Rows            int64 `json:"rows"`            // revisions kept
	Keys            int64 `json:"keys"`            // names that are not deleted
	Objects         int64 `json:"objects"`         // those of the API, below /registry/
}

// querier is a *sql.DB or a *sql.Conn.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// kineColumns is kine's table since k3s 1.0; what is added in later schemas are
// indexes (https://github.com/k3s-io/kine/blob/master/pkg/drivers/sqlite/sqlite.go).
var kineColumns = []string{"id", "name", "created", "deleted", "create_revision", "prev_revision", "lease", "value", "old_value"}

// checkSchema gives an error when the database has no table that every kine
// since k3s 1.0 can use.
func checkSchema(ctx context.Context, db querier) error {
	rows, err := db.QueryContext(ctx, "SELECT name FROM pragma_table_info('kine')")
	if err != nil {
		return err
	}
	defer rows.Close()
	have := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		have[name] = true
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(have) == 0 {
		var old int
		err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE type='table' AND name='key_value'").Scan(&old)
		if err == nil && old > 0 {
			return fmt.Errorf("%w: it has the table key_value of k3s before 1.0, which kine migrates when it starts; start k3s once on it", ErrNotKine)
		}
		return fmt.Errorf("%w: it has no table kine", ErrNotKine)
	}
	var missing []string
	for _, c := range kineColumns {
		if !have[c] {
			missing = append(missing, c)
		}
	}
	if missing != nil {
		return fmt.Errorf("%w: the table kine lacks %s", ErrNotKine, strings.Join(missing, ", "))
	}
	return nil
}

// readKine fills in what the rows say. The live value of a name is its highest
// id, unless that one is marked deleted.
func (d *Database) readKine(ctx context.Context, db querier) error {
	var revision, compact sql.NullInt64
	if err := db.QueryRowContext(ctx, "SELECT max(id) FROM kine").Scan(&revision); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "SELECT max(prev_revision) FROM kine WHERE name = 'compact_rev_key'").Scan(&compact); err != nil {
		return err
	}
	d.Revision, d.CompactRevision = revision.Int64, compact.Int64
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM kine").Scan(&d.Rows); err != nil {
		return err
	}
	return db.QueryRowContext(ctx, `
		SELECT count(*), coalesce(sum(live.name >= '/registry/' AND live.name < '/registry0'), 0)
		FROM (SELECT name, max(id) AS id FROM kine GROUP BY name) AS live
		JOIN kine AS row ON row.id = live.id
		WHERE row.deleted = 0`).Scan(&d.Keys, &d.Objects)
}

// liveRows calls each with every live row whose name begins with prefix, which
// ends in a slash.
func liveRows(ctx context.Context, db querier, prefix string, each func(name string, value []byte)) error {
	end := strings.TrimSuffix(prefix, "/") + "0" // 0 follows / in ASCII
	rows, err := db.QueryContext(ctx, `
		SELECT name, value FROM kine
		WHERE id IN (SELECT max(id) FROM kine WHERE name >= ? AND name < ? GROUP BY name) AND deleted = 0
		ORDER BY name`, prefix, end)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var value []byte
		if err := rows.Scan(&name, &value); err != nil {
			return err
		}
		each(name, value)
	}
	return rows.Err()
}

// nodes gives the kubelet version of every Node in the datastore, by name. On a
// k3s server the kubelet is part of k3s and has its version.
func nodes(ctx context.Context, db querier) (map[string]node, error) {
	const prefix = "/registry/minions/"
	found := map[string]node{}
	err := liveRows(ctx, db, prefix, func(name string, value []byte) {
		found[strings.TrimPrefix(name, prefix)] = node{
			version: kubeletVersion(value),
			server:  strings.Contains(string(value), "node-role.kubernetes.io/control-plane"),
		}
	})
	return found, err
}

type node struct {
	version string
	server  bool
}

// A Node is stored as protobuf: kubeletVersion is field 7 of NodeSystemInfo, so
// its bytes are 0x3a, its length, itself
// (https://github.com/kubernetes/api/blob/master/core/v1/generated.proto).
var kubeletField = regexp.MustCompile(`(?s)\x3a(.)(v\d+\.\d+\.\d+[-+.0-9A-Za-z]*)`)

func kubeletVersion(value []byte) string {
	for _, m := range kubeletField.FindAllSubmatch(value, -1) {
		if n := int(m[1][0]); n <= len(m[2]) {
			if v := string(m[2][:n]); versionPattern.MatchString(v) {
				return v
			}
		}
	}
	return ""
}
