package backup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/backup"
)

func TestDetect(t *testing.T) {
	t.Parallel()
	const data = "var/lib/rancher/k3s/"
	type files map[string]string // "" is a folder
	noDatabase := func(t *testing.T, s *server) {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			os.Remove(s.db + suffix)
		}
	}
	for _, tc := range []struct {
		name     string
		files    files
		prepare  func(t *testing.T, s *server)
		want     backup.Kind
		instead  string
		evidence string
	}{
		{name: "a plain server", want: backup.KindSQLite},
		{
			name:  "embedded etcd",
			files: files{data + "server/db/etcd/member/snap/db": "x"}, prepare: noDatabase,
			want: backup.KindEtcd, instead: "k3s etcd-snapshot save",
		},
		{
			name:  "embedded etcd beside the database it was migrated from",
			files: files{data + "server/db/etcd/member/snap/db": "x"},
			want:  backup.KindEtcd, evidence: "although",
		},
		{
			name:  "cluster-init in config.yaml",
			files: files{"etc/rancher/k3s/config.yaml": "cluster-init: true\n"}, prepare: noDatabase,
			want: backup.KindEtcd, instead: "k3s etcd-snapshot save",
		},
		{
			name:  "cluster-init as an argument of the service",
			files: files{"etc/systemd/system/k3s.service": "[Service]\nExecStart=/usr/local/bin/k3s \\\n    server \\\n\t'--cluster-init' \\\n"}, prepare: noDatabase,
			want: backup.KindEtcd, evidence: "k3s.service",
		},
		{
			name:  "a server that joined another",
			files: files{"etc/rancher/k3s/config.yaml": "server: https://10.0.0.1:6443\ntoken: geheim\n"}, prepare: noDatabase,
			want: backup.KindEtcd,
		},
		{
			name:  "MySQL in config.yaml",
			files: files{"etc/rancher/k3s/config.yaml": "datastore-endpoint: \"mysql://root:geheim@tcp(db:3306)/k3s\"\n"}, prepare: noDatabase,
			want: backup.KindExternal, instead: "mysqldump", evidence: "(mysql)",
		},
		{
			name:  "PostgreSQL in config.yaml.d, with an old database still there",
			files: files{"etc/rancher/k3s/config.yaml.d/db.yaml": "datastore-endpoint: postgres://u:geheim@db/k3s\n"},
			want:  backup.KindExternal, instead: "pg_dump", evidence: "config.yaml.d/db.yaml",
		},
		{
			name:  "etcd in the service's environment file",
			files: files{"etc/systemd/system/k3s.service.env": "K3S_TOKEN=geheim\nK3S_DATASTORE_ENDPOINT='https://10.0.0.9:2379'\n"}, prepare: noDatabase,
			want: backup.KindExternal, instead: "etcdctl snapshot save", evidence: "k3s.service.env",
		},
		{
			name:  "an external one in a drop-in of the service",
			files: files{"etc/systemd/system/k3s.service.d/10.conf": "[Service]\nEnvironment=A=b \"K3S_DATASTORE_ENDPOINT=nats://geheim@h\"\n"},
			want:  backup.KindExternal, instead: "nats",
		},
		{
			name: "an external one in a file that a drop-in names",
			files: files{
				"etc/systemd/system/k3s.service.d/10.conf": "[Service]\nEnvironmentFile=-/srv/secret/*.env\n",
				"srv/secret/db.env":                        "K3S_DATASTORE_ENDPOINT=mysql://geheim@h/d\n",
			},
			want: backup.KindExternal, instead: "mysqldump", evidence: "db.env",
		},
		{
			name:  "an external one in a drop-in of the distribution",
			files: files{"usr/lib/systemd/system/k3s.service.d/10.conf": "[Service]\nEnvironment = K3S_DATASTORE_ENDPOINT=mysql://geheim@h/d\n"},
			want:  backup.KindExternal, instead: "mysqldump", evidence: "10.conf",
		},
		{
			name: "an external one that later drop-ins take back",
			files: files{
				"usr/lib/systemd/system/k3s.service.d/10.conf": "[Service]\nEnvironment=K3S_DATASTORE_ENDPOINT=mysql://geheim@h/d\nEnvironmentFile=/srv/db.env\n",
				"etc/systemd/system/k3s.service.d/20.conf":     "[Service]\nEnvironment=\nEnvironmentFile=\n",
				"srv/db.env": "K3S_DATASTORE_ENDPOINT=mysql://geheim@h/d\n",
			},
			want: backup.KindSQLite,
		},
		{
			name:  "an external one in a drop-in that is masked",
			files: files{"usr/lib/systemd/system/k3s.service.d/10.conf": "[Service]\nEnvironment=K3S_DATASTORE_ENDPOINT=mysql://geheim@h/d\n"},
			prepare: func(t *testing.T, s *server) {
				s.write("etc/systemd/system/k3s.service.d/10.conf", "")
				path := filepath.Join(s.host, "etc/systemd/system/k3s.service.d/10.conf")
				must(t, os.Remove(path))
				must(t, os.Symlink(os.DevNull, path))
			},
			want: backup.KindSQLite,
		},
		{
			name: "an external one in a drop-in and in a unit that /etc replaces",
			files: files{
				"usr/lib/systemd/system/k3s.service":           "[Service]\nExecStart=/usr/local/bin/k3s server --datastore-endpoint mysql://geheim@h/d\n",
				"usr/lib/systemd/system/k3s.service.d/10.conf": "[Service]\nEnvironment=K3S_DATASTORE_ENDPOINT=mysql://geheim@h/d\n",
				"etc/systemd/system/k3s.service":               "[Service]\nExecStart=/usr/local/bin/k3s server\n",
				"etc/systemd/system/k3s.service.d/10.conf":     "[Service]\n",
			},
			want: backup.KindSQLite,
		},
		{
			name: "an external one in the unit that a drop-in's command replaces",
			files: files{
				"etc/systemd/system/k3s.service":           "[Service]\nExecStart=/usr/local/bin/k3s server --datastore-endpoint mysql://geheim@h/d\n",
				"etc/systemd/system/k3s.service.d/10.conf": "[Service]\nExecStart=\nExecStart=/usr/local/bin/k3s server --tls-san x\n",
			},
			want: backup.KindSQLite,
		},
		{
			name: "an external one in the command of a drop-in",
			files: files{
				"etc/systemd/system/k3s.service":           "[Service]\nExecStart=/usr/local/bin/k3s server --cluster-init\n",
				"etc/systemd/system/k3s.service.d/10.conf": "[Service]\nExecStart=\nExecStart=/usr/local/bin/k3s server --datastore-endpoint mysql://geheim@h/d\n",
			},
			want: backup.KindExternal, instead: "mysqldump", evidence: "10.conf",
		},
		{
			name:  "an external one as an argument with a value of its own",
			files: files{"etc/systemd/system/k3s.service": "ExecStart=/usr/local/bin/k3s server --datastore-endpoint 'mysql://a:geheim@tcp(h)/d' --tls-san x\n"},
			want:  backup.KindExternal, instead: "mysqldump",
		},
		{
			name:  "an external one in OpenRC's script",
			files: files{"etc/init.d/k3s": "command_args=\"server '--datastore-endpoint=postgres://geheim@h/d' >>/var/log/k3s.log\"\n"},
			want:  backup.KindExternal, instead: "pg_dump",
		},
		{
			name:  "the configuration that the data directory itself holds",
			files: files{data + "config.yaml": "datastore-endpoint: mysql://geheim@h/d\n"},
			want:  backup.KindExternal,
		},
		{
			name:  "SQLite by name",
			files: files{"etc/rancher/k3s/config.yaml": "datastore-endpoint: sqlite://\n"},
			want:  backup.KindSQLite,
		},
		{
			name:  "an agent",
			files: files{data + "agent/kubelet.kubeconfig": "x"},
			prepare: func(t *testing.T, s *server) {
				must(t, os.RemoveAll(filepath.Join(s.dataDir, "server")))
			},
			want: backup.KindAgent, instead: "on a server",
		},
		{
			name:    "no k3s",
			prepare: func(t *testing.T, s *server) { must(t, os.RemoveAll(s.dataDir)) },
			want:    backup.KindNone, instead: "--data-dir",
		},
		{
			name: "a server whose database is gone", prepare: noDatabase,
			want: backup.KindNone, instead: "restore a backup",
		},
		{
			name:    "a database in use, whatever the configuration says for the next start",
			files:   files{"etc/rancher/k3s/config.yaml": "cluster-init: true\n"},
			prepare: func(t *testing.T, s *server) { startWriter(t, s.db) },
			want:    backup.KindSQLite, evidence: "is open in process",
		},
		{
			name:  "the configuration of another data directory",
			files: files{"etc/rancher/k3s/config.yaml": "data-dir: /srv/k3s\ndatastore-endpoint: mysql://geheim@h/d\n"},
			want:  backup.KindSQLite,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			for name, content := range tc.files {
				s.write(name, content)
			}
			if tc.prepare != nil {
				tc.prepare(t, s)
			}
			d, err := backup.Detect(t.Context(), s.dataDir, backup.DetectOptions{})
			must(t, err)
			if d.Kind != tc.want || !strings.Contains(d.Instead, tc.instead) || !strings.Contains(strings.Join(d.Evidence, "; "), tc.evidence) {
				t.Errorf("%+v", d)
			}
			_, err = backup.Save(t.Context(), s.dataDir, backup.Options{Out: filepath.Join(t.TempDir(), "b")})
			var unsupported *backup.UnsupportedError
			if (tc.want == backup.KindSQLite) != (err == nil) || err != nil && !errors.As(err, &unsupported) {
				t.Errorf("save: %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), tc.instead) {
				t.Errorf("%q does not say %q", err, tc.instead)
			}
			if all := d.String() + errorText(err); strings.Contains(all, "geheim") {
				t.Errorf("a secret is told: %s", all)
			}
		})
	}
}

func TestDetectWithAConfigurationThatCannotBeReadIsUndecided(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.write("etc/rancher/k3s/config.yaml", "token: geheim\n\tbroken")
	_, err := backup.Detect(t.Context(), s.dataDir, backup.DetectOptions{})
	if err == nil || strings.Contains(err.Error(), "geheim") {
		t.Error(err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
