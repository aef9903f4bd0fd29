package skew_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/skew"
)

// pasted are forms that people have at hand, with the canonical form and the
// distribution they stand for.
var pasted = []struct{ name, in, want, distribution string }{
	{"the canonical form", "v1.34.11+k3s1", "v1.34.11+k3s1", "k3s"},
	{"without the v", "1.34.11+k3s1", "v1.34.11+k3s1", "k3s"},
	{"plain Kubernetes", "1.34.11", "v1.34.11", ""},
	{"an image tag or SUC's status", "v1.34.11-k3s1", "v1.34.11+k3s1", "k3s"},
	{"an image tag for one platform", "v1.34.11-k3s1-arm64", "v1.34.11+k3s1", "k3s"},
	{"a release candidate", "v1.35.0-rc1+k3s1", "v1.35.0-rc1+k3s1", "k3s"},
	{"the image tag of a release candidate", "v1.35.0-rc1-k3s1", "v1.35.0-rc1+k3s1", "k3s"},
	{"a candidate of the second revision", "v1.33.4-rc2+rke2r2", "v1.33.4-rc2+rke2r2", "rke2"},
	{"RKE2", "v1.33.4+rke2r1", "v1.33.4+rke2r1", "rke2"},
	{"an RKE2 image tag", "v1.33.4-rke2r1", "v1.33.4+rke2r1", "rke2"},
	{"an RKE2 image tag for a platform", "v1.33.4-rke2r1-linux-amd64", "v1.33.4+rke2r1", "rke2"},
	{"an early RKE2", "v1.18.4-beta16+rke2", "v1.18.4-beta16+rke2", "rke2"},
	{"an early k3s with a dotted revision", "v1.17.0+k3s.1", "v1.17.0+k3s.1", "k3s"},
	{"the image tag of a dotted revision", "v1.17.0-k3s.1", "v1.17.0+k3s.1", "k3s"},
	{"a k3s built from source", "v1.27.1+k3s-8ec9ab12-dirty", "v1.27.1+k3s-8ec9ab12-dirty", "k3s"},
	{"k0s", "v1.31.2+k0s.0", "v1.31.2+k0s.0", "k0s"},
	{"k0s in a node status", "v1.31.2+k0s", "v1.31.2+k0s", "k0s"},
	{"a k0s image tag", "v1.31.2-k0s.0", "v1.31.2+k0s.0", "k0s"},
	{"EKS", "v1.32.4-eks-1234", "v1.32.4-eks-1234", "eks"},
	{"EKS with a hash", "v1.24.10-eks-48e63af", "v1.24.10-eks-48e63af", "eks"},
	{"EKS Distro", "v1.21.2-eks-1-21-4", "v1.21.2-eks-1-21-4", "eks"},
	{"GKE", "v1.30.5-gke.1443001", "v1.30.5-gke.1443001", "gke"},
	{"GKE as its console prints it", "1.30.5-gke.1443001", "v1.30.5-gke.1443001", "gke"},
	{"RKE1", "v1.27.8-rancher2-1", "v1.27.8-rancher2-1", "rancher"},
	{"a Windows image tag", "rancher/rke2-runtime:v1.33.4-rke2r1-windows-amd64", "v1.33.4+rke2r1", "rke2"},
	{"a heading of the release notes", "Release v1.34.11+k3s1", "v1.34.11+k3s1", "k3s"},
	{"a name before the version", "k3s v1.34.11+k3s1", "v1.34.11+k3s1", "k3s"},
	{"OpenShift", "v1.29.6+aba1e8d", "v1.29.6+aba1e8d", ""},
	{"another vendor", "v1.26.5+vmware.2-fips.1", "v1.26.5+vmware.2-fips.1", "vmware"},
	{"Kubernetes between releases", "v1.36.0-alpha.0.61+1f3b9c0a4d5e6f-dirty", "v1.36.0-alpha.0.61+1f3b9c0a4d5e6f-dirty", ""},
	{"kubectl version, client", "Client Version: v1.34.1", "v1.34.1", ""},
	{"kubectl version, server", "Server Version: v1.34.11+k3s1", "v1.34.11+k3s1", "k3s"},
	{"kubectl version before 1.28", `Server Version: version.Info{Major:"1", Minor:"24+", GitVersion:"v1.24.10-eks-48e63af", GitCommit:"9176fb99b52f8d5ff73d67fea27f3a638f679f8a", GitTreeState:"clean", BuildDate:"2023-01-24T19:17:48Z", GoVersion:"go1.19.5", Compiler:"gc", Platform:"linux/amd64"}`, "v1.24.10-eks-48e63af", "eks"},
	{"kubectl version as JSON", `"gitVersion": "v1.34.11+k3s1",`, "v1.34.11+k3s1", "k3s"},
	{"kubectl version as YAML", `gitVersion: v1.34.11+k3s1`, "v1.34.11+k3s1", "k3s"},
	{"kubelet --version", "Kubernetes v1.34.11+k3s1", "v1.34.11+k3s1", "k3s"},
	{"a node's kubeletVersion", "kubeletVersion: v1.34.11+k3s1", "v1.34.11+k3s1", "k3s"},
	{"kubectl describe node", "Kubelet Version:            v1.34.11+k3s1", "v1.34.11+k3s1", "k3s"},
	{"k3s --version", "k3s version v1.34.11+k3s1 (1a2b3c4d)\ngo version go1.24.9\n", "v1.34.11+k3s1", "k3s"},
	{"rke2 --version", "rke2 version v1.33.4+rke2r1 (1a2b3c4d5e6f)\ngo version go1.24.9 X:boringcrypto\n", "v1.33.4+rke2r1", "rke2"},
	{"an image reference", "docker.io/rancher/k3s-upgrade:v1.34.11-k3s1", "v1.34.11+k3s1", "k3s"},
	{"an image without a registry", "rancher/k3s:v1.34.11-k3s1", "v1.34.11+k3s1", "k3s"},
	{"an image with port and digest", "registry.example:5000/rancher/k3s:v1.34.11-k3s1@sha256:" + strings.Repeat("ab", 32), "v1.34.11+k3s1", "k3s"},
	{"a short image", "hyperkube:v1.34.1", "v1.34.1", ""},
	{"a release page", "https://github.com/k3s-io/k3s/releases/tag/v1.34.11+k3s1", "v1.34.11+k3s1", "k3s"},
	{"an escaped release page", "https://github.com/k3s-io/k3s/releases/tag/v1.34.11%2Bk3s1", "v1.34.11+k3s1", "k3s"},
	{"a tag's install.sh", "https://raw.githubusercontent.com/k3s-io/k3s/v1.34.11%2Bk3s1/install.sh", "v1.34.11+k3s1", "k3s"},
	{"a release asset", "https://github.com/k3s-io/k3s/releases/download/v1.34.11%2Bk3s1/k3s-arm64", "v1.34.11+k3s1", "k3s"},
	{"an install setting", "INSTALL_K3S_VERSION=v1.34.11+k3s1", "v1.34.11+k3s1", "k3s"},
	{"a quoted install setting", `INSTALL_K3S_VERSION="v1.34.11+k3s1"`, "v1.34.11+k3s1", "k3s"},
	{"a Plan's line", `  version: "v1.34.11+k3s1"`, "v1.34.11+k3s1", "k3s"},
	{"spaces around", "  v1.34.11+k3s1\n", "v1.34.11+k3s1", "k3s"},
	{"a capital V", "V1.34.11+k3s1", "v1.34.11+k3s1", "k3s"},
	{"zero", "v0.0.0", "v0.0.0", ""},
}

func TestParseReadsWhatPeoplePaste(t *testing.T) {
	t.Parallel()
	for _, tt := range pasted {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, err := skew.Parse(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if v.String() != tt.want {
				t.Errorf("Parse(%q) = %s, want %s", tt.in, v, tt.want)
			}
			if v.Distribution() != tt.distribution {
				t.Errorf("distribution of %s is %q, want %q", v, v.Distribution(), tt.distribution)
			}
		})
	}
}

func TestParseRejectsWithInputAndExample(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", " ", "v", "1", "1.34", "v1.34", "1.34.", "1.34.x", "v1.34.11+", "v1.34.11-", "v1.34.11+k3s1+k3s2",
		"v1.34.11-k3s1+k3s2", "v01.34.1", "v1.034.1", "v1.34.01", "v1.34.1-01", "v1.34.1-rc..1", "stable",
		"latest", "v1.34.1 +k3s1", "v-1.2.3", "1.2.3.4", "v1.34.11_k3s1", "v1.34.11+k3s!", "v9999999999.1.1", "v1.99999999999999999999.1",
		"Kustomize Version: v5.7.1", "go version go1.24.9", "Client Version: v1.34.1\nServer Version: v1.35.1",
		"Client Version: v1.34.1\nKustomize Version: v5.7.1\nServer Version: v1.34.11+k3s1",
		"v1.34.1 v1.35.1", "https://update.k3s.io/v1-release/channels/stable", "ftp://example/v1.34.1",
		"rancher/k3s-upgrade", "rancher/k3s:latest", "v1.34.11+k3s1\x00", "v1.34.\xff", "<html>", strings.Repeat("1", 5000),
		"version.Info{Major:\"1\"}", "v1.34.11+k3s1 (1a2b", "$Format:%H$", "v1.34.٣",
	} {
		v, err := skew.Parse(in)
		if err == nil {
			t.Errorf("Parse(%q) = %s, want an error", in, v)
			continue
		}
		var parse *skew.ParseError
		if !errors.As(err, &parse) {
			t.Errorf("Parse(%q): %T, want a *ParseError", in, err)
		}
		if !strings.Contains(err.Error(), "v1.34.11+k3s1") || len(err.Error()) > 400 {
			t.Errorf("Parse(%q): the error shows no example or too much: %s", in, err)
		}
		if v != (skew.Version{}) {
			t.Errorf("Parse(%q) gives %v beside the error", in, v)
		}
	}
}

// ordered is in ascending order.
var ordered = []string{
	"v0.10.2", "v1.9.11", "v1.17.0+k3s.1", "v1.17.0+k3s2", "v1.34.0-alpha.1", "v1.34.0-alpha.2", "v1.34.0-alpha.10",
	"v1.34.0-alpha.10.1", "v1.34.0-alpha.beta", "v1.34.0-beta", "v1.34.0-rc.1", "v1.34.0-rc1+k3s1", "v1.34.0-rc1+k3s2",
	"v1.34.0-rc2+k3s1", "v1.34.0", "v1.34.0+k3s1", "v1.34.3", "v1.34.3-eks-1234", "v1.34.3-gke.9", "v1.34.3-gke.10",
	"v1.34.3+k0s.0", "v1.34.3+k0s.1", "v1.34.3+k3s1", "v1.34.3+k3s2", "v1.34.3+k3s10", "v1.34.3+rke2r1",
	"v1.34.3+rke2r2", "v1.34.3+rke2r11", "v1.34.4+k3s1", "v1.34.10+k3s1", "v1.35.0-rc1+k3s1", "v1.35.0+k3s1", "v2.0.0",
}

func TestCompareOrdersVersions(t *testing.T) {
	t.Parallel()
	for i, a := range ordered {
		for j, b := range ordered {
			got := skew.Compare(skew.MustParse(a), skew.MustParse(b))
			if want := compareInts(i, j); sign(got) != want {
				t.Errorf("Compare(%s, %s) = %d, want %d", a, b, got, want)
			}
		}
	}
	if skew.Compare(skew.MustParse("v1.34.3-k3s3"), skew.MustParse("v1.34.3+k3s3")) != 0 {
		t.Error("an image tag and its version differ")
	}
	if skew.Compare(skew.Version{}, skew.MustParse("v0.0.0")) >= 0 {
		t.Error("no version does not sort before v0.0.0")
	}
}

func TestVersionIsTextInJSON(t *testing.T) {
	t.Parallel()
	type doc struct {
		V   skew.Version `json:"v"`
		Opt skew.Version `json:"opt,omitzero"`
		M   skew.Minor   `json:"m"`
	}
	in := doc{V: skew.MustParse("1.34.11-k3s1"), M: skew.Minor{Major: 1, Minor: 34}}
	b, err := json.Marshal(in)
	if err != nil || string(b) != `{"v":"v1.34.11+k3s1","m":"1.34"}` {
		t.Fatalf("%s, %v", b, err)
	}
	var out doc
	if err := json.Unmarshal(b, &out); err != nil || out != in {
		t.Errorf("%+v, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"v":""}`), &out); err != nil || !out.V.IsZero() {
		t.Errorf("empty text gives %v, %v", out.V, err)
	}
	if err := json.Unmarshal([]byte(`{"v":"stable"}`), &out); err == nil {
		t.Error("a word was read as a version")
	}
}

func TestParseMinor(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"1.34", "v1.34", "1.34+", " 1.34 ", "v1.34.11+k3s1", "1.34.11"} {
		if m, err := skew.ParseMinor(in); err != nil || m.String() != "1.34" {
			t.Errorf("ParseMinor(%q) = %s, %v", in, m, err)
		}
	}
	for _, in := range []string{"", "1", "v", "34", "1.x", "1.034", "stable", "1.34-rc1"} {
		if m, err := skew.ParseMinor(in); err == nil {
			t.Errorf("ParseMinor(%q) = %s, want an error", in, m)
		}
	}
	minors := []skew.Minor{{1, 34}, {1, 9}, {2, 0}}
	slices.SortFunc(minors, skew.Minor.Compare)
	if minors[0].String() != "1.9" || minors[2].String() != "2.0" || minors[0].Next().String() != "1.10" {
		t.Error(minors)
	}
}

func compareInts(a, b int) int { return sign(a - b) }

func sign(n int) int { return max(-1, min(1, n)) }
