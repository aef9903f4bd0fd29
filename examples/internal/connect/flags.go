// Package connect is the road from kubectl's flags to a cluster, shared by the
// example binaries that talk to one.
package connect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// K3sKubeconfig is where k3s writes its kubeconfig; it is used when kubectl's
// rules find none (https://docs.k3s.io/cluster-access).
const K3sKubeconfig = "/etc/rancher/k3s/k3s.yaml"

// Flags are kubectl's connection flags: --kubeconfig, --context, -n and
// their family.
type Flags struct{ *genericclioptions.ConfigFlags }

// NewFlags gives the flags with kubectl's defaults.
func NewFlags() *Flags {
	return &Flags{genericclioptions.NewConfigFlags(true)}
}

// AddFlags adds them to cmd and to its subcommands. Help shows --kubeconfig,
// --context and those named in also; the rest of the family works as in kubectl.
func (k *Flags) AddFlags(cmd *cobra.Command, also ...string) {
	flags := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	k.ConfigFlags.AddFlags(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		switch f.Name {
		case "kubeconfig":
			f.Usage = "kubeconfig file (default: $KUBECONFIG, ~/.kube/config, " + K3sKubeconfig + ")"
		case "context":
			f.Usage = "context of the kubeconfig file"
		default:
			f.Hidden = !slices.Contains(also, f.Name)
		}
	})
	cmd.PersistentFlags().AddFlagSet(flags)
}

// Config reads the connection by kubectl's rules ($KUBECONFIG, ~/.kube/config,
// the flags), then from K3sKubeconfig.
func (k *Flags) Config() (*rest.Config, error) {
	cfg, err := k.config()
	// client-go keeps what the error says, and not the error.
	if err != nil && strings.Contains(err.Error(), fs.ErrPermission.Error()) {
		return nil, fmt.Errorf("no cluster to talk to: %w; run as root, or name a readable copy with --kubeconfig or KUBECONFIG", err)
	}
	if err != nil {
		return nil, fmt.Errorf("no cluster to talk to: %w; set --kubeconfig or KUBECONFIG (on a k3s server: %s; make practice-up in the checkout starts one to practise on)", err, K3sKubeconfig)
	}
	// A person waits for these programs: client-go's default of 5 requests a
	// second makes them wait for nothing.
	cfg.QPS, cfg.Burst = 100, 200
	return cfg, nil
}

func (k *Flags) config() (*rest.Config, error) {
	// Where there is nothing to read, ConfigFlags give http://localhost:8080, which
	// is never what a k3s user means.
	raw, err := k.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, err
	}
	_, inPod := os.LookupEnv("KUBERNETES_SERVICE_HOST")
	if len(raw.Clusters) > 0 || *k.APIServer != "" || inPod {
		return k.ToRESTConfig()
	}
	named := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	if *k.KubeConfig == "" && named != "" {
		// client-go passes over files that are not there.
		return nil, fmt.Errorf("KUBECONFIG is %s, which names no cluster or is not there (after make practice-down: unset KUBECONFIG K3S_DATA_DIR)", named)
	}
	if *k.KubeConfig == "" {
		if _, err := os.Stat(K3sKubeconfig); err == nil {
			return clientcmd.BuildConfigFromFlags("", K3sKubeconfig)
		}
	}
	return nil, errors.New("there is no kubeconfig")
}
