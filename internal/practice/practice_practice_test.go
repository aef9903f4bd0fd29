//go:build practice

package practice_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k3sladder/k3sladder/internal/practice"
)

func TestStart(t *testing.T) {
	c := practice.Start(t, practice.Options{})
	nodes, err := c.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	t.Log(nodes.Items[0].Status.NodeInfo.KubeletVersion, err)
	v, err := c.Client().Discovery().ServerVersion()
	t.Log(v, err)
}
