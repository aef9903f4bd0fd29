package channels_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
)

const aList = `{"type":"collection","resourceType":"channels","data":[` +
	`{"id":"stable","type":"channel","links":{},"name":"stable","latest":"v1.36.4+k3s1"},` +
	`{"id":"testing","type":"channel","links":{},"name":"testing"}]}`

// quick are options for servers that fail on purpose.
func quick() channels.Options {
	return channels.Options{Timeout: 5 * time.Second, Backoff: time.Millisecond}
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/v1-release/channels"
}

func TestReadTakesTheServersListAsItIs(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("testdata/k3s.json")
	if err != nil {
		t.Fatal(err)
	}
	var agent, accept string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		agent, accept = r.Header.Get("User-Agent"), r.Header.Get("Accept")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
	c, err := channels.Read(t.Context(), url, quick())
	if err != nil {
		t.Fatal(err)
	}
	if c.Source != url || c.Bundled || c.Cached || time.Since(c.Date) > time.Hour {
		t.Errorf("%+v", c)
	}
	if len(c.Channels) != len(channels.Bundled().Channels) || agent != "k3sladder" || !strings.HasPrefix(accept, "application/json") {
		t.Errorf("%d channels, User-Agent %q, Accept %q", len(c.Channels), agent, accept)
	}
	if ch, err := c.Channel("v1.34-testing"); err != nil || !ch.Latest.IsZero() || ch.LatestRegexp == "" {
		t.Errorf("a channel without latest: %+v, %v", ch, err)
	}
}

// Each broken answer is an error that names the address and the fault.
func TestReadRefusesBrokenAnswers(t *testing.T) {
	t.Parallel()
	bomb := func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		chunk := bytes.Repeat([]byte(" "), 1<<20)
		for range 20 {
			_, _ = z.Write(chunk)
		}
		_ = z.Close()
		return b.Bytes()
	}()
	write := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
	}
	for _, tt := range []struct {
		name string
		h    http.HandlerFunc
		says string
	}{
		{"a login page", write("<!DOCTYPE html><html><title>Sign in</title></html>"), "a web page"},
		{"truncated JSON", write(aList[:len(aList)-20]), "cut off"},
		{"nothing", write(""), "empty"},
		{"something that is no JSON", write("channels: []"), "no channel list"},
		{"JSON of another kind", write(`{"kind":"PlanList","items":[]}`), "no channel list"},
		{"a JSON list", write(`[]`), "no channel list"},
		{"null", write(`null`), "no channel list"},
		{"something after the list", write(aList + "x"), "something follows"},
		{"no channels", write(`{"type":"collection","data":[]}`), "no channel in the list points at a release"},
		{"only channels without latest", write(`{"type":"collection","data":[{"name":"stable"}]}`), "no channel in the list points at a release"},
		{"a latest that is no version", write(strings.Replace(aList, "v1.36.4+k3s1", "soon", 1)), `channel "stable" points at something else`},
		{"a latest that is a number", write(strings.Replace(aList, `"v1.36.4+k3s1"`, "136", 1)), "no channel list"},
		{"duplicate names", write(strings.Replace(aList, `"name":"testing"`, `"name":"stable"`, 1)), `channel "stable" is there twice`},
		{"a channel without a name", write(`{"type":"collection","data":[{"latest":"v1.36.4+k3s1"}]}`), "channel 0 has no name"},
		{"more channels than any server has", write(`{"type":"collection","data":[` + strings.Repeat(`{"name":"a"},`, 2000) + `{"name":"b"}]}`), "2001 channels, more than 2000"},
		{"a redirect to nowhere", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) }, "302 Found without saying where to go"},
		{"a redirect loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "stopped after 5 redirects"},
		{"a redirect to another protocol", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "ftp://example.invalid/x")
			w.WriteHeader(http.StatusFound)
		}, "unsupported protocol scheme"},
		{"404 with the server's JSON error", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"type":"error","links":{},"code":"NotFound","message":"no such thing","status":404}`))
		}, "404 Not Found (NotFound: no such thing)"},
		{"an error with status 200", write(`{"type":"error","code":"ServerError","message":"db","status":500}`), "500 ServerError: db"},
		{"401", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "401 Unauthorized"},
		{"204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "204 No Content"},
		{"a gzip bomb", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		}, "larger than 4194304 bytes"},
		{"gzip that is none", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bytes.Repeat([]byte("not gzip"), 20))
		}, "gzip: invalid header"},
		{"an answer that ends too early", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5000")
			_, _ = w.Write([]byte(aList))
		}, "unexpected EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			url := serve(t, func(w http.ResponseWriter, r *http.Request) { asked.Add(1); tt.h(w, r) })
			c, err := channels.Read(t.Context(), url, quick())
			var source *channels.SourceError
			if err == nil || !errors.As(err, &source) {
				t.Fatalf("%+v, %v, want a *SourceError", c, err)
			}
			if !strings.Contains(err.Error(), url) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("the error does not name the address or the fault %q: %v", tt.says, err)
			}
			if n := asked.Load(); n != 1 && !strings.Contains(tt.name, "loop") {
				t.Errorf("asked %d times: only 5xx and failed connections are tried again", n)
			}
		})
	}
}

func TestReadTriesAgainWhenTheServerIsIll(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = w.Write([]byte(aList))
	})
	if _, err := channels.Read(t.Context(), url, quick()); err != nil || asked.Load() != 3 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
	asked.Store(-100)
	if _, err := channels.Read(t.Context(), url, quick()); err == nil || !strings.Contains(err.Error(), "502 Bad Gateway") || asked.Load() != -97 {
		t.Errorf("asked %d times: %v", asked.Load()+100, err)
	}
}

func TestReadTriesAgainWhenTheConnectionFails(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			panic(http.ErrAbortHandler) // closes the connection
		}
		_, _ = w.Write([]byte(aList))
	})
	if _, err := channels.Read(t.Context(), url, quick()); err != nil || asked.Load() < 2 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}

func TestReadNamesTheHostThatRefuses(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	_, err = channels.Read(t.Context(), "http://"+address+"/channels", quick())
	if err == nil || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}

func TestReadEndsASlowDrip(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for {
			_, _ = w.Write([]byte(" "))
			w.(http.Flusher).Flush()
			select {
			case <-time.After(5 * time.Millisecond):
			case <-r.Context().Done():
				close(done)
				return
			}
		}
	})
	opts := quick()
	opts.Timeout = 100 * time.Millisecond
	_, err := channels.Read(t.Context(), url, opts)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "did not end within 100ms") {
		t.Errorf("%v", err)
	}
	<-done
}

func TestReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { cancel(); w.WriteHeader(http.StatusBadGateway) })
	opts := quick()
	opts.Backoff = time.Hour
	if _, err := channels.Read(ctx, url, opts); err == nil {
		t.Error("no error after the context ended")
	}
}

func TestReadSaysWhoseCertificateIsUntrusted(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	s.Config.ErrorLog = quietLog()
	s.StartTLS()
	defer s.Close()
	_, err := channels.Read(t.Context(), s.URL, quick())
	host := strings.TrimPrefix(s.URL, "https://")
	if err == nil || !strings.Contains(err.Error(), "certificate of "+host+" is signed by an authority this machine does not know") {
		t.Errorf("%v", err)
	}
	// A client that trusts the server gets further.
	if _, err := channels.Read(t.Context(), s.URL, channels.Options{Client: s.Client(), Attempts: 1}); err == nil || !strings.Contains(err.Error(), "empty") || asked.Load() != 1 {
		t.Errorf("%v", err)
	}
}

func TestReadGoesThroughTheProxyOfItsClient(t *testing.T) {
	t.Parallel()
	var through string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through = r.URL.String()
		_, _ = w.Write([]byte(aList))
	}))
	defer proxy.Close()
	client := &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*neturl.URL, error) { return neturl.Parse(proxy.URL) }}}
	if _, err := channels.Read(t.Context(), "http://channels.invalid/list", channels.Options{Client: client}); err != nil || through != "http://channels.invalid/list" {
		t.Errorf("through %q: %v", through, err)
	}
}

func TestReadFollowsARedirectToTheList(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/moved" {
			http.Redirect(w, r, "/moved", http.StatusMovedPermanently)
			return
		}
		_, _ = w.Write([]byte(aList))
	})
	if _, err := channels.Read(t.Context(), url, quick()); err != nil {
		t.Error(err)
	}
}

func TestReadDoesNotFollowFromHTTPSToHTTP(t *testing.T) {
	t.Parallel()
	plain := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(aList)) })
	s := httptest.NewTLSServer(http.RedirectHandler(plain, http.StatusFound))
	defer s.Close()
	opts := quick()
	opts.Client = s.Client()
	if c, err := channels.Read(t.Context(), s.URL, opts); err == nil || !strings.Contains(err.Error(), "redirects from https to "+plain) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestReadKeepsPasswordsOutOfErrors(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	url = strings.Replace(url, "http://", "http://me:hush@", 1)
	if _, err := channels.Read(t.Context(), url, quick()); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("%v", err)
	}
}

func TestReadASavedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "channels.json")
	if err := os.WriteFile(path, []byte("\ufeff"+aList), 0o600); err != nil {
		t.Fatal(err)
	}
	saved := time.Date(2026, 9, 30, 12, 0, 0, 0, time.UTC)
	if err := os.Chtimes(path, saved, saved); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{path, "file://" + path} {
		c, err := channels.Read(t.Context(), source, channels.Options{})
		if err != nil || !c.Date.Equal(saved) || !strings.Contains(c.Origin(), "2026-09-30") {
			t.Errorf("%s: %+v, %v", source, c, err)
		}
	}
	for source, says := range map[string]string{
		filepath.Join(t.TempDir(), "absent.json"): "no such file",
		t.TempDir():           "is a directory",
		"gopher://x/channels": "no such file",
	} {
		if _, err := channels.Read(t.Context(), source, channels.Options{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", source, err)
		}
	}
	if _, err := channels.Read(t.Context(), path, channels.Options{MaxBytes: 50}); err == nil || !strings.Contains(err.Error(), "larger than 50 bytes") {
		t.Errorf("%v", err)
	}
	if c, err := channels.Read(t.Context(), channels.BundledSource, channels.Options{}); err != nil || !c.Bundled {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestCacheIsUsedOnlyWhenAskedAndOnlyWhenTheServerIsAway(t *testing.T) {
	t.Parallel()
	var mode atomic.Value
	mode.Store("good")
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		switch mode.Load() {
		case "good":
			_, _ = w.Write([]byte(aList))
		case "ill":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "page":
			_, _ = w.Write([]byte("<html>"))
		case "gone":
			w.WriteHeader(http.StatusNotFound)
		}
	})
	opts := quick()
	opts.CacheDir = filepath.Join(t.TempDir(), "cache")
	if c, err := channels.Read(t.Context(), url, opts); err != nil || c.Cached {
		t.Fatalf("%+v, %v", c, err)
	}
	mode.Store("ill")
	c, err := channels.Read(t.Context(), url, opts)
	if err != nil || !c.Cached || !strings.Contains(c.Origin(), "cached copy of "+url) || !strings.Contains(c.Origin(), c.Date.Format(time.DateTime)) {
		t.Errorf("the server is ill: %+v, %v", c, err)
	}
	if v, err := c.Latest("stable"); err != nil || v != skew.MustParse("v1.36.4+k3s1") {
		t.Errorf("%s, %v", v, err)
	}
	if _, err := channels.Read(t.Context(), url, quick()); err == nil {
		t.Error("a cache was used that nobody asked for")
	}
	for _, m := range []string{"page", "gone"} {
		mode.Store(m)
		if c, err := channels.Read(t.Context(), url, opts); err == nil {
			t.Errorf("%s: a broken answer was papered over: %+v", m, c)
		}
	}
	// Another source has no copy.
	mode.Store("ill")
	if _, err := channels.Read(t.Context(), url+"/other", opts); err == nil {
		t.Error("the copy of another source was used")
	}
	// A cache folder that cannot be written is no secret.
	mode.Store("good")
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	opts.CacheDir = blocked
	if _, err := channels.Read(t.Context(), url, opts); err == nil || !strings.Contains(err.Error(), "keeping the channels of") {
		t.Errorf("%v", err)
	}
}

func FuzzRead(f *testing.F) {
	body, err := os.ReadFile("testdata/k3s.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(body))
	f.Add(aList)
	f.Add(`{"type":"error","code":"NotFound","status":404,"type":"error"}`)
	f.Add("<html>")
	f.Add(`{"type":"collection","data":null}`)
	dir := f.TempDir()
	n := 0
	f.Fuzz(func(t *testing.T, body string) {
		n++
		path := filepath.Join(dir, fmt.Sprintf("%d-%d.json", os.Getpid(), n%8))
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := channels.Read(t.Context(), path, channels.Options{MaxBytes: 1 << 20})
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Fatalf("the error does not name the file: %v", err)
			}
			return
		}
		seen := map[string]bool{}
		some := false
		for _, ch := range c.Channels {
			if ch.Name == "" || seen[ch.Name] {
				t.Fatalf("a channel without a name, or twice: %+v", c.Channels)
			}
			seen[ch.Name] = true
			some = some || !ch.Latest.IsZero()
			if v, err := c.Latest(ch.Name); (err == nil) == v.IsZero() {
				t.Fatalf("%s: %s, %v", ch.Name, v, err)
			}
		}
		if !some {
			t.Fatal("a catalog that points at nothing")
		}
	})
}
