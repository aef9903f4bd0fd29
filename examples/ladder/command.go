package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/examples/internal/connect"
	"github.com/k3sladder/k3sladder/skew"
)

// options are the flags of ladder and its subcommand.
type options struct {
	kube *connect.Flags
	out  cli.Output

	from, to, channel string
	source, cache     string
	datastore         string
	agents            string
	executor          string
	traits            []string
	notes             bool
}

func newCommand() *cobra.Command {
	o := &options{kube: connect.NewFlags()}
	cmd := &cobra.Command{
		Use:   "ladder",
		Short: "The ladder from a running k3s version to where a channel points",
		Long: `ladder prints the way from a running k3s (or RKE2) version to a target, one pinned
release a rung: how to install it, which kubelets and kubectls are allowed on it,
which components move, what can break, and where there is no way back.

"The newest patch of each minor" is not that way: etcd has obligatory stops, the
upgrade image refuses releases built earlier than the running one, some releases
must not be a stop, and servers from 1.32 on hang the Pods of old agents.

Without --from it asks the cluster for its versions, its datastore and its nodes, and
also says which nodes break the version skew policy now or would on the way.

What is not known (datastore, agents, executor) narrows the ladder to what is safe for
every value; flags say what you know, and the output says what they would change.

Exit status: 0 there is a ladder, 1 there is none, 2 it could not be decided.`,
		Example: `  ladder --from v1.31.4+k3s1                        # to where stable points
  ladder --from v1.31.4+k3s1 --to v1.33.13+k3s2 --datastore etcd
  ladder                                            # from the version of the cluster
  ladder --from v1.34.11+k3s1 --channels bundled    # without a network
  ladder --datastore sqlite --agents no --notes     # what can break, in full
  ladder check v1.34.11+k3s1 v1.36.4+k3s1           # is this one step allowed?`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if _, err := skew.Parse(args[0]); err == nil {
					return fmt.Errorf("%s stands alone; write the running version as --from %s, the target as --to VERSION", args[0], args[0])
				}
			}
			return cobra.NoArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "", "running version (default: ask the cluster)")
	f.StringVar(&o.to, "to", "", "target: a release, or a channel")
	f.StringVar(&o.channel, "channel", "stable", "target channel")
	f.StringVar(&o.source, "channels", "",
		`URL of a channel list, a file that holds one, or "bundled" (default: the distribution's channel server)`)
	f.StringVar(&o.cache, "cache", "", "folder for the channel server's answers, used when it cannot be reached (default: no cache)")
	f.BoolVar(&o.notes, "notes", false, "write the notes in full: what to do about each, and where it is said")
	cmd.MarkFlagsMutuallyExclusive("to", "channel")
	p := cmd.PersistentFlags()
	p.StringVar(&o.datastore, "datastore", "unknown", "what the servers store in: sqlite, etcd, external, unknown")
	p.StringVar(&o.agents, "agents", "unknown", "whether there are agents, nodes that are not servers: yes, no, unknown")
	p.StringVar(&o.executor, "executor", "unknown", "what upgrades: suc (system-upgrade-controller), script, unknown")
	p.StringArrayVar(&o.traits, "trait", nil, "what else is known, such as docker=no; may be given several times (notes name the traits in -o json)")
	cli.Choices(cmd, "datastore", "sqlite", "etcd", "external", "unknown")
	cli.Choices(cmd, "agents", "yes", "no", "unknown")
	cli.Choices(cmd, "executor", "suc", "script", "unknown")
	o.kube.AddFlags(cmd)
	o.out.AddFlag(cmd, "text", "json", "yaml")
	cmd.AddCommand(newCheckCommand(o))
	return cmd
}

// facts reads the flags.
func (o *options) facts() (channels.Facts, error) {
	known := func(s string) string {
		if s == "unknown" {
			return ""
		}
		return s
	}
	f := channels.Facts{
		Datastore: channels.Datastore(known(o.datastore)),
		Agents:    channels.Answer(known(o.agents)),
		Executor:  channels.Executor(known(o.executor)),
	}
	for _, t := range o.traits {
		name, answer, ok := strings.Cut(t, "=")
		if !ok {
			return f, fmt.Errorf("--trait %s: write it as NAME=yes or NAME=no", t)
		}
		if f.Traits == nil {
			f.Traits = map[channels.Trait]channels.Answer{}
		}
		f.Traits[channels.Trait(name)] = channels.Answer(known(answer))
	}
	return f, f.Validate()
}

// report is what ladder prints: the ladder, and the fleet when a cluster was
// asked.
type report struct {
	*channels.Climb
	Fleet *fleetReport `json:"fleet,omitempty"`
}

func (o *options) run(cmd *cobra.Command) error {
	facts, err := o.facts()
	if err != nil {
		return err
	}
	var seen *sighting
	var from skew.Version
	if o.from != "" {
		if from, err = readVersion(o.from); err != nil {
			return fmt.Errorf("--from: %w", err)
		}
	} else {
		if seen, err = o.look(cmd.Context()); err != nil {
			return err
		}
		from, facts = seen.from, seen.complete(facts)
	}
	catalog, target, err := o.target(cmd.Context(), from)
	if err != nil {
		return err
	}
	climb, err := channels.Ladder(from, target, catalog, facts)
	if err != nil {
		r := refusal{From: from, Target: target, Facts: facts, Origin: catalog.Origin(), Error: err.Error()}
		if seen != nil {
			r.Fleet = seen.along(nil)
		}
		return o.refuse(cmd.OutOrStdout(), r, err)
	}
	r := report{Climb: climb}
	if seen != nil {
		r.Fleet = seen.along(climb)
	}
	return o.out.Print(cmd.OutOrStdout(), r, func(w io.Writer) error {
		write := climb.WriteShort
		if o.notes {
			write = climb.WriteText
		}
		if err := write(w); err != nil {
			return err
		}
		if r.Fleet != nil {
			if err := r.Fleet.writeText(w); err != nil {
				return err
			}
		}
		if o.notes || len(climb.Rungs) == 0 {
			return nil
		}
		_, err := fmt.Fprintln(w, "\nWhat to do about each ?, and where it is said: ladder --notes")
		return err
	})
}

// target reads the channels and finds where the ladder shall end.
func (o *options) target(ctx context.Context, from skew.Version) (*channels.Catalog, skew.Version, error) {
	source := o.source
	if source == "" && from.Distribution() == "rke2" {
		source = channels.RKE2Server
	}
	catalog, err := channels.Read(ctx, source, channels.Options{CacheDir: o.cache, UserAgent: "k3sladder-ladder"})
	if err != nil {
		if o.source == "" {
			err = fmt.Errorf("%w; without a network try --channels bundled, or --channels FILE with a saved list", err)
		}
		return nil, skew.Version{}, err
	}
	channel := o.channel
	if o.to != "" {
		target, err := readVersion(o.to)
		if err == nil {
			return catalog, target, nil
		}
		if _, noChannel := catalog.Latest(o.to); noChannel != nil {
			return nil, skew.Version{}, fmt.Errorf("--to: %w", err)
		}
		channel = o.to
	}
	target, err := catalog.Latest(channel)
	if err == nil && target.Distribution() != from.Distribution() {
		err = fmt.Errorf("channel %q points at %s, which is another distribution than %s; give the right channels with --channels (%s)",
			channel, target, from, catalog.Origin())
	}
	return catalog, target, err
}

// readVersion reads a version of k3s or RKE2. A plain Kubernetes version is no
// release of theirs, since the revision is missing; the error lists those that
// are.
func readVersion(text string) (skew.Version, error) {
	v, err := skew.Parse(text)
	if err != nil || v.Distribution() != "" {
		return v, err
	}
	var with []string
	for _, r := range channels.Releases() {
		if r.Version.Kubernetes() == v {
			with = append(with, r.Version.String())
		}
	}
	if with == nil {
		with = []string{v.String() + "+k3s1"}
	}
	return v, fmt.Errorf("%s is plain Kubernetes, a release has a revision: %s", v, strings.Join(with, ", "))
}

// refusal is what ladder prints when there is no ladder.
type refusal struct {
	From    skew.Version           `json:"from"`
	Target  skew.Version           `json:"target"`
	Facts   channels.Facts         `json:"facts"`
	Origin  string                 `json:"origin"`
	Rungs   []channels.Rung        `json:"rungs"` // null
	Error   string                 `json:"error"`
	Rules   []string               `json:"rules"`
	Nearest skew.Version           `json:"nearest,omitzero"`
	Detail  string                 `json:"detail,omitempty"`
	IfKnown []channels.Alternative `json:"ifKnown,omitempty"`
	Fleet   *fleetReport           `json:"fleet,omitempty"`
}

// refuse ends with a negative verdict when the rules leave no ladder, and with
// the error itself when that could not be decided.
func (o *options) refuse(w io.Writer, r refusal, err error) error {
	var path *channels.PathError
	var upgrade *skew.UpgradeError
	switch {
	case errors.As(err, &path):
		for _, b := range path.Blockers {
			r.Rules = append(r.Rules, b.ID)
		}
		r.Nearest, r.Detail, r.IfKnown = path.Nearest, path.Detail, path.IfKnown
	case errors.As(err, &upgrade):
		r.Rules, r.Nearest = []string{upgrade.Rule.ID}, r.From
	default:
		return err
	}
	text := func(w io.Writer) error {
		if err := writeWrapped(w, "", "  ", err.Error()); err != nil || r.Fleet == nil {
			return err
		}
		return r.Fleet.writeText(w)
	}
	if perr := o.out.Print(w, r, text); perr != nil {
		return perr
	}
	if o.out.String() == "text" {
		return cli.ErrNegative
	}
	return cli.Negative(err)
}
