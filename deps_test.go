package k3sladder_test

import (
	"os"
	"os/exec"
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
