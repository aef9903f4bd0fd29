package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/k3sladder/k3sladder/drainprobe"
	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/examples/internal/connect"
)

type forecastCommand struct {
	kube     *connect.Flags
	drain    drainFlags
	policy   policyFlags
	out      cli.Output
	state    string
	selector string
	all      bool
}

// forecastOutput is a forecast with what follows from it.
type forecastOutput struct {
	*drainprobe.Forecasted
	Decision *drainprobe.Decision `json:"decision,omitempty"`
}

func newForecastCommand(kube *connect.Flags) *cobra.Command {
	c := &forecastCommand{kube: kube}
	cmd := &cobra.Command{
		Use:   "forecast [NODE]",
		Short: "Say whether a drain would finish, touching nothing",
		Long: `forecast plays a drain of the node through: evictions against shared disruption budgets,
and whether each evicted Pod's replacement can run elsewhere. It only reads.

The verdict is drains, blocked or undecided. With --state it reads a file instead of a
cluster, as written by
  kubectl get nodes,namespaces,pods,pdb,deployments,replicasets,statefulsets,daemonsets,jobs,\
    pv,pvc,storageclasses,quota,limits -A -o json

Exit status: 0 drains, 1 blocked, 2 undecided or failed.`,
		Example: `  drainprobe forecast server-1 --ignore-daemonsets --delete-emptydir-data
  drainprobe forecast --all --ignore-daemonsets --delete-emptydir-data
  drainprobe forecast server-1 --state bundle.json --timeout=10m -o json
  drainprobe forecast -l node-role.kubernetes.io/worker --ignore-daemonsets`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: kube.Complete(connect.Nodes),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.drain.add(cmd, 0)
	c.policy.add(cmd)
	cmd.Flags().StringVar(&c.state, "state", "", "judge this v1 List (JSON or YAML, - for standard input) instead of a cluster")
	cmd.Flags().BoolVar(&c.all, "all", false, "every node in upgrade order, one at a time")
	cmd.Flags().StringVarP(&c.selector, "selector", "l", "", "the nodes that this label selector matches, all cordoned first, as kubectl drain does")
	c.out.AddFlag(cmd, "text", "json", "yaml")
	cmd.MarkFlagsMutuallyExclusive("all", "selector")
	return cmd
}

func (c *forecastCommand) run(cmd *cobra.Command, args []string) error {
	several := c.all || cmd.Flags().Changed("selector")
	if several && len(args) > 0 {
		return fmt.Errorf("name a node, or use --all or --selector, not both")
	}
	if !several && len(args) == 0 {
		return fmt.Errorf("name a node, or use --all or --selector")
	}
	opts := c.drain.options()
	w, err := c.world(cmd.Context(), cmd.InOrStdin(), args, opts)
	if err != nil {
		return err
	}
	if several {
		s, err := c.sequence(w, opts)
		if err != nil {
			return err
		}
		if err := c.out.Print(cmd.OutOrStdout(), s, s.WriteText); err != nil {
			return err
		}
		return exit(s.Verdict)
	}
	f, err := w.Forecast(args[0], opts)
	if err != nil {
		return err
	}
	o := forecastOutput{Forecasted: f}
	if f.Missing {
		// A mistyped name is no verdict on a node.
		if c.out.String() == "text" {
			return errors.New(f.Reasons[0])
		}
		return errors.Join(c.out.Print(cmd.OutOrStdout(), o, o.writeText), errors.New(f.Reasons[0]))
	}
	o.Decision = drainprobe.Decide(f, c.policy.Policy)
	if err := c.out.Print(cmd.OutOrStdout(), o, o.writeText); err != nil {
		return err
	}
	return exit(f.Verdict)
}

func (o forecastOutput) writeText(w io.Writer) error {
	if err := o.WriteText(w); err != nil {
		return err
	}
	if o.Decision == nil {
		return nil
	}
	_, err := fmt.Fprintln(w, o.Decision)
	return err
}

func (c *forecastCommand) sequence(w *drainprobe.World, opts drainprobe.Options) (*drainprobe.Sequence, error) {
	if c.all {
		return w.ForecastAll(opts)
	}
	return w.ForecastSelected(c.selector, opts)
}

// world reads the file, or as much of the cluster as the question needs.
func (c *forecastCommand) world(ctx context.Context, stdin io.Reader, nodes []string, opts drainprobe.Options) (*drainprobe.World, error) {
	switch c.state {
	case "":
		client, err := client(c.kube)
		if err != nil {
			return nil, err
		}
		if len(nodes) == 0 {
			return drainprobe.GatherAll(ctx, client)
		}
		return drainprobe.Gather(ctx, client, nodes[0], opts)
	case "-":
		return drainprobe.ReadWorld(stdin)
	}
	f, err := os.Open(c.state)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w, err := drainprobe.ReadWorld(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.state, err)
	}
	return w, nil
}
