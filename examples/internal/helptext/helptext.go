// Package helptext holds the programs' help texts to what they have in common.
package helptext

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/k3sladder/k3sladder/examples/internal/cli"
)

// Width is the longest line of a help text.
const Width = 100

// Check reads the help of every command that a program has: there is an
// example, the exit status is explained, and the lines fit into a terminal.
func Check(t *testing.T, program func() *cobra.Command) {
	t.Helper()
	var walk func(cmd *cobra.Command, above string)
	walk = func(cmd *cobra.Command, above string) {
		if cmd.Hidden {
			return
		}
		for _, c := range cmd.Commands() {
			walk(c, above+cmd.Long)
		}
		path := strings.Fields(cmd.CommandPath())
		var stdout, stderr bytes.Buffer
		if code := cli.Run(t.Context(), program(), append(path[1:], "--help"), &stdout, &stderr); code != cli.ExitOK {
			t.Errorf("%s --help: exit %d, %s", cmd.CommandPath(), code, &stderr)
		}
		for line := range strings.Lines(stdout.String()) {
			if n := len(strings.TrimRight(line, "\n")); n > Width {
				t.Errorf("%s --help: %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short description %q", cmd.CommandPath(), cmd.Short)
		}
		if !cmd.HasParent() || cmd.RunE == nil {
			return
		}
		if !cmd.HasExample() && !cmd.Parent().HasExample() {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		if !strings.Contains(above+cmd.Long, "Exit status: 0") {
			t.Errorf("%s does not explain its exit status", cmd.CommandPath())
		}
	}
	walk(program(), "")
}
