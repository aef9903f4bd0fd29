package drainprobe

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// operatorHint is what an operator's documentation says about drains.
type operatorHint struct {
	operator string
	is       func(*corev1.Pod) bool
	advice   string
	url      string
}

// operatorHints are the operators whose own budgets most often hold a drain.
var operatorHints = []operatorHint{
	{"Longhorn", func(p *corev1.Pod) bool { return p.Labels["longhorn.io/component"] == "instance-manager" },
		"it keeps a budget on a node's instance-manager while volumes are attached there or the node has a volume's last healthy replica; its setting node-drain-policy decides (default block-if-contains-last-replica; allow-if-replica-is-stopped frees a node whose workloads have gone; always-allow risks data), and on a single node no setting helps short of that: upgrade without a drain",
		"https://longhorn.io/docs/latest/references/settings/#node-drain-policy"},
	{"CloudNativePG", func(p *corev1.Pod) bool { return p.Labels["cnpg.io/cluster"] != "" },
		"with one instance its budget on the primary never allows a disruption; set spec.enablePDB: false on the Cluster for the time of the upgrade, or run more instances",
		"https://cloudnative-pg.io/documentation/current/kubernetes_upgrade/#pod-disruption-budgets"},
	{"Istio", func(p *corev1.Pod) bool {
		return p.Labels["app"] == "istiod" || p.Labels["istio"] == "pilot" || strings.HasPrefix(p.Labels["app"], "istio-") || strings.HasSuffix(p.Labels["istio"], "ingressgateway") || strings.HasSuffix(p.Labels["istio"], "egressgateway")
	},
		"it installs budgets with minAvailable 1 over single replicas; raise autoscaleMin (or replicaCount) to 2, or set global.defaultPodDisruptionBudget.enabled: false for the time of the upgrade",
		"https://istio.io/latest/docs/setup/additional-setup/customize-installation-helm/"},
}

// hints gives advice for the operators whose Pods hold this drain.
func (j *judgement) hints() []Hint {
	out := []Hint{}
	for _, h := range operatorHints {
		var pods []string
		for _, l := range j.shown.left {
			if p := j.shown.run.pod(l.id).obj; h.is(p) {
				pods = append(pods, p.Namespace+"/"+p.Name)
			}
		}
		if len(pods) > 0 {
			out = append(out, Hint{Operator: h.operator, Pods: pods, Advice: h.advice, URL: h.url})
		}
	}
	return out
}
