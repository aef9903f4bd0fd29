package backup

import (
	"fmt"
	"regexp"
	"strconv"
)

var versionPattern = regexp.MustCompile(`^v?(\d+)\.(\d+)\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$`)

// checkVersion refuses what is no version of k3s; none at all is fine.
func checkVersion(version string) error {
	if version != "" && !versionPattern.MatchString(version) {
		return fmt.Errorf("%q is no version of k3s such as v1.34.4+k3s1", version)
	}
	return nil
}

// minor is the Kubernetes minor of a k3s version such as v1.34.4+k3s1.
func minor(version string) (major, minor int, ok bool) {
	m := versionPattern.FindStringSubmatch(version)
	if m == nil {
		return 0, 0, false
	}
	major, err1 := strconv.Atoi(m[1])
	minor, err2 := strconv.Atoi(m[2])
	return major, minor, err1 == nil && err2 == nil
}

// newerMinor says whether a is of a newer minor than b; decided is false when
// either cannot be read.
func newerMinor(a, b string) (newer, decided bool) {
	aMajor, aMinor, ok1 := minor(a)
	bMajor, bMinor, ok2 := minor(b)
	return aMajor > bMajor || aMajor == bMajor && aMinor > bMinor, ok1 && ok2
}
