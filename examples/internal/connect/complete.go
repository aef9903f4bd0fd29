package connect

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
)

// Complete has the shell complete the first argument with names from the
// cluster. Nothing is said when it does not answer within two seconds.
func (k *Flags) Complete(names func(context.Context, *rest.Config) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		config, err := k.Config()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
		defer cancel()
		found, err := names(ctx, config)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}
