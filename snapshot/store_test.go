package snapshot

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestASnapshotSurvivesItsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := cluster(v34)
	for _, name := range []string{"s.json", "s.json.gz"} {
		path := filepath.Join(dir, name)
		if err := want.WriteFile(path, false); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.Transformer("nil", func(s *Snapshot) Snapshot {
			c := *s
			if len(c.Ingresses) == 0 {
				c.Ingresses = nil
			}
			if len(c.HelmCharts) == 0 {
				c.HelmCharts = nil
			}
			if len(c.Autoscalers) == 0 {
				c.Autoscalers = nil
			}
			if len(c.Webhooks) == 0 {
				c.Webhooks = nil
			}
			return c
		})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
		raw, _ := os.ReadFile(path)
		if zipped := raw[0] == 0x1f; zipped != strings.HasSuffix(name, ".gz") {
			t.Errorf("%s: gzipped: %v", name, zipped)
		}
		if err := want.WriteFile(path, false); !errors.Is(err, ErrExists) {
			t.Errorf("%s is written over: %v", name, err)
		}
		if err := want.WriteFile(path, true); err != nil {
			t.Error(err)
		}
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
	if err := want.WriteFile(filepath.Join(dir, "nowhere", "s.json"), false); err == nil {
		t.Error("a folder that is not there is no error")
	}
}

func TestOneObjectALine(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := cluster(v34).Write(&b); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, line := range strings.Split(b.String(), "\n") {
		if strings.Contains(line, `"name":"web"`) && strings.Contains(line, `"kind":"Deployment"`) && !strings.Contains(line, `"phase"`) {
			found++
		}
	}
	if found != 1 {
		t.Errorf("Deployment web is on %d lines", found)
	}
}

func TestReadRefusesWhatIsNoSnapshot(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := cluster(v34).Write(&b); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	for name, text := range map[string]string{
		"nothing":                  "",
		"no JSON":                  "apiVersion: v1\n",
		"a list":                   "[]",
		"null":                     "null",
		"another object":           `{"kind":"List","items":[]}`,
		"a newer format":           strings.Replace(good, "snapshot/v1", "snapshot/v2", 1),
		"a cut one":                good[:len(good)-50],
		"two in one file":          good + good,
		"something behind it":      good + "x",
		"a number for a list":      `{"format":"` + Format + `","nodes":7}`,
		"a time that is none":      `{"format":"` + Format + `","takenAt":"yesterday"}`,
		"a count that is no count": `{"format":"` + Format + `","lists":[{"count":"x"}]}`,
	} {
		s, err := Read(strings.NewReader(text))
		if s != nil || !errors.Is(err, ErrNotSnapshot) {
			t.Errorf("%s: got %v, %v", name, s, err)
		}
	}
}

func TestReadFileNamesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bad.gz")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(`{"format":"` + Format + `"}`))
	_ = z.Close()
	for name, content := range map[string][]byte{"a cut gzip": b.Bytes()[:b.Len()-6], "no gzip": {0x1f, 0x8b, 0, 0}, "text": []byte("hello")} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), "bad.gz") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzRead holds that any bytes are read or refused, and that what was read is
// written and read again the same, and compares with itself.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := cluster(v34).Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"format":"` + Format + `","clusterUID":"x","servers":[{"version":"v1"}],"lists":[{"resource":"pods","kind":"Pod","state":"captured"}],"pods":[{"owner":{}}],"others":[{},{}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := Read(bytes.NewReader(raw))
		if err != nil {
			return
		}
		var once, twice bytes.Buffer
		if err := s.Write(&once); err != nil {
			return // a year beyond 9999 has no JSON
		}
		again, err := Read(bytes.NewReader(once.Bytes()))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, once.Bytes())
		}
		if err := again.Write(&twice); err != nil || once.String() != twice.String() {
			t.Fatalf("%v\n%s\n%s", err, once.String(), twice.String())
		}
		c := Compare(s, s, CompareOptions{})
		_ = c.String()
		if c.Verdict == SameCluster && len(s.NotCaptured()) > 0 {
			t.Fatalf("same cluster though something was not captured: %s", c)
		}
		if c.Verdict == SameClusterWithLosses && len(c.Losses()) == 0 || c.Verdict == OtherCluster {
			t.Fatalf("a snapshot against itself: %s", c)
		}
	})
}
