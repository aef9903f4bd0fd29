package suc

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/k3sladder/k3sladder/skew"
)

// channelServers are the hosts that Rancher runs, by what their releases are.
// They answer plain http with a permanent redirect to https.
var channelServers = map[string]string{"update.k3s.io": "k3s", "update.rke2.io": "rke2"}

// channelNames are what those servers list; every minor has its own too.
var channelNames = []string{"stable", "latest", "testing"}

var minorChannel = regexp.MustCompile(`^v([0-9]+\.[0-9]+)(-testing)?$`)

const channelPath = "/v1-release/channels"

// channel is what the facts say that a channel resolves to.
func (f *Facts) channel(url string) string {
	if v, ok := f.Channels[url]; ok {
		return v
	}
	return f.Channels[strings.TrimSuffix(url, "/")]
}

func (s *subject) judgeChannel(l *linter) {
	channel, at := s.plan.Spec.Channel, spec("channel")
	if channel == "" {
		return
	}
	if s.plan.Spec.Version != "" {
		s.add("channel-and-version", at, "is never asked, because version is set", "leave one of the two out; a pinned version moves only when you move it")
		return
	}
	if placeholder(channel) {
		s.add("placeholder", at, quote(channel)+" holds a placeholder that nothing filled in", "render the file before it is applied")
		return
	}
	u, err := url.Parse(channel)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(channel, " \t\n") {
		s.add("channel-not-url", at, quote(channel)+" is no URL that the controller can ask: it tries for ever and no Job is made", channelFix(channel, s.family))
		return
	}
	host := strings.ToLower(u.Hostname())
	if u.Scheme == "http" && !private(host) {
		fix := *u
		fix.Scheme = "https"
		s.add("channel-http", at, "is plain http: anybody on the way can choose the version, and where the server redirects to https, as Rancher's does, the channel's own name becomes the version", "channel: "+fix.String())
	}
	last := channel[strings.LastIndexByte(strings.TrimRight(channel, "/"), '/')+1:]
	last = strings.TrimRight(last, "/")
	switch path := strings.TrimRight(u.Path, "/"); {
	case channelServers[host] != "":
		s.judgeRancherChannel(l, host, path, last)
	case host == "github.com":
		s.judgeGitHub(u, path, last)
	case host == "api.github.com":
		s.add("channel-root", at, "answers with JSON instead of a redirect, so "+quote(last)+" becomes the version", "use https://github.com/OWNER/REPO/releases/latest, or pin a version")
	case path == "" || strings.HasSuffix(path, "/channels"):
		s.add("channel-root", at, "is not the URL of one channel: without a redirect the last word, "+quote(last)+", becomes the version", "add the channel's name, such as /stable")
	}
}

// private reports whether a host is one that only this network can reach,
// where plain http is the owner's business.
func private(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast()
	}
	if !strings.Contains(host, ".") {
		return true
	}
	for _, suffix := range []string{".lan", ".local", ".internal", ".localhost", ".home", ".intranet", ".corp", ".test", ".home.arpa", ".svc", ".cluster.local"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}

func channelFix(channel, family string) string {
	server := "https://update.k3s.io" + channelPath
	if family == "rke2" {
		server = "https://update.rke2.io" + channelPath
	}
	word := strings.ToLower(strings.TrimSpace(channel))
	switch {
	case minorChannel.MatchString(word) || word == "stable" || word == "latest" || word == "testing":
		return "channel: " + server + "/" + word
	case releaseNames["k3s"].MatchString(word) || releaseNames["rke2"].MatchString(word):
		return "a release belongs into spec.version"
	case strings.HasPrefix(word, "update.k3s.io/") || strings.HasPrefix(word, "update.rke2.io/"):
		return "channel: https://" + word
	}
	return "a channel looks like " + server + "/stable"
}

// judgeRancherChannel knows what Rancher's channel servers list.
func (s *subject) judgeRancherChannel(l *linter, host, path, name string) {
	at := spec("channel")
	if d := channelServers[host]; s.family != "" && s.family != "k3os" && s.family != d {
		s.add("distro-mismatch", at, fmt.Sprintf("%s has releases of %s, and the image %s installs %s", host, d, s.image.raw, s.family), "")
	}
	if !strings.HasPrefix(path, channelPath+"/") {
		s.add("channel-root", at, "is not the URL of one channel: the server answers without a redirect, and the word "+quote(name)+" becomes the version", "channel: https://"+host+channelPath+"/stable")
		return
	}
	name = strings.TrimPrefix(path, channelPath+"/")
	m := minorChannel.FindStringSubmatch(name)
	if m == nil {
		for _, known := range channelNames {
			if name == known {
				return
			}
		}
		fix := "the channels are stable, latest, testing and one for each minor, such as v1.35"
		switch near := nearest(name, channelNames); {
		case minorChannel.MatchString("v" + name):
			fix = "channel: https://" + host + channelPath + "/v" + name
		case releaseNames["k3s"].MatchString(name) || releaseNames["rke2"].MatchString(name):
			fix = "a release belongs into spec.version"
		case near != "":
			fix = "did you mean " + near + "?"
		}
		s.add("channel-unknown", at, fmt.Sprintf("%s has no channel %s: nothing is ever resolved", host, quote(name)), fix)
		return
	}
	if s.resolved != "" {
		return // the facts say what it resolves to
	}
	s.judgeMinor(l, m[1])
}

// judgeMinor compares the channel of a minor with what runs: the minor is known
// although the patch is not.
func (s *subject) judgeMinor(l *linter, text string) {
	minor, err := skew.ParseMinor(text)
	if err != nil {
		return
	}
	said := map[string]bool{}
	for _, r := range s.running(l.facts) {
		code, message := "", ""
		switch from := r.version.Minor(); {
		case minor.Compare(from) < 0 && (r.who != "the API server" || s.role != agentRole):
			code, message = "downgrade", fmt.Sprintf("resolves to releases of %s, older than %s, which %s runs", minor, r.version, r.who)
		case r.server && minor.Compare(from.Next()) > 0:
			code, message = "skips-minor", fmt.Sprintf("resolves to releases of %s, more than one minor above %s, which %s runs", minor, r.version, r.who)
		}
		if code != "" && !said[code] {
			said[code] = true
			s.add(code, spec("channel"), message, s.nextRung(r.version))
		}
	}
}

// judgeGitHub knows which of its pages redirect to a release.
func (s *subject) judgeGitHub(u *url.URL, path, last string) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	at := spec("channel")
	switch {
	case len(parts) == 4 && parts[2] == "releases" && parts[3] == "latest":
	case len(parts) >= 5 && parts[2] == "releases" && parts[3] == "tag" && len(validation.IsValidLabelValue(munge(last))) == 0:
		// The page of one release answers without a redirect, and its last
		// word is the version.
	default:
		s.add("channel-root", at, "answers without a redirect to a release, so "+quote(last)+" becomes the version", "use https://github.com/OWNER/REPO/releases/latest, or pin a version")
	}
}
