package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/examples/internal/connect"
	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/snapshot/apiusage"
)

func apiusageCommand() *cobra.Command {
	var (
		kube    = connect.NewFlags()
		output  cli.Output
		target  string
		metrics []string
		also    []string
		objects bool
	)
	cmd := &cobra.Command{
		Use:   "apiusage --target MINOR",
		Short: "Name the deprecated APIs that clients still call",
		Long: `apiusage reads apiserver_requested_deprecated_apis from the API server's /metrics
(or from saved ones) and prints its lines as they are, then removed_by_target=N: how
many of them the target minor serves no more; since when the server counts goes to
stderr. -o table says besides what to use instead and who can be asked.

Each server of a cluster counts for itself, from its own last start: name the others
with --also to hear all. --objects looks besides for objects in the cluster that are
tied to a version which the target removes, and for who wrote them.

Exit status: 0 nothing is removed; 1 something is; 2 it failed, or --objects could
not read everything.`,
		Example: `  snapshot apiusage --target 1.36
  snapshot apiusage --target 1.36 -o table --objects
  snapshot apiusage --target 1.36 --also https://10.0.0.2:6443 --also https://10.0.0.3:6443
  kubectl get --raw /metrics | snapshot apiusage --target 1.36 --metrics -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			to, err := wanted(target)
			if err != nil {
				return err
			}
			if objects && output.String() == "text" {
				return errors.New("--objects needs -o table or -o json: the text is the metric's lines and no more")
			}
			answer := answer{Target: to}
			switch {
			case len(metrics) > 0 && (objects || len(also) > 0):
				return errors.New("--metrics reads files alone: leave out --objects and --also")
			case len(metrics) > 0:
				answer.Usage, err = scanFiles(metrics, cmd.InOrStdin())
			default:
				var config *rest.Config
				if config, err = kube.Config(); err != nil {
					return err
				}
				err = answer.ask(cmd, config, also, objects)
			}
			if err != nil {
				return err
			}
			answer.Removed = answer.Usage.RemovedBy(to)
			err = output.Print(cmd.OutOrStdout(), answer, func(w io.Writer) error { return answer.write(w, output.String()) })
			if err != nil {
				return err
			}
			if output.String() == "text" {
				// A zero from a server that has just started means little.
				for _, s := range answer.Usage.Servers {
					fmt.Fprintln(cmd.ErrOrStderr(), s.Memory(time.Now()))
				}
			}
			return answer.verdict()
		},
	}
	kube.AddFlags(cmd)
	output.AddFlag(cmd, "text", "table", "json")
	f := cmd.Flags()
	f.StringVar(&target, "target", "", "the minor version to go to, such as 1.36")
	f.StringArrayVar(&metrics, "metrics", nil, "a saved /metrics page (gzipped or not, - for stdin) instead of asking; once for each server")
	f.StringArrayVar(&also, "also", nil, "address of another API server of the cluster, asked with the same credentials; once for each")
	f.BoolVar(&objects, "objects", false, "look for objects tied to removed versions too (-o table, -o json)")
	return cmd
}

func wanted(target string) (skew.Minor, error) {
	if target == "" {
		return skew.Minor{}, errors.New("--target is missing: the minor version to go to, such as 1.36")
	}
	to, err := skew.ParseMinor(target)
	if err != nil {
		return skew.Minor{}, fmt.Errorf("--target: %w", err)
	}
	return to, nil
}

// answer is what -o json prints.
type answer struct {
	Target  skew.Minor      `json:"target"`
	Removed int             `json:"removedByTarget"`
	Usage   *apiusage.Usage `json:"usage"`
	Found   *apiusage.Found `json:"found,omitempty"`
}

func (a *answer) ask(cmd *cobra.Command, config *rest.Config, also []string, objects bool) error {
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{} // the answer says it all
	servers := []rest.Interface{}
	for _, address := range append([]string{""}, also...) {
		c := rest.CopyConfig(config)
		if address != "" {
			u, err := url.Parse(address)
			if err != nil || u.Scheme != "https" || u.Host == "" {
				return fmt.Errorf("--also %q is no address such as https://10.0.0.2:6443", address)
			}
			c.Host = address
		}
		d, err := discovery.NewDiscoveryClientForConfig(c)
		if err != nil {
			return err
		}
		servers = append(servers, d.RESTClient())
	}
	var err error
	if a.Usage, err = apiusage.Read(cmd.Context(), servers...); err != nil || !objects {
		return err
	}
	// After the metric was read, for looking at what is only there under a
	// deprecated version calls it.
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	m, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	a.Found, err = apiusage.FindObjects(cmd.Context(), d, m, a.Target)
	return err
}

// verdict is what the exit status says: what was not read is no "nothing".
func (a *answer) verdict() error {
	switch {
	case a.Removed > 0 || a.Found.Any():
		return cli.ErrNegative
	case a.Found != nil && len(a.Found.NotRead) > 0:
		return cli.ErrUndecided
	}
	return nil
}

func (a *answer) write(w io.Writer, format string) error {
	if format == "text" {
		return a.Usage.WriteLines(w, a.Target)
	}
	if err := a.Usage.WriteText(w, a.Target, time.Now()); err != nil || a.Found == nil {
		return err
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return a.Found.WriteText(w, a.Target)
}

func scanFiles(paths []string, stdin io.Reader) (*apiusage.Usage, error) {
	var all []*apiusage.Usage
	for _, path := range paths {
		u, err := scanFile(path, stdin)
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return apiusage.Merge(all...), nil
}

func scanFile(path string, stdin io.Reader) (*apiusage.Usage, error) {
	in, name := stdin, "stdin"
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, name = f, path
	}
	b := bufio.NewReader(in)
	in = b
	if magic, _ := b.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		defer z.Close()
		in = z
	}
	u, err := apiusage.Scan(in, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return u, nil
}
