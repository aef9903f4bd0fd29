package connect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAKubeconfigThatIsNotThereIsNamed(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "k3s.yaml")
	t.Setenv("KUBECONFIG", missing)
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // so that it comes back after the test
	if err := os.Unsetenv("KUBERNETES_SERVICE_HOST"); err != nil {
		t.Fatal(err)
	}
	_, err := NewFlags().Config()
	if err == nil || !strings.Contains(err.Error(), "KUBECONFIG is "+missing) {
		t.Errorf("got %v", err)
	}
}
