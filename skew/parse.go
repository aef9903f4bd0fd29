package skew

import (
	"fmt"
	"strings"
)

// ParseError says which text is no version, and why.
type ParseError struct {
	// Input is the text as it was given, cut to a readable length.
	Input string
	// Reason is what is wrong with it.
	Reason string
}

// Error shows the input, the fault and an example.
func (e *ParseError) Error() string {
	return fmt.Sprintf("no Kubernetes version: %q: %s (an example: v1.34.11+k3s1)", e.Input, e.Reason)
}

// maxInput bounds what Parse looks at; the longest form people paste is one
// line of the old `kubectl version`, about 260 bytes.
const maxInput = 1024

// Parse reads a version in any form that people paste:
//
//   - canonical: v1.34.11+k3s1, v1.35.0-rc1+k3s1, v1.33.4+rke2r1, v1.31.2+k0s.0
//   - without the v, or plain Kubernetes: 1.34.11+k3s1, v1.34.11
//   - image tags and system-upgrade-controller's status: v1.34.11-k3s1,
//     v1.34.11-k3s1-arm64
//   - clouds: v1.32.4-eks-1234, v1.30.5-gke.1443001
//   - builds from source: v1.36.0-alpha.0.61+1f3b9c0a4d5e6f, v1.27.1+k3s-8ec9ab12-dirty
//   - image references: docker.io/rancher/k3s-upgrade:v1.34.11-k3s1@sha256:...
//   - URLs: https://github.com/k3s-io/k3s/releases/tag/v1.34.11%2Bk3s1, and the
//     address of that tag's install.sh
//   - output of tools: "Server Version: v1.34.11+k3s1", "Kubernetes v1.34.11+k3s1",
//     "k3s version v1.34.11+k3s1 (1a2b3c4d)", version.Info{...} of old kubectl
//   - settings: INSTALL_K3S_VERSION=v1.34.11+k3s1, version: "v1.34.11+k3s1"
//
// Everything else is a [*ParseError]; a text that names two versions is never
// guessed at.
func Parse(s string) (Version, error) {
	if v, reason := parseStrict(s); reason == "" {
		return v, nil
	}
	return parsePasted(s)
}

// parseStrict reads a version that is alone in s. It allocates nothing.
func parseStrict(s string) (Version, string) {
	v := Version{set: true}
	rest := s
	if rest != "" && (rest[0] == 'v' || rest[0] == 'V') {
		rest = rest[1:]
	}
	var ok bool
	if v.major, rest, ok = cutNumber(rest); !ok {
		return Version{}, "it does not begin with a number such as 1.34.11"
	}
	if rest == "" || rest[0] != '.' {
		return Version{}, "a minor and a patch number are missing"
	}
	if v.minor, rest, ok = cutNumber(rest[1:]); !ok {
		return Version{}, "the minor is no number"
	}
	if rest == "" || rest == "+" {
		return Version{}, fmt.Sprintf("%d.%d is a minor, the patch number is missing", v.major, v.minor)
	}
	if rest[0] != '.' {
		return Version{}, "the patch number is missing"
	}
	if v.patch, rest, ok = cutNumber(rest[1:]); !ok {
		return Version{}, "the patch is no number"
	}
	if rest == "" {
		return v, ""
	}
	return parseSuffix(v, rest)
}

// parseSuffix reads what follows the three numbers: -prerelease, +build, or
// both in the spelling of an image tag.
func parseSuffix(v Version, rest string) (Version, string) {
	fail := func(reason string) (Version, string) { return Version{}, reason }
	mark, rest := rest[0], rest[1:]
	switch {
	case mark != '-' && mark != '+':
		return fail("unexpected text after the patch number")
	case rest == "":
		return fail("nothing follows the last sign")
	case mark == '+':
		v.build = rest
	default:
		pre, build, plus := strings.Cut(rest, "+")
		at := distributionAt(pre)
		switch {
		case plus && at >= 0:
			return fail("it names two builds")
		case plus && build == "":
			return fail("nothing follows the plus sign")
		case at > 0:
			pre, build = pre[:at-1], pre[at:]
		case at == 0:
			pre, build = "", pre
		}
		if at != 0 {
			if reason := checkIdentifiers(pre, true); reason != "" {
				return fail(reason)
			}
		}
		v.pre, v.build = pre, build
	}
	if v.build != "" {
		v.build = trimPlatform(v.build)
		if reason := checkIdentifiers(v.build, false); reason != "" {
			return fail(reason)
		}
	}
	return v, ""
}

// distributionAt is where a known distribution's name begins in a text joined
// with hyphens ("rc1-k3s1"), or -1.
func distributionAt(s string) int {
	for at := 0; ; {
		if distributionOf(s[at:]) != nil {
			return at
		}
		next := strings.IndexByte(s[at:], '-')
		if next < 0 {
			return -1
		}
		at += next + 1
	}
}

// trimPlatform takes the platform from a k3s or RKE2 image tag:
// rancher/k3s has v1.34.11-k3s1-arm64 beside v1.34.11-k3s1.
func trimPlatform(build string) string {
	if distributionOf(build) == nil {
		return build
	}
	for {
		i := strings.LastIndexByte(build, '-')
		if i < 0 {
			return build
		}
		switch build[i+1:] {
		case "amd64", "arm64", "arm", "armhf", "s390x", "ppc64le", "riscv64":
			build = strings.TrimSuffix(strings.TrimSuffix(build[:i], "-linux"), "-windows")
		default:
			return build
		}
	}
}

// checkIdentifiers holds the dot-separated identifiers of s to semver's rules
// (https://semver.org/#spec-item-9).
func checkIdentifiers(s string, prerelease bool) string {
	for more := true; more; {
		var id string
		id, s, more = strings.Cut(s, ".")
		if id == "" {
			return "an empty part between dots"
		}
		for i := 0; i < len(id); i++ {
			c := id[i]
			if !isDigit(c) && c != '-' && (c|0x20 < 'a' || c|0x20 > 'z') {
				return fmt.Sprintf("the character %q does not belong in a version", c)
			}
		}
		if prerelease && len(id) > 1 && id[0] == '0' && isNumber(id) {
			return "a number in the prerelease has a leading zero"
		}
	}
	return ""
}

// cutNumber cuts a decimal number without leading zeros, below 10^9.
func cutNumber(s string) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		n = n*10 + int(s[i]-'0')
		if i++; i > 9 {
			return 0, s, false
		}
	}
	if i == 0 || i > 1 && s[0] == '0' {
		return 0, s, false
	}
	return n, s[i:], true
}

// parsePasted finds the version in what surrounds it on a screen, in a URL or in
// an image reference, and reads it strictly.
func parsePasted(s string) (Version, error) {
	fail := func(reason string) (Version, error) {
		shown := strings.ToValidUTF8(s, "\uFFFD")
		if len(shown) > 80 {
			shown = strings.ToValidUTF8(shown[:77], "") + "..."
		}
		return Version{}, &ParseError{Input: shown, Reason: reason}
	}
	if len(s) > maxInput {
		return fail("it is too long")
	}
	text := strings.TrimSpace(s)
	if text == "" {
		return fail("it is empty")
	}
	text, reason := unwrap(text)
	if reason != "" {
		return fail(reason)
	}
	v, reason := parseStrict(text)
	if reason != "" {
		return fail(reason)
	}
	return v, nil
}
