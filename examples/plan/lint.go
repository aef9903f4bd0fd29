package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/examples/internal/connect"
	"github.com/k3sladder/k3sladder/suc"
)

func newLintCommand(kube *connect.Flags) *cobra.Command {
	var from factsFlags
	var out cli.Output
	var strict, rules bool
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Find what a Plan says and does not mean",
		Long: `lint finds mistakes in Plans that the API server takes and the controller silently
misreads: selectors that match nothing or everything, versions that skip a minor,
agents that wait for a Plan of another name, durations that stop the controller.

The files are judged together and offline; facts about the cluster, from a file or
with --cluster from the cluster itself, and from the channels that the Plans follow,
sharpen the verdict. "-" is standard input.

Exit status: 0 nothing or only notes, 1 an error (with --strict also a warning),
2 unreadable input.`,
		Example: `  plan lint servers.yaml agents.yaml
  plan lint --cluster next.yaml           # ask the cluster for nodes, versions, accounts
  plan lint --facts prod.json next.yaml   # the same from a file
  plan lint -o github --strict deploy/*.yaml
  plan lint --rules                       # what it looks for, with sources`,
		Args: func(cmd *cobra.Command, args []string) error {
			if rules {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			w := cmd.OutOrStdout()
			if rules {
				return out.Print(w, suc.Rules(), writeRules)
			}
			facts, err := from.facts(cmd.Context(), kube)
			if err != nil {
				return err
			}
			fs, err := files(args)
			if err != nil {
				return err
			}
			if from.cluster {
				facts = ask(cmd.Context(), decoded(fs), facts)
			}
			found := suc.Lint(fs, suc.LintOptions{Facts: facts})
			if found == nil {
				found = suc.Findings{} // a list, also when it is empty
			}
			err = out.Print(w, found, func(w io.Writer) error {
				if out.String() == "github" {
					return found.WriteGitHub(w)
				}
				return found.WriteText(w)
			})
			if err != nil {
				return err
			}
			sayUnasked(cmd.ErrOrStderr(), decoded(fs), facts)
			switch {
			case len(found) > 0 || out.String() != "text":
			case facts == nil:
				fmt.Fprintln(cmd.ErrOrStderr(), "no findings; what depends on the cluster was not judged, see --cluster and --facts")
			default:
				fmt.Fprintln(cmd.ErrOrStderr(), "no findings")
			}
			for _, f := range fs {
				if !bytes.Contains(f.Data, []byte(suc.Group)) && !slices.ContainsFunc(found, func(x suc.Finding) bool { return x.File == f.Name }) {
					fmt.Fprintf(cmd.ErrOrStderr(), "no Plan in %s\n", f.Name)
				}
			}
			if h := found.Highest(); h == suc.Error || strict && h == suc.Warning {
				return cli.ErrNegative
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&from.file, "facts", "", "file with facts about the cluster, JSON or YAML")
	f.BoolVar(&from.cluster, "cluster", false, "ask the cluster for the facts, and the channels that the Plans follow")
	f.BoolVar(&strict, "strict", false, "exit with 1 on warnings too")
	f.BoolVar(&rules, "rules", false, "list the rules and judge nothing")
	cmd.MarkFlagsMutuallyExclusive("facts", "cluster")
	out.AddFlag(cmd, "text", "json", "yaml", "github")
	return cmd
}

func writeRules(w io.Writer) error {
	for _, r := range suc.Rules() {
		if _, err := fmt.Fprintf(w, "%-24s %-8s %s\n%-24s          %s\n", r.Code, r.Severity, r.Text, "", r.Source); err != nil {
			return err
		}
	}
	return nil
}

// decoded are the Plans of files; those that cannot be read are findings.
func decoded(fs []suc.File) (plans []*suc.Plan) {
	for _, f := range fs {
		if p, err := suc.Decode(f.Data); err == nil {
			plans = append(plans, p...)
		}
	}
	return plans
}
