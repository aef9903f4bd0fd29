package cli

import "testing"

func TestDataDirIsK3sDefaultUnlessTheEnvironmentNamesAnother(t *testing.T) {
	t.Setenv("K3S_DATA_DIR", "")
	if got := DataDir(); got != "/var/lib/rancher/k3s" {
		t.Errorf("without K3S_DATA_DIR: %s", got)
	}
	t.Setenv("K3S_DATA_DIR", "/srv/k3s")
	if got := DataDir(); got != "/srv/k3s" {
		t.Errorf("with K3S_DATA_DIR=/srv/k3s: %s", got)
	}
}
