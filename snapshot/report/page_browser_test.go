//go:build browser

package report_test

import (
	"bytes"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/snapshot/report"
)

var shots = flag.String("shots", "", "keep the screenshots and PDFs in this folder")

// pageFile writes a page where the browser can open it.
func pageFile(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// overflow names the elements that stick out to the right of the screen.
const overflow = `(() => {
	const wide = document.documentElement.clientWidth, out = [];
	if (document.documentElement.scrollWidth > wide) out.push('page ' + document.documentElement.scrollWidth + ' > ' + wide);
	for (const e of document.querySelectorAll('body *')) {
		const r = e.getBoundingClientRect();
		if (r.width > 0 && r.right > wide + 1 && getComputedStyle(e).position !== 'absolute') out.push(e.tagName + '.' + e.className + ' ends at ' + Math.round(r.right));
	}
	return out;
})()`

// contrast names texts that are hard to read: below 4.5 to 1 against the nearest
// background (https://www.w3.org/TR/WCAG22/#contrast-minimum).
const contrast = `(() => {
	const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
	const lum = c => { const [r, g, b] = c.slice(0, 3).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
	const back = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 0) return c; } return [255, 255, 255, 1]; };
	const out = [];
	for (const e of document.querySelectorAll('body *')) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || e.closest('title')) continue;
		const svg = e.closest('svg'), s = getComputedStyle(e);
		const a = lum(parse(svg ? s.fill : s.color)), b = lum(back(e));
		const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (ratio < 4.5) out.push(e.tagName + ' ' + e.textContent.trim().slice(0, 30) + ' ' + ratio.toFixed(2));
	}
	return out;
})()`

func TestThePageInABrowser(t *testing.T) {
	c := startChromium(t)
	for name, r := range map[string]*report.Report{"full": full(t), "lossy": lossy(), "empty": {}, "crowded": crowded(t)} {
		var b bytes.Buffer
		if err := r.WriteHTML(&b); err != nil {
			t.Fatal(err)
		}
		address := pageFile(t, b.Bytes())
		for _, screen := range []struct {
			name          string
			width, height int
			dark          bool
		}{{"desktop", 1280, 900, false}, {"dark", 1280, 900, true}, {"phone", 360, 740, false}, {"phone-dark", 390, 844, true}, {"tablet", 768, 1024, false}} {
			v := c.open(address, screen.width, screen.height, screen.dark)
			at := name + " on " + screen.name
			for check, expression := range map[string]string{"sticks out": overflow, "hard to read": contrast} {
				var bad []string
				if v.eval(expression, &bad); len(bad) > 0 {
					t.Errorf("%s: %s: %s", at, check, strings.Join(bad[:min(5, len(bad))], "; "))
				}
			}
			var text string
			v.eval("document.body.innerText", &text)
			if cmp := r.Comparison; cmp != nil && !strings.Contains(text, string(cmp.Verdict)) {
				t.Errorf("%s: the verdict %s cannot be seen", at, cmp.Verdict)
			}
			var small []string
			v.eval(`[...document.querySelectorAll('svg text')].map(e => [e.textContent, e.getBoundingClientRect().height, e.getBoundingClientRect().right - e.closest('svg').getBoundingClientRect().right]).filter(x => x[1] < 12 || x[2] > 1).map(String)`, &small)
			if len(small) > 0 {
				t.Errorf("%s: too small or cut off: %q", at, small)
			}
			for _, rung := range r.Ladder.Rungs {
				var seen bool
				v.eval(`[...document.querySelectorAll('svg text')].some(e => e.textContent === '`+rung.Version+`')`, &seen)
				if !seen {
					t.Errorf("%s: rung %s is not drawn", at, rung.Version)
				}
			}
			// On paper: A4 without its margins, in black on white.
			v.print(688)
			for check, expression := range map[string]string{"sticks out": overflow, "hard to read": contrast} {
				var bad []string
				if v.eval(expression, &bad); len(bad) > 0 {
					t.Errorf("%s, printed: %s: %s", at, check, strings.Join(bad[:min(5, len(bad))], "; "))
				}
			}
			if *shots != "" {
				_ = os.WriteFile(filepath.Join(*shots, name+"-print.png"), v.screenshot(), 0o644)
			}
			v.screen(screen.width, screen.height, screen.dark)
			shot := v.screenshot()
			doc := v.pdf()
			if !bytes.HasPrefix(shot, []byte("\x89PNG")) || !bytes.HasPrefix(doc, []byte("%PDF")) {
				t.Errorf("%s: no picture or no print", at)
			}
			if *shots != "" {
				_ = os.WriteFile(filepath.Join(*shots, name+"-"+screen.name+".png"), shot, 0o644)
				_ = os.WriteFile(filepath.Join(*shots, name+"-"+screen.name+".pdf"), doc, 0o644)
			}
			for _, f := range v.noted() {
				t.Errorf("%s: %s", at, f)
			}
		}
	}
}

// TestTheBrowserTestCanFail opens a page with every fault that the other test
// looks for.
func TestTheBrowserTestCanFail(t *testing.T) {
	c := startChromium(t)
	v := c.open(pageFile(t, []byte(`<!doctype html><title>bad</title><body style="background:#fff">
<img src="http://127.0.0.1:1/pixel.png"><div style="width:3000px;color:#ccc">pale and wide</div>
<script>console.error("oh"); setTimeout(() => { throw new Error("no") }, 0)</script>`)), 1280, 900, false)
	var wide, pale []string
	v.eval(overflow, &wide)
	v.eval(contrast, &pale)
	if len(wide) == 0 || len(pale) == 0 {
		t.Errorf("sticks out: %v, hard to read: %v", wide, pale)
	}
	v.screenshot()
	faults := v.noted()
	for _, want := range []string{"request: http://127.0.0.1:1/pixel.png", "console.error", "exception: ", "log: error"} {
		if !slices.ContainsFunc(faults, func(f string) bool { return strings.HasPrefix(f, want) }) {
			t.Errorf("no %q among %q", want, faults)
		}
	}
}
