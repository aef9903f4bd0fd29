package backup

import (
	"context"
	"database/sql"
	"fmt"
)

// checkIntegrity lets SQLite look for damage: quick_check walks every page,
// integrity_check compares every index with its table too. It gives what was
// found, at most ten lines.
func checkIntegrity(ctx context.Context, db querier, full bool) ([]string, error) {
	pragma := "PRAGMA quick_check(10)"
	if full {
		pragma = "PRAGMA integrity_check(10)"
	}
	rows, err := db.QueryContext(ctx, pragma)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, err
		}
		if line != "ok" {
			found = append(found, line)
		}
	}
	return found, rows.Err()
}

// checkRevisions looks for what would make a kine that starts on this database
// go back in time, or contradict itself.
func checkRevisions(ctx context.Context, db querier) ([]string, error) {
	var found []string
	var sequence, newest, compact, oldestLater sql.NullInt64
	if err := db.QueryRowContext(ctx, "SELECT max(id) FROM kine").Scan(&newest); err != nil {
		return nil, err
	}
	if !newest.Valid {
		return []string{"the table kine is empty"}, nil
	}
	var hasSequence int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_sequence'").Scan(&hasSequence); err != nil {
		return nil, err
	}
	if hasSequence > 0 {
		if err := db.QueryRowContext(ctx, "SELECT max(seq) FROM sqlite_sequence WHERE name = 'kine'").Scan(&sequence); err != nil {
			return nil, err
		}
		if sequence.Valid && sequence.Int64 < newest.Int64 {
			found = append(found, fmt.Sprintf("the next revision would be %d although %d exists: revisions would be given twice", sequence.Int64+1, newest.Int64))
		}
	}
	if err := db.QueryRowContext(ctx, "SELECT max(prev_revision) FROM kine WHERE name = 'compact_rev_key'").Scan(&compact); err != nil {
		return nil, err
	}
	if compact.Int64 > newest.Int64 {
		found = append(found, fmt.Sprintf("compacted up to revision %d, but the newest is %d: rows are missing", compact.Int64, newest.Int64))
	}
	if err := db.QueryRowContext(ctx, `
		SELECT min(id) FROM kine
		WHERE (prev_revision > id OR create_revision > id) AND name != 'compact_rev_key'`).Scan(&oldestLater); err != nil {
		return nil, err
	}
	if oldestLater.Valid {
		found = append(found, fmt.Sprintf("row %d says that it replaces a later revision than itself", oldestLater.Int64))
	}
	return found, nil
}
