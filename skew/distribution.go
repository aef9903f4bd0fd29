package skew

import (
	"cmp"
	"strings"
)

// A distribution is a name that can follow a Kubernetes version. Names are
// matched at the start of the build metadata, longest first.
type distribution struct {
	name string
	// hyphen: the distribution itself writes v1.32.4-eks-1234, so the hyphen is
	// the canonical form and no prerelease.
	hyphen bool
}

// distributions are the ones that must be told apart from a prerelease when
// they are written with a hyphen, in an image tag or always.
var distributions = [...]distribution{
	{name: "k3s"},                   // v1.34.11+k3s1, v1.17.0+k3s.1, v1.35.0+k3s-1a2b3c4d: https://docs.k3s.io/release-notes/v1.34.X
	{name: "rke2"},                  // v1.33.4+rke2r1: https://docs.rke2.io/release-notes/v1.33.X
	{name: "k0s"},                   // v1.31.2+k0s.0, node status v1.31.2+k0s: https://docs.k0sproject.io/stable/releases/
	{name: "eks", hyphen: true},     // v1.32.4-eks-1234: https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html
	{name: "gke", hyphen: true},     // v1.30.5-gke.1443001: https://cloud.google.com/kubernetes-engine/versioning
	{name: "aliyun", hyphen: true},  // v1.30.1-aliyun.1
	{name: "tke", hyphen: true},     // v1.30.0-tke.3
	{name: "rancher", hyphen: true}, // RKE1: v1.27.8-rancher2-1
}

// distributionOf finds the known distribution that build begins with. The name
// must end there or be followed by its revision: "k3s1", "k3s.1", "k3s-abc",
// "rke2r1", but not "eksample".
func distributionOf(build string) *distribution {
	for i := range distributions {
		d := &distributions[i]
		rest, ok := strings.CutPrefix(build, d.name)
		if !ok {
			continue
		}
		if d.name == "rke2" {
			rest = strings.TrimPrefix(rest, "r")
		}
		if rest == "" || isDigit(rest[0]) || rest[0] == '.' || rest[0] == '-' {
			return d
		}
	}
	return nil
}

// splitBuild cuts build metadata into the distribution's name and the rest.
// Unknown distributions are named by their first identifier when it is a word
// ("vmware.2-fips.1"); a commit hash names nobody.
func splitBuild(build string) (name, rest string) {
	if d := distributionOf(build); d != nil {
		return d.name, build[len(d.name):]
	}
	end := strings.IndexAny(build, ".-")
	if end < 0 {
		end = len(build)
	}
	word := build[:end]
	hex := len(word) >= 7
	for i := 0; i < len(word); i++ {
		c := word[i] | 0x20
		if c < 'a' || c > 'z' {
			return "", build
		}
		hex = hex && c <= 'f'
	}
	if hex {
		return "", build
	}
	return word, build[end:]
}

// compareBuild orders build metadata: name, then revision with runs of digits
// as numbers, then the text itself, so that only equal texts are equal.
func compareBuild(a, b string) int {
	if a == b {
		return 0
	}
	na, ra := splitBuild(a)
	nb, rb := splitBuild(b)
	return cmp.Or(
		strings.Compare(na, nb),
		// k3s wrote +k3s.1 before it wrote +k3s1.
		compareNatural(strings.TrimPrefix(ra, "."), strings.TrimPrefix(rb, ".")),
		strings.Compare(a, b),
	)
}

// compareNatural compares texts run by run: digits as numbers, everything else
// as text, and a number before any text.
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a = cutRun(a)
		y, b = cutRun(b)
		if c := compareIdentifier(x, y); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// cutRun cuts the longest prefix that is all digits or has none.
func cutRun(s string) (run, rest string) {
	digits := isDigit(s[0])
	for i := 1; i < len(s); i++ {
		if isDigit(s[i]) != digits {
			return s[:i], s[i:]
		}
	}
	return s, ""
}
