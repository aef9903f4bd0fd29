package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/drainprobe"
	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/snapshot"
	"github.com/k3sladder/k3sladder/snapshot/apiusage"
	"github.com/k3sladder/k3sladder/suc"
)

// Finding is one thing that check looked at.
type Finding struct {
	File string `json:"file"`
	OK   bool   `json:"ok"`
	Text string `json:"text"`

	late bool // no repeated step makes up for it
}

// Grade is what check thinks of a folder.
type Grade struct {
	Dir      string    `json:"dir"`
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`

	absent map[string]bool // files that are not there
}

// add adds what was found in file. That a file is not there is said once; what
// would follow from it is not.
func (g *Grade) add(file string, err error, good string) {
	if g.absent[file] {
		return
	}
	var missing *fs.PathError
	if errors.As(err, &missing) && errors.Is(missing, fs.ErrNotExist) && filepath.Base(missing.Path) == file {
		if g.absent == nil {
			g.absent = map[string]bool{}
		}
		g.absent[file] = true
		err = errors.New("is not there")
		for _, s := range steps {
			if slices.Contains(s.files, file) {
				err = fmt.Errorf("is not there; lab step %s --dir %s writes it", s.name, g.Dir)
			}
		}
	}
	finding := Finding{File: file, OK: err == nil, Text: good}
	if err != nil {
		finding.Text = err.Error()
	}
	g.OK = g.OK && finding.OK
	g.Findings = append(g.Findings, finding)
}

// writeText writes a line a finding, and what to do.
func (g *Grade) writeText(w io.Writer) error {
	failed, width := 0, 0
	for _, f := range g.Findings {
		width = max(width, len(f.File))
	}
	for _, f := range g.Findings {
		mark := "ok  "
		if !f.OK {
			mark = "FAIL"
			failed++
		}
		fmt.Fprintf(w, "%s  %-*s  %s\n", mark, width, f.File, strings.ReplaceAll(f.Text, "\n", "\n"+strings.Repeat(" ", width+8)))
	}
	if failed > 0 && slices.ContainsFunc(g.Findings, func(f Finding) bool { return f.late }) {
		_, err := fmt.Fprintf(w, "\n%s: %d of %d checks failed; to repeat steps would only make the files agree, so let them stand\n", g.Dir, failed, len(g.Findings))
		return err
	}
	if failed > 0 {
		_, err := fmt.Fprintf(w, "\n%s: %d of %d checks failed; repeat the steps that write these files (lab step NAME --force)\n", g.Dir, failed, len(g.Findings))
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s: all %d checks passed\n", g.Dir, len(g.Findings))
	return err
}

// evidence is what the folder's files say, read once; a file that cannot be
// read leaves its record empty.
type evidence struct {
	before   beforeRecord
	workload workloadRecord
	backup   backupRecord
	upgrade  upgradeRecord
	after    afterRecord

	from, to, now skew.Version // of upgrade.json and after.json
}

// check grades the folder: each file by itself, then against the others.
func (l *lab) check(ctx context.Context) (*Grade, error) {
	if err := l.holdsSomething(); err != nil {
		return nil, err
	}
	g := &Grade{Dir: l.dir, OK: true}
	var e evidence
	l.checkBefore(g, &e)
	l.checkWorkload(g, &e)
	l.checkUpgrade(g, &e) // before deprecated.txt, which is about its target
	l.checkDeprecated(g, &e)
	l.checkBackup(ctx, g, &e)
	l.checkDrain(g, &e)
	l.checkAfter(g, &e)
	next := l.checkPlan(g, &e)
	l.checkReport(g, &e, next)
	l.checkSnapshots(g, &e)
	l.checkOrder(g)
	return g, nil
}

// holdsSomething is nil for a folder with at least one of the lab's files.
func (l *lab) holdsSomething() error {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return fmt.Errorf("no folder to grade: %w; name it with --dir", err)
	}
	for _, s := range steps {
		for _, name := range s.files {
			if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name }) {
				return nil
			}
		}
	}
	return fmt.Errorf("%s holds none of the lab's files; name the lab's folder with --dir, or make one: lab run", l.dir)
}

func (l *lab) checkBefore(g *Grade, e *evidence) {
	err := l.keys(beforeFile, &e.before, "server_version", "kubelet_version", "node_name", "node_uid")
	if err == nil {
		_, serverErr := skew.Parse(e.before.ServerVersion)
		_, kubeletErr := skew.Parse(e.before.KubeletVersion)
		err = errors.Join(serverErr, kubeletErr)
	}
	g.add(beforeFile, err, fmt.Sprintf("%s, node %s", e.before.ServerVersion, e.before.NodeName))
}

func (l *lab) checkWorkload(g *Grade, e *evidence) {
	err := l.keys(workloadFile, &e.workload, "deployment_uid", "pdb_min_available")
	if err == nil && e.workload.PDBMinAvailable != minAvailable {
		err = fmt.Errorf("pdb_min_available is %d, the lab's budget keeps %d", e.workload.PDBMinAvailable, minAvailable)
	}
	g.add(workloadFile, err, "Deployment "+e.workload.DeploymentUID)
}

func (l *lab) checkUpgrade(g *Grade, e *evidence) {
	err := l.keys(upgradeFile, &e.upgrade, "from", "to", "node_uid")
	if err == nil {
		e.from, err = skew.Parse(e.upgrade.From)
	}
	if err == nil {
		e.to, err = skew.Parse(e.upgrade.To)
	}
	if err == nil {
		var step skew.Upgrade
		if step, err = skew.CheckUpgrade(e.from, e.to); err == nil && step.Kind == skew.NoOp {
			err = fmt.Errorf("from and to are both %s", e.to)
		}
	}
	g.add(upgradeFile, err, fmt.Sprintf("%s -> %s is one step", e.upgrade.From, e.upgrade.To))
	if e.before.ServerVersion == e.upgrade.To && e.upgrade.From != e.upgrade.To {
		g.add(beforeFile, fmt.Errorf("was recorded at %s, to which the upgrade went: it was written after the upgrade and proves nothing, and no step makes up for it; if a copy of the first one is left, put it back",
			e.upgrade.To), "")
		g.Findings[len(g.Findings)-1].late = true
	}
	g.add(upgradeFile, equal("from", e.upgrade.From, "before.json's server_version", e.before.ServerVersion), "from is what before.json recorded")
	g.add(upgradeFile, equal("node_uid", e.upgrade.NodeUID, "before.json's", e.before.NodeUID), "the same node")
}

func (l *lab) checkDeprecated(g *Grade, e *evidence) {
	content, err := os.ReadFile(l.path(deprecatedFile))
	counted := ""
	if err == nil {
		counted, err = deprecatedCount(content, e.to)
	}
	g.add(deprecatedFile, err, counted)
}

// deprecatedCount counts anew what the last line says.
func deprecatedCount(content []byte, to skew.Version) (string, error) {
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	last := lines[len(lines)-1]
	number, ok := strings.CutPrefix(last, "removed_by_target=")
	claimed, err := strconv.Atoi(number)
	if !ok || err != nil {
		return "", fmt.Errorf("the last line is %q, not removed_by_target=N", last)
	}
	if len(lines) == 1 {
		return "no deprecated API was called", equal("removed_by_target", claimed, "the number of lines above", 0)
	}
	// Scan takes what an API server would serve, and no bare lines of one metric.
	usage, err := apiusage.Scan(strings.NewReader(string(content[:bytes.LastIndex(content, []byte(last))])), "deprecated.txt")
	if err != nil {
		return "", err
	}
	if got := len(usage.Lines); got != len(lines)-1 {
		return "", fmt.Errorf("%d of %d lines above the last are samples of %s", got, len(lines)-1, apiusage.Metric)
	}
	if (to == skew.Version{}) {
		return "", errors.New("cannot be counted without the target in upgrade.json")
	}
	return fmt.Sprintf("%s, %d removed by %s", plural(len(usage.Lines), "line"), claimed, to.Minor()),
		equal("removed_by_target", claimed, "what the lines count to", usage.RemovedBy(to.Minor()))
}

func (l *lab) checkBackup(ctx context.Context, g *Grade, e *evidence) {
	g.add(backupFile, l.keys(backupFile, &e.backup, "k3s_version", "token_sha256"), "of "+e.backup.K3sVersion)
	g.add(backupFile, equal("k3s_version", e.backup.K3sVersion, "before.json's server_version", e.before.ServerVersion), "of the version that before.json recorded")
	verified, err := l.verifyBackup(ctx, e.before.ClusterUID)
	good := ""
	if err == nil {
		good = fmt.Sprintf("verifies, is of this cluster, token opens datastore: %s", verified.TokenCheck.Opens)
		err = errors.Join(
			equal("token_sha256", e.backup.TokenSHA256, "the hash of backup/token", verified.TokenSHA256),
			equal("token_opens_datastore", e.backup.TokenOpens, "what was found now", string(verified.TokenCheck.Opens)),
			equal("state_db_bytes", e.backup.Bytes, "the size of backup/state.db", verified.Database.Bytes))
	}
	g.add(backupDir, err, good)
	for _, name := range []string{"state.db", "token"} {
		info, err := os.Stat(l.path(backupDir + "/" + name))
		if err == nil && info.Mode().Perm() != 0o600 {
			err = fmt.Errorf("%s has mode %04o and holds secrets: chmod 600 it", name, info.Mode().Perm())
		}
		g.add(backupDir, err, name+" has mode 0600")
	}
}

func (l *lab) checkDrain(g *Grade, e *evidence) {
	decision, err := l.decision()
	if err == nil {
		content, readErr := os.ReadFile(l.path(drainFile))
		err = errors.Join(readErr, drainOf(string(content), e.before.NodeName))
	}
	g.add(drainFile, err, "decision="+decision)
}

// decision is the last line of drain.txt, below the output of a real drain.
func (l *lab) decision() (string, error) {
	content, err := os.ReadFile(l.path(drainFile))
	if err != nil {
		return "", err
	}
	text := strings.TrimRight(string(content), "\n")
	output, last, _ := cutLast(text, "\n")
	decision, ok := strings.CutPrefix(last, "decision=")
	known := []string{string(drainprobe.ActionDrain), string(drainprobe.ActionUpgradeWithoutDrain), string(drainprobe.ActionAddNodeFirst)}
	switch {
	case !ok || !slices.Contains(known, decision):
		return "", fmt.Errorf("the last line is %q, not decision= and one of %s", last, strings.Join(known, ", "))
	case !strings.Contains(output, "\n"):
		return "", errors.New("above the decision stands no output of a drain")
	}
	return decision, nil
}

// drainOf is nil for the output of a drain of that node, which was given back.
func drainOf(text, node string) error {
	cordoned, already := strings.Index(text, "node/"+node+" cordoned"), strings.Contains(text, "node/"+node+" already cordoned")
	back := strings.LastIndex(text, "node/"+node+" uncordoned")
	failed := strings.Contains(text, "unable to drain node")
	switch {
	case cordoned < 0 && !already:
		return fmt.Errorf("nothing in it cordons node %s", node)
	case !already && back < strings.LastIndex(text, "node/"+node+" cordoned"):
		return fmt.Errorf("the node was cordoned and not uncordoned again: kubectl uncordon %s", node)
	case !failed && !strings.Contains(text, "node/"+node+" drained"):
		return errors.New("the drain neither finished nor failed")
	case failed && strings.HasSuffix(strings.TrimSpace(text), "decision="+string(drainprobe.ActionDrain)):
		return errors.New("the drain failed and the decision is to drain")
	}
	return nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

func (l *lab) checkAfter(g *Grade, e *evidence) {
	err := l.keys(afterFile, &e.after, "server_version", "deployment_uid", "web_ready", "web_restarts", "traefik_deployed", "kubelet_allowed", "kubectl_allowed")
	if err == nil {
		e.now, err = skew.Parse(e.after.ServerVersion)
	}
	g.add(afterFile, err, e.after.ServerVersion)
	g.add(afterFile, equal("server_version", e.after.ServerVersion, "upgrade.json's to", e.upgrade.To), "the version that the upgrade went to")
	g.add(afterFile, equal("deployment_uid", e.after.DeploymentUID, "workload.json's", e.workload.DeploymentUID), "the same workload")
	g.add(afterFile, equal("web_ready", e.after.WebReady, "the replicas asked for", webReplicas), "every replica of web is ready")
	if e.after.NodeUID != "" { // the lab's own keys, more than are asked for
		g.add(afterFile, errors.Join(
			equal("node_uid", e.after.NodeUID, "before.json's", e.before.NodeUID),
			equal("cluster_uid", e.after.ClusterUID, "before.json's", e.before.ClusterUID),
			equal("kubelet_version", e.after.KubeletVersion, "the API server's version", e.after.ServerVersion)),
			"the same node and cluster, the kubelet moved along")
	}
	var negative error
	if e.after.WebRestarts < 0 {
		negative = fmt.Errorf("web_restarts is %d", e.after.WebRestarts)
	}
	g.add(afterFile, negative, plural(e.after.WebRestarts, "restart")+" of web")
	if err != nil {
		return
	}
	for _, allowed := range []struct {
		key       string
		got       []string
		component skew.Component
	}{{"kubelet_allowed", e.after.KubeletAllowed, skew.Kubelet}, {"kubectl_allowed", e.after.KubectlAllowed, skew.Kubectl}} {
		want := strings.Join(minors(skew.Allowed(allowed.component, e.now)), " ")
		g.add(afterFile, equal(allowed.key, strings.Join(allowed.got, " "), "the skew policy's", want), allowed.key+" "+want)
	}
}

// checkPlan gives the pinned version.
func (l *lab) checkPlan(g *Grade, e *evidence) skew.Version {
	var next skew.Version
	content, err := os.ReadFile(l.path(planFile))
	if err == nil {
		next, err = planVersion(content, e.now)
	}
	g.add(planFile, err, "pinned to "+next.String())
	return next
}

// planVersion is the version that the Plan pins, if it is the Plan that the
// lab makes above now.
func planVersion(content []byte, now skew.Version) (skew.Version, error) {
	plans, err := suc.Decode(content)
	if err != nil {
		return skew.Version{}, err
	}
	if len(plans) != 1 {
		return skew.Version{}, fmt.Errorf("%d Plans, not one", len(plans))
	}
	plan := plans[0]
	next, err := skew.Parse(plan.Spec.Version)
	if err != nil {
		return skew.Version{}, fmt.Errorf("spec.version: %w", err)
	}
	_, image, _ := cutLast("/"+plan.Spec.Upgrade.Image, "/rancher/")
	var extra error
	if plan.Spec.Drain != nil || bytes.Contains(content, []byte("\nstatus:")) {
		extra = errors.New("spec.drain or status is set, which the lab's Plan does not have")
	}
	return next, errors.Join(extra,
		equal("the name of spec.upgrade.image", image, "the upgrade image's", "k3s-upgrade"),
		equal("metadata.name", plan.Name, "the lab's", planName),
		equal("metadata.namespace", plan.Namespace, "the controller's", suc.DefaultNamespace),
		equal("spec.channel", plan.Spec.Channel, "what a pinned Plan has", ""),
		equal("spec.concurrency", plan.Spec.Concurrency, "one node at a time", 1),
		equal("spec.cordon", plan.Spec.Cordon, "the lab's", true),
		equal("the minor of spec.version", next.Minor().String(), "the one above after.json's", now.Minor().Next().String()),
		serversOnly(plan.Spec.NodeSelector))
}

// serversOnly is nil for a selector that takes a server and no agent.
func serversOnly(selector *metav1.LabelSelector) error {
	chosen, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return fmt.Errorf("spec.nodeSelector: %w", err)
	}
	server := labels.Set{corev1.LabelHostname: "a", corev1.LabelOSStable: "linux", suc.ControlPlaneLabel: "true"}
	agent := labels.Set{corev1.LabelHostname: "b", corev1.LabelOSStable: "linux"}
	if !chosen.Matches(server) || chosen.Matches(agent) {
		return fmt.Errorf("spec.nodeSelector %s does not select the servers alone", chosen)
	}
	return nil
}

// What the reasons must have at least: characters, and different ones.
const (
	reasonLength   = 150
	reasonAlphabet = 20
)

func (l *lab) checkReport(g *Grade, e *evidence, next skew.Version) {
	content, err := os.ReadFile(l.path(reportFile))
	if err != nil {
		g.add(reportFile, err, "")
		return
	}
	values, rest := map[string]string{}, strings.Builder{}
	for line := range strings.Lines(string(content)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && slices.Contains([]string{"initial", "current", "next_plan", "stable_channel", "stable_minor_jump"}, key) {
			values[key] = value
		} else {
			rest.WriteString(line)
		}
	}
	jump := errors.New("stable_channel= or initial= is missing or is no version")
	stable, stableErr := skew.Parse(values["stable_channel"])
	initial, initialErr := skew.Parse(values["initial"])
	if stableErr == nil && initialErr == nil {
		jump = equal("stable_minor_jump", values["stable_minor_jump"], "the minors from initial to stable_channel", fmt.Sprint(channels.Jump(initial, stable)))
	}
	g.add(reportFile, errors.Join(
		equal("initial", values["initial"], "before.json's server_version", e.before.ServerVersion),
		equal("current", values["current"], "after.json's server_version", e.after.ServerVersion),
		equal("next_plan", values["next_plan"], "plan.yaml's version", next.String()), jump),
		fmt.Sprintf("stable is %s from where it began", plural(channels.Jump(initial, stable), "minor")))
	var short error
	alphabet := map[rune]bool{}
	for _, r := range rest.String() {
		alphabet[r] = true
	}
	if len(alphabet) < reasonAlphabet {
		short = errors.New("the reasons are no sentences")
	}
	if n := utf8.RuneCountInString(strings.TrimSpace(rest.String())); n < reasonLength {
		short = fmt.Errorf("the reasons have %d characters, at least %d are asked for", n, reasonLength)
	}
	g.add(reportFile, short, "says why a version was pinned")
}

// checkSnapshots compares the records with the snapshots that the lab took
// beside them; a folder without them is not graded by them.
func (l *lab) checkSnapshots(g *Grade, e *evidence) {
	for _, s := range []struct {
		name, version, workload string
	}{
		{snapshotBefore, e.before.ServerVersion, e.workload.DeploymentUID},
		{snapshotAfter, e.after.ServerVersion, e.after.DeploymentUID},
	} {
		if _, err := os.Stat(l.path(s.name)); errors.Is(err, os.ErrNotExist) {
			continue
		}
		snap, err := snapshot.ReadFile(l.path(s.name))
		if err == nil {
			err = matches(snap, s.version, s.workload, e)
		}
		g.add(s.name, err, "says what the records say")
	}
	before, beforeErr := snapshot.ReadFile(l.path(snapshotBefore))
	after, afterErr := snapshot.ReadFile(l.path(snapshotAfter))
	if beforeErr == nil && afterErr == nil { // else said above, or not there
		drained, _ := os.ReadFile(l.path(drainFile))
		g.add(snapshotAfter, leftCordoned(before, after, string(drained)), "no node is cordoned that was not before")
		g.add(snapshotAfter, lost(snapshot.Compare(before, after, snapshot.CompareOptions{})), "nothing in the whole cluster was lost")
	}
}

// leftCordoned is nil when every node that took Pods before the climb takes
// Pods after it: at the snapshot that the upgrade began with, or earlier, when
// the drain gave it back. One that was cordoned before may stay so.
func leftCordoned(before, after *snapshot.Snapshot, drained string) error {
	var errs []error
	for _, was := range before.Nodes {
		took := was.Schedulable || strings.Contains(drained, "node/"+was.Name+" uncordoned")
		if is, ok := after.Node(was.Name); ok && took && !is.Schedulable {
			errs = append(errs, fmt.Errorf("node %s took Pods before the upgrade and is cordoned after it, so the next Pod stays Pending: kubectl uncordon %s, then lab step after --force and the steps that follow",
				was.Name, was.Name))
		}
	}
	return errors.Join(errs...)
}

// matches is nil when a snapshot has the recorded version and identities.
func matches(snap *snapshot.Snapshot, version, workload string, e *evidence) error {
	web, ok := snap.Workload("Deployment", namespace, webName)
	if !ok {
		return errors.New("it holds no Deployment web")
	}
	node, ok := snap.Node(e.before.NodeName)
	if !ok {
		return fmt.Errorf("it holds no node %s", e.before.NodeName)
	}
	var restarts error
	if version == e.after.ServerVersion {
		restarts = equal("after.json's web_restarts", e.after.WebRestarts, "the snapshot's", web.Restarts)
	}
	return errors.Join(restarts,
		equal("the recorded version", version, "the snapshot's", snap.ServerVersion()),
		equal("the recorded UID of web", workload, "the snapshot's", web.UID),
		equal("the recorded UID of the node", e.before.NodeUID, "the snapshot's", node.UID))
}

// checkOrder: what was recorded before the upgrade must be older than it, and
// what was recorded after it younger. Within these parts steps may be repeated
// in any order.
func (l *lab) checkOrder(g *Grade) {
	var newest, bound time.Time
	var newestName, boundName string
	for _, s := range steps {
		if s.name == "upgrade" || s.name == "after" || s.name == "plan" {
			bound, boundName = newest, newestName
		}
		for _, name := range s.files {
			info, err := os.Stat(l.path(name))
			if err != nil || name == backupToken {
				continue // said above; and the copied token keeps the time of its original
			}
			if info.ModTime().Before(bound) {
				g.add(name, fmt.Errorf("is older than %s, which the procedure writes before it (to copy a folder with its times: cp -a)", boundName), "")
				return
			}
			if info.ModTime().After(newest) {
				newest, newestName = info.ModTime(), name
			}
		}
	}
	g.add("order", nil, "the files were written in the procedure's order")
}

// keys reads a JSON file into record and makes sure that it has the keys and
// that no text among them is empty.
func (l *lab) keys(name string, record any, keys ...string) error {
	content, err := os.ReadFile(l.path(name))
	if err != nil {
		return err
	}
	var found map[string]any
	if err := json.Unmarshal(content, &found); err != nil {
		return err
	}
	for _, key := range keys {
		value, ok := found[key]
		if !ok || value == nil || value == "" {
			return fmt.Errorf("%s is missing", key)
		}
	}
	return json.Unmarshal(content, record)
}

func equal[T comparable](what string, got T, than string, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, %s is %v", what, got, than, want)
	}
	return nil
}
