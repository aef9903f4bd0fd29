package backup_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/backup"
	"github.com/k3sladder/k3sladder/internal/bootstrap"
)

func TestTheTokenThatOpensTheDatastore(t *testing.T) {
	t.Parallel()
	const other = "K10" + caHash + "::server:another-" + password
	for _, tc := range []struct {
		name    string
		token   string          // the file's content
		records func(s *server) // instead of the one of the password
		want    backup.Opens    // verdict
		text    string          // verdict as a person reads it
		warning string          // part of a warning
	}{
		{name: "secure token", token: token, want: backup.OpensYes, text: "token opens datastore: yes"},
		{name: "secure token with a newline", token: token + "\n", want: backup.OpensYes},
		{name: "secure token with CRLF", token: token + "\r\n", want: backup.OpensYes},
		{name: "short token", token: password, want: backup.OpensYes},
		{name: "short token with a newline", token: password + "\n", want: backup.OpensYes},
		{name: "another user's name, the same password", token: "K10" + caHash + "::node:" + password, want: backup.OpensYes},
		{name: "another cluster's token", token: other, want: backup.OpensNo, text: "token opens datastore: no (other token)"},
		{name: "a token of no known form", token: "K10" + password, want: backup.OpensNo},
		{name: "an agents' join token", token: "abcdef.0123456789abcdef", want: backup.OpensNo, text: "token opens datastore: no (other token): the token is a join token"},
		{
			name: "no record", token: token, records: func(*server) {},
			want: backup.OpensNoRecord, text: "token opens datastore: no bootstrap record", warning: "no bootstrap record",
		},
		{
			name: "a record of the empty password, as old versions wrote", token: token,
			records: func(s *server) { s.record("", bootstrap.Key("")) },
			want:    backup.OpensYes, warning: "empty password",
		},
		{
			name: "a record of the whole token, as old versions wrote", token: token + "\n",
			records: func(s *server) { s.record(token, bootstrap.Key(token)) },
			want:    backup.OpensYes, warning: "whole token",
		},
		{
			name: "a record of the password with a carriage return", token: token + "\r\n",
			records: func(s *server) { s.record(password+"\r", bootstrap.Key(password+"\r")) },
			want:    backup.OpensYes, warning: "carriage return",
		},
		{
			name: "several records, one of them this token's", token: token,
			records: func(s *server) {
				s.record("older", bootstrap.Key("older"))
				s.record(password, bootstrap.Key(password))
				s.record("newer", bootstrap.Key("newer"))
			},
			want: backup.OpensYes, warning: "3 bootstrap records",
		},
		{
			name: "several records, none of them this token's", token: token,
			records: func(s *server) {
				s.record("older", bootstrap.Key("older"))
				s.record("newer", bootstrap.Key("newer"))
			},
			want: backup.OpensNo,
		},
		{
			name: "a record that was sealed anew with another token and deleted", token: token,
			records: func(s *server) {
				s.record(password, bootstrap.Key(password))
				s.exec("INSERT INTO kine(name, created, deleted, create_revision, prev_revision, lease, value) SELECT name, 0, 1, id, id, 0, value FROM kine WHERE name LIKE '/bootstrap/%'")
				s.record("newer", bootstrap.Key("newer"))
			},
			want: backup.OpensNo,
		},
		{
			name: "a record that a server claimed and never filled", token: token,
			records: func(s *server) { s.put(bootstrap.Key(password), "") },
			want:    backup.OpensUndecided, text: "token opens datastore: undecided: the bootstrap record is empty",
		},
		{
			name: "a record of this token's name with another's seal", token: token,
			records: func(s *server) { s.record("other", bootstrap.Key(password)) },
			want:    backup.OpensUndecided,
		},
		{
			name: "a record that is no record", token: token,
			records: func(s *server) { s.put(bootstrap.Key(password), "hello") },
			want:    backup.OpensUndecided,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			if tc.records != nil {
				s.exec("DELETE FROM kine WHERE name LIKE '/bootstrap/%'")
				tc.records(s)
			}
			s.write("var/lib/rancher/k3s/server/token", tc.token)
			dir := filepath.Join(t.TempDir(), "b")
			r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: dir})
			must(t, err)
			usable := tc.want == backup.OpensYes || tc.want == backup.OpensNoRecord
			if r.Manifest.TokenCheck.Opens != tc.want || r.OK() != usable {
				t.Errorf("save: %v, OK %v", r.Manifest.TokenCheck, r.OK())
			}
			v, err := backup.Verify(t.Context(), dir, backup.VerifyOptions{})
			must(t, err)
			if v.TokenCheck.Opens != tc.want || v.OK != usable || !strings.HasPrefix(v.TokenCheck.String(), tc.text) {
				t.Errorf("verify: %v", v)
			}
			if !strings.Contains(strings.Join(v.Warnings, "\n"), tc.warning) {
				t.Errorf("the warnings %q do not say %q", v.Warnings, tc.warning)
			}
			saved, err := os.ReadFile(filepath.Join(dir, "token"))
			must(t, err)
			if string(saved) != tc.token {
				t.Error("the token was not saved byte for byte")
			}
			tellsNothing(t, r, r.String(), v, v.String())
		})
	}
}

func TestATokenFileThatLagsBehindTheConfiguration(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.write("var/lib/rancher/k3s/server/token", "K10"+caHash+"::server:another")
	s.write("etc/systemd/system/k3s.service.env", "K3S_TOKEN="+password+"\n")
	r, err := backup.Save(t.Context(), s.dataDir, backup.Options{Out: filepath.Join(t.TempDir(), "b")})
	must(t, err)
	if r.OK() || !strings.Contains(r.String(), "k3s.service.env opens it") {
		t.Error(r)
	}
	tellsNothing(t, r, r.String())
}

func TestVerifyTriesAnotherToken(t *testing.T) {
	t.Parallel()
	_, dir := saved(t, backup.Options{})
	other := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(other, []byte("another"), 0o600))
	v, err := backup.Verify(t.Context(), dir, backup.VerifyOptions{Token: other})
	must(t, err)
	if v.OK || v.TokenCheck.Opens != backup.OpensNo {
		t.Error(v)
	}
	_, err = backup.Verify(t.Context(), dir, backup.VerifyOptions{Token: filepath.Join(t.TempDir(), "nowhere")})
	if !errors.Is(err, backup.ErrNoToken) {
		t.Error(err)
	}
}

// tellsNothing fails when anything said holds the password.
func tellsNothing(t *testing.T, said ...any) {
	t.Helper()
	for _, v := range said {
		b, err := json.Marshal(v)
		must(t, err)
		if strings.Contains(string(b), password) {
			t.Errorf("the password is told: %s", b)
		}
	}
}
