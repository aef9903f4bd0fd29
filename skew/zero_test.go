package skew_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/skew"
)

// A version that is not known is never called right, and every refusal can be
// told from others.
func TestTheZeroVersionIsAnErrorOfItsOwn(t *testing.T) {
	t.Parallel()
	var none skew.Version
	v := skew.MustParse("v1.34.11+k3s1")
	servers := func(v skew.Version) skew.Fleet { return skew.Fleet{Servers: []skew.Server{{Name: "s", Version: v}}} }
	check := func(from, to skew.Version) error { _, err := skew.CheckUpgrade(from, to); return err }
	order := func(f skew.Fleet, to skew.Version) error { _, err := f.Order(to); return err }
	for name, tt := range map[string]struct{ got, want error }{
		"upgrade from nothing":            {check(none, v), skew.ErrNoVersion},
		"upgrade to nothing":              {check(v, none), skew.ErrNoVersion},
		"upgrade from nothing to nothing": {check(none, none), skew.ErrNoVersion},
		"order of a fleet to nothing":     {order(servers(v), none), skew.ErrNoVersion},
		"order of an unknown server":      {order(servers(none), v), skew.ErrNoVersion},
		"order of no servers":             {order(skew.Fleet{}, v), skew.ErrNoServers},
		"a component without servers":     {skew.Check(skew.Kubelet, v), skew.ErrNoServers},
		"a component that does not exist": {skew.Check("", v, v), skew.ErrUnknownComponent},
	} {
		if !errors.Is(tt.got, tt.want) {
			t.Errorf("%s: %v, want %v", name, tt.got, tt.want)
		}
	}
	if new := servers(v).Strands(none); len(new) == 0 {
		t.Error("raising the servers to no version strands nothing")
	}
}

func TestARefusedUpgradeIsReadableAsJSON(t *testing.T) {
	t.Parallel()
	_, err := skew.CheckUpgrade(skew.MustParse("v1.34.11+k3s1"), skew.MustParse("v1.36.4+k3s1"))
	text, jsonErr := json.Marshal(err)
	const want = `{"from":"v1.34.11+k3s1","to":"v1.36.4+k3s1","skipped":1,"rule":{"id":"one-minor-a-step"`
	if jsonErr != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("%s, %v", text, jsonErr)
	}
}
