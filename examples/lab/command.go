package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/k3sladder/k3sladder/backup"
	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/examples/internal/connect"
	"github.com/k3sladder/k3sladder/internal/practice"
	"github.com/k3sladder/k3sladder/skew"
)

// options are the flags.
type options struct {
	lab
	kube          *connect.Flags
	practice      bool
	keep          bool
	kept          *practice.Running // with keep, once it runs
	installScript string
	service       string
	k3sConfig     string
}

func newCommand() *cobra.Command {
	cobra.EnableCommandSorting = false // the steps have an order
	o := &options{kube: connect.NewFlags()}
	root := &cobra.Command{
		Use:   "lab",
		Short: "Take a k3s cluster exactly one minor up, and prove that it is the same cluster",
		Long: `Takes a k3s cluster exactly one Kubernetes minor version up: what must be
written down before, a backup that is proved to restore, a real drain that is
undone, the upgrade, and the proof that it is the same cluster afterwards.

The steps, in order (upgrade and after also keep a snapshot of the whole cluster,
snapshot-before.json.gz and snapshot-after.json.gz):

` + stepTable(),
		Example: `  # Watch it on a practice cluster: nothing but Go is needed
  lab run --practice

  # On a k3s server, as root: to the next rung of the ladder to stable
  lab run --dir /root/climb-1.35

  # Grade what a run left behind
  lab check --dir /root/climb-1.35`,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&o.dir, "dir", "lab-out", "folder for the lab's files")
	root.AddCommand(o.runCommand(), o.stepCommand(), o.checkCommand(), serveCommand())
	return root
}

// stepTable lists the steps with what they write.
func stepTable() string {
	var text strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&text, "  %-11s writes %s\n", s.name, strings.Join(s.files, ", "))
	}
	return text.String()
}

// addFlags adds what run and step share.
func (o *options) addFlags(cmd *cobra.Command) {
	o.kube.AddFlags(cmd)
	f := cmd.PersistentFlags()
	f.BoolVar(&o.force, "force", false, "write files anew that are already there")
	f.StringVar(&o.to, "to", "", "version to go to (default: the ladder's next rung on the way to stable)")
	f.StringVar(&o.nodeName, "node", "", "server node to work on (default: the only one)")
	f.StringVar(&o.dataDir, "data-dir", cli.DataDir(), "k3s's data directory; K3S_DATA_DIR changes the default")
	f.DurationVar(&o.drainTimeout, "drain-timeout", 40*time.Second, "how long the drain may try (kubectl drain --timeout)")
	f.DurationVar(&o.readyTimeout, "ready-timeout", 10*time.Minute, "how long to wait for Pods, API server and node")
	f.BoolVar(&o.keepBudgets, "keep-budgets", false, "disruption budgets must hold through the upgrade: decides add-node-first where no drain can finish")
	f.StringVar(&o.language, "lang", "en", "language of report.md: en or ja")
	f.StringVar(&o.channels, "channels", "", `release channels: a URL, a saved file, or "bundled" (default: k3s's channel server)`)
	f.StringVar(&o.crd, "crd", "", `CRD of system-upgrade-controller: a URL, a file, or "bundled" (default: its official release)`)
	f.StringVar(&o.installScript, "install-script", "", "k3s install script: a URL or a file (default: the target version's own)")
	f.StringVar(&o.service, "service", "/etc/systemd/system/k3s.service", "unit of the running k3s, whose arguments must not be lost")
	f.StringVar(&o.k3sConfig, "k3s-config", "/etc/rancher/k3s/config.yaml", "k3s's config file")
	cli.Choices(cmd, "lang", "en", "ja")
	_ = cmd.RegisterFlagCompletionFunc("node", o.kube.Complete(connect.Nodes))
}

func (o *options) runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "run", Args: cobra.NoArgs,
		Short: "Do all steps in order",
		Long: `Does all steps in order, on the cluster that kubectl would talk to (on a k3s
server: /etc/rancher/k3s/k3s.yaml), or with --practice on a fresh practice cluster.

On a cluster in use, know what it does: it makes Deployment web in namespace upg,
drains the node for real and gives it back (Pods that no budget holds start anew,
emptyDir volumes are lost), upgrades and restarts k3s, and applies a Plan that a
system-upgrade-controller started later would carry out. To evict nothing, do the
steps one by one and leave drain out.

Exit status: 0 done; 1 a negative verdict, such as a backup whose token does not
open it, or something that was lost on the way; 2 failed.`,
		Example: `  lab run --practice
  lab run --practice --keep     # leaves the practice cluster for you to look at
  lab run --to v1.35.8+k3s1`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if o.practice {
				return o.practiceRun(cmd)
			}
			return o.realRun(cmd, steps)
		},
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&o.practice, "practice", false, "start a practice cluster ("+practice.From+" -> "+practice.To+"), work on it and remove it")
	cmd.Flags().BoolVar(&o.keep, "keep", false, "with --practice: leave the cluster running and say how to reach it")
	cmd.MarkFlagsMutuallyExclusive("practice", "kubeconfig")
	cmd.MarkFlagsMutuallyExclusive("practice", "context")
	return cmd
}

func (o *options) stepCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "step NAME",
		Short: "Do one step",
		Long: `Does one step. Every step can be repeated with --force; those that belong
before the upgrade only until it is done.

Exit status: 0 done, 1 a negative verdict, 2 failed.`,
		Example: "  lab step before\n  lab step backup --force",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("name a step: %s", strings.Join(stepNames(), ", "))
			}
			return fmt.Errorf("no step %q; the steps are: %s", args[0], strings.Join(stepNames(), ", "))
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	o.addFlags(cmd)
	for _, s := range steps {
		cmd.AddCommand(&cobra.Command{
			Use: s.name, Args: cobra.NoArgs, Short: s.short(),
			Long: strings.TrimSpace(s.help) + "\nWrites " + strings.Join(s.files, ", ") + ".",
			RunE: func(cmd *cobra.Command, _ []string) error {
				if err := o.validate(); err != nil {
					return err
				}
				return o.realRun(cmd, []step{s})
			},
		})
	}
	return cmd
}

func (o *options) checkCommand() *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use: "check", Args: cobra.NoArgs,
		Short: "Grade the folder that a run left behind",
		Long: `Grades a folder: every file by itself, against the others, the backup by
restoring what can be restored without a server, and the order in which the
files were written.

Exit status: 0 all is well, 1 something is not, 2 there is nothing to grade.`,
		Example: `  lab check --dir /root/climb-1.35
  lab check --dir /root/climb-1.35 -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			grade, err := o.check(cmd.Context())
			if err != nil {
				return err
			}
			if err := output.Print(cmd.OutOrStdout(), grade, grade.writeText); err != nil {
				return err
			}
			if !grade.OK {
				return cli.ErrNegative
			}
			return nil
		},
	}
	output.AddFlag(cmd, "text", "json", "yaml")
	return cmd
}

// serveCommand is the process that keeps a practice cluster after its lab.
func serveCommand() *cobra.Command {
	var opts practice.Options
	cmd := &cobra.Command{
		Use: "practice-serve", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Progress = func(line string) { fmt.Fprintln(cmd.OutOrStdout(), line) }
			return practice.Serve(cmd.Context(), opts)
		},
	}
	cmd.Flags().StringVar(&opts.Dir, "cluster-dir", "", "folder of the cluster")
	return cmd
}

// realRun does steps on the cluster that the flags name.
func (o *options) realRun(cmd *cobra.Command, todo []step) (err error) {
	if o.config, err = o.kube.Config(); err != nil {
		return fmt.Errorf("%w; without a cluster: lab run --practice", err)
	}
	o.engine = installEngine{script: o.installScript, service: o.service, config: o.k3sConfig, log: filepath.Join(o.dir, "install.log")}
	// On a practice cluster that was left running, an install script from the
	// network would upgrade this machine instead.
	root := strings.TrimSuffix(filepath.Clean(o.dataDir), backup.DefaultDataDir)
	if running, err := practice.Status(cmd.Context(), root); err == nil && o.installScript == "" {
		o.engine = keptEngine{running.Dir, practice.BuildLater(cmd.Context(), []string{practice.To})}
		if o.to == "" {
			o.to = practice.To
		}
	}
	if err := o.open(cmd); err != nil {
		return err
	}
	release, err := o.take()
	if err != nil {
		return err
	}
	defer release()
	return o.run(cmd.Context(), todo)
}

// validate finds out what is wrong with the flags before anything is done.
func (o *options) validate() error {
	switch {
	case reportTexts[o.language] == nil:
		return fmt.Errorf("--lang %s: there are en and ja", o.language)
	case o.drainTimeout <= 0:
		return fmt.Errorf("--drain-timeout %s: a drain that may never end is no probe; give it some seconds", o.drainTimeout)
	case o.readyTimeout <= 0:
		return fmt.Errorf("--ready-timeout %s: give it some seconds", o.readyTimeout)
	case o.keep && !o.practice:
		return errors.New("--keep goes with --practice")
	}
	o.settle = min(time.Minute, o.readyTimeout/2)
	if o.practice && o.to == "" {
		o.to = practice.To
	}
	if o.practice && o.to != practice.To {
		from := skew.MustParse(practice.From)
		if to, err := skew.Parse(o.to); err == nil {
			if _, err := skew.CheckUpgrade(from, to); err != nil {
				return cli.Negative(fmt.Errorf("refused: %w", err))
			}
		}
		return fmt.Errorf("--to %s: the practice cluster goes from %s to %s", o.to, practice.From, practice.To)
	}
	return nil
}

// open finishes what connect and practiceRun began.
func (o *options) open(cmd *cobra.Command) (err error) {
	if o.term == nil {
		o.term = newTerminal(cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	o.client, err = kubernetes.NewForConfig(o.config)
	return err
}

// practiceRun does all steps on a fresh practice cluster.
func (o *options) practiceRun(cmd *cobra.Command) (err error) {
	o.term = newTerminal(cmd.OutOrStdout(), cmd.ErrOrStderr())
	for _, s := range steps {
		if err := o.free(s.files...); err != nil {
			return err
		}
	}
	release, err := o.take()
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	live := o.term.begin("cluster")
	// What the upgrade needs is built while the steps before it run.
	if err = practice.Build(ctx, []string{practice.From}, o.term.say); err != nil {
		live.end("")
		return unlessInterrupted(ctx, err)
	}
	built := practice.BuildLater(ctx, []string{practice.To})
	defer func() {
		cancel() // a build that nobody waits for any more ends with this run
		_ = built(func(string) {})
	}()
	if o.keep {
		err = o.startKept(ctx, built)
	} else {
		var cluster *practice.Cluster
		if cluster, err = practice.New(ctx, practice.Options{Progress: o.term.say}); err == nil {
			defer func() { err = errors.Join(err, cluster.Close()) }()
			o.config, o.dataDir, o.engine = cluster.Config(), cluster.DataDir(), practiceEngine{cluster, built}
		}
	}
	if err != nil {
		live.end("")
		return unlessInterrupted(ctx, err)
	}
	live.end("practice cluster " + practice.From + " (real control plane and datastore, simulated kubelets)")
	if err := o.open(cmd); err != nil {
		return err
	}
	err = o.run(ctx, steps)
	if o.kept != nil {
		fmt.Fprintln(o.term.out, "\nThe cluster is left running; make practice-down ends it.")
		err = errors.Join(err, o.kept.WriteText(o.term.out))
	}
	return err
}

// startKept starts a cluster that outlives this process, in the folder that
// "make practice-up" uses.
func (o *options) startKept(ctx context.Context, built func(progress func(string)) error) error {
	dir, err := practice.DefaultDir()
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("there is a practice cluster in %s already; end it first: make practice-down", dir)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	running, err := practice.Up(ctx, dir, []string{self, "practice-serve", "--cluster-dir", dir}, o.term.say)
	if err != nil {
		return err
	}
	o.dataDir, o.engine = running.DataDir, keptEngine{dir, built}
	if o.config, err = clientcmd.BuildConfigFromFlags("", running.Kubeconfig); err != nil {
		return err
	}
	o.kept = running
	return nil
}
