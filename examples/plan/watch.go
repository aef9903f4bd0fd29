package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/examples/internal/connect"
	"github.com/k3sladder/k3sladder/suc"
)

func newWatchCommand(kube *connect.Flags) *cobra.Command {
	var out cli.Output
	var opts suc.WatchOptions
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "watch NAME",
		Short: "Follow a Plan until its nodes run the version",
		Long: `watch tells what happens to a Plan as it happens, from its conditions, Jobs, Pods and
nodes, and takes up a connection that breaks: on a single server the API server
restarts in the middle.

A node is done when its kubelet reports the version and is Ready, whatever its Job
says. After a failure it names the nodes left cordoned and the commands that put
them back. It never writes.

Exit status: 0 complete, 1 failed or stuck, 2 error.`,
		Example: `  plan watch k3s-server
  plan watch k3s-server -n cattle-system -o json   # one event a line, the result last`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: kube.Complete(planNames(kube)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := clients(kube)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if timeout > 0 {
				var cancel func()
				ctx, cancel = withTimeout(ctx, timeout)
				defer cancel()
			}
			namespace := or(*kube.Namespace, suc.DefaultNamespace)
			if facts, err := suc.ReadFacts(ctx, c); err == nil && facts.SUC == nil && slices.Contains(facts.Plans, namespace+"/"+args[0]) {
				fmt.Fprintf(cmd.ErrOrStderr(), "note: no system-upgrade-controller was found in the cluster, and nothing else carries a Plan out; it has %s to react (--settle)\n", opts.Settle)
			}
			v := newView(cmd, out.String())
			opts.OnEvent, opts.OnProgress = v.event, v.progress
			res, err := suc.Watch(ctx, c, namespace, args[0], opts)
			v.close()
			if err != nil {
				if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
					err = cause
				}
				return err
			}
			if err := v.result(res); err != nil {
				return err
			}
			if res.Outcome != suc.Done {
				return cli.ErrNegative
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.DurationVar(&opts.Settle, "settle", 2*time.Minute, "how long a node may take to report its version after its Job ended, and the controller to react at all")
	f.DurationVar(&opts.StuckAfter, "stuck-after", 5*time.Minute, "how long a Pod may wait for a node or an image")
	f.DurationVar(&opts.LostAfter, "lost-after", 10*time.Minute, "how long the API server may be away")
	f.Int64Var(&opts.LogLines, "log-lines", 20, "how many lines of a failed container's log to show")
	f.DurationVar(&timeout, "timeout", 0, "give up after so long (default: never)")
	out.AddFlag(cmd, "text", "json")
	return cmd
}

// view shows events as they come: lines of text with a bar below them on a
// terminal, or lines of JSON.
type view struct {
	w     io.Writer
	json  *json.Encoder
	bar   *progressbar.ProgressBar
	total int
}

func newView(cmd *cobra.Command, format string) *view {
	v := &view{w: cmd.OutOrStdout()}
	if format == "json" {
		v.json = json.NewEncoder(v.w)
		v.json.SetEscapeHTML(false)
		return v
	}
	if f, ok := cmd.ErrOrStderr().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		v.bar = progressbar.NewOptions(1,
			progressbar.OptionSetWriter(f), progressbar.OptionSetDescription("nodes"), progressbar.OptionShowCount(),
			progressbar.OptionSetElapsedTime(true), progressbar.OptionSetPredictTime(false), progressbar.OptionClearOnFinish(),
			progressbar.OptionUseANSICodes(true))
	}
	return v
}

func (v *view) event(e suc.Event) {
	if v.json != nil {
		_ = v.json.Encode(e) // a reader that went away ends the next write too
		return
	}
	if v.bar != nil {
		_ = v.bar.Clear()
	}
	fmt.Fprintln(v.w, e)
	if v.bar != nil {
		_ = v.bar.RenderBlank()
	}
}

func (v *view) progress(nodes []suc.NodeProgress) {
	if v.bar == nil || len(nodes) == 0 {
		return
	}
	if len(nodes) != v.total {
		v.total = len(nodes)
		v.bar.ChangeMax(v.total)
	}
	done, at := 0, []string{}
	for _, n := range nodes {
		switch n.Phase {
		case "done":
			done++
		case "waiting":
		default:
			at = append(at, n.Name+" "+n.Phase)
		}
	}
	v.bar.Describe("nodes " + strings.Join(at, ", "))
	_ = v.bar.Set(min(done, v.total-1)) // the last one finishes it, which is the result's business
}

func (v *view) close() {
	if v.bar != nil {
		_ = v.bar.Clear()
	}
}

func (v *view) result(r *suc.WatchResult) error {
	if v.json != nil {
		return v.json.Encode(r)
	}
	return r.WriteText(v.w)
}
