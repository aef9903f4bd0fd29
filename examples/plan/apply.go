package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/examples/internal/connect"
	"github.com/k3sladder/k3sladder/suc"
)

func newApplyCommand(kube *connect.Flags) *cobra.Command {
	var out cli.Output
	var crd, controller string
	var dryRun, ignoreLint, force bool
	cmd := &cobra.Command{
		Use:   "apply FILE...",
		Short: "Apply Plans, with the CRD they need",
		Long: `apply brings Plans into the cluster by server-side apply: the CRD first where the
cluster has none, then the controller if asked for, the namespace and the Plans.

Plans in which lint --cluster finds an error are refused.

Exit status: 0 applied, 1 refused by lint, 2 failure.`,
		Example: `  plan apply next.yaml --dry-run
  plan apply next.yaml
  plan apply next.yaml --crd official --controller official   # a cluster without the controller
  plan apply next.yaml --crd ./crd.yaml                        # without a network`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			ps, err := plans(args)
			if err != nil {
				return err
			}
			c, err := clients(kube)
			if err != nil {
				return err
			}
			opts := suc.ApplyOptions{Plans: ps, DryRun: dryRun, IgnoreLint: ignoreLint, Force: force}
			if opts.CRD, err = source(cmd, crd, suc.OfficialCRDURL); err != nil {
				return err
			}
			if opts.Controller, err = source(cmd, controller, suc.OfficialManifestURL); err != nil {
				return err
			}
			if !ignoreLint {
				facts, err := suc.ReadFacts(ctx, c)
				if err != nil {
					return err
				}
				opts.Facts = ask(ctx, ps, facts)
				sayUnasked(cmd.ErrOrStderr(), ps, opts.Facts)
			}
			if waiting := waiting(opts); len(waiting) > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "note: the controller will carry out what waits in the cluster too: %s\n", strings.Join(waiting, ", "))
			}
			res, err := suc.Apply(ctx, c.Dynamic, opts)
			if err == nil && opts.Facts != nil && opts.Facts.SUC == nil && opts.Controller == nil {
				fmt.Fprintln(cmd.ErrOrStderr(), "note: no system-upgrade-controller was found in the cluster, and nothing else carries a Plan out; --controller official installs it")
			}
			if printErr := out.Print(cmd.OutOrStdout(), res, res.WriteText); printErr != nil && err == nil {
				err = printErr
			}
			var refused *suc.LintError
			if errors.As(err, &refused) {
				return cli.Negative(err)
			}
			if errors.Is(err, suc.ErrNoCRD) {
				return fmt.Errorf("%w; --crd official --controller official brings both along", err)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&crd, "crd", "", `CRD to install where the cluster has none: "official", "bundled", a URL or a file`)
	f.StringVar(&controller, "controller", "", `controller manifest to apply: "official", a URL or a file`)
	f.BoolVar(&dryRun, "dry-run", false, "let the API server check everything and keep nothing")
	f.BoolVar(&ignoreLint, "ignore-lint", false, "apply also what lint finds errors in")
	f.BoolVar(&force, "force", false, "take over fields that another manager owns")
	out.AddFlag(cmd, "text", "json", "yaml")
	return cmd
}

// waiting are the Plans in the cluster that a controller which is installed now
// begins with, besides those that are applied.
func waiting(opts suc.ApplyOptions) (names []string) {
	if opts.Controller == nil || opts.Facts == nil || opts.Facts.SUC != nil {
		return nil
	}
	for _, name := range opts.Facts.Plans {
		if !slices.ContainsFunc(opts.Plans, func(p *suc.Plan) bool { return p.Namespace+"/"+p.Name == name }) {
			names = append(names, name)
		}
	}
	return names
}

// source reads what a flag names; nil when it is not set.
func source(cmd *cobra.Command, flag, official string) ([]byte, error) {
	switch flag {
	case "":
		return nil, nil
	case "official":
		return fetch(cmd.Context(), official)
	case "bundled":
		if official == suc.OfficialCRDURL {
			return suc.CRD(), nil
		}
	}
	return fetch(cmd.Context(), flag)
}
