package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/k3sladder/k3sladder/drainprobe"
	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/examples/internal/connect"
)

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drainprobe",
		Short: "Will a drain of this node finish?",
		Long: `drainprobe answers whether kubectl drain would finish, without touching anything
(forecast), or drains the node for real and gives it back as it was (attempt).`,
	}
	kube := connect.NewFlags()
	kube.AddFlags(cmd)
	cmd.AddCommand(newForecastCommand(kube), newAttemptCommand(kube))
	return cmd
}

// drainFlags are kubectl drain's own.
type drainFlags struct {
	drainprobe.Options
	grace, skip int
}

func (f *drainFlags) add(cmd *cobra.Command, timeout time.Duration) {
	fs := cmd.Flags()
	fs.BoolVar(&f.IgnoreDaemonSets, "ignore-daemonsets", false, "pass over DaemonSet Pods")
	fs.BoolVar(&f.DeleteEmptyDirData, "delete-emptydir-data", false, "also Pods with emptyDir volumes, whose data is lost")
	fs.BoolVar(&f.Force, "force", false, "also Pods that no controller owns, which nothing makes again")
	fs.IntVar(&f.grace, "grace-period", -1, "seconds each Pod has to end; negative: what the Pod says")
	fs.DurationVar(&f.Timeout, "timeout", timeout, "how long the drain tries; 0 sets no limit")
	fs.StringVar(&f.PodSelector, "pod-selector", "", "label selector of the Pods to drain")
	fs.BoolVar(&f.DisableEviction, "disable-eviction", false, "delete Pods, past their budgets")
	fs.IntVar(&f.skip, "skip-wait-for-delete-timeout", 0, "pass over Pods whose deletion began more than this many seconds ago; 0 waits")
}

func (f *drainFlags) options() drainprobe.Options {
	o := f.Options
	if f.grace >= 0 {
		o.GracePeriod = new(time.Duration(f.grace) * time.Second)
	}
	o.SkipWaitForDeleteTimeout = time.Duration(f.skip) * time.Second
	return o
}

// policyFlags say what the user will not give up.
type policyFlags struct{ drainprobe.Policy }

func (f *policyFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.KeepBudgets, "keep-budgets", false, "decide so that budgets hold even if the machine reboots")
	cmd.Flags().BoolVar(&f.KeepServing, "keep-serving", false, "decide so that no service loses its last ready Pod")
}

func client(kube *connect.Flags) (kubernetes.Interface, error) {
	config, err := kube.Config()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// exit is the status that a verdict stands for.
func exit(v drainprobe.Verdict) error {
	switch v {
	case drainprobe.VerdictDrains:
		return nil
	case drainprobe.VerdictBlocked:
		return cli.ErrNegative
	}
	return cli.ErrUndecided
}

func oneNode(args []string) (string, error) {
	if len(args) != 1 || args[0] == "" {
		return "", fmt.Errorf("name one node; kubectl get nodes lists them")
	}
	return args[0], nil
}
