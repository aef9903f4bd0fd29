//go:build practice

package backup_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/k3sladder/k3sladder/backup"
	"github.com/k3sladder/k3sladder/internal/practice"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The way back, walked on real Kubernetes: a cluster is saved under load, lives
// on, is upgraded, lives on, and is restored: the API of the old version serves
// exactly what the backup has, with the same UIDs, and nothing later.
func TestRollbackDrill(t *testing.T) {
	ctx := t.Context()
	c := practice.Start(t, practice.Options{Version: practice.From})
	drill := &drill{t: t, c: c}
	_, err := c.Client().CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "drill"}}, metav1.CreateOptions{})
	must(t, err)
	for i := range 50 {
		drill.create(ctx, fmt.Sprintf("before-%02d", i))
	}

	stop := drill.load(ctx)
	dir := filepath.Join(t.TempDir(), "b")
	saved, err := backup.Save(ctx, c.DataDir(), backup.Options{Out: dir})
	stop()
	must(t, err)
	if !saved.OK() || saved.Manifest.K3sVersion != practice.From || saved.Manifest.TokenCheck.Opens != backup.OpensYes {
		t.Fatal(saved)
	}
	t.Log(saved)

	// What the backup has, by its own database: names, and the UIDs that the
	// API gave when it made them.
	want := map[string]string{}
	for name := range configMaps(t, filepath.Join(dir, "state.db")) {
		want[name] = drill.uid(name)
	}
	if len(want) < 50 || len(want) >= drill.made() {
		t.Fatalf("the backup has %d of %d objects: it was not made under load", len(want), drill.made())
	}
	drill.create(ctx, "after-the-backup")
	drill.delete(ctx, "before-00")

	must(t, c.Upgrade(ctx, practice.To))
	drill.create(ctx, "after-the-upgrade")
	drill.delete(ctx, "before-01")

	if _, err := backup.Restore(ctx, dir, c.DataDir(), backup.RestoreOptions{}); !errors.Is(err, backup.ErrRunning) {
		t.Fatalf("restored into a running cluster: %v", err)
	}
	must(t, c.Stop(ctx))
	restored, err := backup.Restore(ctx, dir, c.DataDir(), backup.RestoreOptions{Installed: practice.To, Full: true})
	must(t, err)
	t.Log(restored)
	must(t, c.Restart(ctx, practice.From))

	version, err := c.Client().Discovery().ServerVersion()
	must(t, err)
	if version.GitVersion != practice.From {
		t.Errorf("the API server is %s", version.GitVersion)
	}
	list, err := c.Client().CoreV1().ConfigMaps("drill").List(ctx, metav1.ListOptions{LabelSelector: "drill=yes"})
	must(t, err)
	got := map[string]string{}
	for _, m := range list.Items {
		got[m.Name] = string(m.UID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the restored API serves something else than the backup has (-backup +API):\n%s", diff)
	}
	drill.create(ctx, "after-the-restore")

	// The negative: another cluster's token.
	other := filepath.Join(t.TempDir(), "token")
	token, err := os.ReadFile(filepath.Join(dir, "token"))
	must(t, err)
	head, _, _ := bytes.Cut(token, []byte("::"))
	must(t, os.WriteFile(other, append(head, "::server:of-another-cluster\n"...), 0o600))
	v, err := backup.Verify(ctx, dir, backup.VerifyOptions{Token: other})
	must(t, err)
	if v.OK || v.TokenCheck.Opens != backup.OpensNo {
		t.Error(v)
	}
	target := filepath.Join(t.TempDir(), "var/lib/rancher/k3s")
	must(t, os.MkdirAll(filepath.Join(target, "server"), 0o700))
	must(t, os.Rename(other, filepath.Join(target, "server/token")))
	if _, err := backup.Restore(ctx, dir, target, backup.RestoreOptions{}); !errors.Is(err, backup.ErrOtherToken) {
		t.Errorf("restored over another cluster's token: %v", err)
	}
	swapped, err := os.ReadFile(filepath.Join(target, "server/token"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "token"), swapped, 0o600))
	if _, err := backup.Restore(ctx, dir, t.TempDir(), backup.RestoreOptions{}); !errors.Is(err, backup.ErrVerify) {
		t.Errorf("restored a pair that does not belong together: %v", err)
	}
}

// drill makes ConfigMaps and knows the UIDs they got.
type drill struct {
	t    *testing.T
	c    *practice.Cluster
	uids sync.Map
	n    atomic.Int64
}

func (d *drill) create(ctx context.Context, name string) {
	if err := d.tryCreate(ctx, name); err != nil {
		d.t.Fatal(err)
	}
}

func (d *drill) tryCreate(ctx context.Context, name string) error {
	m, err := d.c.Client().CoreV1().ConfigMaps("drill").Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"drill": "yes"}},
		Data:       map[string]string{"pad": strings.Repeat("x", 2000)},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err == nil {
		d.uids.Store(name, string(m.UID))
		d.n.Add(1)
	}
	return err
}

func (d *drill) delete(ctx context.Context, name string) {
	must(d.t, d.c.Client().CoreV1().ConfigMaps("drill").Delete(ctx, name, metav1.DeleteOptions{}))
}

func (d *drill) uid(name string) string {
	uid, _ := d.uids.Load(name)
	s, _ := uid.(string)
	return s
}

func (d *drill) made() int { return int(d.n.Load()) }

// load creates objects from four goroutines until it is stopped, which is not
// before ten were made.
func (d *drill) load(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	before := d.made()
	for g := range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := d.tryCreate(ctx, fmt.Sprintf("load-%d-%05d", g, i)); err != nil && ctx.Err() == nil {
					d.t.Errorf("the cluster suffers from the save: %v", err)
					return
				}
			}
		})
	}
	grown := func(by int) {
		deadline := time.Now().Add(time.Minute)
		for from := d.made(); d.made() < from+by; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				d.t.Errorf("only %d objects were made", d.made()-before)
				return
			}
		}
	}
	grown(10)
	return func() {
		grown(10)
		cancel()
		wg.Wait()
	}
}

// configMaps are the names of the drill's ConfigMaps in a datastore.
func configMaps(t *testing.T, path string) map[string]bool {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&immutable=1")
	must(t, err)
	defer db.Close()
	const prefix = "/registry/configmaps/drill/"
	r, err := db.Query(`SELECT name FROM kine WHERE id IN (SELECT max(id) FROM kine WHERE name LIKE ? GROUP BY name) AND deleted = 0`, prefix+"%")
	must(t, err)
	defer r.Close()
	found := map[string]bool{}
	for r.Next() {
		var name string
		must(t, r.Scan(&name))
		if name = strings.TrimPrefix(name, prefix); name != "kube-root-ca.crt" {
			found[name] = true
		}
	}
	must(t, r.Err())
	return found
}
