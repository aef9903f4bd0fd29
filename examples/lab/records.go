package main

// The lab's files. Their keys are the lab's own and stay as they are.

const (
	beforeFile     = "before.json"
	workloadFile   = "workload.json"
	deprecatedFile = "deprecated.txt"
	backupDir      = "backup"
	backupDatabase = "backup/state.db"
	backupToken    = "backup/token"
	backupFile     = "backup.json"
	drainFile      = "drain.txt"
	upgradeFile    = "upgrade.json"
	afterFile      = "after.json"
	planFile       = "plan.yaml"
	reportFile     = "report.md"
	// What the page is made from, and the page.
	snapshotBefore = "snapshot-before.json.gz"
	snapshotAfter  = "snapshot-after.json.gz"
	pageFile       = "report.html"
)

type beforeRecord struct {
	ServerVersion  string `json:"server_version"`
	KubeletVersion string `json:"kubelet_version"`
	NodeName       string `json:"node_name"`
	NodeUID        string `json:"node_uid"`
	// ClusterUID is the UID of namespace kube-system.
	ClusterUID string `json:"cluster_uid"`
	// TraefikDeployed shows whether an upgrade brought Traefik back.
	TraefikDeployed bool `json:"traefik_deployed"`
	// NodeTookPods: the node was not cordoned.
	NodeTookPods bool   `json:"node_took_pods"`
	RecordedAt   string `json:"recorded_at"`
}

type workloadRecord struct {
	DeploymentUID   string `json:"deployment_uid"`
	PDBMinAvailable int    `json:"pdb_min_available"`
	WebReplicas     int    `json:"web_replicas"`
	RecordedAt      string `json:"recorded_at"`
}

type backupRecord struct {
	K3sVersion  string `json:"k3s_version"`
	TokenSHA256 string `json:"token_sha256"`
	// TokenOpens is whether the token opens the copy: yes, no or none (no
	// bootstrap record).
	TokenOpens string `json:"token_opens_datastore"`
	Bytes      int64  `json:"state_db_bytes"`
	RecordedAt string `json:"recorded_at"`
}

type upgradeRecord struct {
	From       string `json:"from"`
	To         string `json:"to"`
	NodeUID    string `json:"node_uid"`
	RecordedAt string `json:"recorded_at"`
}

type afterRecord struct {
	ServerVersion   string   `json:"server_version"`
	DeploymentUID   string   `json:"deployment_uid"`
	WebReady        int      `json:"web_ready"`
	WebRestarts     int      `json:"web_restarts"`
	TraefikDeployed bool     `json:"traefik_deployed"`
	KubeletAllowed  []string `json:"kubelet_allowed"`
	KubectlAllowed  []string `json:"kubectl_allowed"`
	KubeletVersion  string   `json:"kubelet_version"`
	NodeUID         string   `json:"node_uid"`
	ClusterUID      string   `json:"cluster_uid"`
	RecordedAt      string   `json:"recorded_at"`
}
