package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/examples/internal/connect"
	"github.com/k3sladder/k3sladder/suc"
)

func newCommand() *cobra.Command {
	kube := connect.NewFlags()
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Write, judge, explain, apply and follow upgrade Plans",
		Long: `plan works on Plans of system-upgrade-controller: it writes the next one, finds the
mistakes that the controller lets pass, says what the controller will do node by
node, applies a Plan and follows it until its nodes run the version.`,
		Example: `  plan next --from v1.34.11+k3s1 --channels bundled > next.yaml
  plan lint next.yaml
  plan explain next.yaml
  plan apply next.yaml --dry-run
  plan apply next.yaml && plan watch k3s-server`,
	}
	kube.AddFlags(cmd, "namespace")
	cmd.AddCommand(newNextCommand(kube), newLintCommand(kube), newExplainCommand(kube), newApplyCommand(kube), newWatchCommand(kube))
	return cmd
}

// clients connects by kubectl's rules.
func clients(kube *connect.Flags) (suc.Clients, error) {
	cfg, err := kube.Config()
	if err != nil {
		return suc.Clients{}, err
	}
	k, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return suc.Clients{}, err
	}
	d, err := dynamic.NewForConfig(cfg)
	return suc.Clients{Kube: k, Dynamic: d}, err
}

// factsFlags are where a command learns about the cluster.
type factsFlags struct {
	file    string
	cluster bool
}

// facts reads the file, or the cluster when it was asked for; nil is nothing
// known.
func (f *factsFlags) facts(ctx context.Context, kube *connect.Flags) (*suc.Facts, error) {
	switch {
	case f.file != "":
		b, err := read(f.file)
		if err != nil {
			return nil, err
		}
		facts, err := suc.ParseFacts(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.file, err)
		}
		return facts, nil
	case f.cluster:
		c, err := clients(kube)
		if err != nil {
			return nil, err
		}
		return suc.ReadFacts(ctx, c)
	}
	return nil, nil
}

// ask adds to facts about a cluster where the channels point that Plans follow,
// as its controller would read them. One that does not answer stays unknown.
func ask(ctx context.Context, plans []*suc.Plan, facts *suc.Facts) *suc.Facts {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	asked := *facts
	asked.Channels = maps.Clone(facts.Channels)
	for _, channel := range unasked(plans, facts) {
		r, err := channels.ReadAsSUC(ctx, channel, channels.Options{UserAgent: "k3sladder-plan"})
		if err != nil {
			continue
		}
		if asked.Channels == nil {
			asked.Channels = map[string]string{}
		}
		asked.Channels[channel] = r.Version
	}
	return &asked
}

// unasked are the channels that Plans follow and that no fact resolves.
func unasked(plans []*suc.Plan, facts *suc.Facts) []string {
	var out []string
	for _, p := range plans {
		known := facts != nil && facts.Channels[p.Spec.Channel] != ""
		if p.Spec.Channel != "" && p.Spec.Version == "" && !known && !slices.Contains(out, p.Spec.Channel) {
			out = append(out, p.Spec.Channel)
		}
	}
	return out
}

// sayUnasked names them: silence must not be taken for a verdict.
func sayUnasked(w io.Writer, plans []*suc.Plan, facts *suc.Facts) {
	for _, address := range unasked(plans, facts) {
		fmt.Fprintf(w, "not judged: where %s points; pin a version, or say it in lint --facts\n", address)
	}
}

// maxFile bounds a file of Plans; the largest known has a few kilobytes.
const maxFile = 64 << 20

// read reads a file, or standard input for "-".
func read(name string) ([]byte, error) {
	if name == "-" {
		return bounded(os.Stdin, "standard input")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a folder, name the files in it")}
	}
	return bounded(f, name)
}

func bounded(r io.Reader, name string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("%s has more than %d MiB", name, maxFile>>20)
	}
	return b, nil
}

// files reads all named files.
func files(names []string) ([]suc.File, error) {
	out := make([]suc.File, 0, len(names))
	for _, n := range names {
		b, err := read(n)
		if err != nil {
			return nil, err
		}
		out = append(out, suc.File{Name: n, Data: b})
	}
	return out, nil
}

// plans reads the Plans of all named files, strictly.
func plans(names []string) ([]*suc.Plan, error) {
	fs, err := files(names)
	if err != nil {
		return nil, err
	}
	var out []*suc.Plan
	for _, f := range fs {
		p, err := suc.Decode(f.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		out = append(out, p...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no Plan in %s", strings.Join(names, ", "))
	}
	return out, nil
}

// fetch reads a URL or a file.
func fetch(ctx context.Context, source string) ([]byte, error) {
	if !strings.HasPrefix(source, "https://") && !strings.HasPrefix(source, "http://") {
		return read(source)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w; without a network give a file instead", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", source, res.Status)
	}
	return bounded(res.Body, source)
}

// withTimeout names its end in the error.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("no end after %s", d))
}
