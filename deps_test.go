package k3sladder_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Who imports one of these compiles no client-go.
func TestLightPackagesStayLight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pkg       string
		forbidden []string
	}{
		{"./skew", []string{"k8s.io/"}},
		{"./channels", []string{"k8s.io/client-go"}},
		{"./backup", []string{"k8s.io/client-go"}},
	} {
		out, err := exec.Command("go", "list", "-deps", c.pkg).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for dep := range strings.Lines(string(out)) {
			for _, prefix := range c.forbidden {
				if strings.HasPrefix(dep, prefix) {
					t.Errorf("%s depends on %s", c.pkg, dep)
				}
			}
		}
	}
}

// What the practice cluster is built from is no requirement of the library.
func TestTheModuleRequiresNoComponent(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"k8s.io/kubernetes", "github.com/k3s-io/kine", "sigs.k8s.io/kwok"} {
		if strings.Contains(string(content), module+" ") {
			t.Errorf("go.mod names %s", module)
		}
	}
}

// A first demo compiles the lab and the components of the practice cluster. What
// several of them link comes out of Go's cache if versions and flags are the
// same: without that it takes half as long again. Who raises one of these raises
// it in the components' modules too.
func TestAFirstDemoCompilesSharedPackagesOnce(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	// version gives what the module is built with: a replacement comes last.
	version := func(goMod, module string) string {
		found := regexp.MustCompile(`(?m)^\t(?:\S+ => )?`+regexp.QuoteMeta(module)+` (v\S+)`).FindAllStringSubmatch(read(goMod), -1)
		if len(found) == 0 {
			return "none"
		}
		return found[len(found)-1][1]
	}
	for component, modules := range map[string][]string{
		"kine":      {"modernc.org/sqlite", "modernc.org/libc", "golang.org/x/net", "golang.org/x/sys", "golang.org/x/text", "google.golang.org/protobuf"},
		"kwok":      {"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "golang.org/x/net", "golang.org/x/sys", "golang.org/x/text", "google.golang.org/protobuf"},
		"kube-1.34": {"golang.org/x/net", "golang.org/x/sys", "golang.org/x/text", "google.golang.org/protobuf"},
		"kube-1.35": {"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "golang.org/x/net", "golang.org/x/sys", "golang.org/x/text", "google.golang.org/protobuf"},
	} {
		file := "internal/practice/components/" + component + "/go.mod.txt"
		for _, module := range modules {
			if got, want := version(file, module), version("go.mod", module); got != want {
				t.Errorf("%s has %s %s, go.mod has %s", file, module, got, want)
			}
		}
	}
	flags := regexp.MustCompile(`const gcflags = "(.*)"`).FindStringSubmatch(read("internal/practice/build.go"))
	if flags == nil || !strings.Contains(read("Makefile"), "'"+flags[1]+"'") {
		t.Errorf("the Makefile does not build with %q", flags)
	}
}
