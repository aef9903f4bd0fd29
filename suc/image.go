package suc

import (
	"fmt"
	"regexp"
	"strings"
)

// image is a container image reference, read by the grammar that the
// controller uses: https://pkg.go.dev/github.com/distribution/reference
type image struct {
	raw string
	err error
	// registry is "" for Docker Hub.
	registry string
	// path as people write it: rancher/k3s-upgrade, ubuntu.
	path        string
	tag, digest string
}

var (
	imageDomain    = regexp.MustCompile(`^(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*(?::[0-9]+)?$|^\[[a-fA-F0-9:]+\](?::[0-9]+)?$`)
	imageComponent = regexp.MustCompile(`^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$`)
	imageTag       = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	imageDigest    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$`)
	imageID        = regexp.MustCompile(`^[a-f0-9]{64}$`)
)

func parseImage(raw string) image {
	img := image{raw: raw}
	fail := func(format string, args ...any) image {
		img.err = fmt.Errorf(format, args...)
		return img
	}
	rest := raw
	if at := strings.IndexByte(rest, '@'); at >= 0 {
		rest, img.digest = rest[:at], rest[at+1:]
		if !imageDigest.MatchString(img.digest) {
			return fail("%s is no digest", quote(img.digest))
		}
	}
	slash := strings.LastIndexByte(rest, '/')
	if colon := strings.LastIndexByte(rest, ':'); colon > slash {
		rest, img.tag = rest[:colon], rest[colon+1:]
		if !imageTag.MatchString(img.tag) {
			return fail("%s is no tag", quote(img.tag))
		}
	}
	switch {
	case rest == "":
		return fail("it has no name")
	case imageID.MatchString(rest):
		return fail("64 hexadecimal digits are an image's identifier, not its name")
	case len(rest) > 255:
		return fail("its name has more than 255 characters")
	}
	if first, after, ok := strings.Cut(rest, "/"); ok &&
		(strings.ContainsAny(first, ".:[") || first == "localhost" || first != strings.ToLower(first)) {
		if !imageDomain.MatchString(first) {
			return fail("%s is no registry", quote(first))
		}
		img.registry, rest = first, after
	}
	if img.registry == "docker.io" || img.registry == "index.docker.io" {
		img.registry, rest = "", strings.TrimPrefix(rest, "library/")
	}
	for _, c := range strings.Split(rest, "/") {
		if !imageComponent.MatchString(c) {
			return fail("%s is no name: only lower-case letters, digits and single separators", quote(c))
		}
	}
	img.path = rest
	return img
}

// name is the last part of the path.
func (i image) name() string { return i.path[strings.LastIndexByte(i.path, '/')+1:] }

// tagged is the reference as the controller writes it into a Job: the version
// becomes the tag where there is neither tag nor digest, and the name is put
// into its familiar form. A reference that cannot be read stays as it is.
func (i image) tagged(version string) string {
	if i.err != nil || i.tag != "" || i.digest != "" || !imageTag.MatchString(version) {
		return i.raw
	}
	if i.registry != "" {
		return i.registry + "/" + i.path + ":" + version
	}
	return i.path + ":" + version
}

// families are the upgrade images this package knows, by the distribution they
// install.
var families = map[string]string{"k3s-upgrade": "k3s", "rke2-upgrade": "rke2", "k3os": "k3os"}

var familyImages = []string{K3sImage, RKE2Image, "rancher/k3os"}

// family is the distribution that the image installs, "" when it is another
// kind of image. A misspelt name counts for the one it is nearest to.
func (i image) family() string {
	if i.err != nil {
		return ""
	}
	if f, ok := families[i.name()]; ok {
		return f
	}
	if near := i.misspelt(); near != "" {
		return families[near[strings.LastIndexByte(near, '/')+1:]]
	}
	return ""
}

// upgradeWords are names under Rancher's that mean its upgrade images and are
// not theirs, such as rancher/k3s-updater.
var upgradeWords = regexp.MustCompile(`^rancher/(?:(k3s|rke2)[-_.]*up(?:grad|dat)[a-z]*|up(?:grad|dat)[a-z]*[-_.]*(k3s|rke2))$`)

// misspelt is the published image that was most likely meant, "" when the image
// is right or something else altogether. Any registry may hold the images under
// any path; on Docker Hub they are Rancher's.
func (i image) misspelt() string {
	if i.err != nil {
		return ""
	}
	name := i.name()
	for _, k := range familyImages {
		if i.registry == "" && i.path == k || i.registry != "" && name == k[len("rancher/"):] {
			return ""
		}
	}
	if i.registry == "" {
		for _, k := range familyImages[:2] {
			if name == k[len("rancher/"):] {
				return k // somebody else's copy, or the name without its owner
			}
		}
		switch i.path {
		case "rancher/k3s":
			return K3sImage
		case "rancher/rke2", "rancher/rke2-runtime":
			return RKE2Image
		}
		if m := upgradeWords.FindStringSubmatch(i.path); m != nil {
			return "rancher/" + or(m[1], m[2]) + "-upgrade"
		}
	}
	bare := strings.NewReplacer("_", "-", ".", "-").Replace(name)
	if bare == "k8s-upgrade" { // one letter off, and something else
		return ""
	}
	for _, k := range familyImages[:2] {
		known := k[len("rancher/"):]
		if distance(bare, known, 2) <= 2 && bare != known || bare == known && bare != name ||
			strings.HasPrefix(bare, known) && len(bare) <= len(known)+2 {
			return k
		}
	}
	return ""
}
