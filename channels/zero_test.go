package channels_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
)

func TestOfTheZeroVersionNothingIsSaid(t *testing.T) {
	t.Parallel()
	var none skew.Version
	v := skew.MustParse("v1.36.4+k3s1")
	for _, pair := range [][2]skew.Version{{none, v}, {v, none}, {none, none}} {
		if n := channels.Jump(pair[0], pair[1]); n != 0 {
			t.Errorf("Jump(%q, %q) = %d", pair[0], pair[1], n)
		}
		if os := channels.Objections(pair[0], pair[1], channels.Facts{}); os != nil {
			t.Errorf("Objections(%q, %q) = %v", pair[0], pair[1], os)
		}
		if channels.AgentHangs(pair[0], pair[1]) {
			t.Errorf("AgentHangs(%q, %q)", pair[0], pair[1])
		}
		if _, err := channels.Ladder(pair[0], pair[1], nil, channels.Facts{}); !errors.Is(err, skew.ErrNoVersion) {
			t.Errorf("Ladder(%q, %q): %v", pair[0], pair[1], err)
		}
	}
}

func TestACatalogThatIsNilOrMadeByHandAnswers(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]*channels.Catalog{
		"no catalog":                  nil,
		"a catalog of unknown origin": {},
		"channels.json":               {Source: "channels.json"},
	} {
		if got := c.Origin(); got != want {
			t.Errorf("origin %q, want %q", got, want)
		}
		if _, err := c.Latest("stable"); !errors.Is(err, channels.ErrNoChannel) || !strings.HasSuffix(err.Error(), "in "+want) {
			t.Errorf("%s: %v", want, err)
		}
		if _, err := c.NewestPatch(skew.Minor{Major: 1, Minor: 35}); !errors.Is(err, channels.ErrNoRelease) {
			t.Errorf("%s: %v", want, err)
		}
		if v, err := c.Target("v1.35.8+k3s1"); err != nil || v.IsZero() {
			t.Errorf("%s: %v, %v", want, v, err)
		}
	}
}

func TestACancelledContextAndNoAddressAreErrors(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	ask := map[string]func(context.Context, string) error{
		"Read": func(ctx context.Context, a string) error {
			_, err := channels.Read(ctx, a, channels.Options{})
			return err
		},
		"Resolve": func(ctx context.Context, a string) error {
			_, err := channels.Resolve(ctx, a, channels.Options{})
			return err
		},
		"ReadAsSUC": func(ctx context.Context, a string) error {
			_, err := channels.ReadAsSUC(ctx, a, channels.Options{})
			return err
		},
	}
	for name, f := range ask {
		if err := f(ctx, "https://127.0.0.1:1/channels"); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "Read" { // its empty source is k3s's server
			continue
		}
		if err := f(context.Background(), ""); err == nil || !strings.Contains(err.Error(), `channels from "": no http or https address`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
