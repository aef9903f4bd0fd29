package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/examples/internal/connect"
	"github.com/k3sladder/k3sladder/snapshot"
	"github.com/k3sladder/k3sladder/snapshot/report"
)

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Prove that a cluster is the same one, at any size",
		Long: `snapshot writes down what a cluster is before an upgrade (versions, UIDs, health),
and says afterwards whether it is the same cluster with the same workloads.

Exit status: 0 the same, nothing removed; 1 differences, removals;
2 it failed, or nobody can say because something was not captured.`,
		Example: `  snapshot capture --out before.json.gz
  # ... the upgrade ...
  snapshot capture --out after.json.gz
  snapshot compare before.json.gz after.json.gz
  snapshot compare before.json.gz after.json.gz -o html > report.html
  snapshot apiusage --target 1.36`,
	}
	cmd.AddCommand(captureCommand(), compareCommand(), apiusageCommand())
	return cmd
}

func captureCommand() *cobra.Command {
	var (
		kube  = connect.NewFlags()
		opts  snapshot.Options
		out   string
		force bool
		quiet bool
	)
	cmd := &cobra.Command{
		Use:   "capture --out FILE",
		Short: "Write down what the cluster is",
		Long: `capture reads versions, identities and health of everything that lasts, and writes
one JSON file, gzipped when its name ends in .gz, readable by its owner alone.
Secrets and ConfigMaps are there as UID and a keyed hash, without their values.
It writes nothing to the cluster. What this user may not list is named in the file
and on stderr, and no later comparison will call it the same.`,
		Example: `  snapshot capture --out before.json.gz
  snapshot capture --out nodes.json --kinds nodes,deployments --namespaces default,upg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return errors.New("--out is missing: where to write the snapshot")
			}
			if _, err := os.Lstat(out); err == nil && !force {
				return fmt.Errorf("%s %w; use --force to write over it", out, snapshot.ErrExists)
			}
			config, err := kube.Config()
			if err != nil {
				return err
			}
			clients, err := snapshot.NewClients(config)
			if err != nil {
				return err
			}
			start := time.Now()
			s, err := snapshot.Capture(cmd.Context(), clients, opts)
			if err != nil {
				return err
			}
			if err := s.WriteFile(out, force); err != nil {
				return err
			}
			if !quiet {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, %s, %d objects in %s\n", out, s.ServerVersion(), nodes(len(s.Nodes)), s.Objects(), time.Since(start).Round(time.Millisecond))
			}
			for _, l := range s.NotCaptured() {
				if l.State != snapshot.Excluded {
					fmt.Fprintf(cmd.ErrOrStderr(), "not captured: %s: %s: %s\n", l.Resource, l.State, l.Reason)
				}
			}
			return nil
		},
	}
	kube.AddFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&out, "out", "", "the file to write (gzipped when it ends in .gz)")
	f.BoolVar(&force, "force", false, "write over an existing file")
	f.BoolVarP(&quiet, "quiet", "q", false, "print nothing but what was not captured")
	f.StringSliceVar(&opts.Kinds, "kinds", nil, "kinds to read (Deployment, deployments, plans.upgrade.cattle.io); all by default")
	f.StringSliceVar(&opts.Namespaces, "namespaces", nil, "namespaces to read; all by default")
	f.Int64Var(&opts.PageSize, "page-size", 500, "objects in one request")
	f.IntVar(&opts.Concurrency, "concurrency", 4, "lists read at a time")
	f.BoolVar(&opts.AskKubelets, "ask-kubelets", false, "ask every kubelet for its cgroup version (needs the right to get nodes/proxy)")
	return cmd
}

func compareCommand() *cobra.Command {
	var (
		output cli.Output
		opts   snapshot.CompareOptions
		title  string
	)
	cmd := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Say whether it is the same cluster, and what became of it",
		Long: `compare holds two snapshots against each other. Its verdict is one of

  same-cluster              nothing that was there is lost
  same-cluster-with-losses  the same datastore, and something is gone, made anew,
                            not ready any more or set back
  other-cluster             kube-system has another UID
  not-comparable            something that the answer depends on was not captured

Exit status: 0 the same cluster, and nothing differs but what was to be expected
(the versions of one legal step among it); 1 differences; 2 not comparable, or it
failed.`,
		Example: `  snapshot compare before.json.gz after.json.gz
  snapshot compare before.json after.json --kinds nodes,deployments
  snapshot compare before.json after.json -o html > report.html`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, err := snapshot.ReadFile(args[0])
			if err != nil {
				return err
			}
			after, err := snapshot.ReadFile(args[1])
			if err != nil {
				return err
			}
			if err := known(opts.Kinds, before, after); err != nil {
				return err
			}
			r := report.New(before, after, opts)
			r.Title, r.Generated, r.Tool = title, time.Now().UTC().Truncate(time.Second), "k3sladder snapshot compare"
			if err := output.Print(cmd.OutOrStdout(), r.Comparison, func(w io.Writer) error { return render(w, r, output.String()) }); err != nil {
				return err
			}
			switch c := r.Comparison; {
			case c.Verdict == snapshot.NotComparable:
				return cli.ErrUndecided
			case !c.Same():
				return cli.ErrNegative
			}
			return nil
		},
	}
	output.AddFlag(cmd, "text", "json", "markdown", "html")
	cmd.Flags().StringSliceVar(&opts.Kinds, "kinds", nil, "kinds to judge; all by default")
	cmd.Flags().StringSliceVar(&opts.Namespaces, "namespaces", nil, "namespaces to judge; all by default")
	cmd.Flags().StringVar(&title, "title", "", "the report's title (markdown, html)")
	return cmd
}

// known refuses a kind that neither snapshot has heard of: a typing error would
// judge nothing, and nothing is always the same.
func known(kinds []string, sides ...*snapshot.Snapshot) error {
	for _, k := range kinds {
		name := strings.ToLower(k)
		if !slices.ContainsFunc(sides, func(s *snapshot.Snapshot) bool {
			return slices.ContainsFunc(s.Lists, func(l snapshot.List) bool {
				return slices.Contains([]string{l.Resource, strings.ToLower(l.Kind), l.Resource + "." + l.Group, strings.ToLower(l.Kind) + "." + l.Group}, name)
			})
		}) {
			return fmt.Errorf("neither snapshot has a kind %q", k)
		}
	}
	return nil
}

func render(w io.Writer, r *report.Report, format string) error {
	switch format {
	case "markdown":
		return r.WriteMarkdown(w)
	case "html":
		return r.WriteHTML(w)
	}
	return r.Comparison.WriteText(w)
}

// nodes is n with its noun.
func nodes(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}
