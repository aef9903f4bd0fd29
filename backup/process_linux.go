package backup

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// openBy gives a process that has the file open, as far as /proc shows it, or 0.
// It finds what holds no lock at the moment.
func openBy(path string) int {
	want, err := os.Stat(path)
	if err != nil {
		return 0
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return 0
	}
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, p := range procs {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		fds := filepath.Join("/proc", p.Name(), "fd")
		entries, err := os.ReadDir(fds)
		if err != nil {
			continue // gone, or not ours to see
		}
		for _, e := range entries {
			fd := filepath.Join(fds, e.Name())
			// The name is cheap to compare; the file behind it is what counts
			// in another mount namespace.
			if link, err := os.Readlink(fd); err != nil || filepath.Base(link) != filepath.Base(real) {
				continue
			}
			if st, err := os.Stat(fd); err == nil && os.SameFile(st, want) {
				return pid
			}
		}
	}
	return 0
}

// owner is who should own what is put into a data directory: rootless k3s runs
// as a user.
type owner struct{ uid, gid int }

func ownerOf(path string) owner {
	st, err := os.Stat(path)
	if err != nil {
		return owner{os.Geteuid(), os.Getegid()}
	}
	s := st.Sys().(*syscall.Stat_t)
	return owner{int(s.Uid), int(s.Gid)}
}

// give makes the file or folder, with all in it, the owner's.
func (o owner) give(path string) error {
	if o.uid == os.Geteuid() && o.gid == os.Getegid() {
		return nil
	}
	return filepath.WalkDir(path, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, o.uid, o.gid)
	})
}

func sameDevice(a, b string) bool {
	sa, errA := os.Stat(a)
	sb, errB := os.Stat(b)
	return errA == nil && errB == nil && sa.Sys().(*syscall.Stat_t).Dev == sb.Sys().(*syscall.Stat_t).Dev
}
