package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

func TestDataDirIsK3sDefaultUnlessTheEnvironmentNamesAnother(t *testing.T) {
	t.Setenv("K3S_DATA_DIR", "")
	if got := DataDir(); got != "/var/lib/rancher/k3s" {
		t.Errorf("without K3S_DATA_DIR: %s", got)
	}
	t.Setenv("K3S_DATA_DIR", "/srv/k3s")
	if got := DataDir(); got != "/srv/k3s" {
		t.Errorf("with K3S_DATA_DIR=/srv/k3s: %s", got)
	}
}

// program is a command with a verdict, an output flag and an argument.
func program(verdict error) *cobra.Command {
	var out Output
	root := &cobra.Command{Use: "prog"}
	judge := &cobra.Command{Use: "judge THING", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		if args[0] == "nothing" {
			return verdict
		}
		if err := out.Print(c.OutOrStdout(), map[string]string{"thing": args[0]}, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, args[0])
			return err
		}); err != nil {
			return err
		}
		return verdict
	}}
	out.AddFlag(judge, "text", "json")
	root.AddCommand(judge)
	return root
}

func TestRunSaysWhatWentWrongOnceAndInTheFormThatWasAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args           string
		verdict        error
		code           int
		stdout, stderr string
	}{
		"an answer":                      {"judge it", nil, ExitOK, "it\n", ""},
		"an answer in JSON":              {"judge it -o json", nil, ExitOK, "{\n  \"thing\": \"it\"\n}\n", ""},
		"a negative answer":              {"judge it", ErrNegative, ExitNegative, "it\n", ""},
		"a negative answer in JSON":      {"judge it -o json", ErrNegative, ExitNegative, "{\n  \"thing\": \"it\"\n}\n", ""},
		"an undecided answer":            {"judge it -ojson", ErrUndecided, ExitFailed, "{\n  \"thing\": \"it\"\n}\n", ""},
		"a failure":                      {"judge nothing", errors.New("gone"), ExitFailed, "", "prog: gone\n"},
		"an interrupt":                   {"judge nothing", context.Canceled, ExitFailed, "", "prog: interrupted\n"},
		"a failure in JSON":              {"judge nothing -o json", errors.New("gone"), ExitFailed, `{"ok":false,"error":"gone","exitCode":2}` + "\n", "prog: gone\n"},
		"a refusal in JSON":              {"judge nothing --output=json", Negative(errors.New("no")), ExitNegative, `{"ok":false,"error":"no","exitCode":1}` + "\n", "prog: no\n"},
		"a failure after the answer":     {"judge it -o json", errors.New("late"), ExitFailed, "{\n  \"thing\": \"it\"\n}\n", "prog: late\n"},
		"a missing argument":             {"judge", nil, ExitFailed, "", "prog: accepts 1 arg(s), received 0\nUsage: prog judge THING\nSee 'prog judge --help' for usage\n"},
		"an unknown command":             {"judg it", nil, ExitFailed, "", "prog: unknown command \"judg\" for \"prog\"\n\nDid you mean this?\n\tjudge\nSee 'prog --help' for usage\n"},
		"an unknown flag":                {"judge it --what", nil, ExitFailed, "", "prog: unknown flag: --what\nSee 'prog judge --help' for usage\n"},
		"an unknown flag, JSON":          {"judge it --what -o json", nil, ExitFailed, `{"ok":false,"error":"unknown flag: --what\nSee 'prog judge --help' for usage","exitCode":2}` + "\n", "prog: unknown flag: --what\nSee 'prog judge --help' for usage\n"},
		"JSON as an argument is no flag": {"judge --what -- -o json", nil, ExitFailed, "", "prog: unknown flag: --what\nSee 'prog judge --help' for usage\n"},
	} {
		var stdout, stderr bytes.Buffer
		code := Run(t.Context(), program(c.verdict), strings.Fields(c.args), &stdout, &stderr)
		if code != c.code || stdout.String() != c.stdout || stderr.String() != c.stderr {
			t.Errorf("%s: exit %d\n%q\n%q\nwant %d\n%q\n%q", name, code, &stdout, &stderr, c.code, c.stdout, c.stderr)
		}
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestAnAnswerThatCannotBeWrittenIsAFailure(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"judge it", "judge it -o json", "judge nothing -o json", "--help", "judge --help", "--version"} {
		for _, verdict := range []error{nil, ErrNegative} {
			var stderr bytes.Buffer
			if strings.Contains(args, "nothing") {
				verdict = errors.New("gone")
			}
			if code := Run(t.Context(), program(verdict), strings.Fields(args), full{}, &stderr); code != ExitFailed || stderr.Len() == 0 {
				t.Errorf("%s: exit %d, %s", args, code, &stderr)
			}
		}
	}
}

func TestEveryProgramHasAVersion(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if code := Run(t.Context(), program(nil), []string{"--version"}, &stdout, &stderr); code != ExitOK || !strings.HasPrefix(stdout.String(), "prog version ") || !strings.Contains(stdout.String(), "go1.") {
		t.Error(code, &stdout, &stderr)
	}
}
