package suc

import "slices"

// Rule is one thing that [Lint] looks for.
type Rule struct {
	Code string `json:"code"`
	// Severity the rule usually has; facts about the cluster can change it.
	Severity Severity `json:"severity"`
	// Text says in a sentence what happens to such a Plan.
	Text string `json:"text"`
	// Source is where the behaviour is documented or can be read.
	Source string `json:"source"`
}

// Where the controller does what the rules speak of.
const (
	srcTree     = "https://github.com/rancher/system-upgrade-controller/blob/v0.20.1/"
	srcTypes    = srcTree + "pkg/apis/upgrade.cattle.io/v1/types.go"
	srcCRD      = srcTree + "pkg/crds/yaml/generated/upgrade.cattle.io_plans.yaml"
	srcPlan     = srcTree + "pkg/upgrade/plan/plan.go"
	srcUpgrade  = srcTree + "pkg/upgrade/handle_upgrade.go"
	srcBatch    = srcTree + "pkg/upgrade/handle_batch.go"
	srcJob      = srcTree + "pkg/upgrade/job/job.go"
	srcImage    = srcTree + "pkg/upgrade/container/container.go"
	srcControl  = srcTree + "pkg/upgrade/controller.go"
	srcRoles    = srcTree + "manifests/clusterrolebinding.yaml"
	srcScript   = "https://github.com/k3s-io/k3s-upgrade/blob/master/scripts/upgrade.sh"
	srcWindow   = "https://github.com/kubereboot/kured/blob/1.13.1/pkg/timewindow/timewindow.go"
	srcAuto     = "https://docs.k3s.io/upgrades/automated"
	srcSkew     = "https://kubernetes.io/releases/version-skew-policy/"
	srcLabels   = "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set"
	srcTaints   = "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/"
	srcMaster   = "https://github.com/k3s-io/k3s/pull/12395"
	srcVolumes  = "https://kubernetes.io/docs/concepts/storage/volumes/"
	srcYAML     = "https://yaml.org/spec/1.2.2/"
	srcQuorum   = "https://etcd.io/docs/v3.6/faq/#what-is-failure-tolerance"
	srcChannels = "https://docs.k3s.io/upgrades/manual#release-channels"
)

// rules are ordered as a reader meets the fields of a Plan.
var rules = []Rule{
	{"yaml", Error, "the file is no YAML, and no client takes it", srcYAML},
	{"yaml-duplicate-key", Error, "a key is given twice; the last one wins and no client says so", srcYAML + "#3213-node-comparison"},
	{"wrong-kind", Error, "the object is a Plan in all but its apiVersion or kind, and no cluster takes it", srcCRD},
	{"wrong-type", Error, "a value has a type that the API server refuses", srcCRD},
	{"unknown-field", Error, "a field does not exist; clients without strict validation drop it without a word", srcTypes},
	{"required", Error, "a field without which the API server refuses the Plan", srcCRD},
	{"not-allowed", Error, "a value is none of those that the API server takes", srcCRD},
	{"too-few", Error, "a list is shorter than the API server allows", srcCRD},
	{"number-overflow", Error, "a number does not fit into 32 bits: the controller cannot decode it, nor any other Plan after it", srcTypes},
	{"null-field", Warning, "a field has no value, which means the same as leaving it out", srcTypes},
	{"field-too-new", Error, "this controller does not know the field and acts as if it were not there", srcTypes},

	{"name-missing", Error, "the Plan has no name", srcTypes},
	{"name-invalid", Error, "the API server refuses the name", "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/"},
	{"name-too-long", Error, "the Plan's name must be a label value, at most 63 characters", srcJob},
	{"duplicate-plan", Error, "two Plans of a file have the same name, and the second replaces the first", srcTypes},
	{"other-namespace", Error, "the controller sees Plans of its own namespace only", srcControl},
	{"metadata-label", Error, "a label or annotation that the API server refuses", srcLabels},
	{"digest-path", Warning, "the digest annotation names a field that does not exist, so its changes are not noticed", srcPlan},

	{"no-version", Error, "neither version nor channel: nothing is resolved and no Job is made", srcUpgrade},
	{"placeholder", Error, "a template's placeholder was not filled in", srcPlan},
	{"not-a-version", Error, "no release has this name, so its image does not exist", srcPlan},
	{"version-label", Error, "the version becomes a label value and an image tag, and is neither", srcJob},
	{"version-dash", Warning, "the release's name is written with a plus", srcPlan},
	{"skips-minor", Error, "more than one minor up, which Kubernetes does not support and the controller does not check", srcSkew},
	{"downgrade", Error, "older than what runs; the upgrade image refuses after the node was cordoned", srcAuto},
	{"older-build", Error, "the upgrade image refuses a release from an earlier month than the running one's", srcScript},
	{"kubelet-skew", Error, "kubelets of the cluster would be too old for the servers", srcSkew + "#kubelet"},
	{"etcd-stop", Error, "the embedded etcd needs a stop at another release in between", "https://etcd.io/blog/2025/upgrade_from_3.5_to_3.6_issue_followup/"},
	{"agents-too-old", Error, "servers from 1.32 on hang the Pods of agents older than January 2025", "https://github.com/k3s-io/k3s/issues/11551"},
	{"defective-release", Warning, "the release is known to be defective", "https://github.com/k3s-io/k3s/releases"},
	{"distro-mismatch", Error, "version, channel, image and nodes are of different distributions", srcImage},

	{"channel-and-version", Warning, "version wins and the channel is never asked", srcUpgrade},
	{"channel-not-url", Error, "the channel is no URL that the controller can ask", srcPlan},
	{"channel-http", Warning, "the redirect to https makes the channel's own name the version", srcPlan},
	{"channel-root", Error, "the URL is not that of one channel; its last word becomes the version", srcPlan},
	{"channel-unknown", Error, "the channel server has no such channel", srcChannels},

	{"concurrency-zero", Error, "no node is ever taken, and the Plan says Complete", srcPlan},
	{"concurrency-quorum", Warning, "so many servers at once stop the cluster", srcQuorum},
	{"deadline", Warning, "the Job ends before an upgrade can", srcJob},

	{"no-selector", Error, "no nodeSelector: no node is selected, and the Plan says Complete", srcPlan},
	{"empty-selector", Error, "an empty nodeSelector selects every node, servers and agents", srcPlan},
	{"bad-selector", Error, "the nodeSelector is none; the controller tries for ever and misses other nodes' events", srcPlan},
	{"selector-matches-nothing", Error, "no node fits; the Plan says Complete although nothing was done", srcPlan},
	{"removed-label", Error, "k3s servers have no label node-role.kubernetes.io/master since v1.34", srcMaster},
	{"mixed-roles", Warning, "servers and agents are taken in one Plan, in an order that nobody chose", srcPlan},
	{"server-as-agent", Error, "a Plan that waits for the servers selects a server, and waits for itself", srcScript},
	{"plans-overlap", Warning, "two Plans take the same node", srcJob},
	{"hostname-label", Error, "the hostname label is not the node's name, and its unfinished Job is deleted again and again", srcBatch},
	{"node-name", Error, "the node's name does not fit into a Job's labels or makes two Jobs of one name", srcJob},
	{"cordoned-before", Warning, "a node that somebody cordoned is uncordoned when its Job is done", "https://github.com/rancher/system-upgrade-controller/issues/341"},
	{"toleration", Error, "the Job's Pod does not tolerate a selected node's taint and stays Pending", srcTaints},
	{"bad-toleration", Error, "the API server refuses the toleration, and with it the Job", srcTaints},
	{"windows-node", Warning, "a Windows node needs an image that the controller has no default for", srcUpgrade},

	{"service-account", Warning, "the account may neither cordon, drain nor read Plans", srcRoles},
	{"service-account-missing", Error, "the account does not exist, so no Pod is ever made", srcRoles},
	{"secret-missing", Error, "a Secret does not exist, so the Plan is invalid", srcPlan},
	{"secret-mount", Error, "a Secret's volume makes the Job invalid", srcImage},

	{"image-reference", Error, "the image reference cannot be read: InvalidImageName", srcImage},
	{"unknown-image", Warning, "the image looks like the published one and is not", "https://docs.k3s.io/upgrades/automated#configure-plans"},
	{"image-tag-mismatch", Error, "the image's own tag is installed, whatever the version says", srcImage},
	{"prepare-tag-mismatch", Warning, "the prepare image is of another release than the Plan", srcImage},
	{"prepare-untagged", Error, "controllers before v0.5.0 add no tag to a prepare image", srcImage},
	{"volume", Error, "a volume makes the Job invalid", srcVolumes + "#hostpath"},
	{"prepare-volume", Error, "the Pod's volumes come from spec.upgrade alone", srcJob},
	{"env", Error, "a variable makes the Job invalid", srcJob},
	{"security-context", Warning, "an own security context replaces the privileged one that the upgrade needs", srcJob},

	{"prepare-runs-upgrade", Error, "without args the image upgrades the node in the prepare step, before the cordon", "https://github.com/k3s-io/k3s-upgrade/blob/master/Dockerfile"},
	{"prepare-args", Error, "the step calls what the upgrade image does not have, or what the step is not for", srcScript},
	{"prepare-no-name", Error, "prepare is called without the name of the Plan to wait for", srcScript},
	{"prepare-missing-plan", Error, "the Plan to wait for does not exist in this namespace", srcScript},
	{"prepare-cycle", Error, "the Plans wait for each other", srcScript},
	{"prepare-on-server", Error, "a server waits until all servers, itself included, are upgraded", srcScript},
	{"pair-version-mismatch", Error, "agents wait for a version that the servers do not get", srcScript},
	{"agent-without-prepare", Warning, "agents are upgraded together with the servers, or before them", srcAuto},

	{"cordon-and-drain", Warning, "cordon has no effect beside drain", srcJob},
	{"drain-conflict", Error, "deleteLocalData and deleteEmptydirData exclude each other", srcPlan},
	{"drain-force", Warning, "without force a Pod that no controller owns stops the drain", "https://kubernetes.io/docs/reference/kubectl/generated/kubectl_drain/"},
	{"drain-podselector", Error, "the podSelector is none, so the Plan is invalid", srcPlan},
	{"drain-timeout", Error, "the timeout is not what kubectl drain takes", srcJob},
	{"drain-timeout-ns", Error, "an integer timeout counts nanoseconds", srcTypes},
	{"drain-over-deadline", Warning, "the drain may take longer than the Job", srcJob},

	{"window-field", Error, "a window needs days, startTime and endTime", srcWindow},
	{"window-time", Error, "no time of day", srcWindow},
	{"window-zone", Error, "no zone of the IANA database", srcWindow},
	{"window-empty", Error, "the window is open for one second or one minute a day", srcWindow},
	{"window-wrap", Warning, "after midnight the window counts as the next day", srcWindow},

	{"delay-unit", Error, "no Go duration: the controller cannot decode it, nor any other Plan after it", srcTypes},
	{"delay-negative", Error, "a negative delay makes the Plan invalid", srcPlan},
	{"postcomplete-label", Error, "no label: the node is never marked, and yet the Plan turns Complete", srcBatch},
}

var ruleByCode = func() map[string]*Rule {
	m := make(map[string]*Rule, len(rules))
	for i := range rules {
		m[rules[i].Code] = &rules[i]
	}
	return m
}()

// Rules are what [Lint] looks for. The slice is the caller's.
func Rules() []Rule { return slices.Clone(rules) }
