package skew_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"

	"github.com/k3sladder/k3sladder/skew"
)

// randomVersion builds versions from few parts, so that they often nearly meet.
func randomVersion(r *rand.Rand) skew.Version {
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	text := "v1." + pick("9", "10", "34") + "." + pick("0", "3", "11")
	text += pick("", "", "-rc1", "-rc2", "-rc10", "-rc.1", "-alpha.1", "-alpha.1.2", "-alpha.beta", "-1", "-x-y")
	switch pick("", "+", "-") {
	case "+":
		text += "+" + pick("k3s1", "k3s2", "k3s10", "k3s.1", "k3s01", "k3s", "rke2r1", "rke2r10", "k0s.0", "k0s", "aba1e8d",
			"abcdefa", "vmware.2", "vmware.10", "vmware-1", "IKS", "k3s1-dirty", "k3s-1a2b", "0", "00", "9", "10", "a0b1", "a00b1", "eks-1")
	case "-":
		text += "-" + pick("k3s1", "k3s3", "rke2r2", "eks-1234", "eks-12", "gke.9", "gke.100", "k0s.0", "tke.3", "aliyun.1")
	}
	return skew.MustParse(text)
}

func TestCompareIsATotalOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		a, b, c := randomVersion(r), randomVersion(r), randomVersion(r)
		ab, ba := skew.Compare(a, b), skew.Compare(b, a)
		if sign(ab) != -sign(ba) {
			t.Fatalf("not antisymmetric: %s and %s: %d, %d", a, b, ab, ba)
		}
		if (ab == 0) != (a.String() == b.String()) || (ab == 0) != (a == b) {
			t.Fatalf("%s and %s: Compare %d, == %v", a, b, ab, a == b)
		}
		if ab <= 0 && skew.Compare(b, c) <= 0 && skew.Compare(a, c) > 0 {
			t.Fatalf("not transitive: %s <= %s <= %s", a, b, c)
		}
	}
}

// Where semver sees a difference, the order is semver's.
func TestCompareKeepsSemversPrecedence(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	plain := func(v skew.Version) *semver.Version {
		text, _, _ := strings.Cut(v.Kubernetes().String(), "+")
		return semver.MustParse(text)
	}
	for range 50_000 {
		a, b := randomVersion(r), randomVersion(r)
		if want := plain(a).Compare(plain(b)); want != 0 && sign(skew.Compare(a, b)) != want {
			t.Fatalf("%s and %s: %d, semver says %d", a, b, skew.Compare(a, b), want)
		}
	}
}

// FuzzParse: whatever is read prints a form that reads as the same version, and
// a distribution's image tag does too.
func FuzzParse(f *testing.F) {
	for _, p := range pasted {
		f.Add(p.in)
	}
	f.Add("v1.2.3-rc1--k3s1")
	f.Add("v1.2.3-k3s1-linux-amd64-arm64")
	f.Add("x/v1.2.3/y")
	f.Fuzz(func(t *testing.T, s string) {
		v, err := skew.Parse(s)
		if err != nil {
			if v != (skew.Version{}) {
				t.Fatalf("%q: a version beside an error", s)
			}
			return
		}
		again, err := skew.Parse(v.String())
		if err != nil || again != v {
			t.Fatalf("%q gives %s, which gives %s, %v", s, v, again, err)
		}
		if d := v.Distribution(); d == "k3s" || d == "rke2" || d == "k0s" || d == "eks" || d == "gke" {
			if tag, err := skew.Parse(v.ImageTag()); err != nil || tag != v {
				t.Fatalf("%q gives %s, its tag %s gives %s, %v", s, v, v.ImageTag(), tag, err)
			}
		}
		if strings.ContainsAny(v.ImageTag(), "+") {
			t.Fatalf("%q gives the image tag %s", s, v.ImageTag())
		}
		if m, err := skew.ParseMinor(v.String()); err != nil || m != v.Minor() {
			t.Fatalf("%s: minor %s, %v", v, m, err)
		}
		if skew.Compare(v, v) != 0 {
			t.Fatalf("%s is not itself", v)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, bb := range []struct{ name, in string }{
		{"canonical", "v1.34.11+k3s1"},
		{"image-tag", "v1.35.0-rc1-k3s1"},
		{"pasted", "docker.io/rancher/k3s-upgrade:v1.34.11-k3s1"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := skew.Parse(bb.in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompare(b *testing.B) {
	x, y := skew.MustParse("v1.34.3+k3s2"), skew.MustParse("v1.34.3+k3s10")
	b.ReportAllocs()
	for b.Loop() {
		if skew.Compare(x, y) >= 0 {
			b.Fatal("order")
		}
	}
}

// The figures that the documentation promises.
func TestParseAllocatesLittle(t *testing.T) {
	for _, in := range []string{"v1.34.11+k3s1", "1.34.11", "v1.34.11-k3s1", "v1.32.4-eks-1234", "docker.io/rancher/k3s:v1.34.11-k3s1"} {
		if n := testing.AllocsPerRun(100, func() { _, _ = skew.Parse(in) }); n > 3 {
			t.Errorf("Parse(%q) allocates %v times", in, n)
		}
	}
}
