// Command practice keeps a practice cluster running, for trying the example
// binaries on: it is what "make practice-up" and its siblings call.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/k3sladder/k3sladder/internal/practice"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	cmd := command()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "practice:", err)
		os.Exit(2)
	}
}

func command() *cobra.Command {
	var dir string
	root := &cobra.Command{
		Use:   "practice",
		Short: "A practice cluster: real control plane, real SQLite datastore, simulated kubelets",
		PersistentPreRunE: func(*cobra.Command, []string) (err error) {
			if dir == "" {
				dir, err = practice.DefaultDir()
			}
			return err
		},
	}
	root.PersistentFlags().StringVar(&dir, "dir", "", "folder of the cluster (default: k3sladder/cluster in the user's cache folder)")

	var opts practice.Options
	addStart := func(cmd *cobra.Command) {
		cmd.Flags().StringVar(&opts.Version, "version", practice.From, "version to start: "+practice.From+" or "+practice.To)
		cmd.Flags().IntVar(&opts.Port, "port", 0, "port of the API server on 127.0.0.1 (0: a free one)")
		cmd.Flags().BoolVar(&opts.NoNodes, "no-nodes", false, "make no node")
	}

	up := &cobra.Command{
		Use: "up", Args: cobra.NoArgs,
		Short: "Start the cluster, leave it running and print how to reach it",
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			serve := []string{self, "serve", "--dir", dir, "--version", opts.Version, "--port", fmt.Sprint(opts.Port)}
			if opts.NoNodes {
				serve = append(serve, "--no-nodes")
			}
			running, err := practice.Up(cmd.Context(), dir, serve, func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) })
			if err != nil {
				return err
			}
			return running.WriteText(cmd.OutOrStdout())
		},
	}
	addStart(up)

	serve := &cobra.Command{
		Use: "serve", Args: cobra.NoArgs,
		Short: "Run the cluster until this process is told to end",
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Dir = dir
			opts.Progress = func(line string) { fmt.Fprintln(cmd.OutOrStdout(), line) }
			return practice.Serve(cmd.Context(), opts)
		},
	}
	addStart(serve)

	var to string
	upgrade := &cobra.Command{
		Use: "upgrade", Args: cobra.NoArgs,
		Short: "Take the running cluster to the next minor on the same database",
		RunE: func(cmd *cobra.Command, _ []string) error {
			running, err := practice.UpgradeRunning(cmd.Context(), dir, to)
			if err != nil {
				return err
			}
			return running.WriteText(cmd.OutOrStdout())
		},
	}
	upgrade.Flags().StringVar(&to, "to", practice.To, "version to go to")

	stop := &cobra.Command{
		Use: "stop", Args: cobra.NoArgs,
		Short: "Stop the running cluster and keep its data, as systemctl stop k3s does",
		RunE: func(cmd *cobra.Command, _ []string) error {
			running, err := practice.StopRunning(cmd.Context(), dir)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "stopped; its data is in %s\n", running.DataDir)
			return err
		},
	}
	var as string
	start := &cobra.Command{
		Use: "start", Args: cobra.NoArgs,
		Short: "Start a stopped cluster again on the data that is there",
		Example: `  # The way back: the datastore of before, under the version of before
  practice stop
  backup restore climb-1.35/backup
  practice start --version ` + practice.From,
		RunE: func(cmd *cobra.Command, _ []string) error {
			running, err := practice.StartRunning(cmd.Context(), dir, as)
			if err != nil {
				return err
			}
			return running.WriteText(cmd.OutOrStdout())
		},
	}
	start.Flags().StringVar(&as, "version", "", "version to start; an older one only on a datastore restored from that time (default: what ran)")

	status := &cobra.Command{
		Use: "status", Args: cobra.NoArgs,
		Short: "Print how to reach the running cluster",
		RunE: func(cmd *cobra.Command, _ []string) error {
			running, err := practice.Status(cmd.Context(), dir)
			if err != nil {
				return err
			}
			if err := running.WriteText(cmd.OutOrStdout()); err != nil || len(running.Ended) == 0 {
				return err
			}
			return fmt.Errorf("not all of it runs: %s; end it with practice down", strings.Join(running.Ended, "; "))
		},
	}
	down := &cobra.Command{
		Use: "down", Args: cobra.NoArgs,
		Short: "End the cluster and remove its folder",
		RunE:  func(cmd *cobra.Command, _ []string) error { return practice.Down(cmd.Context(), dir) },
	}
	root.AddCommand(up, serve, upgrade, stop, start, status, down)
	return root
}
