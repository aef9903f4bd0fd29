package suc_test

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/suc"
)

// What is missing is an error, never a panic and never a Plan that looks right.
func TestWhatIsMissingIsAnError(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	kube, client := kubefake.NewClientset(), dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	plan := suc.ServerPlan(skew.MustParse("v1.35.9+k3s1"), suc.Options{})
	refused := func(p *suc.Plan) error {
		if suc.LintPlans([]*suc.Plan{p}, suc.LintOptions{}).Highest() != suc.Error {
			return nil
		}
		return errors.New("refused")
	}
	for name, f := range map[string]func() error{
		"lint of no Plan":                 func() error { return refused(nil) },
		"lint of the zero Plan":           func() error { return refused(&suc.Plan{}) },
		"agents without a server Plan":    func() error { return refused(suc.AgentPlan(nil, suc.Options{})) },
		"RKE2 agents without one":         func() error { return refused(suc.RKE2AgentPlan(nil, suc.Options{})) },
		"a server Plan without a version": func() error { return refused(suc.ServerPlan(skew.Version{}, suc.Options{})) },
		"explain of no Plan":              func() error { _, err := suc.Explain(ctx, nil, suc.ExplainOptions{}); return err },
		"explain of the zero Plan":        func() error { _, err := suc.Explain(ctx, &suc.Plan{}, suc.ExplainOptions{}); return err },
		"marshal of no Plan":              func() error { _, err := suc.Marshal((*suc.Plan)(nil)); return err },
		"apply of no Plan": func() error {
			_, err := suc.Apply(ctx, client, suc.ApplyOptions{Plans: []*suc.Plan{nil}, IgnoreLint: true})
			return err
		},
		"apply without a client": func() error {
			_, err := suc.Apply(ctx, nil, suc.ApplyOptions{Plans: []*suc.Plan{plan}})
			return err
		},
		"a Plan without a client":  func() error { _, err := suc.GetPlan(ctx, nil, "ns", "name"); return err },
		"facts without clients":    func() error { _, err := suc.ReadFacts(ctx, suc.Clients{}); return err },
		"facts without Plans":      func() error { _, err := suc.ReadFacts(ctx, suc.Clients{Kube: kube}); return err },
		"watch without clients":    func() error { _, err := suc.Watch(ctx, suc.Clients{}, "ns", "name", suc.WatchOptions{}); return err },
		"Secrets without a client": func() error { _, err := suc.SecretHashes(ctx, nil, plan); return err },
		"facts of no text":         func() error { _, err := suc.ParseFacts(nil); return err },
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, catalog := range map[string]*channels.Catalog{"without a catalog": nil, "with one": channels.Bundled()} {
		if _, err := suc.Next(skew.Version{}, catalog, suc.NextOptions{}); !errors.Is(err, skew.ErrNoVersion) || errors.Is(err, suc.ErrTop) {
			t.Errorf("next of no version %s: %v", name, err)
		}
	}
	if h := suc.Hash(nil, "v1", nil); h != "" {
		t.Errorf("hash of no Plan %q", h)
	}
	if args := suc.DrainArgs("a", nil); args != nil {
		t.Errorf("arguments of no drain %q", args)
	}
	if hs, err := suc.SecretHashes(ctx, kube, nil); hs != nil || err != nil {
		t.Errorf("Secrets of no Plan %q, %v", hs, err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := suc.Explain(cancelled, plan, suc.ExplainOptions{Facts: &suc.Facts{Nodes: []suc.Node{{Name: "a"}}}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
