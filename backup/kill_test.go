package backup_test

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/k3sladder/k3sladder/backup"
)

// runEnv makes this test binary save or restore and nothing else: lines of
// "save", data directory, target, or "restore", backup, data directory.
const runEnv = "K3SLADDER_TEST_RUN"

func runVictim(args []string) error {
	fmt.Println("begin")
	ctx := context.Background()
	var err error
	switch args[0] {
	case "save":
		_, err = backup.Save(ctx, args[1], backup.Options{Out: args[2]})
	case "restore":
		_, err = backup.Restore(ctx, args[1], args[2], backup.RestoreOptions{ReplaceToken: true})
	}
	return err
}

// run starts the victim and kills it after a while, or lets it end when after
// is 0. It gives how long it took from its beginning, and whether it ended well.
func run(t *testing.T, after time.Duration, args ...string) (took time.Duration, ended bool) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), runEnv+"="+strings.Join(args, "\n"))
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	r := bufio.NewReader(out)
	_, err = r.ReadString('\n')
	must(t, err)
	start := time.Now()
	if after > 0 {
		timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
		defer timer.Stop()
	}
	said, _ := r.ReadString('\n')
	if said != "" {
		t.Fatal(said)
	}
	return time.Since(start), cmd.Wait() == nil
}

func kills() int {
	if slow {
		return 20
	}
	return 150
}

func shortest(run func() time.Duration) time.Duration {
	return min(run(), run(), run())
}

func TestASaveThatIsKilledLeavesNoHalfResult(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	startWriter(t, s.db).do("put /registry/configmaps/default/live in-the-log-only")
	before := tree(t, s.dataDir)
	root := t.TempDir()
	took := shortest(func() time.Duration {
		whole := filepath.Join(root, "whole")
		took, ok := run(t, 0, "save", s.dataDir, whole)
		if !ok {
			t.Fatal("the save failed")
		}
		must(t, os.RemoveAll(whole))
		return took
	})
	finished := 0
	for range kills() {
		out := filepath.Join(root, "b")
		_, ok := run(t, 1+rand.N(took), "save", s.dataDir, out)
		entries, err := os.ReadDir(root)
		must(t, err)
		hidden := 0
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") {
				hidden++
			}
		}
		if hidden > 1 {
			t.Fatalf("killed saves pile up: %v", entries)
		}
		if _, err := os.Stat(out); err == nil {
			finished++
			v, err := backup.Verify(t.Context(), out, backup.VerifyOptions{})
			must(t, err)
			if !v.OK {
				t.Fatal(v)
			}
			must(t, os.RemoveAll(out))
		} else if ok {
			t.Fatal("ended well without a result")
		}
	}
	same(t, before, tree(t, s.dataDir))
	t.Logf("%d of %d were finished before they were killed, within %v", finished, kills(), took)
}

func TestARestoreThatIsKilledIsTakenBackOrDone(t *testing.T) {
	t.Parallel()
	for _, elsewhere := range []bool{false, true} {
		name := "with the database folder in place"
		if elsewhere {
			name = "with the database folder elsewhere"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := saved(t, backup.Options{})
			s.write("var/lib/rancher/k3s/server/tls/server-ca.crt", "rotated")
			s.write("var/lib/rancher/k3s/server/token", "K10"+caHash+"::server:another-password")
			w := startWriter(t, s.db)
			w.do("put /registry/configmaps/default/live in-the-log-only")
			w.kill()
			if elsewhere {
				must(t, os.Rename(filepath.Dir(s.db), filepath.Join(s.host, "disk")))
				must(t, os.Symlink(filepath.Join(s.host, "disk"), filepath.Dir(s.db)))
			}
			pristine := filepath.Join(t.TempDir(), "pristine")
			copyTree(t, s.host, pristine)
			newRows := rows(t, filepath.Join(dir, "state.db"))
			again := func() {
				must(t, os.RemoveAll(s.host))
				copyTree(t, pristine, s.host)
			}
			again()
			before := tree(t, s.host)
			took := shortest(func() time.Duration {
				took, ok := run(t, 0, "restore", dir, s.dataDir)
				if !ok {
					t.Fatal("the restore failed")
				}
				again()
				return took
			})
			var undone, done, untouched int
			for range kills() / 2 {
				run(t, 1+rand.N(took), "restore", dir, s.dataDir)
				taken, err := backup.Undo(t.Context(), s.dataDir)
				must(t, err)
				if len(taken.Undone) > 0 {
					undone++
				}
				now := tree(t, s.host)
				if cmp.Equal(now, before) {
					untouched++
					continue
				}
				done++
				if diff := cmp.Diff(newRows, rows(t, s.db)); diff != "" {
					t.Fatalf("neither the old datastore nor the new one:\n%s\n%s", diff, cmp.Diff(before, now))
				}
				for _, suffix := range []string{"-wal", "-shm"} {
					if _, err := os.Stat(s.db + suffix); err == nil {
						t.Fatalf("a stale state.db%s is beside the new database", suffix)
					}
				}
				again()
			}
			t.Logf("killed within %v: %d done, %d as before, of which %d taken back", took, done, untouched, undone)
		})
	}
}

// copyTree copies a folder with the links in it, which it adapts to the new place.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	must(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		dst := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(dst, 0o700)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, dst)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(dst, b, 0o600)
	}))
}
