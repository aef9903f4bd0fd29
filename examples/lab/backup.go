package main

import (
	"context"
	"fmt"
	"os"

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
	verified, err := l.verifyBackup(ctx)
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

// verifyBackup is nil for a backup that would restore.
func (l *lab) verifyBackup(ctx context.Context) (*backup.Verification, error) {
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
	return verified, nil
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
