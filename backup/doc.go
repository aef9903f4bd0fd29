// Package backup takes the one thing that leads back from a k3s upgrade: a
// consistent copy of the SQLite datastore, together with the server token that
// opens it, and proves that the two belong together.
//
// Kubernetes has no downgrade. An older k3s starts again only on a datastore of
// its own minor version (https://kubernetes.io/releases/version-skew-policy/),
// so the copy is made before the hop, while k3s runs:
//
//	r, err := backup.Save(ctx, backup.DefaultDataDir, backup.Options{Out: "/var/backups/k3s/before"})
//	if err != nil {
//		return err
//	}
//	if !r.OK() {
//		return errors.New(r.Manifest.TokenCheck.String())
//	}
//
// A live SQLite database is three files, and most of a fresh cluster is in the
// second (state.db-wal), so copying files loses the cluster. [Save] reads one
// moment of the database in one transaction, for which no writer waits, and
// changes nothing in the data directory.
//
// k3s seals the certificates and keys of the cluster with the token and keeps
// them in the datastore, so a database restored with another token does not
// start. [Verify] opens that record with the saved token:
//
//	v, err := backup.Verify(ctx, dir, backup.VerifyOptions{})
//	fmt.Println(v.OK, v.TokenCheck) // true token opens datastore: yes
//
// [Restore] verifies first, refuses while k3s has the database open, sets the
// old database aside, leaves no stale log beside the new one, and undoes itself
// when it is interrupted.
//
// [Detect] recognises embedded etcd, external datastores and agents, and says
// what to use instead.
//
// # Inside one process
//
// POSIX locks belong to a process, and a process loses all it has on a file when
// it closes any descriptor of it. A program that itself has the datastore open
// (one that embeds kine) is recognised through /proc/locks and read through
// SQLite alone; where there is no /proc, do not save a database that your own
// process has open.
package backup
