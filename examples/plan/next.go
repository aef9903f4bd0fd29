package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/examples/internal/connect"
	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/suc"
)

// nextFlags are the flags of plan next.
type nextFlags struct {
	kube *connect.Flags
	out  cli.Output

	from, to, source, datastore, ladder string
	noAgents, force                     bool

	server             suc.Options
	drain              bool
	drainTimeout       time.Duration
	days, start, end   string
	zone, pullSecret   string
	controller         string
	tolerations        []string
	agentConcurrency   int64
	serverName, agName string
}

func newNextCommand(kube *connect.Flags) *cobra.Command {
	o := &nextFlags{kube: kube}
	cmd := &cobra.Command{
		Use:   "next",
		Short: "Write the Plans for the next rung",
		Long: `next writes the Plans that take the cluster one rung up: one for the servers, pinned to
a release, and one for the agents that waits for it. The release is the newest of the
next minor that can be reached from the running one, or with --to the first on the
way there, which can be an older one: the upgrade image refuses releases built earlier
than the running one. --ladder writes the whole way to --to as numbered files.

Exit status: 0 written, 1 there is nothing above, 2 failure.`,
		Example: `  plan next                                  # ask the cluster and the channel server
  plan next --from v1.34.11+k3s1 --channels bundled --to stable
  plan next --stage --window-days sat,sun --window-start 02:00 --window-end 05:00 \
    --window-zone Europe/Vienna
  plan next --from v1.31.14+k3s1 --to stable --ladder ./plans`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "", "running version (default: ask the cluster)")
	f.StringVar(&o.to, "to", "", "where the way leads: a release, or the channel that points at it (default: one rung up; with --ladder stable)")
	f.StringVar(&o.ladder, "ladder", "", "write the whole way into this folder, a numbered file a step")
	f.BoolVar(&o.force, "force", false, "with --ladder: write over existing files")
	f.StringVar(&o.source, "channels", "", `URL of a channel list, a file that holds one, or "bundled" (default: the distribution's channel server)`)
	f.StringVar(&o.datastore, "datastore", "", "sqlite, etcd or external (default: ask the cluster; unknown keeps every etcd stop)")
	f.BoolVar(&o.noAgents, "no-agents", false, "write no Plan for agents")
	f.StringVar(&o.serverName, "name", "", "name of the server Plan (default k3s-server or rke2-server)")
	f.StringVar(&o.agName, "agent-name", "", "name of the agent Plan (default k3s-agent or rke2-agent)")
	f.Int64Var(&o.agentConcurrency, "agent-concurrency", 1, "how many agents are taken at once")
	f.BoolVar(&o.server.Stage, "stage", false, "pull the servers' image before the cordon, in a prepare step")
	cli.Choices(cmd, "datastore", "sqlite", "etcd", "external")
	f.StringVar(&o.controller, "controller-version", "", "version of the controller, if older than v0.5.0")
	f.BoolVar(&o.drain, "drain", false, "drain the nodes, with force, instead of cordoning them")
	f.DurationVar(&o.drainTimeout, "drain-timeout", 0, "give a drain up after so long")
	f.StringVar(&o.server.Registry, "registry", "", "private registry that holds the upgrade image")
	f.StringVar(&o.pullSecret, "image-pull-secret", "", "Secret for the private registry")
	f.StringArrayVar(&o.tolerations, "toleration", nil, "taint to tolerate: KEY[=VALUE][:EFFECT]; may be given several times")
	f.DurationVar(&o.server.JobDeadline, "job-deadline", 0, "end the Job of one node after so long (default: the controller's)")
	f.StringVar(&o.days, "window-days", "", "days on which work may start, separated by commas")
	f.StringVar(&o.start, "window-start", "", "time of day at which the window opens")
	f.StringVar(&o.end, "window-end", "", "time of day at which the window closes")
	f.StringVar(&o.zone, "window-zone", "", "time zone of the window (default UTC)")
	cmd.MarkFlagsRequiredTogether("window-days", "window-start", "window-end")
	o.out.AddFlag(cmd, "yaml", "json")
	return cmd
}

func (o *nextFlags) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	opts, err := o.options()
	if err != nil {
		return err
	}
	from, err := o.running(ctx, &opts)
	if err != nil {
		return err
	}
	source := o.source
	if source == "" && from.Distribution() == "rke2" {
		source = channels.RKE2Server
	}
	catalog, err := channels.Read(ctx, source, channels.Options{UserAgent: "k3sladder-plan"})
	if err != nil {
		return fmt.Errorf("%w; without a network try --channels bundled", err)
	}
	if o.ladder != "" {
		err = o.writeLadder(cmd, from, catalog, opts)
	} else {
		err = o.writeNext(cmd, from, catalog, opts)
	}
	var path *channels.PathError
	if errors.Is(err, suc.ErrTop) || errors.As(err, &path) {
		return cli.Negative(err)
	}
	return err
}

func (o *nextFlags) writeNext(cmd *cobra.Command, from skew.Version, catalog *channels.Catalog, opts suc.NextOptions) error {
	step, err := o.nextStep(from, catalog, opts)
	if err != nil {
		return err
	}
	if err := sound(step); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s -> %s (%s)\n", step.From, step.To, catalog.Origin())
	if o.to == "" {
		if note := pastStable(step, catalog, opts); note != "" {
			fmt.Fprintln(cmd.ErrOrStderr(), note)
		}
	}
	if o.out.String() == "json" {
		return o.out.Print(cmd.OutOrStdout(), step, nil)
	}
	text, err := suc.Marshal(anys(step.Plans)...)
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

// pastStable says when a step leads to where the controller cannot go on to
// stable, and another would not.
func pastStable(step *suc.Step, catalog *channels.Catalog, opts suc.NextOptions) string {
	stable, err := catalog.Latest("stable")
	if err != nil || !step.To.Less(stable) {
		return ""
	}
	if _, err := suc.Ladder(step.To, stable, catalog, opts); !errors.Is(err, channels.ErrNoPath) {
		return ""
	}
	steps, err := suc.Ladder(step.From, stable, catalog, opts)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("note: the controller cannot go on from %s to %s, where stable points; the rung from which it can, with --to stable, is %s", step.To, stable, steps[0].To)
}

// nextStep is the newest rung above, or the first on the way to --to.
func (o *nextFlags) nextStep(from skew.Version, catalog *channels.Catalog, opts suc.NextOptions) (*suc.Step, error) {
	if o.to == "" {
		return suc.Next(from, catalog, opts)
	}
	target, err := catalog.Target(o.to)
	if err != nil {
		return nil, err
	}
	steps, err := suc.Ladder(from, target, catalog, opts)
	if err != nil {
		return nil, err
	}
	return steps[0], nil
}

// running is the version to start from.
func (o *nextFlags) running(ctx context.Context, opts *suc.NextOptions) (skew.Version, error) {
	opts.Facts.Datastore = channels.Datastore(o.datastore)
	if o.from != "" {
		v, err := skew.Parse(o.from)
		if err != nil {
			return v, fmt.Errorf("--from: %w", err)
		}
		return v, opts.Facts.Validate()
	}
	c, err := clients(o.kube)
	if err != nil {
		return skew.Version{}, fmt.Errorf("%w; or name the running version with --from", err)
	}
	facts, err := suc.ReadFacts(ctx, c)
	if err != nil {
		return skew.Version{}, err
	}
	if o.datastore == "" {
		opts.Facts.Datastore = channels.Datastore(facts.Datastore)
	}
	agents := false
	for _, n := range facts.Nodes {
		if _, server := n.Labels[suc.ControlPlaneLabel]; !server {
			agents = true
		}
	}
	opts.NoAgents = opts.NoAgents || !agents
	v, err := skew.Parse(facts.ServerVersion)
	if err != nil {
		return v, err
	}
	return v, opts.Facts.Validate()
}

// options makes the builders' options of the flags.
func (o *nextFlags) options() (suc.NextOptions, error) {
	out := suc.NextOptions{NoAgents: o.noAgents}
	s := o.server
	s.ControllerVersion = o.controller
	if o.drain || o.drainTimeout > 0 {
		s.Drain = &suc.DrainSpec{Force: true}
		if o.drainTimeout > 0 {
			s.Drain.Timeout = suc.DrainTimeout(o.drainTimeout)
		}
	}
	if o.pullSecret != "" {
		s.ImagePullSecrets = []string{o.pullSecret}
	}
	if o.days != "" {
		s.Window = &suc.TimeWindowSpec{StartTime: o.start, EndTime: o.end, TimeZone: o.zone}
		for _, d := range strings.Split(o.days, ",") {
			s.Window.Days = append(s.Window.Days, suc.Day(strings.ToLower(strings.TrimSpace(d))))
		}
	}
	for _, t := range o.tolerations {
		toleration, err := parseToleration(t)
		if err != nil {
			return out, err
		}
		s.Tolerations = append(s.Tolerations, toleration)
	}
	if *o.kube.Namespace != "" {
		s.Namespace = *o.kube.Namespace
	}
	out.Server, out.Agent = s, s
	out.Server.Name, out.Agent.Name = o.serverName, o.agName
	out.Agent.Concurrency = o.agentConcurrency
	return out, nil
}

// parseToleration reads a taint as kubectl taint writes it.
func parseToleration(text string) (corev1.Toleration, error) {
	t := corev1.Toleration{Operator: corev1.TolerationOpExists}
	key, effect, _ := strings.Cut(text, ":")
	t.Effect = corev1.TaintEffect(effect)
	if k, v, ok := strings.Cut(key, "="); ok {
		key, t.Operator, t.Value = k, corev1.TolerationOpEqual, v
	}
	if t.Key = key; key == "" {
		return t, fmt.Errorf("--toleration %s: write KEY, KEY=VALUE or KEY:EFFECT", text)
	}
	return t, nil
}

func (o *nextFlags) writeLadder(cmd *cobra.Command, from skew.Version, catalog *channels.Catalog, opts suc.NextOptions) error {
	target, err := catalog.Target(or(o.to, "stable"))
	if err != nil {
		return err
	}
	steps, err := suc.Ladder(from, target, catalog, opts)
	if err != nil {
		return err
	}
	texts := map[string][]byte{}
	for i, s := range steps {
		if err := sound(s); err != nil {
			return err
		}
		name := filepath.Join(o.ladder, s.FileName(i+1))
		if _, err := os.Lstat(name); err == nil && !o.force {
			return fmt.Errorf("%s is there already; --force writes over it", name)
		}
		if texts[name], err = suc.Marshal(anys(s.Plans)...); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(o.ladder, 0o755); err != nil {
		return err
	}
	for i, s := range steps {
		name := filepath.Join(o.ladder, s.FileName(i+1))
		if err := renameio.WriteFile(name, texts[name], 0o644); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %s -> %s\n", name, s.From, s.To); err != nil {
			return err
		}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "releases from the %s; apply each file when the one before is done on every node\n", catalog.Origin())
	return nil
}

// sound refuses what the flags made of the Plans and lint calls an error: days
// that are none, a zone, a taint's effect, a name.
func sound(step *suc.Step) error {
	for _, f := range suc.LintPlans(step.Plans, suc.LintOptions{}) {
		if f.Severity == suc.Error {
			return fmt.Errorf("nothing is written, because of Plan %s: %s %s", f.Plan, f.Path, f.Message)
		}
	}
	return nil
}

func anys(plans []*suc.Plan) []any {
	out := make([]any, len(plans))
	for i, p := range plans {
		out[i] = p
	}
	return out
}

func or(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}
