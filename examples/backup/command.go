package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"

	"github.com/k3sladder/k3sladder/backup"
	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/spf13/cobra"
)

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Save, verify and restore the SQLite datastore of a k3s server",
		Long: `Save, verify and restore the SQLite datastore of a k3s server, together with
the token that opens it. The server may run while it is saved; it must be
stopped while it is restored.

Exit status: 0 good; 1 a negative verdict, such as a token that does not open
the datastore; 2 failed. With -o json one line on standard output says the same.`,
		Example: `  backup save --out /var/backups/k3s/before-1.35
  backup save --root /var/backups/k3s --keep 7 -o json
  backup verify /var/backups/k3s/before-1.35
  backup restore /var/backups/k3s/before-1.35 --dry-run`,
	}
	cmd.AddCommand(saveCommand(), verifyCommand(), restoreCommand(), undoCommand(), listCommand(), detectCommand())
	return cmd
}

// place are the flags that say which k3s is meant.
type place struct{ dataDir, hostRoot, config string }

func (p *place) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.dataDir, "data-dir", cli.DataDir(), "data directory of the k3s server; K3S_DATA_DIR changes the default")
	f.StringVar(&p.hostRoot, "host-root", "", "where the file system with the server's /etc is mounted (default: what precedes "+backup.DefaultDataDir+" in --data-dir, else /)")
	f.StringVar(&p.config, "config", os.Getenv("K3S_CONFIG_FILE"), "k3s's configuration file (default: what the service names, else /etc/rancher/k3s/config.yaml)")
}

func saveCommand() *cobra.Command {
	var p place
	var opts backup.Options
	var maxRate int64
	var out cli.Output
	cmd := &cobra.Command{
		Use:   "save (--out DIR | --root DIR)",
		Short: "Copy the datastore and the token into a new folder",
		Long: `Copy the datastore and the token into a new folder, with what a restore on
another machine needs: certificates, credentials, the node's password, the
configuration, the service's arguments and environment.

The copy is one moment of the database, read in one transaction for which k3s
does not wait; nothing in the data directory changes. The folder appears whole
or not at all.`,
		Example: `  backup save --out /var/backups/k3s/before-1.35
  backup save --root /var/backups/k3s --keep 7 -o json     # from a timer
  backup save --data-dir /srv/k3s --out /mnt/usb/k3s --minimal`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (opts.Out == "") == (opts.Root == "") {
				return errors.New("give either --out (exactly there) or --root (a dated folder in it)")
			}
			if cmd.Flags().Changed("keep") && (opts.Root == "" || opts.Keep < 1) {
				return errors.New("--keep N goes with --root, and N is at least 1")
			}
			if maxRate < 0 {
				return errors.New("--max-rate is a number of megabytes a second, 0 for no limit")
			}
			opts.MaxRate = maxRate * 1_000_000
			opts.HostRoot, opts.Config = p.hostRoot, p.config
			if cmd.Flags().Changed("lock-timeout") && opts.LockTimeout == 0 {
				opts.LockTimeout = -1
			}
			return report(cmd, &out, func(ctx context.Context) (answer, error) {
				bar := newBar(cmd.ErrOrStderr())
				opts.Progress = bar.show
				r, err := backup.Save(ctx, p.dataDir, opts)
				bar.done()
				if err != nil {
					return answer{}, err
				}
				return answer{ok: r.OK(), value: saveOutput{r.OK(), r}, text: r.String()}, nil
			})
		},
	}
	p.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&opts.Out, "out", "", "the folder to make")
	f.StringVar(&opts.Root, "root", "", "make a dated folder in this one")
	f.IntVar(&opts.Keep, "keep", 0, "with --root: how many verified backups to keep, this one included (default all)")
	f.BoolVar(&opts.Minimal, "minimal", false, "only the database and the token")
	f.BoolVar(&opts.Force, "force", false, "replace the backup that is at --out")
	f.StringVar(&opts.K3sVersion, "k3s-version", "", "version that runs, e.g. v1.34.4+k3s1 (default: what the datastore or the k3s binary says)")
	f.StringVar(&opts.Node, "node", "", "name of this node (default: what the datastore or the host says)")
	f.DurationVar(&opts.LockTimeout, "lock-timeout", backup.DefaultLockTimeout, "how long to wait for another process's lock")
	f.Int64Var(&maxRate, "max-rate", 0, "copy at most so many megabytes a second, to spare k3s the disk (default no limit)")
	out.AddFlag(cmd, "text", "json")
	return cmd
}

func verifyCommand() *cobra.Command {
	var opts backup.VerifyOptions
	var out cli.Output
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Prove that a backup can be restored",
		Long: `Prove that a backup can be restored: its files are those that were saved, SQLite
finds no damage, it is a kine datastore with API objects, and the token opens
it. Nothing outside the folder is needed, and nothing in it changes.`,
		Example: `  backup verify /var/backups/k3s/before-1.35
  backup verify DIR --full                               # indexes too, slower
  backup verify DIR --token /var/lib/rancher/k3s/server/token   # would this token do?`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return report(cmd, &out, func(ctx context.Context) (answer, error) {
				bar := newBar(cmd.ErrOrStderr())
				opts.Progress = bar.show
				v, err := backup.Verify(ctx, args[0], opts)
				bar.done()
				if err != nil {
					return answer{}, err
				}
				return answer{ok: v.OK, value: v, text: v.String()}, nil
			})
		},
	}
	cmd.Flags().BoolVar(&opts.Full, "full", false, "SQLite's integrity_check instead of quick_check")
	cmd.Flags().StringVar(&opts.Token, "token", "", "file of another token to try")
	out.AddFlag(cmd, "text", "json")
	return cmd
}

func restoreCommand() *cobra.Command {
	var p place
	var opts backup.RestoreOptions
	var out cli.Output
	var force bool
	cmd := &cobra.Command{
		Use:   "restore DIR",
		Short: "Put a backup in the place of a stopped server's datastore",
		Long: `Put a backup in the place of a stopped server's datastore, after verifying it.
What was there goes to a dated folder before-restore-* and is not deleted. A
restore that is interrupted takes itself back; one that was killed is taken back
by the next one, or by "backup undo".`,
		Example: `  systemctl stop k3s
  backup restore /var/backups/k3s/before-1.35 --dry-run
  backup restore /var/backups/k3s/before-1.35`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.HostRoot, opts.Config = p.hostRoot, p.config
			opts.ReplaceToken = opts.ReplaceToken || force
			opts.AllowNewer = opts.AllowNewer || force
			return report(cmd, &out, func(ctx context.Context) (answer, error) {
				bar := newBar(cmd.ErrOrStderr())
				opts.Progress = bar.show
				r, err := backup.Restore(ctx, args[0], p.dataDir, opts)
				bar.done()
				if errors.Is(err, backup.ErrVerify) || errors.Is(err, backup.ErrOtherToken) || errors.Is(err, backup.ErrNewer) {
					err = cli.Negative(err)
				}
				if err != nil {
					return answer{}, err
				}
				return answer{ok: true, value: restoreOutput{true, r}, text: r.String()}, nil
			})
		},
	}
	p.addFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&opts.DryRun, "dry-run", false, "check everything and say what would be done")
	f.BoolVar(&opts.ReplaceToken, "replace-token", false, "although the server has another token")
	f.BoolVar(&opts.AllowNewer, "allow-newer", false, "although the backup is of a newer minor than the installed k3s")
	f.BoolVar(&force, "force", false, "--replace-token and --allow-newer")
	f.BoolVar(&opts.Full, "full", false, "verify with SQLite's integrity_check")
	f.StringVar(&opts.Installed, "installed", "", "version of k3s that will run (default: what k3s --version says)")
	out.AddFlag(cmd, "text", "json")
	return cmd
}

func undoCommand() *cobra.Command {
	var dataDir string
	var out cli.Output
	cmd := &cobra.Command{
		Use:     "undo",
		Short:   "Take back a restore that was killed",
		Long:    `Take back a restore that was killed in the middle. Without one nothing happens.`,
		Example: `  backup undo --data-dir /var/lib/rancher/k3s`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return report(cmd, &out, func(ctx context.Context) (answer, error) {
				r, err := backup.Undo(ctx, dataDir)
				if err != nil {
					return answer{}, err
				}
				text := ""
				for _, dir := range r.Undone {
					text += "taken back: " + dir + "\n"
				}
				for _, dir := range r.Finished {
					text += "finished, because k3s has opened its database since: " + dir + "\n"
				}
				if text == "" {
					text = "no interrupted restore\n"
				}
				return answer{ok: true, value: undoOutput{true, r}, text: text}, nil
			})
		},
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", cli.DataDir(), "data directory of the k3s server; K3S_DATA_DIR changes the default")
	out.AddFlag(cmd, "text", "json")
	return cmd
}

func listCommand() *cobra.Command {
	var root string
	var out cli.Output
	cmd := &cobra.Command{
		Use:     "list --root DIR",
		Short:   "List the backups in a folder, oldest first",
		Long:    `List the backups in a folder, oldest first, from their manifests; "verify" proves one.`,
		Example: `  backup list --root /var/backups/k3s`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return report(cmd, &out, func(ctx context.Context) (answer, error) {
				if root == "" {
					return answer{}, errors.New("--root is missing: the folder that save --root was given")
				}
				list, err := backup.List(ctx, root)
				if err != nil {
					return answer{}, err
				}
				return answer{ok: true, value: listOutput{true, list}, text: table(list)}, nil
			})
		},
	}
	cmd.Flags().StringVar(&root, "root", "", "the folder that save --root was given")
	out.AddFlag(cmd, "text", "json")
	return cmd
}

func detectCommand() *cobra.Command {
	var p place
	var out cli.Output
	cmd := &cobra.Command{
		Use:   "detect",
		Short: "Say which datastore the server has",
		Long: `Say which datastore the server has, how that is known, and what to use when it
is not SQLite.

Exit status: 0 SQLite, 1 another datastore, 2 failed.`,
		Example: `  backup detect`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return report(cmd, &out, func(ctx context.Context) (answer, error) {
				d, err := backup.Detect(ctx, p.dataDir, backup.DetectOptions{HostRoot: p.hostRoot, Config: p.config})
				if err != nil {
					return answer{}, err
				}
				return answer{ok: d.Kind == backup.KindSQLite, value: d, text: d.String() + "\n"}, nil
			})
		},
	}
	p.addFlags(cmd)
	out.AddFlag(cmd, "text", "json")
	return cmd
}

// What the commands print with -o json.
type (
	saveOutput struct {
		OK bool `json:"ok"`
		*backup.Result
	}
	restoreOutput struct {
		OK bool `json:"ok"`
		*backup.RestoreResult
	}
	undoOutput struct {
		OK bool `json:"ok"`
		*backup.Recovery
	}
	listOutput struct {
		OK      bool           `json:"ok"`
		Backups []backup.Entry `json:"backups"`
	}
)

// answer is what a command found out, for a program and for a person.
type answer struct {
	ok    bool
	value any
	text  string
}

// report runs a command's work and prints its answer, in JSON as one line.
func report(cmd *cobra.Command, out *cli.Output, work func(context.Context) (answer, error)) error {
	a, err := work(cmd.Context())
	if err != nil {
		return err
	}
	if out.String() == "json" {
		err = writeLine(cmd.OutOrStdout(), a.value)
	} else {
		_, err = io.WriteString(cmd.OutOrStdout(), a.text)
	}
	if err == nil && !a.ok {
		return cli.ErrNegative
	}
	return err
}

func writeLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func dateText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
