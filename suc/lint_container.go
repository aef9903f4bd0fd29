package suc

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/k3sladder/k3sladder/skew"
)

func (s *subject) judgeImages() {
	sp := &s.plan.Spec
	if sp.Upgrade == nil {
		return
	}
	s.judgeImage(s.image, spec("upgrade", "image"))
	tags := s.tags()
	if s.family != "" && s.image.tag != "" && !slices.Contains(tags, s.image.tag) {
		message := fmt.Sprintf("has the tag %s, which is installed whatever the version says: nodes are marked as done for %s and run %s", s.image.tag, or(s.resolved, "what the channel says"), s.image.tag)
		if sp.Version == "" && sp.Channel != "" && s.resolved == "" {
			message = fmt.Sprintf("has the tag %s, which is installed whatever the channel says", s.image.tag)
		}
		if sp.Version != "" || sp.Channel != "" {
			s.add("image-tag-mismatch", spec("upgrade", "image"), message, "leave the tag out; the controller adds the version")
		}
	} else if s.family != "" && s.image.digest != "" && s.image.tag == "" && sp.Version == "" && sp.Channel != "" {
		s.add("image-tag-mismatch", spec("upgrade", "image"), "has a digest, which is installed whatever the channel says", "leave the digest out; the controller adds the version as the tag")
	}
	if c := sp.Upgrade.SecurityContext; c != nil && (s.family == "k3s" || s.family == "rke2") && (c.Privileged == nil || !*c.Privileged) {
		s.add("security-context", spec("upgrade", "securityContext"), "replaces the privileged context that the upgrade needs to reach the host's processes", "add privileged: true, or leave it out")
	}
	s.judgeEnv(sp.Upgrade, spec("upgrade"))
	if sp.Prepare == nil {
		return
	}
	s.judgeImage(s.prepare, spec("prepare", "image"))
	s.judgeEnv(sp.Prepare, spec("prepare"))
	pf := s.prepare.family()
	if pf != "" && s.family != "" && pf != s.family {
		s.add("distro-mismatch", spec("prepare", "image"), fmt.Sprintf("is an image of %s, and the upgrade image %s installs %s", pf, s.image.raw, s.family), "")
		return
	}
	if pf != "" && s.prepare.tag != "" && !slices.Contains(tags, s.prepare.tag) {
		message := fmt.Sprintf("has the tag %s, and the Plan is for %s: another release's script runs", s.prepare.tag, or(s.resolved, "what the channel says"))
		if v := readVersion(s.prepare.tag, pf); !v.IsZero() && s.waiting && pf == "k3s" && v.Minor().Compare(skew.Minor{Major: 1, Minor: 24}) < 0 {
			message += "; images before March 2023 look for servers by " + masterLabel + ", which k3s removed in v1.34, and then wait for ever"
		}
		s.add("prepare-tag-mismatch", spec("prepare", "image"), message, "leave the tag out; the controller adds the version")
	}
}

// tags are the image tags that install the resolved version; those of single
// architectures are the same release.
func (s *subject) tags() []string {
	if s.resolved == "" {
		return nil
	}
	tag := munge(s.resolved)
	return []string{tag, tag + "-amd64", tag + "-arm64", tag + "-arm", tag + "-s390x"}
}

func (s *subject) judgeImage(img image, at path) {
	switch {
	case placeholder(img.raw):
		s.add("placeholder", at, quote(img.raw)+" holds a placeholder that nothing filled in", "render the file before it is applied")
	case img.err != nil:
		fix := ""
		switch {
		case strings.Contains(img.raw, "+"):
			fix = "a tag has - where a version has +: " + munge(img.raw)
		case strings.Contains(img.raw, "://"):
			fix = "leave the scheme out"
		case img.raw != strings.ToLower(img.raw):
			fix = strings.ToLower(img.raw)
		}
		s.add("image-reference", at, fmt.Sprintf("%s is no image reference (%v): the Pod ends in InvalidImageName", quote(img.raw), img.err), fix)
	case img.registry != strings.ToLower(img.registry):
		s.add("image-reference", at, fmt.Sprintf("begins with %s, which is read as the name of a registry because of its capital letters: the image is not found", quote(img.registry)), strings.ToLower(img.raw))
	default:
		if k := img.misspelt(); k != "" {
			s.add("unknown-image", at, quote(img.raw)+" is not the published image, and looks like it", "did you mean "+k+"?")
		}
	}
}

// judgeEnv finds variables that the API server refuses in a Pod.
func (s *subject) judgeEnv(c *ContainerSpec, at path) {
	for i, e := range c.Env {
		here := at.at("envs", i)
		switch {
		case e.Name == "" || strings.ContainsRune(e.Name, '='):
			s.add("env", here.at("name"), quote(e.Name)+" is no name of a variable: the API server refuses the Job", "")
		case e.Value != "" && e.ValueFrom != nil:
			s.add("env", here, "has both value and valueFrom: the API server refuses the Job", "leave one of the two out")
		}
	}
}

// judgeVolumes looks at the volumes and mounts of the Pod together.
func (s *subject) judgeVolumes() {
	sp := &s.plan.Spec
	if sp.Upgrade == nil {
		return
	}
	const refused = ": the API server refuses the Job, and only the controller's log says so"
	declared := map[string]string{"host-root": "", "pod-info": ""}
	for i, v := range sp.Upgrade.Volumes {
		at := spec("upgrade", "volumes", i)
		_, taken := declared[v.Name]
		switch {
		case len(validation.IsDNS1123Label(v.Name)) > 0:
			s.add("volume", at.at("name"), quote(v.Name)+" is no name for a volume"+refused, "use lower-case letters, digits and -")
		case taken:
			s.add("volume", at.at("name"), fmt.Sprintf("%s is the name of another volume of the Pod", quote(v.Name))+refused, "choose another name")
		case v.Source == "" || slices.Contains(strings.Split(filepath.ToSlash(v.Source), "/"), ".."):
			s.add("volume", at.at("source"), quote(v.Source)+" is no path that a volume may have"+refused, "write an absolute path without ..")
		}
		declared[v.Name] = v.Source
	}
	s.judgeMounts(sp.Upgrade.Volumes, spec("upgrade", "volumes"), refused)
	if sp.Prepare == nil {
		return
	}
	s.judgeMounts(sp.Prepare.Volumes, spec("prepare", "volumes"), refused)
	for i, v := range sp.Prepare.Volumes {
		at := spec("prepare", "volumes", i)
		source, ok := declared[v.Name]
		switch {
		case !ok:
			s.add("prepare-volume", at, fmt.Sprintf("is declared under prepare only, and the Pod's volumes come from spec.upgrade.volumes: the Job has no volume %s", quote(v.Name))+refused, "declare it under spec.upgrade.volumes too")
		case source != "" && source != v.Source:
			s.addAs(Warning, "prepare-volume", at.at("source"), fmt.Sprintf("is %s, and spec.upgrade.volumes says %s for the same volume, which is what is mounted", quote(v.Source), quote(source)), "use another name, and declare it under spec.upgrade.volumes too")
		}
	}
}

// judgeMounts checks the mount points of one container; the controller adds
// some of its own.
func (s *subject) judgeMounts(volumes []VolumeSpec, at path, refused string) {
	taken := map[string]string{"/host": "the host's root", "/run/system-upgrade/pod": "the Pod's labels"}
	for _, secret := range s.plan.Spec.Secrets {
		taken[secretMount(secret)] = "Secret " + secret.Name
	}
	for i, v := range volumes {
		here := at.at(i, "destination")
		what, is := taken[v.Destination]
		switch {
		case v.Destination == "" || strings.Contains(v.Destination, ":"):
			s.add("volume", here, quote(v.Destination)+" is no mount point"+refused, "")
		case is:
			s.add("volume", here, fmt.Sprintf("%s is where %s is mounted", v.Destination, what)+refused, "choose another destination")
		}
		taken[v.Destination] = "volume " + v.Name
	}
}

func secretMount(s SecretSpec) string {
	if !strings.HasPrefix(s.Path, "/") {
		return filepath.Join("/run/system-upgrade/secrets", or(s.Path, s.Name))
	}
	return s.Path
}

func (s *subject) judgeSecrets(l *linter) {
	const refused = ": the API server refuses the Job, and only the controller's log says so"
	names, mounts := map[string]bool{}, map[string]string{"/host": "the host's root", "/run/system-upgrade/pod": "the Pod's labels"}
	for i, secret := range s.plan.Spec.Secrets {
		at := spec("secrets", i)
		mount := secretMount(secret)
		switch {
		case placeholder(secret.Name):
			s.add("placeholder", at.at("name"), quote(secret.Name)+" is a placeholder that nothing filled in", "render the file before it is applied")
			continue
		case names[secret.Name]:
			s.add("secret-mount", at.at("name"), "is named twice"+refused, "name it once")
		case strings.Contains(secret.Name, "."):
			s.add("secret-mount", at.at("name"), fmt.Sprintf("%s becomes the volume secret-%s, and a volume's name has no dots", quote(secret.Name), secret.Name)+refused, "use a Secret whose name has no dots")
		case mounts[mount] != "":
			s.add("secret-mount", at.at("path"), fmt.Sprintf("%s is where %s is mounted", mount, mounts[mount])+refused, "choose another path")
		case strings.Contains(mount, ":"):
			s.add("secret-mount", at.at("path"), quote(secret.Path)+" is no mount point"+refused, "")
		}
		names[secret.Name], mounts[mount] = true, "Secret "+secret.Name
		if !secret.IgnoreUpdates {
			s.judgeSecretExists(l, secret.Name, at.at("name"))
		}
	}
	for i, secret := range s.plan.Spec.ImagePullSecrets {
		if l.facts != nil && l.facts.Secrets != nil && !l.secrets[s.plan.Namespace+"/"+secret.Name] && !slices.Contains(l.facts.Secrets, s.plan.Namespace+"/"+secret.Name) {
			s.addAs(Warning, "secret-missing", spec("imagePullSecrets", i), fmt.Sprintf("Secret %s is not in namespace %s: images are pulled without it", quote(secret.Name), s.plan.Namespace), "")
		}
	}
}

// judgeSecretExists looks in the files and in the cluster. Where neither tells,
// a Secret of a name much like it, or of the same name elsewhere, does.
func (s *subject) judgeSecretExists(l *linter, name string, at path) {
	ns := s.plan.Namespace
	if l.secrets[ns+"/"+name] || ns != "" && l.secrets["/"+name] {
		return
	}
	var known []string
	if l.facts != nil {
		known = l.facts.Secrets
	}
	if slices.Contains(known, ns+"/"+name) {
		return
	}
	var here []string
	elsewhere := ""
	for _, all := range [][]string{known, keys(l.secrets)} {
		for _, k := range all {
			switch n, other, _ := strings.Cut(k, "/"); {
			case n == ns || n == "":
				here = append(here, other)
			case other == name:
				elsewhere = n
			}
		}
	}
	const effect = ": the Plan is invalid and no Job is made"
	switch near := nearest(name, here); {
	case elsewhere != "":
		s.add("secret-missing", at, fmt.Sprintf("Secret %s is in namespace %s, and the Plan looks in %s", quote(name), elsewhere, ns)+effect, "move one of the two")
	case near != "":
		s.add("secret-missing", at, fmt.Sprintf("Secret %s does not exist, and %s does", quote(name), near)+effect, "did you mean "+near+"?")
	case known != nil:
		s.add("secret-missing", at, fmt.Sprintf("Secret %s does not exist in namespace %s", quote(name), ns)+effect, "create it first")
	default:
		for _, k := range l.idle {
			if n, other, _ := strings.Cut(k, "/"); n == ns || n == "" {
				s.add("secret-missing", at, fmt.Sprintf("Secret %s is not in the files, and %s is, which no Plan names", quote(name), other)+effect, "did you mean "+other+"?")
				return
			}
		}
	}
}

// idleSecrets are Secrets that the files bring and no Plan of them names
// anywhere: most likely one that a Plan calls by another name.
func (l *linter) idleSecrets() []string {
	named := map[string]bool{}
	for _, s := range l.subjects {
		sp, ns := &s.plan.Spec, s.plan.Namespace+"/"
		for _, x := range sp.Secrets {
			named[ns+x.Name] = true
		}
		for _, x := range sp.ImagePullSecrets {
			named[ns+x.Name] = true
		}
		for _, c := range []*ContainerSpec{sp.Prepare, sp.Upgrade} {
			if c == nil {
				continue
			}
			for _, e := range c.EnvFrom {
				if e.SecretRef != nil {
					named[ns+e.SecretRef.Name] = true
				}
			}
			for _, e := range c.Env {
				if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
					named[ns+e.ValueFrom.SecretKeyRef.Name] = true
				}
			}
		}
	}
	return slices.DeleteFunc(keys(l.secrets), func(k string) bool { return named[k] })
}

func keys(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for k := range set {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (s *subject) judgeAccount(l *linter) {
	name, ns, at := s.plan.Spec.ServiceAccountName, s.plan.Namespace, spec("serviceAccountName")
	if placeholder(name) {
		s.add("placeholder", at, quote(name)+" is a placeholder that nothing filled in", "render the file before it is applied")
		return
	}
	if name == "" || name == "default" {
		var needs []string
		if s.plan.Spec.Drain != nil {
			needs = append(needs, "drain")
		} else if s.plan.Spec.Cordon {
			needs = append(needs, "cordon")
		}
		if s.waiting {
			needs = append(needs, "read the Plan it waits for")
		}
		if len(needs) > 0 {
			is := "is absent, so the account default is used"
			if name != "" {
				is = "is default"
			}
			s.add("service-account", at, is+", which may not "+strings.Join(needs, " or "), "serviceAccountName: "+DefaultServiceAccount)
		}
		return
	}
	if l.accounts[ns+"/"+name] || ns != "" && l.accounts["/"+name] {
		return
	}
	var known []string
	if l.facts != nil {
		known = l.facts.ServiceAccounts
	}
	if slices.Contains(known, ns+"/"+name) {
		return
	}
	var here []string
	for _, k := range append(slices.Clone(known), keys(l.accounts)...) {
		if n, other, _ := strings.Cut(k, "/"); n == ns {
			here = append(here, other)
		}
	}
	fix := "create it first"
	if near := nearest(name, here); near != "" {
		fix = "did you mean " + near + "?"
	}
	switch {
	case known != nil:
		s.add("service-account-missing", at, fmt.Sprintf("account %s does not exist in namespace %s: the Job is made, and no Pod ever", quote(name), ns), fix)
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		s.add("service-account-missing", at, quote(name)+" is no name of an account: no Pod is ever made", "")
	case ns == DefaultNamespace && name != DefaultServiceAccount && distance(name, DefaultServiceAccount, 2) <= 2:
		s.addAs(Warning, "service-account-missing", at, fmt.Sprintf("%s is not the account of the shipped manifest, and looks like it", quote(name)), "did you mean "+DefaultServiceAccount+"?")
	}
}
