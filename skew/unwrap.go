package skew

import "strings"

// labels are what tools and files print before a version. They are compared
// without case; the ones that name something else (Kustomize, go) are absent on
// purpose.
var labels = [...]string{
	"client version:", "server version:", "gitversion:", "kubeletversion:",
	"kubelet version:", "kube-proxy version:", "kubeproxyversion:", "latestversion:", "version:", "image:", "tag:",
	"install_k3s_version=", "install_rke2_version=", "install_k3s_channel_version=",
	"k3s version", "rke2 version", "kubernetes", "release", "k3s", "rke2",
}

// unwrap takes away what surrounds the version in text. It gives a reason when
// it cannot tell which part is meant.
func unwrap(text string) (string, string) {
	if line, more, ok := strings.Cut(text, "\n"); ok {
		// `k3s --version` has a second line for Go's version.
		if more = strings.TrimSpace(more); !strings.HasPrefix(more, "go version go") || strings.Contains(more, "\n") {
			return "", "it has several lines, give the one with the version"
		}
		text = strings.TrimSpace(line)
	}
	if _, info, ok := strings.Cut(text, `version.Info{`); ok {
		_, quoted, found := strings.Cut(info, `GitVersion:"`)
		version, _, closed := strings.Cut(quoted, `"`)
		if !found || !closed {
			return "", "it has no GitVersion"
		}
		return version, ""
	}
	text = unquote(strings.TrimSuffix(text, ","))
	if key, value, ok := strings.Cut(text, `":`); ok && strings.HasPrefix(key, `"`) {
		text = key[1:] + ":" + value // a line of JSON
	}
	for {
		cut := cutLabel(text)
		if cut == text {
			break
		}
		text = unquote(cut)
	}
	// "k3s version v1.34.11+k3s1 (1a2b3c4d)"
	if open := strings.Index(text, " ("); open > 0 && strings.HasSuffix(text, ")") {
		text = text[:open]
	}
	if strings.ContainsAny(text, " \t\r") {
		return "", "it has several words, give only the version"
	}
	if strings.Contains(text, "/") {
		return unwrapPath(text)
	}
	if name, tag, ok := strings.Cut(text, ":"); ok && isName(name) {
		text = tag
		text, _, _ = strings.Cut(text, "@")
	}
	return unescape(text), ""
}

// unwrapPath takes the version out of a URL or an image reference.
func unwrapPath(text string) (string, string) {
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		if scheme != "http" && scheme != "https" && scheme != "docker" && scheme != "oci" {
			return "", "an address that is neither of the web nor of a registry"
		}
		text = rest
	}
	text, _, _ = strings.Cut(text, "@sha256:")
	text, _, _ = strings.Cut(text, "?")
	text, _, _ = strings.Cut(text, "#")
	text = strings.TrimRight(text, "/")
	parts := strings.Split(text, "/")
	last := parts[len(parts)-1]
	if _, tag, ok := strings.Cut(last, ":"); ok {
		last = tag
	}
	if v, reason := parseStrict(unescape(last)); reason == "" {
		return v.String(), ""
	}
	// .../k3s-io/k3s/v1.34.11%2Bk3s1/install.sh, .../releases/download/TAG/k3s
	if len(parts) > 2 {
		if v, reason := parseStrict(unescape(parts[len(parts)-2])); reason == "" {
			return v.String(), ""
		}
	}
	return "", "its last part is no version"
}

// cutLabel takes one label from the front of text.
func cutLabel(text string) string {
	for _, l := range labels {
		if len(text) > len(l) && strings.EqualFold(text[:len(l)], l) {
			rest := text[len(l):]
			if last := l[len(l)-1]; last == ':' || last == '=' || rest[0] == ' ' {
				return strings.TrimSpace(rest)
			}
		}
	}
	return text
}

// unquote takes one pair of quotes from around text.
func unquote(text string) string {
	if n := len(text); n >= 2 && text[0] == text[n-1] && strings.IndexByte("\"'`", text[0]) >= 0 &&
		strings.IndexByte(text[1:n-1], text[0]) < 0 {
		return strings.TrimSpace(text[1 : n-1])
	}
	return text
}

// unescape turns the %2B of URLs into the plus sign it stands for.
func unescape(text string) string {
	if !strings.Contains(text, "%2") {
		return text
	}
	return strings.NewReplacer("%2B", "+", "%2b", "+").Replace(text)
}

// isName reports whether s could be an image's name without a registry.
func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !isDigit(c) && (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}
