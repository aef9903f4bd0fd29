package k3sladder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/internal/golden"
)

// The page shows the golden files of every program, which a test of the program
// compares with its types.
func TestJSONPageShowsTheKeysOfEveryCommand(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	const mark = "-run JSONPage -update -->\n"
	head, _, found := strings.Cut(string(page), mark)
	if !found {
		t.Fatalf("docs/json.md has no line that ends in %q", mark)
	}
	files, err := filepath.Glob("examples/*/testdata/json/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	want := head + mark
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		command, keys, _ := strings.Cut(string(b), "\n\n")
		want += "\n## " + command + "\n\n```\n" + keys + "```\n"
	}
	golden.Check(t, "../docs/json.md", []byte(want))
}
