package channels

import (
	"strings"

	"github.com/k3sladder/k3sladder/skew"
)

// InstallScriptURL is the install.sh of exactly that release, from the tag in
// its repository: the script at https://get.k3s.io is the newest one and may
// not fit an older release. The plus sign of the tag is escaped, since some
// servers and proxies read a raw one as a space.
//
// k3s and RKE2 have such scripts; for other distributions it is empty.
func InstallScriptURL(v skew.Version) string {
	var repo string
	switch v.Distribution() {
	case "k3s":
		repo = "k3s-io/k3s"
	case "rke2":
		repo = "rancher/rke2"
	default:
		return ""
	}
	tag := strings.ReplaceAll(v.String(), "+", "%2B")
	return "https://raw.githubusercontent.com/" + repo + "/" + tag + "/install.sh"
}
