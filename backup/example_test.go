package backup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/k3sladder/k3sladder/backup"
)

// Save what a k3s server has, and prove that it can be restored.
func ExampleSave() {
	dataDir, done := exampleServer() // backup.DefaultDataDir on a server
	defer done()
	ctx := context.Background()

	out := filepath.Join(filepath.Dir(dataDir), "before-upgrade")
	r, err := backup.Save(ctx, dataDir, backup.Options{Out: out, K3sVersion: "v1.34.4+k3s1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Manifest.K3sVersion, r.OK())
	fmt.Println(r.Manifest.TokenCheck)

	v, err := backup.Verify(ctx, out, backup.VerifyOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.OK, v.Problems)
	// Output:
	// v1.34.4+k3s1 true
	// token opens datastore: yes
	// true []
}

// A dry run checks everything that a restore does, and changes nothing.
func ExampleRestore() {
	dataDir, done := exampleServer() // backup.DefaultDataDir on a server
	defer done()
	ctx := context.Background()
	out := filepath.Join(filepath.Dir(dataDir), "before-upgrade")
	if _, err := backup.Save(ctx, dataDir, backup.Options{Out: out, K3sVersion: "v1.34.4+k3s1"}); err != nil {
		fmt.Println(err)
		return
	}

	r, err := backup.Restore(ctx, out, dataDir, backup.RestoreOptions{DryRun: true, Installed: "v1.35.4+k3s1"})
	switch {
	case errors.Is(err, backup.ErrRunning):
		fmt.Println("stop k3s first")
		return
	case errors.Is(err, backup.ErrOtherToken), errors.Is(err, backup.ErrVerify):
		fmt.Println("not this backup:", err)
		return
	case err != nil:
		fmt.Println(err)
		return
	}
	fmt.Println(r.Verified.OK, r.Verified.K3sVersion)
	for _, path := range r.Replaced {
		fmt.Println("would replace", filepath.Base(path))
	}
	// r.Commands start the version of k3s that the backup is of.

	// Output:
	// true v1.34.4+k3s1
	// would replace state.db
}

// A directory without an SQLite datastore says what it has instead.
func ExampleDetect() {
	dataDir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dataDir)
	if err := os.MkdirAll(filepath.Join(dataDir, "server/db/etcd/member"), 0o700); err != nil {
		fmt.Println(err)
		return
	}
	d, err := backup.Detect(context.Background(), dataDir, backup.DetectOptions{HostRoot: dataDir})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Kind)
	fmt.Println(d.Instead)
	// Output:
	// embedded-etcd
	// use "k3s etcd-snapshot save" and keep server/token with the snapshot (https://docs.k3s.io/cli/etcd-snapshot)
}

// exampleServer makes a data directory with one object in it.
func exampleServer() (dataDir string, done func()) {
	var t exampleT
	s := newServer(&t)
	return s.dataDir, t.done
}
