//go:build browser

package report_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// chromium is a headless browser driven over the DevTools protocol through two
// pipes (--remote-debugging-pipe), so that nothing listens anywhere.
// Source: https://chromedevtools.github.io/devtools-protocol/
type chromium struct {
	t  *testing.T
	to *os.File

	mu      sync.Mutex
	id      int
	answers map[int]chan message
	// seen is told every event of every page.
	seen func(message)
}

type message struct {
	ID      int             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// browserPath finds the browser; without one these tests fail.
func browserPath(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium to look at the page with: run scripts/install-chromium.sh")
	return ""
}

func startChromium(t *testing.T) *chromium {
	t.Helper()
	profile, err := os.MkdirTemp("", "k3sladder-browser-")
	if err != nil {
		t.Fatal(err)
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(browserPath(t), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	cmd.Env = append(os.Environ(), "TMPDIR="+profile) // a killed browser leaves what it has there
	cmd.ExtraFiles = []*os.File{inR, outW}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inR.Close()
	outW.Close()
	c := &chromium{t: t, to: inW, answers: map[int]chan message{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.listen(outR)
	}()
	t.Cleanup(func() {
		// The whole group: the browser has children that write to the profile.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		inW.Close()
		<-done
		outR.Close()
		for range 50 {
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Errorf("the browser's profile %s cannot be removed", profile)
	})
	return c
}

func (c *chromium) listen(from *os.File) {
	r := bufio.NewReader(from)
	for {
		raw, err := r.ReadBytes(0)
		if err != nil {
			c.mu.Lock()
			for id, ch := range c.answers {
				close(ch)
				delete(c.answers, id)
			}
			c.mu.Unlock()
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimSuffix(raw, []byte{0}), &m) != nil {
			continue
		}
		c.mu.Lock()
		if m.ID != 0 {
			if ch := c.answers[m.ID]; ch != nil {
				ch <- m
				delete(c.answers, m.ID)
			}
		} else if c.seen != nil {
			c.seen(m)
		}
		c.mu.Unlock()
	}
}

// call sends one command and waits for its answer.
func (c *chromium) call(session, method string, params any, into any) {
	c.t.Helper()
	p, err := json.Marshal(params)
	if err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	c.id++
	m := message{ID: c.id, Method: method, Session: session, Params: p}
	ch := make(chan message, 1)
	c.answers[m.ID] = ch
	c.mu.Unlock()
	raw, _ := json.Marshal(m)
	if _, err := c.to.Write(append(raw, 0)); err != nil {
		c.t.Fatalf("%s: the browser is gone: %v", method, err)
	}
	select {
	case a, ok := <-ch:
		switch {
		case !ok:
			c.t.Fatalf("%s: the browser ended", method)
		case a.Error != nil:
			c.t.Fatalf("%s: %s", method, a.Error.Message)
		case into != nil:
			if err := json.Unmarshal(a.Result, into); err != nil {
				c.t.Fatalf("%s: %v", method, err)
			}
		}
	case <-time.After(60 * time.Second):
		c.t.Fatalf("%s: no answer in a minute", method)
	}
}

// visit is one page that was opened.
type visit struct {
	c       *chromium
	session string
	url     string
	// faults are what a page that is alone in the world does not do: requests,
	// console messages, exceptions.
	faults []string
}

// open opens a page as a screen of the given width sees it.
func (c *chromium) open(url string, width, height int, dark bool) *visit {
	c.t.Helper()
	var target struct{ TargetID string }
	c.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	c.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	v := &visit{c: c, session: attached.SessionID, url: url}
	loaded := make(chan struct{}, 1)
	c.mu.Lock()
	c.seen = func(m message) {
		if m.Session != v.session {
			return
		}
		if m.Method == "Page.loadEventFired" {
			select {
			case loaded <- struct{}{}:
			default:
			}
		}
		v.note(m)
	}
	c.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		c.call(v.session, domain+".enable", map[string]any{}, nil)
	}
	v.screen(width, height, dark)
	var nav struct{ ErrorText string }
	c.call(v.session, "Page.navigate", map[string]any{"url": url}, &nav)
	if nav.ErrorText != "" {
		c.t.Fatalf("opening %s: %s", url, nav.ErrorText)
	}
	select {
	case <-loaded:
	case <-time.After(60 * time.Second):
		c.t.Fatalf("%s does not load", url)
	}
	return v
}

// screen gives the page a screen.
func (v *visit) screen(width, height int, dark bool) {
	v.c.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	v.size(width, height)
	v.c.call(v.session, "Emulation.setEmulatedMedia", map[string]any{"media": "screen", "features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// print gives the page a sheet of paper.
func (v *visit) print(width int) {
	v.c.t.Helper()
	v.size(width, 1000)
	v.c.call(v.session, "Emulation.setEmulatedMedia", map[string]any{"media": "print", "features": []map[string]string{{"name": "prefers-color-scheme", "value": "light"}}}, nil)
}

func (v *visit) size(width, height int) {
	v.c.t.Helper()
	v.c.call(v.session, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
}

// note keeps what must not happen. It runs under the lock.
func (v *visit) note(m message) {
	var p struct {
		Request          struct{ URL string }
		Type             string
		Args             []struct{ Value any }
		ExceptionDetails struct{ Text string }
		Entry            struct{ Level, Text, URL string }
	}
	_ = json.Unmarshal(m.Params, &p)
	switch m.Method {
	case "Network.requestWillBeSent":
		if p.Request.URL != v.url && !strings.HasPrefix(p.Request.URL, "data:") {
			v.faults = append(v.faults, "request: "+p.Request.URL)
		}
	case "Runtime.consoleAPICalled":
		v.faults = append(v.faults, fmt.Sprintf("console.%s: %v", p.Type, p.Args))
	case "Runtime.exceptionThrown":
		v.faults = append(v.faults, "exception: "+p.ExceptionDetails.Text)
	case "Log.entryAdded":
		v.faults = append(v.faults, "log: "+p.Entry.Level+": "+p.Entry.Text+" "+p.Entry.URL)
	}
}

// noted gives the faults so far.
func (v *visit) noted() []string {
	v.c.mu.Lock()
	defer v.c.mu.Unlock()
	return append([]string(nil), v.faults...)
}

// eval evaluates JavaScript in the page, from outside of its policy.
func (v *visit) eval(expression string, into any) {
	v.c.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Text string }
	}
	v.c.call(v.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &r)
	if r.ExceptionDetails != nil {
		v.c.t.Fatalf("%s: %s", expression, r.ExceptionDetails.Text)
	}
	if err := json.Unmarshal(r.Result.Value, into); err != nil {
		v.c.t.Fatalf("%s: %v", expression, err)
	}
}

func (v *visit) screenshot() []byte {
	v.c.t.Helper()
	var shot struct{ Data []byte }
	v.c.call(v.session, "Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	return shot.Data
}

func (v *visit) pdf() []byte {
	v.c.t.Helper()
	var doc struct{ Data []byte }
	v.c.call(v.session, "Page.printToPDF", map[string]any{"preferCSSPageSize": true}, &doc)
	return doc.Data
}
