package connect

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
)

func TestCompleteGivesNamesOrNothing(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(kubeconfig, []byte("{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}"), 0o600); err != nil {
		t.Fatal(err)
	}
	nodes := func(context.Context, *rest.Config) ([]string, error) { return []string{"a", "b"}, nil }
	for name, c := range map[string]struct {
		kubeconfig string
		args       []string
		names      func(context.Context, *rest.Config) ([]string, error)
		want       []string
	}{
		"names":            {kubeconfig, nil, nodes, []string{"a", "b"}},
		"one was given":    {kubeconfig, []string{"a"}, nodes, nil},
		"no cluster":       {filepath.Join(t.TempDir(), "none"), nil, nodes, nil},
		"it does not know": {kubeconfig, nil, func(context.Context, *rest.Config) ([]string, error) { return nil, errors.New("refused") }, nil},
		"it never answers": {kubeconfig, nil, func(ctx context.Context, _ *rest.Config) ([]string, error) { <-ctx.Done(); return nil, ctx.Err() }, nil},
	} {
		k := NewFlags()
		*k.KubeConfig = c.kubeconfig
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())
		got, directive := k.Complete(c.names)(cmd, c.args, "")
		if !slices.Equal(got, c.want) || directive != cobra.ShellCompDirectiveNoFileComp {
			t.Errorf("%s: %q, %v", name, got, directive)
		}
	}
}
