package cli

import (
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Failure is what a program prints with -o json when it has no answer.
type Failure struct {
	OK       bool   `json:"ok"` // always false
	Error    string `json:"error"`
	ExitCode int    `json:"exitCode"`
}

// answer passes on what goes to stdout, and remembers whether anything did and
// what became of it.
type answer struct {
	w     io.Writer
	begun bool
	err   error
}

func (a *answer) Write(p []byte) (int, error) {
	a.begun = a.begun || len(p) > 0
	n, err := a.w.Write(p)
	if a.err == nil {
		a.err = err
	}
	return n, err
}

// wantsJSON looks for -o json in arguments that perhaps cannot be parsed.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	for i, a := range args {
		switch a {
		case "-ojson", "-o=json", "--output=json":
			return true
		case "-o", "--output":
			if i+1 < len(args) && args[i+1] == "json" {
				return true
			}
		}
	}
	return false
}

// usage adds to an error about the command line where to read on.
func usage(c *cobra.Command, err error) error {
	return fmt.Errorf("%w\nSee '%s --help' for usage", err, c.CommandPath())
}

// explainArgs has every command show what arguments it takes when it got others.
func explainArgs(cmd *cobra.Command) {
	if cmd.HasSubCommands() && !cmd.Runnable() && cmd.HasParent() {
		// Cobra would show the help of any word as if nothing were wrong.
		cmd.Args = cobra.NoArgs
		cmd.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err == nil {
				return nil
			}
			return usage(c, fmt.Errorf("%w\nUsage: %s", err, strings.TrimSuffix(c.UseLine(), " [flags]")))
		}
	}
	for _, c := range cmd.Commands() {
		explainArgs(c)
	}
}

// version is the module's, with the commit a checkout was at.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(v, s.Value[:min(12, len(s.Value))]) {
			v += " " + s.Value
		}
	}
	return v + " " + info.GoVersion
}
