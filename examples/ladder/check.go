package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/skew"
)

// verdict is what ladder check prints.
type verdict struct {
	From    skew.Version     `json:"from"`
	To      skew.Version     `json:"to"`
	Allowed bool             `json:"allowed"`
	Kind    skew.UpgradeKind `json:"kind,omitempty"`
	// Rule and Why say what forbids it.
	Rule string `json:"rule,omitempty"`
	Why  string `json:"why,omitempty"`
	// Unless lists rules that would forbid it if a fact that is not known turns
	// out so.
	Unless []channels.Objection `json:"unless,omitempty"`
	// Defect says why nobody should stay on To.
	Defect string `json:"defect,omitempty"`
}

func newCheckCommand(o *options) *cobra.Command {
	var out cli.Output
	cmd := &cobra.Command{
		Use:   "check FROM TO",
		Short: "Whether one upgrade step is allowed",
		Long: `check says whether going from one version straight to another is allowed: at most one
minor up, never down, the same distribution, and nothing in the rules for k3s that
surely binds this cluster. Rules that hang on something not known are listed.

Exit status: 0 allowed, 1 forbidden, 2 a version could not be read.`,
		Example: `  ladder check v1.34.11+k3s1 v1.35.8+k3s1
  ladder check --datastore etcd v1.32.10+k3s1 v1.33.13+k3s2`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			facts, err := o.facts()
			if err != nil {
				return err
			}
			v := verdict{}
			if v.From, err = skew.Parse(args[0]); err != nil {
				return err
			}
			if v.To, err = skew.Parse(args[1]); err != nil {
				return err
			}
			if err := v.judge(facts); err != nil {
				return err
			}
			if err := out.Print(cmd.OutOrStdout(), v, v.writeText); err != nil || v.Allowed {
				return err
			}
			return cli.ErrNegative
		},
	}
	out.AddFlag(cmd, "text", "json", "yaml")
	return cmd
}

func (v *verdict) judge(facts channels.Facts) error {
	u, err := skew.CheckUpgrade(v.From, v.To)
	var refused *skew.UpgradeError
	switch {
	case errors.As(err, &refused):
		v.Rule, v.Why = refused.Rule.ID, err.Error()
		return nil
	case err != nil:
		return err
	}
	v.Allowed, v.Kind = true, u.Kind
	for _, n := range channels.NeverStops() {
		if n.Version == v.To {
			v.Defect = n.Why
		}
	}
	for _, o := range channels.Objections(v.From, v.To, facts) {
		if !o.Certain {
			v.Unless = append(v.Unless, o)
			continue
		}
		if v.Allowed {
			v.Allowed, v.Rule = false, o.Constraint.ID
			v.Why = fmt.Sprintf("%s -> %s: rule %s: %s (%s)", v.From, v.To, o.Constraint.ID, o.Constraint.Text, o.Detail)
		}
	}
	return nil
}

func (v *verdict) writeText(w io.Writer) error {
	if !v.Allowed {
		return writeWrapped(w, "", "  ", "forbidden: "+v.Why)
	}
	if err := writeWrapped(w, "", "  ", fmt.Sprintf("allowed: %s -> %s (%s)", v.From, v.To, v.Kind)); err != nil {
		return err
	}
	if v.Defect != "" {
		if err := writeWrapped(w, "  ", "    ", fmt.Sprintf("but nobody should stay on %s: %s", v.To, v.Defect)); err != nil {
			return err
		}
	}
	for _, o := range v.Unless {
		text := fmt.Sprintf("unless rule %s binds here: %s (%s)", o.Constraint.ID, o.Constraint.Text, o.Detail)
		if err := writeWrapped(w, "  ", "    ", text); err != nil {
			return err
		}
	}
	return nil
}
