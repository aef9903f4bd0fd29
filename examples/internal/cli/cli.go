// Package cli holds what the example binaries share: exit codes, output
// formats and signals.
package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Exit codes of every binary here: 0 yes, 1 a negative verdict, 2 usage or
// failure to decide.
const (
	ExitOK       = 0
	ExitNegative = 1
	ExitFailed   = 2
)

// DataDir is the data directory of k3s where no flag names one: what
// K3S_DATA_DIR says, as for k3s itself, or else k3s's default.
func DataDir() string {
	return cmp.Or(os.Getenv("K3S_DATA_DIR"), "/var/lib/rancher/k3s")
}

// ErrNegative ends a program with exit code 1 after its verdict was printed;
// nothing more is written about it.
var ErrNegative = errors.New("negative verdict")

// ErrUndecided ends a program with exit code 2 after its verdict was printed;
// nothing more is written about it.
var ErrUndecided = errors.New("undecided")

// Negative wraps err so that the program prints it and ends with exit code 1.
func Negative(err error) error { return negative{err} }

type negative struct{ error }

func (n negative) Unwrap() error { return n.error }

// Main runs cmd with the process's arguments until it ends, and exits. SIGINT,
// SIGTERM and SIGHUP (a closed terminal) cancel its context; what it has taken,
// such as a cordoned node, it then gives back. A third signal ends it at once.
func Main(cmd *cobra.Command) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		cancel()
		<-signals
		fmt.Fprintln(os.Stderr, "still cleaning up; once more ends it at once")
		<-signals
		os.Exit(ExitFailed)
	}()
	os.Exit(Run(ctx, cmd, os.Args[1:], os.Stdout, os.Stderr))
}

// Run runs cmd and gives its exit code. Errors go to stderr, once, as
// "name: what was wrong"; where JSON was asked for and no answer was printed,
// one line of it on stdout says the same, see [Failure]. An answer that could not
// be written is a failure.
func Run(ctx context.Context, cmd *cobra.Command, args []string, stdout, stderr io.Writer) int {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.Version = version()
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c, err) })
	cmd.SetUsageTemplate(strings.ReplaceAll(cmd.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped 100 "))
	cmd.InitDefaultCompletionCmd(args...)
	explainArgs(cmd)
	cmd.SetArgs(args)
	out := &answer{w: stdout}
	cmd.SetOut(out)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "unknown command ") && !strings.Contains(err.Error(), "--help") {
		err = usage(cmd, errors.New(strings.TrimSpace(err.Error())))
	}
	if err == context.Canceled { // alone it tells a person nothing
		err = errors.New("interrupted")
	}
	said := err == nil || errors.Is(err, ErrNegative) || errors.Is(err, ErrUndecided)
	if said && out.err != nil {
		err, said = fmt.Errorf("writing the answer: %w", out.err), false
	}
	code := Code(err)
	if said {
		return code
	}
	fmt.Fprintf(stderr, "%s: %v\n", cmd.Name(), err)
	if !out.begun && wantsJSON(args) {
		if err := json.NewEncoder(stdout).Encode(Failure{Error: err.Error(), ExitCode: code}); err != nil {
			return ExitFailed
		}
	}
	return code
}

// Code is the exit code that err stands for.
func Code(err error) int {
	var n negative
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrNegative), errors.As(err, &n):
		return ExitNegative
	default:
		return ExitFailed
	}
}

// Output is the -o flag: one of the formats its command names.
type Output struct {
	format  string
	allowed []string
}

// AddFlag adds -o/--output to cmd; the first format is the default.
func (o *Output) AddFlag(cmd *cobra.Command, formats ...string) {
	o.format, o.allowed = formats[0], formats
	cmd.Flags().VarP(o, "output", "o", "output format: "+strings.Join(formats, ", "))
	Choices(cmd, "output", formats...)
}

// String is the chosen format.
func (o *Output) String() string { return o.format }

// Type names the flag's value in help texts.
func (o *Output) Type() string { return "format" }

// Set takes one of the allowed formats.
func (o *Output) Set(s string) error {
	for _, a := range o.allowed {
		if s == a {
			o.format = s
			return nil
		}
	}
	return fmt.Errorf("unknown format %q, use one of: %s", s, strings.Join(o.allowed, ", "))
}

// Print writes v as JSON or YAML when that was asked for, and calls text
// otherwise.
func (o *Output) Print(w io.Writer, v any, text func(io.Writer) error) error {
	switch o.format {
	case "json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	case "yaml":
		b, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	default:
		return text(w)
	}
}
