package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/k3sladder/k3sladder/drainprobe"
	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/examples/internal/connect"
)

// attemptTimeout is how long a probe tries unless told otherwise. kubectl's
// own default, for ever, would be a probe that never answers.
const attemptTimeout = 5 * time.Minute

// attemptOutput is an attempt with what follows from it; nothing does from one
// that was interrupted.
type attemptOutput struct {
	*drainprobe.Attempted
	Decision *drainprobe.Decision `json:"decision,omitempty"`
}

func newAttemptCommand(kube *connect.Flags) *cobra.Command {
	var (
		drain   drainFlags
		policy  policyFlags
		out     cli.Output
		wait    time.Duration
		restore time.Duration
	)
	cmd := &cobra.Command{
		Use:   "attempt NODE",
		Short: "Drain the node for real, and give it back",
		Long: `attempt drains the node as kubectl drain does, prints what kubectl prints, and leaves the
node as it found it: schedulable again, or cordoned if it was. An interrupt, a timeout or
an API server that goes away do not change that. The evicted Pods run where the scheduler
put them.

Exit status: 0 drained, 1 not drained, 2 failed or interrupted.`,
		Example: `  drainprobe attempt server-1 --ignore-daemonsets --delete-emptydir-data --timeout=40s
  drainprobe attempt server-1 --ignore-daemonsets --timeout=2m --wait-ready=1m -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: kube.Complete(connect.Nodes),
		RunE: func(cmd *cobra.Command, args []string) error {
			node, err := oneNode(args)
			if err != nil {
				return err
			}
			client, err := client(kube)
			if err != nil {
				return err
			}
			opts := drain.options()
			opts.WaitReady, opts.RestoreTimeout = wait, restore
			stream := cmd.OutOrStdout()
			if out.String() != "text" {
				stream = cmd.ErrOrStderr()
			}
			opts.OnOutput = func(s string) { io.WriteString(stream, s) }
			got, err := drainprobe.Attempt(cmd.Context(), client, node, opts)
			if got != nil {
				o := attemptOutput{Attempted: got}
				if !errors.Is(err, drainprobe.ErrInterrupted) {
					o.Decision = drainprobe.Decide(got, policy.Policy)
				}
				if printErr := out.Print(cmd.OutOrStdout(), o, o.writeText); err == nil {
					err = printErr
				}
			}
			if err != nil {
				return err
			}
			if !got.Drained {
				return cli.ErrNegative
			}
			return nil
		},
	}
	drain.add(cmd, attemptTimeout)
	policy.add(cmd)
	cmd.Flags().DurationVar(&wait, "wait-ready", 0, "afterwards, wait this long for the evicted workloads to be ready again")
	cmd.Flags().DurationVar(&restore, "restore-timeout", drainprobe.DefaultRestoreTimeout, "how long to try to give the node back")
	out.AddFlag(cmd, "text", "json", "yaml")
	return cmd
}

func (o attemptOutput) writeText(w io.Writer) error {
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if err := o.WriteText(w); err != nil || o.Decision == nil {
		return err
	}
	return o.Decision.WriteText(w)
}
