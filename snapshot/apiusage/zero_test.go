package apiusage_test

import (
	"testing"

	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/snapshot/apiusage"
)

func TestNobodyToAskIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := apiusage.Read(t.Context()); err == nil {
		t.Error("no server: no error")
	}
	if _, err := apiusage.Read(t.Context(), nil); err == nil {
		t.Error("a nil client: no error")
	}
	if _, err := apiusage.FindObjects(t.Context(), nil, nil, skew.Minor{Major: 1, Minor: 36}); err == nil {
		t.Error("no clients to look for objects: no error")
	}
}

func TestUsageCountsInWords(t *testing.T) {
	t.Parallel()
	a, b := apiusage.API{Version: "v1", Resource: "endpoints"}, apiusage.API{Version: "v1beta1", Group: "policy", Resource: "poddisruptionbudgets"}
	for want, u := range map[string]*apiusage.Usage{
		"no deprecated API called":                                    apiusage.Merge(nil, &apiusage.Usage{}),
		"1 deprecated API called: " + a.String():                      {APIs: []apiusage.API{a}},
		"2 deprecated APIs called: " + a.String() + ", " + b.String(): {APIs: []apiusage.API{a, b}},
	} {
		if got := u.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
