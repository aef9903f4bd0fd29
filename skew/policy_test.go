package skew_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/skew"
)

// Every example of https://kubernetes.io/releases/version-skew-policy/, with
// 1.37 as the newest minor, and what the page says about kubelets and
// kube-proxies older than 1.25.
var policyExamples = []struct {
	name      string
	component skew.Component
	servers   string
	want      string
}{
	{"newest kube-apiserver at 1.37, others at 1.37 and 1.36", skew.KubeAPIServer, "1.37.1 1.36.5", "1.36 1.37"},
	{"one kube-apiserver, another beside it", skew.KubeAPIServer, "1.37.1", "1.36 1.37 1.38"},
	{"kubelet with kube-apiserver at 1.37", skew.Kubelet, "1.37.1", "1.34 1.35 1.36 1.37"},
	{"kubelet with kube-apiserver at 1.37 and 1.36", skew.Kubelet, "1.37.1 1.36.5", "1.34 1.35 1.36"},
	{"kube-proxy with kube-apiserver at 1.37", skew.KubeProxy, "1.37.1", "1.34 1.35 1.36 1.37"},
	{"kube-proxy with kube-apiserver at 1.37 and 1.36", skew.KubeProxy, "1.37.1 1.36.5", "1.34 1.35 1.36"},
	{"controller manager with kube-apiserver at 1.37", skew.ControllerManager, "1.37.1", "1.36 1.37"},
	{"controller manager with 1.37 and 1.36", skew.ControllerManager, "1.37.1 1.36.5", "1.36"},
	{"scheduler with kube-apiserver at 1.37", skew.Scheduler, "1.37.1", "1.36 1.37"},
	{"scheduler with 1.37 and 1.36", skew.Scheduler, "1.37.1 1.36.5", "1.36"},
	{"cloud controller manager with kube-apiserver at 1.37", skew.CloudControllerManager, "1.37.1", "1.36 1.37"},
	{"cloud controller manager with 1.37 and 1.36", skew.CloudControllerManager, "1.37.1 1.36.5", "1.36"},
	{"kubectl with kube-apiserver at 1.37", skew.Kubectl, "1.37.1", "1.36 1.37 1.38"},
	{"kubectl with kube-apiserver at 1.37 and 1.36", skew.Kubectl, "1.37.1 1.36.5", "1.36 1.37"},
	{"kubelets older than 1.25 only two minors back: server 1.25", skew.Kubelet, "1.25.16", "1.23 1.24 1.25"},
	{"kubelets older than 1.25 only two minors back: server 1.26", skew.Kubelet, "1.26.15", "1.24 1.25 1.26"},
	{"kubelets older than 1.25 only two minors back: server 1.27", skew.Kubelet, "1.27.16", "1.25 1.26 1.27"},
	{"three minors back from 1.28 on", skew.Kubelet, "1.28.15", "1.25 1.26 1.27 1.28"},
	{"kube-proxies older than 1.25 only two minors back", skew.KubeProxy, "1.27.16", "1.25 1.26 1.27"},
	{"three servers in the middle of an upgrade", skew.Kubelet, "1.35.9 1.34.12 1.34.12", "1.32 1.33 1.34"},
	{"the order of the servers does not matter", skew.Kubelet, "1.34.12 1.35.9 1.34.12", "1.32 1.33 1.34"},
	{"servers two minors apart leave kubectl one", skew.Kubectl, "1.34.12 1.36.5", "1.35"},
	{"servers too far apart leave nothing", skew.ControllerManager, "1.34.12 1.36.5", ""},
	{"no minor below zero", skew.Kubelet, "1.1.0", "1.0 1.1"},
	{"servers of different majors leave nothing", skew.Kubelet, "1.37.1 2.0.0", ""},
	{"no server", skew.Kubelet, "", ""},
	{"an unknown component", skew.Component("etcd"), "1.37.1", ""},
}

func TestAllowedFollowsThePolicyPage(t *testing.T) {
	t.Parallel()
	for _, tt := range policyExamples {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := skew.Allowed(tt.component, versions(tt.servers)...)
			if text := strings.Trim(fmt.Sprint(got), "[]"); text != tt.want {
				t.Errorf("Allowed(%s, %s) = %s, want %s", tt.component, tt.servers, text, tt.want)
			}
		})
	}
}

// Allowed and Check are two views of one policy.
func TestCheckAgreesWithAllowed(t *testing.T) {
	t.Parallel()
	components := []skew.Component{skew.KubeAPIServer, skew.Kubelet, skew.KubeProxy, skew.ControllerManager,
		skew.Scheduler, skew.CloudControllerManager, skew.Kubectl}
	at := func(n int) skew.Version { return skew.MustParse(fmt.Sprintf("v1.%d.3+k3s1", n)) }
	for _, c := range components {
		for one := 18; one < 32; one++ {
			for other := 18; other < 32; other++ {
				allowed := map[skew.Minor]bool{}
				for _, m := range skew.Allowed(c, at(one), at(other)) {
					allowed[m] = true
				}
				for n := 10; n < 40; n++ {
					err := skew.Check(c, at(n), at(one), at(other))
					if allowed[skew.Minor{Major: 1, Minor: n}] != (err == nil) {
						t.Fatalf("%s 1.%d with servers 1.%d and 1.%d: allowed %v, check %v", c, n, one, other, err != nil, err)
					}
				}
			}
		}
	}
}

func TestCheckNamesTheRule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		component skew.Component
		version   string
		servers   string
		rule      string
		says      string
	}{
		{"a kubelet newer than the server", skew.Kubelet, "v1.36.0+k3s1", "v1.35.8+k3s1", "kubelet", "kubelet v1.36.0+k3s1 is 1 minor newer than kube-apiserver v1.35.8+k3s1"},
		{"a kubelet four minors behind", skew.Kubelet, "v1.32.13+k3s1", "v1.36.4+k3s1", "kubelet", "4 minors older"},
		{"an old kubelet three minors behind", skew.Kubelet, "v1.24.17+k3s1", "v1.27.16+k3s1", "kubelet-before-1.25", "3 minors older"},
		{"the HA server that forbids it", skew.Kubelet, "v1.36.0+k3s1", "v1.36.4+k3s1 v1.35.8+k3s1", "kubelet", "kube-apiserver v1.35.8+k3s1"},
		{"a scheduler two minors behind", skew.Scheduler, "v1.34.0", "v1.36.4", "kube-scheduler", "2 minors older"},
		{"kubectl two minors ahead", skew.Kubectl, "v1.38.0", "v1.36.4", "kubectl", "2 minors newer"},
		{"API servers two minors apart", skew.KubeAPIServer, "v1.34.0", "v1.36.4", "kube-apiserver-ha", "2 minors older"},
		{"another major", skew.Kubelet, "v1.34.0", "v2.0.0", "kubelet", "of another major"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := skew.Check(tt.component, skew.MustParse(tt.version), versions(tt.servers)...)
			var broken *skew.SkewError
			if !errors.As(err, &broken) {
				t.Fatalf("%v, want a *SkewError", err)
			}
			if broken.Rule.ID != tt.rule || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), tt.rule) {
				t.Errorf("rule %s: %v", broken.Rule.ID, err)
			}
		})
	}
	if err := skew.Check(skew.Kubelet, skew.MustParse("1.34.1")); !errors.Is(err, skew.ErrNoServers) {
		t.Errorf("without servers: %v", err)
	}
	if err := skew.Check("etcd", skew.MustParse("1.34.1"), skew.MustParse("1.34.1")); !errors.Is(err, skew.ErrUnknownComponent) {
		t.Errorf("an unknown component: %v", err)
	}
}

func TestWhatIsNotKnownIsNotCalledRight(t *testing.T) {
	t.Parallel()
	v, none := skew.MustParse("v1.34.11+k3s1"), skew.Version{}
	for _, pair := range [][2]skew.Version{{none, v}, {v, none}, {none, none}} {
		err := skew.Check(skew.Kubelet, pair[0], pair[1])
		var broken *skew.SkewError
		if !errors.As(err, &broken) || broken.Rule.ID != "kubelet" || !strings.Contains(err.Error(), "a version is not known") {
			t.Errorf("kubelet %q beside %q: %v", pair[0], pair[1], err)
		}
	}
	if got := skew.Allowed(skew.Kubelet, v, none); got != nil {
		t.Errorf("allowed beside a server of no version: %v", got)
	}
	fleet := skew.Fleet{Servers: []skew.Server{{Name: "s", Version: v}}, Nodes: []skew.Node{{Name: "n"}}}
	// A Violation in a list is printed with who it is.
	if got := fmt.Sprint(fleet.Violations()); !strings.HasPrefix(got, "[node n: kubelet of no version cannot be measured against kube-apiserver v1.34.11+k3s1") {
		t.Error(got)
	}
}

// The page's sentences about the kubelet beside kube-proxy.
func TestKubeProxyBesideItsKubelet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		proxy, kubelet string
		rule           string
	}{
		{"1.34.1", "1.37.1", ""},
		{"1.37.1", "1.34.1", ""},
		{"1.34.1", "1.34.1", ""},
		{"1.33.1", "1.37.1", "kube-proxy-beside-kubelet"},
		{"1.37.1", "1.33.1", "kube-proxy-beside-kubelet"},
		{"1.24.1", "1.26.1", ""},
		{"1.24.1", "1.27.1", "kube-proxy-beside-kubelet-before-1.25"},
		{"1.24.1", "1.21.1", "kube-proxy-beside-kubelet-before-1.25"},
		{"1.25.1", "1.22.1", ""},
	} {
		err := skew.CheckBesideKubelet(skew.MustParse(tt.proxy), skew.MustParse(tt.kubelet))
		var broken *skew.SkewError
		errors.As(err, &broken)
		if (err == nil) != (tt.rule == "") || broken != nil && broken.Rule.ID != tt.rule {
			t.Errorf("kube-proxy %s beside kubelet %s: %v, want rule %q", tt.proxy, tt.kubelet, err, tt.rule)
		}
	}
}

func TestEveryRuleHasIdTextAndSource(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range append(skew.Rules(), skew.RuleOneMinor, skew.RuleNeverDown, skew.RuleSameDistribution) {
		if r.ID == "" || seen[r.ID] || r.Text == "" || !strings.HasPrefix(r.Source, "https://") {
			t.Errorf("%+v", r)
		}
		seen[r.ID] = true
	}
	skew.Rules()[0].ID = "changed"
	if skew.Rules()[0].ID == "changed" {
		t.Error("a caller changed the policy")
	}
}

func versions(list string) []skew.Version {
	var vs []skew.Version
	for _, s := range strings.Fields(list) {
		vs = append(vs, skew.MustParse(s))
	}
	return vs
}
