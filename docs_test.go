package k3sladder_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// publicPackages are the folders that others import.
func publicPackages(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		switch name := entry.Name(); {
		case path != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")),
			name == "internal", name == "examples", name == "testdata", name == "docs", name == "bin":
			return filepath.SkipDir
		}
		if files, _ := filepath.Glob(path + "/*.go"); len(files) > 0 {
			dirs = append(dirs, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

func TestEveryExportedNameIsDocumented(t *testing.T) {
	t.Parallel()
	for _, dir := range publicPackages(t) {
		p := parse(t, dir)
		if p.Doc == "" {
			t.Errorf("package %s has no comment", p.Name)
		}
		missing := func(what, name, comment string) {
			if comment == "" && token.IsExported(name) {
				t.Errorf("%s: %s %s has no comment", dir, what, name)
			}
		}
		values := func(list []*doc.Value) {
			for _, v := range list {
				for _, spec := range v.Decl.Specs {
					value, ok := spec.(*ast.ValueSpec)
					if !ok {
						continue
					}
					for _, name := range value.Names {
						// One comment may stand above a group of constants.
						missing("value", name.Name, v.Doc+value.Doc.Text()+value.Comment.Text())
					}
				}
			}
		}
		functions := func(list []*doc.Func) {
			for _, f := range list {
				missing("function", f.Name, f.Doc)
			}
		}
		values(p.Consts)
		values(p.Vars)
		functions(p.Funcs)
		for _, typ := range p.Types {
			missing("type", typ.Name, typ.Doc)
			values(typ.Consts)
			values(typ.Vars)
			functions(typ.Funcs)
			for _, m := range typ.Methods {
				// Methods that an interface of the standard library or of
				// Kubernetes asks for say nothing new.
				switch m.Name {
				case "Error", "Unwrap", "String", "MarshalText", "UnmarshalText", "MarshalJSON", "UnmarshalJSON", "Set", "Type", "Is":
					continue
				}
				missing("method "+typ.Name+".", m.Name, m.Doc)
			}
		}
	}
}

func TestEveryPackageHasAnExampleThatRuns(t *testing.T) {
	t.Parallel()
	for _, dir := range publicPackages(t) {
		if dir == "." {
			continue // the map
		}
		tests, err := filepath.Glob(dir + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range tests {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range doc.Examples(parsed) {
				found = found || e.Output != "" || e.EmptyOutput
			}
		}
		if !found {
			t.Errorf("%s has no Example with an Output comment", dir)
		}
	}
}

func parse(t *testing.T, dir string) *doc.Package {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	paths, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(fset, path, content, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	p, err := doc.NewFromFiles(fset, files, "github.com/k3sladder/k3sladder/"+filepath.ToSlash(dir))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
