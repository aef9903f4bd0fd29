package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/snapshot"
)

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
	if known, cordoned, gone := l.losses(e.before); known { // else said above, or not there
		g.add(snapshotAfter, cordoned, "no node is cordoned that was not before")
		g.add(snapshotAfter, gone, "nothing in the whole cluster was lost")
	}
}

// leftCordoned is nil when every node that took Pods before the climb takes
// Pods after it: at the snapshot that the upgrade began with, or earlier, when
// the drain gave it back or the first record was made (a drain that was killed
// leaves its cordon). One that was cordoned before may stay so.
func leftCordoned(before, after *snapshot.Snapshot, drained string, first beforeRecord, again string) error {
	var errs []error
	for _, was := range before.Nodes {
		took := was.Schedulable || strings.Contains(drained, "node/"+was.Name+" uncordoned") ||
			first.NodeTookPods && first.NodeName == was.Name
		if is, ok := after.Node(was.Name); ok && took && !is.Schedulable {
			errs = append(errs, fmt.Errorf("node %s took Pods before the upgrade and is cordoned after it, so the next Pod stays Pending: kubectl uncordon %s, then %s and the steps that follow",
				was.Name, was.Name, again))
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
