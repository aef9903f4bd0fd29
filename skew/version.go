package skew

import (
	"cmp"
	"strconv"
	"strings"
)

// Version is one release of Kubernetes or of a distribution of it, such as
// v1.34.11+k3s1. Versions are comparable with ==, which holds exactly when
// their canonical forms are the same; [Compare] orders them. The zero Version
// means "no version": it prints as the empty string and sorts first.
//
// A Version is text in JSON and YAML.
type Version struct {
	major, minor, patch int
	// zero is the only value without set: v0.0.0 is a version.
	set bool
	// pre is the semver prerelease: "rc1", "alpha.2".
	pre string
	// build is the distribution and its revision: "k3s1", "rke2r2",
	// "eks-1234", or whatever else followed a plus sign.
	build string
}

// MustParse is [Parse] for versions that a programmer wrote; it panics on error.
func MustParse(s string) Version {
	v, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return v
}

// IsZero reports whether v is the zero Version. encoding/json's omitzero uses it.
func (v Version) IsZero() bool { return v == Version{} }

// Equal reports whether v and w are the same version: v == w. It is there for
// packages that look for the method, such as go-cmp.
func (v Version) Equal(w Version) bool { return v == w }

// Minor is the minor that the skew policy judges v by.
func (v Version) Minor() Minor { return Minor{v.major, v.minor} }

// Patch is the patch number: 11 for v1.34.11+k3s1.
func (v Version) Patch() int { return v.patch }

// Prerelease is the part that puts v before its release: "rc1" for
// v1.35.0-rc1+k3s1, empty for a release. Distribution suffixes that are written
// with a hyphen (v1.32.4-eks-1234) are not prereleases.
func (v Version) Prerelease() string { return v.pre }

// Build is the distribution with its revision: "k3s1", "rke2r2", "gke.1443001";
// empty for a plain Kubernetes version.
func (v Version) Build() string { return v.build }

// Distribution is the name of the distribution that built v: "k3s", "rke2",
// "k0s", "eks", "gke" and so on. It is empty for plain Kubernetes versions and
// for builds that name none (a commit hash).
func (v Version) Distribution() string {
	name, _ := splitBuild(v.build)
	return name
}

// Kubernetes is v without its distribution: v1.34.11 for v1.34.11+k3s1.
func (v Version) Kubernetes() Version {
	v.build = ""
	return v
}

// String is the canonical form: v1.34.11+k3s1, v1.35.0-rc1+k3s1, v1.34.11.
// Distributions that write a hyphen keep it: v1.32.4-eks-1234.
func (v Version) String() string { return v.format('+') }

// ImageTag is the form container registries accept, which have no plus sign:
// v1.34.11-k3s1 (https://docs.k3s.io/upgrades/automated). system-upgrade-controller
// shows the same form in a Plan's status.
func (v Version) ImageTag() string { return v.format('-') }

func (v Version) format(sep byte) string {
	if !v.set {
		return ""
	}
	b := make([]byte, 0, 40)
	b = append(b, 'v')
	b = strconv.AppendInt(b, int64(v.major), 10)
	b = append(b, '.')
	b = strconv.AppendInt(b, int64(v.minor), 10)
	b = append(b, '.')
	b = strconv.AppendInt(b, int64(v.patch), 10)
	if v.pre != "" {
		b = append(b, '-')
		b = append(b, v.pre...)
	}
	if v.build != "" {
		// A prerelease before a hyphened distribution keeps the hyphen too:
		// the distribution's name ends the prerelease.
		if d := distributionOf(v.build); d != nil && d.hyphen {
			sep = '-'
		}
		b = append(b, sep)
		b = append(b, v.build...)
	}
	return string(b)
}

// Less reports whether v comes before w; see [Compare].
func (v Version) Less(w Version) bool { return Compare(v, w) < 0 }

// MarshalText gives the canonical form; the zero Version gives empty text.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is [Parse]; empty text gives the zero Version.
func (v *Version) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*v = Version{}
		return nil
	}
	w, err := Parse(string(text))
	if err != nil {
		return err
	}
	*v = w
	return nil
}

// Compare orders versions: negative when a comes before b, positive when after,
// zero exactly when a == b. It is a total order.
//
// The order is semver's precedence (https://semver.org/#spec-item-11), so
// v1.35.0-rc1+k3s1 comes before v1.35.0+k3s1 (and rc10 before rc2, which semver
// compares as text); then, where semver sees no
// difference, the distribution's name and its revision with numbers taken as
// numbers: v1.34.3+k3s10 comes after v1.34.3+k3s2. A plain version comes before
// the distributions built from it.
func Compare(a, b Version) int {
	if a == b {
		return 0
	}
	if a.set != b.set {
		if b.set {
			return -1
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(a.major, b.major),
		cmp.Compare(a.minor, b.minor),
		cmp.Compare(a.patch, b.patch),
		comparePrerelease(a.pre, b.pre),
		compareBuild(a.build, b.build),
	)
}

// comparePrerelease is semver's item 11.3 and 11.4.
func comparePrerelease(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "":
		return 1
	case b == "":
		return -1
	}
	for {
		var x, y string
		var moreA, moreB bool
		x, a, moreA = strings.Cut(a, ".")
		y, b, moreB = strings.Cut(b, ".")
		if c := compareIdentifier(x, y); c != 0 {
			return c
		}
		if !moreA || !moreB {
			return cmp.Compare(btoi(moreA), btoi(moreB))
		}
	}
}

func compareIdentifier(x, y string) int {
	nx, ny := isNumber(x), isNumber(y)
	switch {
	case nx && ny:
		return compareNumber(x, y)
	case nx:
		return -1
	case ny:
		return 1
	default:
		return strings.Compare(x, y)
	}
}

// compareNumber orders decimal numbers of any length without reading them.
func compareNumber(x, y string) int {
	x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
}

func isNumber(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
