package bootstrap_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/internal/bootstrap"
)

const hash = "4f1c7a0f0c6b0c9f5a1d7e55c0c5be7df10dbb2a2ef3fba1d5a4f2b8a4f0e1d2"

func TestPassword(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, token, want string
		err               error
	}{
		{"secure token", "K10" + hash + "::server:s3cret", "s3cret", nil},
		{"secure token with the file's newline", "K10" + hash + "::server:s3cret\n", "s3cret", nil},
		{"secure token with CRLF", "K10" + hash + "::server:s3cret\r\n", "s3cret", nil},
		{"secure token of another user", "K10" + hash + "::node:s3cret", "s3cret", nil},
		{"secure token without a hash", "K10::server:s3cret", "s3cret", nil},
		{"secure token without hash and user", "K10:::s3cret", "s3cret", nil},
		{"secure token without the hash's colons", "K10server:s3cret", "s3cret", nil},
		{"password with colons keeps them", "K10" + hash + "::server:a:b::c", "a:b::c", nil},
		{"short token", "s3cret", "s3cret", nil},
		{"short token with blanks around it", " \ts3cret \n\n", "s3cret", nil},
		{"short token that looks like user and password is all password", "server:s3cret", "server:s3cret", nil},
		{"short token with colons", "a::b", "a::b", nil},
		{"short token that is a single letter", "K", "K", nil},
		{"no token", "", "", bootstrap.ErrEmptyToken},
		{"nothing but a newline", "\r\n", "", bootstrap.ErrEmptyToken},
		{"hash of the wrong length", "K10abcd::server:s3cret", "", bootstrap.ErrTokenFormat},
		{"secure token without password", "K10" + hash + "::server:", "", bootstrap.ErrTokenFormat},
		{"secure token without credentials", "K10" + hash + "::", "", bootstrap.ErrTokenFormat},
		{"short token that begins like a secure one", "K10secret", "", bootstrap.ErrTokenFormat},
		{"join token", "abcdef.0123456789abcdef", "", bootstrap.ErrJoinToken},
		{"join token in secure form", "K10" + hash + "::abcdef.0123456789abcdef", "", bootstrap.ErrJoinToken},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := bootstrap.Password(tc.token)
			if got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("got %q, %v; want %q, %v", got, err, tc.want, tc.err)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error tells the secret: %v", err)
			}
		})
	}
}

// The records were made with Python's hashlib and cryptography, not with this
// package.
func TestOpensWhatAnotherProgramSealed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, password, key, sealed, want string }{
		{"a password", "correct horse battery staple",
			"/bootstrap/c4bbcb1fbec9",
			"0011223344556677:AAECAwQFBgcICQoLd4ste2bYOJxM4We1F2j1dbwIqaUU/XnRZENjzYlbWpAncATeEmBVy9S6jNBSwIEchqE8oxT/0EYiqJCghzRGidtbtqiM0Gg6GqpIPPHMuNJ4Mw==",
			`{"ServerCA":{"Timestamp":"2026-08-27T10:00:00Z","Content":"Q0E="}}`},
		{"the empty password of old clusters", "",
			"/bootstrap/e3b0c44298fc",
			"ffeeddccbbaa9988:AAECAwQFBgcICQoLMFjG5kkBPNBy1jmnhry9u+pv",
			"{}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := bootstrap.Key(tc.password); got != tc.key {
				t.Errorf("key %s, want %s", got, tc.key)
			}
			got, err := bootstrap.Open(tc.password, []byte(tc.sealed))
			if err != nil || string(got) != tc.want {
				t.Errorf("got %q, %v", got, err)
			}
			if _, err := bootstrap.Open(tc.password+"x", []byte(tc.sealed)); !errors.Is(err, bootstrap.ErrPassword) {
				t.Errorf("another password: %v", err)
			}
		})
	}
}

func TestSealIsOpenedAgainAndNeverTheSame(t *testing.T) {
	t.Parallel()
	a, err := bootstrap.Seal("p", []byte("plain"))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := bootstrap.Seal("p", []byte("plain"))
	if bytes.Equal(a, b) {
		t.Error("two seals are the same: salt or nonce was used twice")
	}
	if salt, _, _ := bytes.Cut(a, []byte(":")); len(salt) != 16 {
		t.Errorf("salt of %d bytes, k3s uses 16 hex digits", len(salt))
	}
	got, err := bootstrap.Open("p", a)
	if err != nil || string(got) != "plain" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestOpenOfBrokenRecords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, sealed string
		err          error
	}{
		{"empty, as a server that claimed it leaves it", "", bootstrap.ErrLocked},
		{"no colon", "abc", bootstrap.ErrRecordFormat},
		{"no base64", "salt:***", bootstrap.ErrRecordFormat},
		{"nonce cut short", "salt:AAAA", bootstrap.ErrRecordFormat},
		{"nonce without seal", "salt:AAAAAAAAAAAAAAAA", bootstrap.ErrRecordFormat},
		{"nothing after the colon", "salt:", bootstrap.ErrRecordFormat},
		{"noise", "salt:" + strings.Repeat("AAAA", 20), bootstrap.ErrPassword},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if _, err := bootstrap.Open("p", []byte(tc.sealed)); !errors.Is(err, tc.err) {
				t.Errorf("got %v, want %v", err, tc.err)
			}
		})
	}
}

func FuzzPassword(f *testing.F) {
	for _, s := range []string{"", "K10" + hash + "::server:pw\n", "pw", "K10::", "abcdef.0123456789abcdef", "K10a:b::c:d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, token string) {
		password, err := bootstrap.Password(token)
		if (err == nil) == (password == "") {
			t.Errorf("password of %d bytes with error %v", len(password), err)
		}
		if !strings.HasSuffix(strings.TrimSpace(token), password) {
			t.Error("the password is not the token's end")
		}
	})
}

func FuzzOpen(f *testing.F) {
	sealed, err := bootstrap.Seal("p", []byte("plain"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add([]byte("salt:AAAAAAAAAAAAAAAA"))
	f.Fuzz(func(t *testing.T, value []byte) {
		plaintext, err := bootstrap.Open("p", value)
		if err == nil && string(plaintext) != "plain" {
			t.Error("opened what nobody sealed")
		}
	})
}
