package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	_ "modernc.org/sqlite" // the driver that backup uses too

	"github.com/k3sladder/k3sladder/backup"
)

// backup saves datastore and token, and proves that they belong together.
func (l *lab) backup(ctx context.Context, live *live) (string, error) {
	server, err := l.server(ctx)
	if err != nil {
		return "", err
	}
	node, err := l.node(ctx)
	if err != nil {
		return "", err
	}
	cluster, err := l.clusterUID(ctx)
	if err != nil {
		return "", err
	}
	saved, err := backup.Save(ctx, l.dataDir, backup.Options{
		Out: l.path(backupDir), Force: l.force, K3sVersion: server.String(), Node: node.Name,
		Progress: func(p backup.Progress) { live.say("%s: %s of %s", p.Phase, bytesText(p.Done), bytesText(p.Total)) },
	})
	if err != nil {
		return "", l.explain(err)
	}
	for _, warning := range saved.Manifest.Warnings {
		live.note("warning: %s", warning)
	}
	verified, err := l.verifyBackup(ctx, cluster)
	if err != nil {
		return "", err
	}
	record := backupRecord{
		K3sVersion: server.String(), TokenSHA256: saved.Manifest.TokenSHA256, TokenOpens: string(verified.TokenCheck.Opens),
		Bytes: verified.Database.Bytes, RecordedAt: now(),
	}
	return fmt.Sprintf("%s in %s, token opens datastore: %s", bytesText(record.Bytes), l.path(backupDir), verified.TokenCheck.Opens),
		l.writeJSON(backupFile, record)
}

// clusterUID is the UID of namespace kube-system, which is the cluster's
// identity.
func (l *lab) clusterUID(ctx context.Context) (string, error) {
	ns, err := l.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return string(ns.UID), nil
}

// verifyBackup gives the verdict on a backup that would restore the cluster; it
// is an error if it would not, or would restore another one.
func (l *lab) verifyBackup(ctx context.Context, cluster string) (*backup.Verification, error) {
	dir := l.path(backupDir)
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("there is no backup in %s; make one first: lab step backup --dir %s", dir, l.dir)
	}
	verified, err := backup.Verify(ctx, dir, backup.VerifyOptions{})
	if err != nil {
		return nil, err
	}
	if !verified.OK {
		return nil, fmt.Errorf("the backup in %s does not verify, so there would be no way back:\n%s", dir, verified)
	}
	if cluster == "" { // a record that another tool made does not have it
		return verified, nil
	}
	same, err := holdsCluster(ctx, l.path(backupDatabase), cluster)
	if err != nil {
		return nil, err
	}
	if !same {
		return nil, fmt.Errorf("the backup in %s is of another cluster than the one asked: is --data-dir (%s) the data directory of the cluster in the kubeconfig?", dir, l.dataDir)
	}
	return verified, nil
}

// holdsCluster is whether a copied datastore has the namespace kube-system with
// that UID. The API server stores it as protobuf, in which the UID stands as
// text (https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding).
func holdsCluster(ctx context.Context, database, uid string) (bool, error) {
	database, err := filepath.Abs(database) // a relative one would be read as a host
	if err != nil {
		return false, err
	}
	path := url.URL{Scheme: "file", Path: database, RawQuery: "mode=ro&immutable=1"}
	db, err := sql.Open("sqlite", path.String())
	if err != nil {
		return false, err
	}
	defer db.Close()
	var value []byte
	err = db.QueryRowContext(ctx, `SELECT value FROM kine WHERE name = '/registry/namespaces/kube-system' ORDER BY id DESC LIMIT 1`).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return bytes.Contains(value, []byte(uid)), err
}

// bytesText is a size for people, in powers of 1024.
func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, prefix := float64(n)/unit, 0
	for value >= unit && prefix < 3 {
		value, prefix = value/unit, prefix+1
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGT"[prefix])
}
