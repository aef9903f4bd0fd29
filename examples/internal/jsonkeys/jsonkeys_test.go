package jsonkeys

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k3sladder/k3sladder/skew"
)

type inner struct {
	Deep []inner `json:"deep,omitempty"`
	N    int     `json:"n"`
}

type outer struct {
	inner
	Name    string               `json:"name"`
	At      time.Time            `json:"at"`
	Took    time.Duration        `json:"took,omitempty"`
	List    []*inner             `json:"list"`
	Map     map[string][]float64 `json:"map,omitzero"`
	Version skew.Version         `json:"version"`
	Kube    metav1.LabelSelector `json:"kube"`
	Bare    bool
	Hidden  string `json:"-"`
	secret  string
}

func TestOfListsEveryKeyThatIsPrinted(t *testing.T) {
	t.Parallel()
	_ = outer{secret: ""}
	const want = `deep?[].deep?[]  inner, as above
deep?[].n        integer
n                integer
name             string
at               time, RFC 3339
took?            nanoseconds
list[].deep?[]   inner, as above
list[].n         integer
map?<key>[]      number
version          string, Version
kube             Kubernetes LabelSelector
Bare             true or false
`
	if got := Of(&outer{}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := Of([]outer{}); got[:3] != "[]." {
		t.Error(got)
	}
}
