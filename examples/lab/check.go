package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/snapshot/apiusage"
)

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
		g.add(beforeFile, recordedLate{fmt.Errorf("was recorded at %s, to which the upgrade went: it was written after the upgrade and proves nothing, and no step makes up for it; if a copy of the first one is left, put it back",
			e.upgrade.To)}, "")
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
	if _, err := os.Stat(l.path(backupDatabase)); errors.Is(err, os.ErrNotExist) {
		if !g.absent[backupFile] { // else said with it
			g.add(backupDir, errors.New("state.db is not there"), "")
		}
		return
	}
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

// checkOrder: what was recorded before the upgrade must be older than it, and
// what was recorded after it younger. Within these parts steps may be repeated
// in any order.
func (l *lab) checkOrder(g *Grade) {
	var newest, bound time.Time
	var newestName, boundName string
	upgraded := slices.IndexFunc(steps, func(s step) bool { return s.name == "upgrade" })
	for i, s := range steps {
		if i == upgraded || s.name == "after" || s.name == "plan" {
			bound, boundName = newest, newestName
		}
		for _, name := range s.files {
			info, err := os.Stat(l.path(name))
			if err != nil || name == backupToken {
				continue // said above; and the copied token keeps the time of its original
			}
			if info.ModTime().Before(bound) {
				todo := ""
				if i > upgraded { // what was recorded too late stays so, repeated or not
					todo = ": repeat " + l.again(s.name)
					for _, next := range steps[i+1:] {
						todo += ", then " + next.name
					}
				}
				g.add(name, fmt.Errorf("is older than %s, which the procedure writes before it%s (a copied folder keeps its times with cp -a)", boundName, todo), "")
				return
			}
			if info.ModTime().After(newest) {
				newest, newestName = info.ModTime(), name
			}
		}
	}
	g.add("order", nil, "every file was written on its side of the upgrade")
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
		return fmt.Errorf("%s is %s, %s is %s", what, orUnknown(got), than, orUnknown(want))
	}
	return nil
}

// orUnknown keeps a sentence whole when a file that is not there left its
// record empty.
func orUnknown(value any) string {
	return cmp.Or(fmt.Sprint(value), "not known")
}
