package channels_test

import (
	"bufio"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
)

func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

// replay serves a recorded answer byte by byte as it was, and gives the address
// of the channel in it.
func replay(t *testing.T, file, channel string) string {
	t.Helper()
	answer, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = c.Write(answer)
			}
			_ = c.Close()
		}
	}()
	return "http://" + l.Addr().String() + "/v1-release/channels/" + channel
}

func TestResolveReadsTheServersOwnAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, channel, version, says string }{
		{file: "single-stable.http", channel: "stable", version: "v1.36.4+k3s1"},
		{file: "single-v1.34.http", channel: "v1.34", version: "v1.34.12+k3s1"},
		{file: "single-v1.34-testing.http", channel: "v1.34-testing", says: "404 Not Found (NotFound)"},
		{file: "single-nope.http", channel: "nope", says: "404 Not Found (NotFound)"},
	} {
		t.Run(tt.channel, func(t *testing.T) {
			t.Parallel()
			address := replay(t, tt.file, tt.channel)
			r, err := channels.Resolve(t.Context(), address, quick())
			suc, sucErr := channels.ReadAsSUC(t.Context(), address, quick())
			if tt.version == "" {
				if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), address) {
					t.Errorf("%+v, %v", r, err)
				}
				if sucErr == nil {
					t.Errorf("system-upgrade-controller resolves nothing here: %+v", suc)
				}
				return
			}
			if err != nil || r.Version != skew.MustParse(tt.version) || r.Tag != tt.version {
				t.Errorf("%+v, %v", r, err)
			}
			if sucErr != nil || suc.Problem != "" || suc.Version != r.Version.ImageTag() {
				t.Errorf("%+v, %v", suc, sucErr)
			}
		})
	}
}

// answers with a status and a Location.
func redirect(status int, location string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if location != "" {
			w.Header().Set("Location", location)
		}
		w.WriteHeader(status)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		h       http.HandlerFunc
		version string
		says    string
	}{
		{"GitHub's newest release", redirect(302, "https://github.com/k3s-io/k3s/releases/tag/v1.36.4%2Bk3s1"), "v1.36.4+k3s1", ""},
		{"k3OS's newest release", redirect(302, "https://github.com/rancher/k3os/releases/tag/v0.21.5-k3s2r1"), "v0.21.5-k3s2r1", ""},
		{"a relative Location", redirect(302, "/releases/v1.36.4+k3s1/"), "v1.36.4+k3s1", ""},
		{"a Location with a query", redirect(302, "/v1.36.4+k3s1?from=v1.35.0+k3s1"), "v1.36.4+k3s1", ""},
		{"a login redirect", redirect(302, "https://sso.example/login?next=/stable"), "", "ends in no release"},
		{"a redirect to nowhere", redirect(302, ""), "", "without saying where to go"},
		{"a redirect to nonsense", redirect(302, "http://[::1"), "", "Location header"},
		{"the list instead of a channel", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(aList)) }, "", "200 OK: a channel answers with a redirect"},
		{"no content", redirect(204, ""), "", "204 No Content"},
		{"an ill server", redirect(503, ""), "", "503 Service Unavailable"},
		{"forbidden", redirect(403, ""), "", "403 Forbidden"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			address := serve(t, tt.h) + "/stable"
			r, err := channels.Resolve(t.Context(), address, quick())
			if tt.version != "" {
				if err != nil || r.Version != skew.MustParse(tt.version) {
					t.Errorf("%+v, %v", r, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), address) {
				t.Errorf("%+v, %v, want %q", r, err, tt.says)
			}
		})
	}
	if _, err := channels.Resolve(t.Context(), "stable", quick()); err == nil || !strings.Contains(err.Error(), "no http or https address") {
		t.Errorf("%v", err)
	}
}

// The controller's rules for status codes, as observed with the controller.
func TestReadAsSUC(t *testing.T) {
	t.Parallel()
	const page = "https://github.com/k3s-io/k3s/releases/tag/v1.36.4+k3s1"
	for _, tt := range []struct {
		name    string
		h       http.HandlerFunc
		path    string
		version string
		problem string
		err     string
	}{
		{name: "302", h: redirect(302, page), path: "/stable", version: "v1.36.4-k3s1"},
		{name: "an escaped plus", h: redirect(302, "https://github.com/k3s-io/k3s/releases/tag/v1.36.4%2Bk3s1"), path: "/stable", version: "v1.36.4-k3s1"},
		{name: "a relative Location with a query", h: redirect(302, "../v1.36.4+k3s1?x=/y"), path: "/stable", version: "v1.36.4-k3s1"},
		{name: "a permanent redirect to https", h: redirect(301, page), path: "/stable", version: "stable", problem: "not 302"},
		{name: "303", h: redirect(303, page), path: "/stable", version: "stable", problem: "not 302"},
		{name: "307", h: redirect(307, page), path: "/stable", version: "stable", problem: "not 302"},
		{name: "308", h: redirect(308, page), path: "/stable", version: "stable", problem: "not 302"},
		{name: "204", h: redirect(204, ""), path: "/stable", version: "stable", problem: "not 302"},
		{name: "the list", h: redirect(200, ""), path: "", version: "channels", problem: "not 302"},
		{name: "a trailing slash", h: redirect(200, ""), path: "/stable/", version: "stable", problem: "not 302"},
		{name: "a query string in the channel", h: redirect(200, ""), path: "/stable?arch=arm64", version: "stable?arch=arm64", problem: "not 302"},
		{name: "a login redirect", h: redirect(302, "https://sso.example/login"), path: "/stable", version: "login", problem: "no version"},
		{name: "302 without Location", h: redirect(302, ""), path: "/stable", err: "302 without saying where"},
		{name: "404", h: redirect(404, ""), path: "/stable", err: "404 Not Found"},
		{name: "500", h: redirect(500, ""), path: "/stable", err: "500 Internal Server Error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			address := serve(t, tt.h) + tt.path
			r, err := channels.ReadAsSUC(t.Context(), address, quick())
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), address) {
					t.Errorf("%+v, %v, want %q", r, err, tt.err)
				}
				return
			}
			if err != nil || r.Version != tt.version || (r.Problem == "") != (tt.problem == "") || !strings.Contains(r.Problem, tt.problem) {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	if _, err := channels.ReadAsSUC(t.Context(), "stable", quick()); err == nil {
		t.Error("a channel without a scheme was read")
	}
}
