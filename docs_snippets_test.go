package k3sladder_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// snippetImports are what a reader of a snippet would import, by package name.
var snippetImports = map[string]string{
	"context": "context", "fmt": "fmt", "os": "os", "time": "time", "kubernetes": "k8s.io/client-go/kubernetes",
	"skew": "skew", "channels": "channels", "backup": "backup", "drainprobe": "drainprobe", "snapshot": "snapshot", "suc": "suc",
}

// The README's Go compiles as it stands, with ctx, a client and the clients of a
// snapshot at hand.
func TestTheREADMEsSnippetsCompile(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(blocks) < 6 {
		t.Fatalf("%d snippets of Go in the README", len(blocks))
	}
	var body strings.Builder
	for i, b := range blocks {
		fmt.Fprintf(&body, "func snippet%d(ctx context.Context, client kubernetes.Interface, clients snapshot.Clients) {\n%s\n%s}\n\n", i, b[1], used(t, b[1]))
	}
	source := "package snippets\n\nimport (\n"
	for name, path := range snippetImports {
		if strings.Contains(body.String(), name+".") {
			if path == name && !strings.Contains("context fmt os time", name) {
				path = "github.com/k3sladder/k3sladder/" + path
			}
			source += fmt.Sprintf("\t%q\n", path)
		}
	}
	source += ")\n\n" + body.String()

	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "snippets.go"), filepath.Join(dir, "overlay.json")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(here, "internal", "snippets", "snippets.go"): file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{file: source, overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "./internal/snippets").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, source)
	}
}

// used gives statements that use what a snippet declares.
func used(t *testing.T, snippet string) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+snippet+"\n}", parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%v in\n%s", err, snippet)
	}
	var text string
	for _, s := range f.Decls[0].(*ast.FuncDecl).Body.List {
		if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
			for _, l := range a.Lhs {
				if name := l.(*ast.Ident).Name; name != "_" {
					text += "_ = " + name + "\n"
				}
			}
		}
	}
	return text
}
