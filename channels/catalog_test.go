package channels_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
)

func TestBundledCatalog(t *testing.T) {
	t.Parallel()
	c := channels.Bundled()
	if !c.Bundled || c.Date.IsZero() || !strings.Contains(c.Origin(), "bundled snapshot of 2026-09-30") {
		t.Errorf("the bundled catalog does not say what it is: %s", c.Origin())
	}
	if v, err := c.Latest("stable"); err != nil || v != skew.MustParse("v1.36.4+k3s1") {
		t.Errorf("stable is %s, %v", v, err)
	}
	if _, err := c.Latest("v1.34-testing"); !errors.Is(err, channels.ErrNoLatest) {
		t.Errorf("a channel without latest: %v", err)
	}
	if _, err := c.Latest("nope"); !errors.Is(err, channels.ErrNoChannel) {
		t.Errorf("an unknown channel: %v", err)
	}
	if v, err := c.NewestPatch(skew.Minor{Major: 1, Minor: 25}); err != nil || v != skew.MustParse("v1.25.16+k3s4") {
		t.Errorf("newest 1.25 is %s, %v", v, err)
	}
	if _, err := c.NewestPatch(skew.Minor{Major: 1, Minor: 99}); !errors.Is(err, channels.ErrNoRelease) {
		t.Errorf("a minor that nobody knows: %v", err)
	}
}

func TestNewestPatchIsByRevision(t *testing.T) {
	t.Parallel()
	c := &channels.Catalog{Channels: []channels.Channel{
		{Name: "v1.34", Latest: skew.MustParse("v1.34.3+k3s1")},
		{Name: "stable", Latest: skew.MustParse("v1.34.3+k3s3")},
		{Name: "v1.34-testing", Latest: skew.MustParse("v1.34.4-rc1+k3s1")},
		{Name: "v1.35", Latest: skew.MustParse("v1.35.0+k3s1")},
	}}
	if v, err := c.NewestPatch(skew.Minor{Major: 1, Minor: 34}); err != nil || v != skew.MustParse("v1.34.3+k3s3") {
		t.Errorf("newest 1.34 is %s, %v", v, err)
	}
}

func TestInstallScriptURL(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]string{
		"v1.34.11+k3s1":     "https://raw.githubusercontent.com/k3s-io/k3s/v1.34.11%2Bk3s1/install.sh",
		"v1.35.0-rc1+k3s1":  "https://raw.githubusercontent.com/k3s-io/k3s/v1.35.0-rc1%2Bk3s1/install.sh",
		"v1.33.4+rke2r1":    "https://raw.githubusercontent.com/rancher/rke2/v1.33.4%2Brke2r1/install.sh",
		"v1.34.11":          "",
		"v1.32.4-eks-12345": "",
	} {
		if got := channels.InstallScriptURL(skew.MustParse(v)); got != want {
			t.Errorf("%s: %q, want %q", v, got, want)
		}
	}
}

func TestJumpCountsMinors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to string
		want     int
	}{
		{"v1.34.11+k3s1", "v1.36.4+k3s1", 2},
		{"v1.34.11+k3s1", "v1.34.12+k3s1", 0},
		{"v1.36.4+k3s1", "v1.34.11+k3s1", -2},
	} {
		if got := channels.Jump(skew.MustParse(tt.from), skew.MustParse(tt.to)); got != tt.want {
			t.Errorf("Jump(%s, %s) = %d, want %d", tt.from, tt.to, got, tt.want)
		}
	}
	if channels.Jump(skew.MustParse("v1.99.0"), skew.MustParse("v2.0.0")) <= 1 {
		t.Error("a new major looks like a step")
	}
}

func TestTargetIsAVersionOrAChannel(t *testing.T) {
	t.Parallel()
	c := channels.Bundled()
	for word, want := range map[string]string{"stable": "v1.36.4+k3s1", "v1.34": "v1.34.12+k3s1", "1.34": "v1.34.12+k3s1", "v1.35.4-k3s1": "v1.35.4+k3s1"} {
		if v, err := c.Target(word); err != nil || v != skew.MustParse(want) {
			t.Errorf("%s is %s, %v", word, v, err)
		}
	}
	if _, err := c.Target("testing"); !errors.Is(err, channels.ErrNoLatest) {
		t.Errorf("a channel that points at nothing: %v", err)
	}
	var parse *skew.ParseError
	if _, err := c.Target("nope"); !errors.Is(err, channels.ErrNoChannel) || !errors.As(err, &parse) {
		t.Errorf("neither: %v", err)
	}
}
