package backup

import (
	"bytes"
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzWAL compares with SQLite itself which pages of a damaged log count: both
// read the same database and log, and the results are the same file.
func FuzzWAL(f *testing.F) {
	main, whole := walPair(f)
	f.Add(uint16(0), byte(0), uint16(0), byte(0), uint16(0))
	f.Add(uint16(0), byte(0), uint16(0), byte(0), uint16(1))
	for at := 0; at < len(whole); at += 131 {
		f.Add(uint16(at), byte(0x80), uint16(at/2), byte(0), uint16(0))
	}
	f.Fuzz(func(t *testing.T, at uint16, flip byte, at2 uint16, flip2 byte, cut uint16) {
		log := damage(whole, at, flip, at2, flip2, cut)
		dir := t.TempDir()
		ours, theirs := filepath.Join(dir, "ours.db"), filepath.Join(dir, "theirs.db")
		for _, path := range []string{ours, theirs} {
			if err := os.WriteFile(path, main, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path+"-wal", log, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got := filepath.Join(dir, "copy.db")
		_, err := copyAtRest(t.Context(), ours, got, newMeter(nil, PhaseCopy))
		if err != nil {
			return // an error is no wrong copy; SQLite may be more lenient
		}
		db, err := openDB(theirs, "_pragma=synchronous(off)", "_pragma=locking_mode(exclusive)")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var busy, frames, moved int
		if err := db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&frames); err != nil {
			return // SQLite finds what is left malformed, which Save finds out too
		}
		if err := db.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved); err != nil {
			return
		}
		a, err := os.ReadFile(got)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(theirs)
		if err != nil {
			t.Fatal(err)
		}
		copy(a[18:20], b[18:20]) // the mode is ours to change
		if !bytes.Equal(a, b) {
			t.Errorf("SQLite recovers %d frames to %d bytes, the copy has %d bytes and differs", frames, len(b), len(a))
		}
	})
}

// damage gives a copy of b with two bytes changed and some cut off.
func damage(b []byte, at uint16, flip byte, at2 uint16, flip2 byte, cut uint16) []byte {
	b = bytes.Clone(b)
	b[int(at)%len(b)] ^= flip
	b[int(at2)%len(b)] ^= flip2
	return b[:len(b)-int(cut)%len(b)]
}

// walPair is a database and its log of a few transactions.
func walPair(f *testing.F) (main, log []byte) {
	path := filepath.Join(f.TempDir(), "state.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=page_size(512)&_pragma=journal_mode(wal)&_pragma=wal_autocheckpoint(0)")
	if err != nil {
		f.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, query := range []string{
		"CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB)",
		"INSERT INTO t VALUES (1, randomblob(1500)), (2, randomblob(300))",
		"PRAGMA wal_checkpoint(RESTART)",
		"INSERT INTO t VALUES (3, randomblob(700))",
		"UPDATE t SET v = randomblob(900) WHERE k = 1",
		"DELETE FROM t WHERE k = 2",
	} {
		if _, err := db.Exec(query); err != nil {
			f.Fatal(err)
		}
	}
	if main, err = os.ReadFile(path); err != nil {
		f.Fatal(err)
	}
	if log, err = os.ReadFile(path + "-wal"); err != nil {
		f.Fatal(err)
	}
	return main, log
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"formatVersion":1,"files":[{"path":"state.db","mode":"0600"}]}`))
	f.Add([]byte(`{"formatVersion":1,"files":[{"path":"../../etc/passwd"}]}`))
	f.Add([]byte(`{"formatVersion":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseManifest("backup.json", b)
		if err != nil {
			return
		}
		for _, file := range m.Files {
			if !filepath.IsLocal(file.Path) || filepath.IsAbs(file.Path) || file.mode()&0o022 != 0 {
				t.Errorf("%+v leads out of the folder, or others may write it", file)
			}
		}
	})
}

func FuzzHost(f *testing.F) {
	f.Add("K3S_TOKEN='a b'\nexport X=\"y\"\n# K3S_URL=z\n")
	f.Add("ExecStart=/usr/local/bin/k3s \\\n  server \\\n '--datastore-endpoint' 'mysql://x' --cluster-init -d /srv\n")
	f.Add("ExecStart=/usr/local/bin/k3s server --cluster-init\nExecStart=\nExecStart=/usr/local/bin/k3s server\n")
	f.Add("command_args=\"server '--token=x' >>/log 2>&1\"\n")
	f.Add("Environment=A=b \"C=d e\"\nEnvironment=\nEnvironmentFile=-/etc/default/%N\nEnvironmentFile=\n")
	f.Add("datastore-endpoint: mysql://x\ncluster-init: true\nnode-label+:\n- a=b\n")
	f.Fuzz(func(t *testing.T, s string) {
		b := []byte(s)
		parseEnv(b)
		found := service{env: settings{}, args: settings{}}
		found.unit(b, "k3s.service")
		for k := range found.args {
			if strings.HasPrefix(k, "-") || k == "" {
				t.Errorf("%q is no flag's name", k)
			}
		}
		if _, err := parseConfig(b); err != nil && err.Error() != "not a YAML mapping" {
			t.Errorf("the error may tell a value: %v", err)
		}
	})
}

func FuzzKubeletVersion(f *testing.F) {
	f.Add([]byte("k8s\x00\x3a\x0cv1.34.4+k3s1\x42\x00"))
	f.Add([]byte("\x3a\xffv1.34.4"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v := kubeletVersion(b); v != "" && !bytes.Contains(b, []byte(v)) {
			t.Errorf("%q is not in the value", v)
		}
	})
}

// The checks of an image's header bound what a damaged one can ask for.
func FuzzImage(f *testing.F) {
	wholeMain, wholeLog := walPair(f)
	f.Add(uint16(0), byte(0), uint16(0), byte(0), uint16(0), uint16(0), byte(0), uint16(0))
	for at := range uint16(100) { // the header
		f.Add(at, byte(0xff), at, byte(0), uint16(0), uint16(0), byte(1), uint16(0))
	}
	f.Fuzz(func(t *testing.T, at uint16, flip byte, at2 uint16, flip2 byte, cut uint16, logAt uint16, logFlip byte, logCut uint16) {
		main := damage(wholeMain, at, flip, at2, flip2, cut)
		log := damage(wholeLog, logAt, logFlip, 0, 0, logCut)
		dir := t.TempDir()
		open := func(name string, b []byte) *os.File {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { file.Close() })
			return file
		}
		img, err := openImage(open("db", main), open("log", log))
		if err != nil {
			return
		}
		out, err := os.Create(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if _, err := img.writeTo(t.Context(), out, newMeter(nil, PhaseCopy), func() error { return nil }); err != nil {
			return
		}
		if n, _ := out.Seek(0, io.SeekEnd); n != img.size() || n > int64(len(main)+len(log)) {
			t.Errorf("%d bytes out of %d and %d", n, len(main), len(log))
		}
	})
}
