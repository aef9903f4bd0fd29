package practice

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
)

// From and To are the rung the practice cluster starts on and the one it can
// be taken to.
const (
	From = "v1.34.4+k3s1"
	To   = "v1.35.4+k3s1"
)

// kineVersion is the datastore's version, the first that speaks to 1.35.
const kineVersion = "v0.17.5"

// The modules are kept under other names, since go:embed does not cross module
// borders and a program installed with "go install" has no checkout to build
// them from.
//
//go:embed components
var componentFiles embed.FS

// A component is one program of the cluster, built from a module of its own
// so that neither Kubernetes nor kine nor kwok is a requirement of this one.
type component struct {
	name    string   // file name of the binary, and what progress calls it
	module  string   // folder under components/ with go.mod.txt and go.sum.txt
	sources []string // files under components/, written without .txt
	ldflags string
}

func kube(version string) component {
	minor := strings.Split(version, ".")[1]
	stamp := func(key, value string) string { return " -X k8s.io/component-base/version." + key + "=" + value }
	return component{
		name:    "kube-1." + minor,
		module:  "kube-1." + minor,
		sources: []string{"kube/main.go.txt"},
		ldflags: stamp("gitVersion", version) + stamp("gitMajor", "1") + stamp("gitMinor", minor) +
			stamp("gitTreeState", "clean") + stamp("gitCommit", "practice") + stamp("buildDate", "2026-02-10T12:00:00Z"),
	}
}

var (
	kine = component{
		name: "kine", module: "kine", sources: []string{"kine/main.go.txt"},
		ldflags: " -X github.com/k3s-io/kine/pkg/version.Version=" + kineVersion,
	}
	kwok = component{name: "kwok", module: "kwok", sources: []string{"kwok/main.go.txt"}}
)

// lifelineSource is linked into every component: it ends with its parent.
const lifelineSource = "components/lifeline.go.txt"

// files gives what the component is built from: file name in the module ->
// content.
func (c component) files() (map[string][]byte, error) {
	paths := map[string]string{
		"go.mod":      "components/" + c.module + "/go.mod.txt",
		"go.sum":      "components/" + c.module + "/go.sum.txt",
		"lifeline.go": lifelineSource,
	}
	for _, source := range c.sources {
		name := source[strings.LastIndexByte(source, '/')+1:]
		paths[strings.TrimSuffix(name, ".txt")] = "components/" + source
	}
	files := make(map[string][]byte, len(paths))
	for name, path := range paths {
		content, err := fs.ReadFile(componentFiles, path)
		if err != nil {
			return nil, err
		}
		files[name] = content
	}
	return files, nil
}

// key is equal exactly when the same inputs would be built by the same
// toolchain for the same platform.
func (c component) key(goVersion string) (string, error) {
	files, err := c.files()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, goVersion, runtime.GOOS, runtime.GOARCH, c.ldflags)
	for _, name := range sortedKeys(files) {
		fmt.Fprintf(h, "%s %x\n", name, sha256.Sum256(files[name]))
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}
