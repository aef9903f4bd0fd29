package main

import (
	"errors"
	"testing"

	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/snapshot/apiusage"
)

func TestWhatCouldNotBeReadIsNoNothing(t *testing.T) {
	t.Parallel()
	one, unread := []apiusage.Object{{Name: "web"}}, []string{"jobs.batch: forbidden"}
	for name, c := range map[string]struct {
		answer answer
		want   error
	}{
		"objects were not asked for":         {answer{}, nil},
		"all was read and nothing found":     {answer{Found: &apiusage.Found{}}, nil},
		"an API that is called goes":         {answer{Removed: 1}, cli.ErrNegative},
		"an object is tied to one that goes": {answer{Found: &apiusage.Found{Objects: one, NotRead: unread}}, cli.ErrNegative},
		"nothing found, and one not read":    {answer{Found: &apiusage.Found{NotRead: unread}}, cli.ErrUndecided},
	} {
		if err := c.answer.verdict(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
