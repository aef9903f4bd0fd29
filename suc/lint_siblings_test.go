package suc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k3sladder/k3sladder/skew"
)

// usual is the cluster most cases are meant for.
const usual = `{"serverVersion": "v1.34.11+k3s1", "datastore": "sqlite", "nodes": [
  {"name": "srv-1", "kubeletVersion": "v1.34.11+k3s1", "labels": {"kubernetes.io/hostname": "srv-1", "kubernetes.io/os": "linux", "node-role.kubernetes.io/control-plane": "true"}},
  {"name": "agt-1", "kubeletVersion": "v1.34.11+k3s1", "labels": {"kubernetes.io/hostname": "agt-1", "kubernetes.io/os": "linux"}},
  {"name": "agt-2", "kubeletVersion": "v1.34.11+k3s1", "labels": {"kubernetes.io/hostname": "agt-2", "kubernetes.io/os": "linux"}}]}`

// facts is the usual cluster with some keys replaced.
func facts(t *testing.T, change string) *Facts {
	t.Helper()
	var m map[string]any
	for _, text := range []string{usual, "{" + change + "}"} {
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	f, err := ParseFacts(b)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// edit replaces lines of the good server Plan, or adds to its spec.
func edit(changes ...string) string {
	text := plan("")
	for _, c := range changes {
		key, _, _ := strings.Cut(strings.TrimSpace(c), ":")
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		done := false
		for i, l := range lines {
			if strings.HasPrefix(strings.TrimSpace(l), key+":") && strings.HasPrefix(l, "  ") && !strings.HasPrefix(l, "   ") {
				end := i + 1
				for end < len(lines) && strings.HasPrefix(lines[end], "    ") {
					end++
				}
				repl := []string{}
				if !strings.HasSuffix(c, "DROP") {
					repl = append(repl, "  "+c)
				}
				lines = append(lines[:i:i], append(repl, lines[end:]...)...)
				done = true
				break
			}
		}
		text = strings.Join(lines, "\n") + "\n"
		if !done {
			text += "  " + c + "\n"
		}
	}
	return text
}

// agents is a good agent Plan that waits for the good server Plan.
func agents(changes ...string) string {
	base := []string{
		`nodeSelector: {matchExpressions: [{key: node-role.kubernetes.io/control-plane, operator: DoesNotExist}]}`,
		`prepare: {image: rancher/k3s-upgrade, args: [prepare, k3s-server]}`,
	}
	return "---\n" + strings.Replace(edit(append(base, changes...)...), "name: k3s-server,", "name: k3s-agent,", 1)
}

func named(text, name string) string {
	return strings.Replace(text, "name: k3s-server,", "name: "+name+",", 1)
}

// Variants of the mistakes that the public cases show, and Plans that look
// like them and are right.
func TestSiblings(t *testing.T) {
	t.Parallel()
	const tainted = `"nodes": [{"name": "srv-1", "kubeletVersion": "v1.34.11+k3s1", "labels": {"kubernetes.io/hostname": "srv-1", "node-role.kubernetes.io/control-plane": "true"}, "taints": [{"key": "dedicated", "value": "cp", "effect": "NoSchedule"}]}]`
	servers := func(n int, datastore string) string {
		var out []string
		for i := range n {
			etcd := ""
			if datastore == "etcd" {
				etcd = `, "node-role.kubernetes.io/etcd": "true"`
			}
			out = append(out, fmt.Sprintf(`{"name": "s%d", "kubeletVersion": "v1.34.11+k3s1", "labels": {"kubernetes.io/hostname": "s%d", "node-role.kubernetes.io/control-plane": "true"%s}}`, i, i, etcd))
		}
		return fmt.Sprintf(`"datastore": %q, "nodes": [%s]`, datastore, strings.Join(out, ","))
	}
	one := func(labels, rest string) string {
		return `"nodes": [{"name": "srv-1", "kubeletVersion": "v1.34.11+k3s1", "labels": {"kubernetes.io/hostname": "srv-1", "node-role.kubernetes.io/control-plane": "true"` + labels + `}` + rest + `}]`
	}
	osPlan := func(changes ...string) string {
		return edit(append([]string{"version: \"2026.11\"", "upgrade: {image: ubuntu, command: [apt-get, upgrade]}"}, changes...)...)
	}
	for name, c := range map[string]struct {
		text  string
		facts string
		want  Severity // "" when nothing may be found
		code  string
	}{
		"the base is good":       {edit(), "", "", ""},
		"the pair is good":       {edit() + agents(), "", "", ""},
		"an OS Plan is good":     {osPlan(), "", "", ""},
		"no facts, still silent": {edit() + agents(), `"serverVersion": "", "datastore": "", "nodes": null`, "", ""},

		// version
		"tag of an image as version":      {edit("version: rancher/k3s-upgrade:v1.35.8-k3s1"), "", Error, "version-label"},
		"partial version":                 {edit("version: v1.35"), "", Error, "not-a-version"},
		"without the distribution":        {edit("version: v1.35.8"), "", Error, "not-a-version"},
		"channel name as version":         {edit("version: stable"), "", Error, "not-a-version"},
		"capital V":                       {edit("version: V1.35.8+k3s1"), "", Error, "not-a-version"},
		"double v":                        {edit("version: vv1.35.8+k3s1"), "", Error, "not-a-version"},
		"trailing blank in quotes":        {edit(`version: "v1.35.8+k3s1 "`), "", Error, "version-label"},
		"k3s+1":                           {edit("version: v1.35.8+k3s"), "", Error, "not-a-version"},
		"underscore instead of plus":      {edit("version: v1.35.8_k3s1"), "", Error, "not-a-version"},
		"rke2 release with the k3s image": {edit("version: v1.35.8+rke2r1"), "", Error, "distro-mismatch"},
		"release candidate":               {edit("version: v1.35.10-rc1+k3s1"), "", "", ""},
		"empty version":                   {edit(`version: ""`), "", Error, "no-version"},
		"null version":                    {edit(`version: `), "", Error, "no-version"},
		"shell braces":                    {edit("version: ${K3S_VERSION}"), "", Error, "placeholder"},
		"angle brackets":                  {edit("version: <version>"), "", Error, "placeholder"},
		"envsubst default":                {edit(`version: "${VERSION:-v1.35.8+k3s1}"`), "", Error, "placeholder"},
		"helm":                            {edit(`version: "{{ .Values.version }}"`), "", Error, "placeholder"},
		"unrendered braces":               {edit(`version: {{ version }}`), "", Error, "wrong-type"},
		"windows style":                   {edit(`version: "%K3S_VERSION%"`), "", Error, "placeholder"},
		"integer version":                 {edit(`version: 20261130`), "", Error, "wrong-type"},
		"placeholder in the image":        {edit(`upgrade: {image: "{{ registry }}/rancher/k3s-upgrade"}`), "", Error, "placeholder"},
		"placeholder in the channel":      {edit("version: DROP", `channel: "https://update.k3s.io/v1-release/channels/{{ c }}"`), "", Error, "placeholder"},
		"patch down":                      {edit("version: v1.34.10+k3s1"), "", Error, "downgrade"},
		"revision down":                   {edit("version: v1.34.11+k3s1"), `"serverVersion": "v1.34.11+k3s2", "nodes": null`, Error, "downgrade"},
		"the same version":                {edit("version: v1.34.11+k3s1"), "", "", ""},
		"patch up":                        {edit("version: v1.34.12+k3s1"), "", "", ""},
		"two minors by the API server":    {edit("version: v1.36.4+k3s1"), `"nodes": null`, Error, "skips-minor"},
		"agent skips with its servers":    {agents("version: v1.36.4+k3s1"), "", Error, "skips-minor"},
		"a lagging agent may catch up": {edit() + agents(), `"nodes": [{"name": "s", "kubeletVersion": "v1.34.11+k3s1", "labels": {"kubernetes.io/hostname": "s", "node-role.kubernetes.io/control-plane": "true"}},
		  {"name": "a", "kubeletVersion": "v1.33.5+k3s1", "labels": {"kubernetes.io/hostname": "a"}}]`, "", ""},
		"a kubelet four minors behind": {edit(), `"nodes": [{"name": "s", "kubeletVersion": "v1.34.11+k3s1", "labels": {"kubernetes.io/hostname": "s", "node-role.kubernetes.io/control-plane": "true"}},
		  {"name": "a", "kubeletVersion": "v1.31.14+k3s1", "labels": {"kubernetes.io/hostname": "a"}}]`, Error, "kubelet-skew"},
		"one server lags behind": {edit(), `"nodes": [{"name": "s", "kubeletVersion": "v1.34.11+k3s1", "labels": {"kubernetes.io/hostname": "s", "node-role.kubernetes.io/control-plane": "true"}},
		  {"name": "r", "kubeletVersion": "v1.33.5+k3s1", "labels": {"kubernetes.io/hostname": "r", "node-role.kubernetes.io/control-plane": "true"}}]`, Error, "skips-minor"},
		"older month with rke2 is allowed": {strings.ReplaceAll(edit("version: v1.35.4+rke2r1", "upgrade: {image: rancher/rke2-upgrade}"), "", ""), `"serverVersion": "v1.34.11+rke2r1", "nodes": null`, "", ""},
		"older month":                      {edit("version: v1.35.4+k3s1"), `"nodes": null`, Error, "older-build"},
		"rke2 cluster, k3s Plan":           {edit(), `"serverVersion": "v1.34.11+rke2r1", "nodes": null`, Error, "distro-mismatch"},
		"63 characters":                    {osPlan("version: " + strings.Repeat("a", 63)), "", "", ""},
		"64 characters":                    {osPlan("version: " + strings.Repeat("a", 64)), "", Error, "version-label"},
		"slash in an OS version":           {osPlan("version: focal/5.4"), "", Error, "version-label"},
		"word as an OS version":            {osPlan("version: bionic"), "", "", ""},
		"rke2 with a hyphen":               {edit("version: v1.35.8-rke2r1", "upgrade: {image: rancher/rke2-upgrade}"), `"serverVersion": "", "nodes": null`, Warning, "version-dash"},

		// channel
		"stable known to be next":        {edit("version: DROP", "channel: https://update.k3s.io/v1-release/channels/stable"), `"channels": {"https://update.k3s.io/v1-release/channels/stable": "v1.35.8+k3s1"}`, "", ""},
		"stable known to skip":           {edit("version: DROP", "channel: https://update.k3s.io/v1-release/channels/stable"), `"channels": {"https://update.k3s.io/v1-release/channels/stable": "v1.36.4+k3s1"}`, Error, "skips-minor"},
		"stable not asked":               {edit("version: DROP", "channel: https://update.k3s.io/v1-release/channels/stable"), "", "", ""},
		"channel of the next minor":      {edit("version: DROP", "channel: https://update.k3s.io/v1-release/channels/v1.35"), "", "", ""},
		"channel of a minor too far":     {edit("version: DROP", "channel: https://update.k3s.io/v1-release/channels/v1.36"), "", Error, "skips-minor"},
		"channel of an old minor":        {edit("version: DROP", "channel: https://update.k3s.io/v1-release/channels/v1.33"), "", Error, "downgrade"},
		"trailing slash":                 {edit("version: DROP", "channel: https://update.k3s.io/v1-release/channels/stable/"), "", "", ""},
		"channel list with a slash":      {edit("version: DROP", "channel: https://update.k3s.io/v1-release/channels/"), "", Error, "channel-root"},
		"host alone":                     {edit("version: DROP", "channel: https://update.k3s.io"), "", Error, "channel-root"},
		"misspelt channel":               {edit("version: DROP", "channel: https://update.k3s.io/v1-release/channels/stabel"), "", Error, "channel-unknown"},
		"minor without v":                {edit("version: DROP", "channel: https://update.k3s.io/v1-release/channels/1.35"), "", Error, "channel-unknown"},
		"release as channel":             {edit("version: DROP", "channel: https://update.k3s.io/v1-release/channels/v1.35.8+k3s1"), "", Error, "channel-unknown"},
		"release word as channel":        {edit("version: DROP", "channel: v1.35.8+k3s1"), "", Error, "channel-not-url"},
		"no scheme":                      {edit("version: DROP", "channel: update.k3s.io/v1-release/channels/stable"), "", Error, "channel-not-url"},
		"ftp":                            {edit("version: DROP", "channel: ftp://update.k3s.io/v1-release/channels/stable"), "", Error, "channel-not-url"},
		"misspelt scheme":                {edit("version: DROP", "channel: htps://update.k3s.io/v1-release/channels/stable"), "", Error, "channel-not-url"},
		"plain http":                     {edit("version: DROP", "channel: http://update.k3s.io/v1-release/channels/stable"), "", Warning, "channel-http"},
		"plain http in the house":        {edit("version: DROP", "channel: http://channels.lan/v1-release/channels/stable"), "", "", ""},
		"mirror over https":              {edit("version: DROP", "channel: https://mirror.example.com/k3s/stable"), "", "", ""},
		"rke2 channel for the k3s image": {edit("version: DROP", "channel: https://update.rke2.io/v1-release/channels/stable"), "", Error, "distro-mismatch"},
		"GitHub's latest":                {edit("version: DROP", "channel: https://github.com/k3s-io/k3s/releases/latest"), "", "", ""},
		"GitHub's list":                  {edit("version: DROP", "channel: https://github.com/k3s-io/k3s/releases"), "", Error, "channel-root"},
		"GitHub's API":                   {edit("version: DROP", "channel: https://api.github.com/repos/k3s-io/k3s/releases/latest"), "", Error, "channel-root"},
		"same version and channel":       {edit("channel: https://update.k3s.io/v1-release/channels/stable"), "", Warning, "channel-and-version"},

		// concurrency
		"negative concurrency":           {edit("concurrency: -1"), "", Error, "concurrency-zero"},
		"zero concurrency":               {edit("concurrency: 0"), "", Error, "concurrency-zero"},
		"null concurrency":               {edit("concurrency: "), "", Error, "concurrency-zero"},
		"float concurrency":              {edit("concurrency: 1.5"), "", Error, "wrong-type"},
		"percent concurrency":            {edit("concurrency: 50%"), "", Error, "wrong-type"},
		"two of three etcd members":      {edit("concurrency: 2"), servers(3, "etcd"), Warning, "concurrency-quorum"},
		"two of five etcd members":       {edit("concurrency: 2"), servers(5, "etcd"), "", ""},
		"three of five etcd members":     {edit("concurrency: 3"), servers(5, "etcd"), Warning, "concurrency-quorum"},
		"one of three etcd members":      {edit("concurrency: 1"), servers(3, "etcd"), "", ""},
		"both servers on external SQL":   {edit("concurrency: 2"), servers(2, "external"), Warning, "concurrency-quorum"},
		"one of two on external SQL":     {edit("concurrency: 1"), servers(2, "external"), "", ""},
		"large number, one server":       {edit("concurrency: 10"), "", "", ""},
		"all agents at once is a choice": {edit() + agents("concurrency: 2"), "", "", ""},

		// drain, cordon
		"cordon false beside drain":      {edit("cordon: false", "drain: {force: true}"), "", Warning, "cordon-and-drain"},
		"drain without force":            {edit("cordon: DROP", "drain: {timeout: 5m}"), "", Warning, "drain-force"},
		"drain with force false":         {edit("cordon: DROP", "drain: {force: false}"), "", Warning, "drain-force"},
		"good drain":                     {edit("cordon: DROP", "drain: {force: true, timeout: 5m, gracePeriod: 30, deleteEmptydirData: true}"), "", "", ""},
		"timeout text without unit":      {edit("cordon: DROP", `drain: {force: true, timeout: "300"}`), "", Error, "drain-timeout"},
		"timeout zero":                   {edit("cordon: DROP", `drain: {force: true, timeout: 0s}`), "", "", ""},
		"timeout in days":                {edit("cordon: DROP", `drain: {force: true, timeout: 1d}`), "", Error, "drain-timeout"},
		"timeout negative":               {edit("cordon: DROP", `drain: {force: true, timeout: -5m}`), "", Error, "drain-timeout"},
		"timeout in nanoseconds as text": {edit("cordon: DROP", `drain: {force: true, timeout: 300ns}`), "", Error, "drain-timeout-ns"},
		"timeout as many nanoseconds":    {edit("cordon: DROP", `drain: {force: true, timeout: 300000000000}`), "", Error, "number-overflow"},
		"timeout over the default":       {edit("cordon: DROP", `drain: {force: true, timeout: 20m}`), `"suc": {"jobDeadlineSeconds": 900}`, Warning, "drain-over-deadline"},
		"timeout under a raised default": {edit("cordon: DROP", `drain: {force: true, timeout: 20m}`), `"suc": {"jobDeadlineSeconds": 3600}`, "", ""},
		"timeout without a deadline":     {edit("cordon: DROP", `drain: {force: true, timeout: 2h}`, "jobActiveDeadlineSecs: 0"), "", "", ""},
		"grace period over 32 bits":      {edit("cordon: DROP", `drain: {force: true, gracePeriod: 3000000000}`), "", Error, "number-overflow"},
		"both delete flags false":        {edit("cordon: DROP", `drain: {force: true, deleteLocalData: false, deleteEmptydirData: false}`), "", Error, "drain-conflict"},
		"old delete flag alone":          {edit("cordon: DROP", `drain: {force: true, deleteLocalData: true}`), "", "", ""},
		"podSelector with an operator":   {edit("cordon: DROP", `drain: {force: true, podSelector: {matchExpressions: [{key: app, operator: Equals, values: [a]}]}}`), "", Error, "drain-podselector"},
		"podSelector Exists with values": {edit("cordon: DROP", `drain: {force: true, podSelector: {matchExpressions: [{key: app, operator: Exists, values: [a]}]}}`), "", Error, "drain-podselector"},
		"good podSelector":               {edit("cordon: DROP", `drain: {force: true, podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [a]}]}}`), "", "", ""},
		"drain true":                     {edit("cordon: DROP", `drain: true`), "", Error, "wrong-type"},
		"kubectl's spelling":             {edit("cordon: DROP", `drain: {force: true, deleteEmptyDirData: true}`), "", Error, "unknown-field"},
		"null window":                    {edit("window: "), "", Warning, "null-field"},
		"null prepare on a server":       {edit("prepare: "), "", Warning, "null-field"},

		// image
		"mirror":                    {edit("upgrade: {image: registry.lan:5000/rancher/k3s-upgrade}"), "", "", ""},
		"docker.io in front":        {edit("upgrade: {image: docker.io/rancher/k3s-upgrade}"), "", "", ""},
		"matching tag":              {edit("upgrade: {image: rancher/k3s-upgrade:v1.35.8-k3s1}"), "", "", ""},
		"latest tag":                {edit("upgrade: {image: rancher/k3s-upgrade:latest}"), "", Error, "image-tag-mismatch"},
		"tag and channel":           {edit("version: DROP", "channel: https://update.k3s.io/v1-release/channels/stable", "upgrade: {image: rancher/k3s-upgrade:v1.35.8-k3s1}"), "", Error, "image-tag-mismatch"},
		"tag of an OS image":        {osPlan("upgrade: {image: 'ubuntu:24.04'}"), "", "", ""},
		"owner missing":             {edit("upgrade: {image: k3s-upgrade}"), "", Warning, "unknown-image"},
		"other owner":               {edit("upgrade: {image: k3s-io/k3s-upgrade}"), "", Warning, "unknown-image"},
		"k3s itself":                {edit("upgrade: {image: rancher/k3s}"), "", Warning, "unknown-image"},
		"misspelt on a mirror":      {edit("upgrade: {image: registry.lan/rancher/k3s-upgarde}"), "", Warning, "unknown-image"},
		"capital letters":           {edit("upgrade: {image: Rancher/k3s-upgrade}"), "", Error, "image-reference"},
		"scheme in front":           {edit("upgrade: {image: 'https://docker.io/rancher/k3s-upgrade'}"), "", Error, "image-reference"},
		"empty image":               {edit(`upgrade: {image: ""}`), "", Error, "image-reference"},
		"digest":                    {edit("upgrade: {image: 'rancher/k3s-upgrade@sha256:" + strings.Repeat("a", 64) + "'}"), "", "", ""},
		"plus in the prepare image": {edit() + agents("prepare: {image: 'rancher/k3s-upgrade:v1.35.8+k3s1', args: [prepare, k3s-server]}"), "", Error, "image-reference"},
		"rke2 prepare, k3s upgrade": {edit() + agents("prepare: {image: rancher/rke2-upgrade, args: [prepare, k3s-server]}"), "", Error, "distro-mismatch"},
		"prepare of another patch":  {edit() + agents("prepare: {image: 'rancher/k3s-upgrade:v1.35.7-k3s1', args: [prepare, k3s-server]}"), "", Warning, "prepare-tag-mismatch"},
		"prepare latest":            {edit() + agents("prepare: {image: 'rancher/k3s-upgrade:latest', args: [prepare, k3s-server]}"), "", Warning, "prepare-tag-mismatch"},
		"own image of another name": {edit("upgrade: {image: registry.lan/tools/k8s-upgrade}"), "", "", ""},
		"unprivileged upgrade":      {edit("upgrade: {image: rancher/k3s-upgrade, securityContext: {runAsUser: 0}}"), "", Warning, "security-context"},
		"own privileged context":    {edit("upgrade: {image: rancher/k3s-upgrade, securityContext: {privileged: true}}"), "", "", ""},

		// names and namespaces
		"63 characters of name":         {named(edit(), strings.Repeat("a", 63)), "", "", ""},
		"capital letters in the name":   {named(edit(), "K3s-Server"), "", Error, "name-invalid"},
		"underscore in the name":        {named(edit(), "k3s_server"), "", Error, "name-invalid"},
		"dot in the name":               {named(edit(), "k3s.server"), "", "", ""},
		"no name":                       {strings.Replace(edit(), "name: k3s-server, ", "", 1), "", Error, "name-missing"},
		"no namespace":                  {strings.Replace(edit(), ", namespace: system-upgrade", "", 1), `"suc": {"namespace": "system-upgrade"}`, Error, "other-namespace"},
		"Rancher's namespace":           {strings.Replace(edit(), "namespace: system-upgrade", "namespace: cattle-system", 1), "", "", ""},
		"Rancher's namespace, known":    {strings.Replace(edit(), "namespace: system-upgrade", "namespace: cattle-system", 1), `"suc": {"namespace": "system-upgrade"}`, Error, "other-namespace"},
		"same name, other namespace":    {edit() + "---\n" + strings.Replace(edit("nodeSelector: {matchLabels: {a: b}}"), "namespace: system-upgrade", "namespace: cattle-system", 1), "", "", ""},
		"three of one name":             {edit() + "---\n" + edit() + "---\n" + edit(), "", Error, "duplicate-plan"},
		"Plan in a list of another API": {"apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(edit("concurrency: 0")), "\n", "\n  ") + "\n", "", Error, "concurrency-zero"},

		// selectors
		"empty braces":                        {edit("nodeSelector: {}"), "", Error, "empty-selector"},
		"empty matchLabels":                   {edit("nodeSelector: {matchLabels: {}}"), "", Error, "empty-selector"},
		"every node for an OS Plan":           {osPlan("nodeSelector: {}"), "", "", ""},
		"matchLabels":                         {edit(`nodeSelector: {matchLabels: {node-role.kubernetes.io/control-plane: "true"}}`), "", "", ""},
		"Exists":                              {edit(`nodeSelector: {matchExpressions: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]}`), "", "", ""},
		"exists and does not":                 {edit(`nodeSelector: {matchExpressions: [{key: a, operator: Exists}, {key: a, operator: DoesNotExist}]}`), "", Error, "selector-matches-nothing"},
		"two values at once":                  {edit(`nodeSelector: {matchExpressions: [{key: a, operator: In, values: [b]}, {key: a, operator: In, values: [c]}]}`), "", Error, "selector-matches-nothing"},
		"in and not in":                       {edit(`nodeSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: NotIn, values: [b]}]}`), "", Error, "selector-matches-nothing"},
		"in, and not in another":              {edit(`nodeSelector: {matchExpressions: [{key: a, operator: In, values: [b, c]}, {key: a, operator: NotIn, values: [c]}]}`), "", "", ""},
		"kubeadm's empty value":               {edit(`nodeSelector: {matchLabels: {node-role.kubernetes.io/control-plane: ""}}`), "", Error, "selector-matches-nothing"},
		"True":                                {edit(`nodeSelector: {matchLabels: {node-role.kubernetes.io/control-plane: "True"}}`), `"nodes": null`, Error, "selector-matches-nothing"},
		"controlplane of RKE1":                {edit(`nodeSelector: {matchLabels: {node-role.kubernetes.io/controlplane: "true"}}`), "", Error, "selector-matches-nothing"},
		"a worker role that nobody set":       {edit() + agents(`nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: "true"}}`), "", Error, "selector-matches-nothing"},
		"a label to be set later":             {edit(`nodeSelector: {matchLabels: {upgrade-me: "yes"}}`), "", "", ""},
		"operator in lower case":              {edit(`nodeSelector: {matchExpressions: [{key: a, operator: in, values: [b]}]}`), "", Error, "bad-selector"},
		"operator Equal":                      {edit(`nodeSelector: {matchExpressions: [{key: a, operator: Equal, values: [b]}]}`), "", Error, "bad-selector"},
		"Exists with values":                  {edit(`nodeSelector: {matchExpressions: [{key: a, operator: Exists, values: ["true"]}]}`), "", Error, "bad-selector"},
		"NotIn without values":                {edit(`nodeSelector: {matchExpressions: [{key: a, operator: NotIn}]}`), "", Error, "bad-selector"},
		"bad key":                             {edit(`nodeSelector: {matchExpressions: [{key: "a b", operator: Exists}]}`), "", Error, "bad-selector"},
		"bad value":                           {edit(`nodeSelector: {matchExpressions: [{key: a, operator: In, values: ["b c"]}]}`), "", Error, "bad-selector"},
		"expression without operator":         {edit(`nodeSelector: {matchExpressions: [{key: a}]}`), "", Error, "required"},
		"master for agents, new cluster":      {edit() + agents(`nodeSelector: {matchExpressions: [{key: node-role.kubernetes.io/master, operator: DoesNotExist}]}`), "", Error, "removed-label"},
		"master NotIn for agents":             {edit() + agents(`nodeSelector: {matchExpressions: [{key: node-role.kubernetes.io/master, operator: NotIn, values: ["true"]}]}`), "", Error, "removed-label"},
		"master and control-plane for agents": {edit() + agents(`nodeSelector: {matchExpressions: [{key: node-role.kubernetes.io/master, operator: DoesNotExist}, {key: node-role.kubernetes.io/control-plane, operator: DoesNotExist}]}`), "", "", ""},
		"master for servers, no facts":        {edit(`nodeSelector: {matchLabels: {node-role.kubernetes.io/master: "true"}}`), `"serverVersion": "", "nodes": null`, Error, "removed-label"},
		"etcd on etcd":                        {edit(`nodeSelector: {matchLabels: {node-role.kubernetes.io/etcd: "true"}}`), servers(3, "etcd"), "", ""},
		"etcd on external, no nodes":          {edit(`nodeSelector: {matchLabels: {node-role.kubernetes.io/etcd: "true"}}`), `"datastore": "external", "nodes": null`, Error, "selector-matches-nothing"},
		"agents' Plan takes a server":         {edit() + agents(`nodeSelector: {matchLabels: {kubernetes.io/os: linux}}`), "", Error, "server-as-agent"},
		"servers and agents together":         {edit(`nodeSelector: {matchLabels: {kubernetes.io/os: linux}}`), "", Warning, "mixed-roles"},
		"two Plans, one server":               {edit() + "---\n" + named(edit(), "again"), "", Warning, "plans-overlap"},
		"two Plans, two versions":             {edit() + "---\n" + named(edit("version: v1.35.9+k3s1"), "again"), "", Error, "plans-overlap"},
		"canaries twice":                      {edit() + agents() + "---\n" + named(strings.TrimPrefix(agents(`nodeSelector: {matchLabels: {kubernetes.io/hostname: agt-1}}`), "---\n"), "x"), "", Error, "duplicate-plan"},
		"hostname differs":                    {edit(), `"nodes": [{"name": "srv-1", "labels": {"kubernetes.io/hostname": "other", "node-role.kubernetes.io/control-plane": "true"}}]`, Error, "hostname-label"},
		"two nodes, one short name":           {edit(), `"nodes": [{"name": "s.a", "labels": {"kubernetes.io/hostname": "s.a", "node-role.kubernetes.io/control-plane": "true"}}, {"name": "s.b", "labels": {"kubernetes.io/hostname": "s.b", "node-role.kubernetes.io/control-plane": "true"}}]`, Error, "node-name"},
		"every node excluded":                 {edit(), one(`, "plan.upgrade.cattle.io/k3s-server": "disabled"`, ""), Error, "selector-matches-nothing"},
		"done already":                        {edit(), one(`, "plan.upgrade.cattle.io/k3s-server": "`+planHash+`"`, ""), "", ""},
		"a node cordoned by somebody":         {edit(), one("", `, "unschedulable": true`), Warning, "cordoned-before"},
		"cordoned, and the Plan does neither": {edit("cordon: DROP"), one("", `, "unschedulable": true`), "", ""},
		"cordoned, and done already":          {edit(), one(`, "plan.upgrade.cattle.io/k3s-server": "`+planHash+`"`, `, "unschedulable": true`), "", ""},

		// tolerations
		"untolerated NoSchedule":   {edit(), tainted, Error, "toleration"},
		"tolerated by key":         {edit("tolerations: [{key: dedicated, operator: Exists}]"), tainted, "", ""},
		"tolerated by value":       {edit("tolerations: [{key: dedicated, value: cp, effect: NoSchedule}]"), tainted, "", ""},
		"wrong value":              {edit("tolerations: [{key: dedicated, value: db, effect: NoSchedule}]"), tainted, Error, "toleration"},
		"wrong effect":             {edit("tolerations: [{key: dedicated, operator: Exists, effect: NoExecute}]"), tainted, Error, "toleration"},
		"tolerates everything":     {edit("tolerations: [{operator: Exists}]"), tainted, "", ""},
		"only preferred":           {edit(), strings.Replace(tainted, `"NoSchedule"`, `"PreferNoSchedule"`, 1), "", ""},
		"cordoned by its taint":    {edit(), one("", `, "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]`), "", ""},
		"not ready for the moment": {edit(), one("", `, "taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]`), "", ""},
		"misspelt operator":        {edit("tolerations: [{key: dedicated, operator: Exist}]"), "", Error, "bad-toleration"},
		"Exists with a value":      {edit(`tolerations: [{key: dedicated, operator: Exists, value: "true"}]`), "", Error, "bad-toleration"},
		"misspelt effect":          {edit("tolerations: [{key: dedicated, operator: Exists, effect: NoSchedul}]"), "", Error, "bad-toleration"},

		// accounts and secrets
		"the default account":         {edit("serviceAccountName: default"), "", Warning, "service-account"},
		"no account, nothing to do":   {edit("serviceAccountName: DROP", "cordon: false"), "", "", ""},
		"no account, drains":          {edit("serviceAccountName: DROP", "cordon: DROP", "drain: {force: true}"), "", Warning, "service-account"},
		"unknown account":             {edit("serviceAccountName: upgrader"), `"serviceAccounts": ["system-upgrade/system-upgrade"]`, Error, "service-account-missing"},
		"known account":               {edit("serviceAccountName: upgrader"), `"serviceAccounts": ["system-upgrade/upgrader"]`, "", ""},
		"account of another place":    {edit(), `"serviceAccounts": ["cattle-system/system-upgrade"]`, Error, "service-account-missing"},
		"account nobody asked about":  {edit("serviceAccountName: upgrader"), "", "", ""},
		"account in the file":         {"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: upgrader, namespace: system-upgrade}\n---\n" + edit("serviceAccountName: upgrader"), `"serviceAccounts": []`, "", ""},
		"secret not in the cluster":   {osPlan("secrets: [{name: a, path: /x}]"), `"secrets": []`, Error, "secret-missing"},
		"secret in the cluster":       {osPlan("secrets: [{name: a, path: /x}]"), `"secrets": ["system-upgrade/a"]`, "", ""},
		"secret nobody asked about":   {osPlan("secrets: [{name: a, path: /x}]"), "", "", ""},
		"secret in another namespace": {"apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: default}\n---\n" + osPlan("secrets: [{name: a, path: /x}]"), "", Error, "secret-missing"},
		"secret in the file":          {"apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: system-upgrade}\n---\n" + osPlan("secrets: [{name: a, path: /x}]"), `"secrets": []`, "", ""},
		"sealed secret in the file":   {"apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: a, namespace: system-upgrade}\n---\n" + osPlan("secrets: [{name: a, path: /x}]"), `"secrets": []`, "", ""},
		"optional secret":             {osPlan("secrets: [{name: a, path: /x, ignoreUpdates: true}]"), `"secrets": []`, "", ""},
		"two secrets on one path":     {osPlan("secrets: [{name: a, path: /x}, {name: b, path: /x}]"), "", Error, "secret-mount"},
		"secret over the host's root": {osPlan("secrets: [{name: a, path: /host}]"), "", Error, "secret-mount"},
		"secret with a dot":           {osPlan("secrets: [{name: a.b, path: /x}]"), "", Error, "secret-mount"},

		// prepare
		"waits for itself":               {edit() + agents("prepare: {image: rancher/k3s-upgrade, args: [prepare, k3s-agent]}"), "", Error, "prepare-cycle"},
		"wait for each other":            {edit() + agents() + "---\n" + named(strings.TrimPrefix(agents("prepare: {image: rancher/k3s-upgrade, args: [prepare, k3s-agent]}"), "---\n"), "x"), "", Error, "duplicate-plan"},
		"server waits for agents":        {edit("prepare: {image: rancher/k3s-upgrade, args: [prepare, k3s-agent]}") + agents(), "", Error, "prepare-cycle"},
		"server waits":                   {edit("prepare: {image: rancher/k3s-upgrade, args: [prepare, x]}"), `"plans": ["system-upgrade/x"]`, Error, "server-as-agent"},
		"name without prepare":           {edit() + agents("prepare: {image: rancher/k3s-upgrade, args: [k3s-server]}"), "", Error, "prepare-args"},
		"both in one word":               {edit() + agents(`prepare: {image: rancher/k3s-upgrade, args: ["prepare k3s-server"]}`), "", Error, "prepare-args"},
		"no args":                        {edit() + agents("prepare: {image: rancher/k3s-upgrade}"), "", Error, "prepare-runs-upgrade"},
		"args upgrade":                   {edit() + agents("prepare: {image: rancher/k3s-upgrade, args: [upgrade]}"), "", Error, "prepare-runs-upgrade"},
		"empty name":                     {edit() + agents(`prepare: {image: rancher/k3s-upgrade, args: [prepare, ""]}`), "", Error, "prepare-no-name"},
		"staged server":                  {edit("prepare: {image: rancher/k3s-upgrade, command: [/bin/true]}"), "", "", ""},
		"staged agents do not wait":      {edit() + agents("prepare: {image: rancher/k3s-upgrade, command: [/bin/true]}"), "", Warning, "agent-without-prepare"},
		"agents alone":                   {agents(), "", "", ""},
		"agents alone, Plan known":       {agents(), `"plans": ["system-upgrade/k3s-server"]`, "", ""},
		"agents alone, Plan unknown":     {agents(), `"plans": ["system-upgrade/other"]`, Error, "prepare-missing-plan"},
		"Plan in another namespace":      {strings.Replace(edit(), "namespace: system-upgrade", "namespace: cattle-system", 1) + agents(), "", Error, "prepare-missing-plan"},
		"agents alone without prepare":   {agents("prepare: DROP"), "", Warning, "agent-without-prepare"},
		"agents behind ready servers":    {agents("prepare: DROP", "version: v1.34.11+k3s1"), `"nodes": [{"name": "s", "kubeletVersion": "v1.34.11+k3s1", "labels": {"kubernetes.io/hostname": "s", "node-role.kubernetes.io/control-plane": "true"}}, {"name": "a", "kubeletVersion": "v1.34.10+k3s1", "labels": {"kubernetes.io/hostname": "a"}}]`, "", ""},
		"pair of hyphen and plus":        {edit() + agents("version: v1.35.8-k3s1"), "", Warning, "version-dash"},
		"pair of two channels":           {edit("version: DROP", "channel: https://update.k3s.io/v1-release/channels/v1.35") + agents("version: DROP", "channel: https://update.k3s.io/v1-release/channels/v1.34"), "", Error, "pair-version-mismatch"},
		"pinned servers, channel agents": {edit() + agents("version: DROP", "channel: https://update.k3s.io/v1-release/channels/stable"), "", Warning, "pair-version-mismatch"},
		"pinned servers, agents differ":  {edit() + agents("version: v1.35.9+k3s1"), "", Error, "pair-version-mismatch"},
		"volume of another source":       {edit("prepare: {image: a, command: [x], volumes: [{name: v, source: /a, destination: /a}]}", "upgrade: {image: rancher/k3s-upgrade, volumes: [{name: v, source: /b, destination: /b}]}"), "", Warning, "prepare-volume"},
		"volume in both":                 {edit("prepare: {image: a, command: [x], volumes: [{name: v, source: /a, destination: /a}]}", "upgrade: {image: rancher/k3s-upgrade, volumes: [{name: v, source: /a, destination: /a}]}"), "", "", ""},
		"volume twice":                   {edit("upgrade: {image: rancher/k3s-upgrade, volumes: [{name: v, source: /a, destination: /a}, {name: v, source: /b, destination: /b}]}"), "", Error, "volume"},
		"volume of the controller":       {edit("upgrade: {image: rancher/k3s-upgrade, volumes: [{name: host-root, source: /a, destination: /a}]}"), "", Error, "volume"},
		"volume at /host":                {edit("upgrade: {image: rancher/k3s-upgrade, volumes: [{name: v, source: /a, destination: /host}]}"), "", Error, "volume"},
		"volume with a bad name":         {edit("upgrade: {image: rancher/k3s-upgrade, volumes: [{name: V_1, source: /a, destination: /a}]}"), "", Error, "volume"},

		// window, delay, labels, age
		"good window":                          {edit(`window: {days: [mo, tue, wednesday, "4"], startTime: "22:00", endTime: "23:59", timeZone: America/New_York}`), "", "", ""},
		"window without days":                  {edit(`window: {startTime: "02:00", endTime: "03:00"}`), "", Error, "window-field"},
		"window without start":                 {edit(`window: {days: [sa], endTime: "03:00"}`), "", Error, "window-field"},
		"window of 24:00":                      {edit(`window: {days: [sa], startTime: "22:00", endTime: "24:00"}`), "", Error, "window-time"},
		"window with a blank":                  {edit(`window: {days: [sa], startTime: "10 pm", endTime: "11 pm"}`), "", Error, "window-time"},
		"window in capitals":                   {edit(`window: {days: [sa], startTime: "10PM", endTime: "11PM"}`), "", Error, "window-time"},
		"window pm":                            {edit(`window: {days: [sa], startTime: 10pm, endTime: 11pm}`), "", "", ""},
		"unquoted time":                        {edit(`window: {days: [sa], startTime: 19:00, endTime: 20:30}`), "", "", ""},
		"zone offset":                          {edit(`window: {days: [sa], startTime: "02:00", endTime: "03:00", timeZone: UTC+2}`), "", Error, "window-zone"},
		"zone of lower case":                   {edit(`window: {days: [sa], startTime: "02:00", endTime: "03:00", timeZone: europe/vienna}`), "", Error, "window-zone"},
		"day in capitals":                      {edit(`window: {days: [Saturday], startTime: "02:00", endTime: "03:00"}`), "", Error, "not-allowed"},
		"day as a number":                      {edit(`window: {days: [6], startTime: "02:00", endTime: "03:00"}`), "", Error, "wrong-type"},
		"days as text":                         {edit(`window: {days: saturday, startTime: "02:00", endTime: "03:00"}`), "", Error, "wrong-type"},
		"over midnight on two days":            {edit(`window: {days: [sa, su], startTime: "22:00", endTime: "04:00"}`), "", Warning, "window-wrap"},
		"over midnight every day":              {edit(`window: {days: [mo, tu, we, th, fr, sa, su], startTime: "22:00", endTime: "04:00"}`), "", "", ""},
		"until midnight":                       {edit(`window: {days: [sa], startTime: "22:00", endTime: "00:00"}`), "", "", ""},
		"one second":                           {edit(`window: {days: [sa], startTime: "22:00", endTime: "22:00"}`), "", Error, "window-empty"},
		"delay in words":                       {edit("postCompleteDelay: 5 minutes"), "", Error, "delay-unit"},
		"delay as a number":                    {edit("postCompleteDelay: 60"), "", Error, "wrong-type"},
		"delay in days":                        {edit("postCompleteDelay: 1d"), "", Error, "delay-unit"},
		"empty delay":                          {edit(`postCompleteDelay: ""`), "", Error, "delay-unit"},
		"good delay":                           {edit("postCompleteDelay: 1m30s"), "", "", ""},
		"label with a known variable":          {edit("postCompleteLabels: {a/b: $(LATEST_VERSION)}"), "", "", ""},
		"label with another variable":          {edit("postCompleteLabels: {a/b: $(VERSION)}"), "", Error, "postcomplete-label"},
		"label with a bad key":                 {edit("postCompleteLabels: {a/b/c: d}"), "", Error, "postcomplete-label"},
		"label too long":                       {edit("postCompleteLabels: {a/b: prefix--$(LATEST_HASH)}"), "", Error, "postcomplete-label"},
		"label just fits":                      {edit("postCompleteLabels: {a/b: prefix-$(LATEST_HASH)}"), "", "", ""},
		"window, old controller":               {edit(`window: {days: [sa], startTime: "02:00", endTime: "03:00"}`), `"suc": {"version": "v0.13.4"}`, Error, "field-too-new"},
		"window, new controller":               {edit(`window: {days: [sa], startTime: "02:00", endTime: "03:00"}`), `"suc": {"version": "v0.20.1"}`, "", ""},
		"text timeout, old controller":         {edit("cordon: DROP", `drain: {force: true, timeout: 5m}`), `"suc": {"version": "v0.15.0"}`, Error, "field-too-new"},
		"untagged prepare, old controller":     {edit() + agents(), `"suc": {"version": "v0.4.0"}`, Error, "prepare-untagged"},
		"tagged prepare, old controller":       {edit() + agents("prepare: {image: 'rancher/k3s-upgrade:v1.35.8-k3s1', args: [prepare, k3s-server]}"), `"suc": {"version": "v0.4.0"}`, "", ""},
		"the last stage is of another version": {edit() + agents() + strings.Replace(agents("version: v1.35.9+k3s1", "prepare: {image: rancher/k3s-upgrade, args: [prepare, k3s-agent]}"), "name: k3s-agent,", "name: rest,", 1), `"nodes": null`, Error, "pair-version-mismatch"},
		"etcd nodes of their own": {edit("version: v1.35.8+rke2r1", "upgrade: {image: rancher/rke2-upgrade}") + agents("version: v1.35.8+rke2r1", "upgrade: {image: rancher/rke2-upgrade}", "prepare: {image: rancher/rke2-upgrade, args: [prepare, k3s-server]}"),
			`"serverVersion": "v1.34.11+rke2r1", "nodes": [{"name": "e", "kubeletVersion": "v1.34.11+rke2r1", "labels": {"kubernetes.io/hostname": "e", "node-role.kubernetes.io/etcd": "true"}}, {"name": "c", "kubeletVersion": "v1.34.11+rke2r1", "labels": {"kubernetes.io/hostname": "c", "node-role.kubernetes.io/control-plane": "true"}}]`, "", ""},
		"digest of a misspelt field": {strings.Replace(edit(), "metadata: {", `metadata: {annotations: {upgrade.cattle.io/digest: "spec.upgrade.imag"}, `, 1), "", Warning, "digest-path"},
		"digest of good fields":      {strings.Replace(edit(), "metadata: {", `metadata: {annotations: {upgrade.cattle.io/digest: "spec.upgrade.image,spec.drain"}, `, 1), "", "", ""},
		"deadline of a minute":       {edit("jobActiveDeadlineSecs: 30"), "", Warning, "deadline"},
		"another API's Plan":         {"apiVersion: forklift.konveyor.io/v1beta1\nkind: Plan\nmetadata: {name: x}\nspec: {warm: true}\n", "", "", ""},
		"an empty file":              {"", "", "", ""},

		"prepare as a program":                {edit() + agents("prepare: {image: rancher/k3s-upgrade, command: [prepare, k3s-server]}"), "", Error, "prepare-args"},
		"prepare in one word as program":      {edit() + agents(`prepare: {image: rancher/k3s-upgrade, command: ["prepare k3s-server"]}`), "", Error, "prepare-args"},
		"upgrade as a program":                {edit("upgrade: {image: rancher/k3s-upgrade, command: [upgrade]}"), "", Error, "prepare-args"},
		"upgrade only waits":                  {edit() + agents("upgrade: {image: rancher/k3s-upgrade, args: [prepare, k3s-server]}"), "", Error, "prepare-args"},
		"upgrade says upgrade":                {edit("upgrade: {image: rancher/k3s-upgrade, args: [upgrade]}"), "", "", ""},
		"prepare through a shell":             {edit() + agents(`prepare: {image: rancher/k3s-upgrade, command: [sh, -c], args: ["sleep 5; /bin/upgrade.sh prepare k3s-server"]}`), "", "", ""},
		"prepare of another, by a shell":      {edit() + agents(`prepare: {image: rancher/k3s-upgrade, command: [sh, -c, "upgrade.sh prepare server-plan"]}`), "", Error, "prepare-missing-plan"},
		"shell without a name":                {edit() + agents(`prepare: {image: rancher/k3s-upgrade, command: [sh, -c, "upgrade.sh prepare"]}`), "", Error, "prepare-no-name"},
		"agents by NotIn false, offline":      {edit() + agents("nodeSelector: {matchExpressions: [{key: node-role.kubernetes.io/control-plane, operator: NotIn, values: [\"false\"]}]}"), `"nodes": null`, Error, "server-as-agent"},
		"agents by linux, offline":            {edit() + agents("nodeSelector: {matchLabels: {kubernetes.io/os: linux}}"), `"nodes": null`, Error, "server-as-agent"},
		"agents by own label, offline":        {edit() + agents("nodeSelector: {matchLabels: {kubernetes.io/os: linux, role: worker}}"), `"nodes": null`, "", ""},
		"secret in the file by another name":  {"apiVersion: v1\nkind: Secret\nmetadata: {name: node-files, namespace: system-upgrade}\n---\n" + osPlan("secrets: [{name: upgrade-script, path: /x}]"), "", Error, "secret-missing"},
		"secret in the file for the registry": {"apiVersion: v1\nkind: Secret\nmetadata: {name: registry, namespace: system-upgrade}\n---\n" + osPlan("secrets: [{name: upgrade-script, path: /x}]", "imagePullSecrets: [{name: registry}]"), "", "", ""},
		"secret in the file for a variable":   {"apiVersion: v1\nkind: Secret\nmetadata: {name: proxy, namespace: system-upgrade}\n---\n" + osPlan("secrets: [{name: upgrade-script, path: /x}]", "upgrade: {image: ubuntu, envFrom: [{secretRef: {name: proxy}}]}"), "", "", ""},
		"image k3s-update":                    {edit("upgrade: {image: rancher/k3s-update}"), "", Warning, "unknown-image"},
		"image upgrade-k3s":                   {edit("upgrade: {image: docker.io/rancher/upgrade-k3s}"), "", Warning, "unknown-image"},
		"image rke2-updater":                  {edit("version: v1.35.8+rke2r1", "upgrade: {image: rancher/rke2-updater}"), `"serverVersion": "", "nodes": null`, Warning, "unknown-image"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := Lint([]File{{name + ".yaml", []byte(c.text)}}, LintOptions{Facts: facts(t, c.facts)})
			if got := found.Highest(); got != c.want {
				t.Errorf("highest severity is %q, want %q:\n%s%s", got, c.want, found, c.text)
			}
			hit := c.code == ""
			for _, f := range found {
				hit = hit || f.Code == c.code && f.Severity == c.want
			}
			if !hit {
				t.Errorf("no %s:\n%s", c.code, found)
			}
		})
	}
}

func TestAnAgentPlanWithoutAgentsIsToBeLeftOut(t *testing.T) {
	t.Parallel()
	facts := &Facts{Nodes: []Node{{Name: "srv-1", Labels: map[string]string{"kubernetes.io/hostname": "srv-1", ControlPlaneLabel: "true"}}}}
	servers := ServerPlan(skew.MustParse("v1.35.9+k3s1"), Options{})
	absent, notIn := AgentPlan(servers, Options{}), AgentPlan(servers, Options{})
	notIn.Spec.NodeSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: ControlPlaneLabel, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"true"}},
	}}
	for _, p := range []*Plan{absent, notIn} {
		found := LintPlans([]*Plan{servers, p}, LintOptions{Facts: facts})
		if len(found) != 1 || found[0].Code != "selector-matches-nothing" ||
			!strings.Contains(found[0].Message, "every node of the cluster has label "+ControlPlaneLabel) || !strings.Contains(found[0].Fix, "leave the Plan out") {
			t.Errorf("%v", found)
		}
	}
}
