package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// inspect looks at the copy with SQLite: whether it is sound, whether it is a
// datastore, what is in it, and whether the token opens it.
func (s *saver) inspect(ctx context.Context, path string) error {
	db, err := openCopy(path)
	if err != nil {
		return err
	}
	defer db.Close()
	m := newMeter(s.opts.Progress, PhaseCheck)
	defer m.at(0, 0, 0)
	if err := checkSchema(ctx, db); err != nil {
		return s.blame(err)
	}
	problems, err := checkIntegrity(ctx, db, false)
	if err != nil {
		return s.blame(err)
	}
	if problems != nil {
		return fail("save", s.det.Path, fmt.Errorf("%w: %s", ErrCorrupt, problems[0]), "nothing was saved; go back to an earlier backup, or try the sqlite3 shell's .recover on a copy")
	}
	if err := s.m.Database.readKine(ctx, db); err != nil {
		return s.blame(err)
	}
	if st, err := os.Stat(path); err == nil {
		s.m.Database.Bytes = st.Size()
	}
	if s.m.TokenCheck, err = checkToken(ctx, db, s.token); err != nil {
		return s.blame(err)
	}
	if s.m.TokenCheck.Opens == OpensNo {
		if err := s.tryConfigured(ctx, db); err != nil {
			return s.blame(err)
		}
	}
	s.warn(s.m.TokenCheck.Warning)
	if s.m.TokenCheck.Opens == OpensNoRecord {
		s.warn("no bootstrap record: " + s.m.TokenCheck.Reason)
	}
	for _, w := range s.m.Database.warnings() {
		s.warn(w)
	}
	return s.nameVersion(ctx, db)
}

// tryConfigured tries the token of the configuration, which k3s takes before the
// file, and from which it writes the file when it starts.
func (s *saver) tryConfigured(ctx context.Context, db querier) error {
	token := s.det.host.flags["token"]
	if token == "" || !s.det.host.belongsTo(s.det.DataDir) {
		return nil
	}
	c, err := checkToken(ctx, db, []byte(token))
	if err == nil && c.Opens == OpensYes {
		s.m.TokenCheck.Reason = "the one in " + s.det.host.from["token"] + " opens it; k3s writes the file from that when it starts"
	}
	return err
}

// blame says in an error about the copy that the source is meant.
func (s *saver) blame(err error) error {
	if errors.Is(err, ErrNotKine) {
		return fail("save", s.det.Path, err, "")
	}
	return classify(s.det.Path, err)
}

func (s *saver) warn(w string) {
	if w != "" {
		s.m.Warnings = append(s.m.Warnings, w)
	}
}

// hash fills in sizes and sums; the database's is known if it was made on the
// way.
func (s *saver) hash(ctx context.Context, dir, databaseSum string) error {
	var total, done int64
	for _, f := range s.m.Files {
		if st, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Path))); err == nil {
			total += st.Size()
		}
	}
	m := newMeter(s.opts.Progress, PhaseHash)
	for i := range s.m.Files {
		f := &s.m.Files[i]
		if f.Path == DatabaseName && databaseSum != "" {
			f.SHA256, f.Size = databaseSum, s.m.Database.Bytes
			done += f.Size
			continue
		}
		sum, size, err := hashFile(ctx, filepath.Join(dir, filepath.FromSlash(f.Path)), func(n int64) {
			done += n
			m.at(done, total, 0)
		})
		if err != nil {
			return err
		}
		f.SHA256, f.Size = sum, size
	}
	return nil
}

// warnings are the signs that kine's log or compaction does not keep up
// (https://github.com/k3s-io/k3s/issues/3660, https://github.com/k3s-io/k3s/issues/11901).
func (d *Database) warnings() []string {
	var list []string
	if d.WALBytes > 64<<20 && d.WALBytes > 4*d.Bytes {
		list = append(list, fmt.Sprintf("the write-ahead log (%s) is far larger than the database (%s): checkpoints do not keep up, look for a process that holds a read transaction open",
			bytesText(d.WALBytes), bytesText(d.Bytes)))
	}
	// kine compacts every five minutes and keeps the last 1000 revisions.
	if behind := d.Revision - d.CompactRevision; behind > 100_000 && d.Rows > 4*d.Keys {
		list = append(list, fmt.Sprintf("compaction seems to have stalled: %d revisions are not compacted, %d rows hold %d keys; look for \"Compact failed\" in the log of k3s",
			behind, d.Rows, d.Keys))
	}
	return list
}
