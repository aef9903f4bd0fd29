package backup_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/backup"
	"golang.org/x/sys/unix"
)

// limitEnv lets the victim process write files up to so many bytes only, which
// is how a disk fills up for one process without a disk.
const limitEnv = "K3SLADDER_TEST_FILE_LIMIT"

func init() {
	if os.Getenv(limitEnv) != "" {
		limit := unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
			panic(err)
		}
	}
}

func TestATargetThatFillsUp(t *testing.T) {
	t.Parallel()
	s, small := saved(t, backup.Options{})
	s.exec("INSERT INTO kine(name, value) VALUES ('/registry/big', randomblob(3000000))")
	big := filepath.Join(t.TempDir(), "big")
	_, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: big})
	must(t, err)
	root := t.TempDir()
	before := tree(t, s.host)
	target := filepath.Join(t.TempDir(), "k3s")
	for _, args := range [][]string{
		{"save", s.dataDir, filepath.Join(root, "b")},
		{"restore", big, s.dataDir},
		{"restore", big, target},
	} {
		exe, err := os.Executable()
		must(t, err)
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), runEnv+"="+strings.Join(args, "\n"), limitEnv+"=yes")
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		r := bufio.NewReader(out)
		r.ReadString('\n')
		said, _ := r.ReadString('\n')
		if err := cmd.Wait(); err == nil || !strings.Contains(said, "not enough free space") {
			t.Errorf("%s: %v, %q", args[0], err, said)
		}
	}
	isEmpty(t, root)
	same(t, before, tree(t, s.host))
	for _, name := range []string{"server/db/state.db", "server/token"} {
		if _, err := os.Stat(filepath.Join(target, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	if _, err := backup.Restore(t.Context(), small, target, backup.RestoreOptions{}); err != nil {
		t.Error("after that:", err)
	}
}

func TestATargetThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s, dir := saved(t, backup.Options{})
	before := tree(t, s.host)
	if _, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: "/proc/self/b"}); err == nil {
		t.Error("saved to /proc")
	}
	if _, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: filepath.Join(s.token, "b")}); !errors.Is(err, unix.ENOTDIR) {
		t.Error(err)
	}
	if _, err := backup.Restore(t.Context(), dir, "/proc/self/k3s", backup.RestoreOptions{}); err == nil {
		t.Error("restored to /proc")
	}
	same(t, before, tree(t, s.host))
}
