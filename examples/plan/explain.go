package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/examples/internal/connect"
	"github.com/k3sladder/k3sladder/suc"
)

func newExplainCommand(kube *connect.Flags) *cobra.Command {
	var from factsFlags
	var out cli.Output
	cmd := &cobra.Command{
		Use:   "explain FILE...",
		Short: "Say what the controller will do with a Plan, node by node",
		Long: `explain says which version the Plan resolves to, which images run in which order, with
which arguments a drain is called, which nodes are taken in which order and under
which Job names, which are done or never will be and why, and when the window opens.

It asks the cluster, or a file of facts, and writes nothing; in a cluster it also
forecasts whether each drain would finish. The controller's order
of nodes depends on UIDs: it is known for a Plan that was applied.

Exit status: 0 explained, 2 failure.`,
		Example: `  plan explain next.yaml
  plan explain next.yaml --facts prod.json
  plan explain servers.yaml agents.yaml -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			ps, err := plans(args)
			if err != nil {
				return err
			}
			from.cluster = from.file == ""
			facts, err := from.facts(ctx, kube)
			if err != nil {
				return err
			}
			explanations := []*suc.Explanation{}
			for _, p := range ps {
				opts := suc.ExplainOptions{Facts: facts, Plans: ps}
				if from.cluster {
					if opts, err = live(ctx, kube, p, opts); err != nil {
						return err
					}
				}
				e, err := suc.Explain(ctx, p, opts)
				if err != nil {
					return err
				}
				explanations = append(explanations, e)
			}
			return out.Print(cmd.OutOrStdout(), explanations, func(w io.Writer) error {
				for i, e := range explanations {
					if i > 0 {
						fmt.Fprintln(w)
					}
					if err := e.WriteText(w); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&from.file, "facts", "", "file with facts about the cluster (default: ask the cluster)")
	out.AddFlag(cmd, "text", "json", "yaml")
	return cmd
}

// live adds what only the cluster and the channel server know: the UID and the
// status of an applied Plan, its Secrets' hashes, and the channel's answer.
func live(ctx context.Context, kube *connect.Flags, p *suc.Plan, opts suc.ExplainOptions) (suc.ExplainOptions, error) {
	c, err := clients(kube)
	if err != nil {
		return opts, err
	}
	applied, err := suc.GetPlan(ctx, c.Dynamic, p.Namespace, p.Name)
	switch {
	case err == nil:
		p.UID, p.Status = applied.UID, applied.Status
	case !apierrors.IsNotFound(err):
		return opts, err
	}
	hashes, err := suc.SecretHashes(ctx, c.Kube, p)
	if err == nil {
		opts.SecretHashes = hashes
	} else if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return opts, err
	}
	opts.Drain = forecaster{c.Kube}
	opts.Facts = ask(ctx, []*suc.Plan{p}, opts.Facts)
	return opts, nil
}
