package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/snapshot"
	"github.com/k3sladder/k3sladder/snapshot/apiusage"
)

// before records what there is.
func (l *lab) before(ctx context.Context, live *live) (string, error) {
	server, err := l.server(ctx)
	if err != nil {
		return "", err
	}
	// The classic mistake: what is recorded after the upgrade looks like a
	// record of before, and proves nothing.
	if _, err := os.Stat(l.path(beforeFile)); err == nil {
		var old beforeRecord
		if err := l.read(beforeFile, "before", &old); err != nil {
			return "", err
		}
		recorded, err := skew.Parse(old.ServerVersion)
		if err != nil {
			return "", fmt.Errorf("%s is damaged: server_version: %w; move it away and repeat", l.path(beforeFile), err)
		}
		if recorded != server {
			return "", fmt.Errorf("%s was recorded at %s and the cluster runs %s: it is the only record of what was before, so it stays, --force or not; for another climb use another --dir",
				l.path(beforeFile), old.ServerVersion, server)
		}
	}
	snap, err := l.capture(ctx, live)
	if err != nil {
		return "", err
	}
	node, err := l.node(ctx)
	if err != nil {
		return "", err
	}
	traefik, err := snap.Deployed("traefik")
	if err != nil {
		return "", err
	}
	kubelet := node.Status.NodeInfo.KubeletVersion
	err = l.writeJSON(beforeFile, beforeRecord{
		ServerVersion: server.String(), KubeletVersion: kubelet, NodeName: node.Name, NodeUID: string(node.UID),
		ClusterUID: snap.ClusterUID, TraefikDeployed: traefik, NodeTookPods: !node.Spec.Unschedulable, RecordedAt: now(),
	})
	return fmt.Sprintf("%s, node %s with kubelet %s", server, node.Name, kubelet), err
}

// after records what there is now.
func (l *lab) after(ctx context.Context, live *live) (string, error) {
	var done upgradeRecord
	if err := l.read(upgradeFile, "upgrade", &done); err != nil {
		return "", err
	}
	server, err := l.server(ctx)
	if err != nil {
		return "", err
	}
	if to, err := skew.Parse(done.To); err != nil || to != server {
		return "", fmt.Errorf("the cluster runs %s, %s says %s: repeat the upgrade (%s), or look for what moved it since", server, l.path(upgradeFile), done.To, l.again("upgrade"))
	}
	if err := l.waitWeb(ctx, live); err != nil {
		return "", err
	}
	snap, err := l.settled(ctx, live)
	if err != nil {
		return "", err
	}
	if err := snap.WriteFile(l.path(snapshotAfter), true); err != nil {
		return "", l.explain(err)
	}
	node, err := l.node(ctx)
	if err != nil {
		return "", err
	}
	if node.Spec.Unschedulable {
		live.note("node %s is cordoned: the next Pod stays Pending; unless it is meant to be: kubectl uncordon %s, then %s and the steps that follow", node.Name, node.Name, l.again("after"))
	}
	web, ok := snap.Workload("Deployment", namespace, webName)
	if !ok {
		return "", fmt.Errorf("the Deployment %s/%s is gone", namespace, webName)
	}
	traefik, err := snap.Deployed("traefik")
	if err != nil {
		return "", err
	}
	err = l.writeJSON(afterFile, afterRecord{
		ServerVersion: server.String(), DeploymentUID: string(web.UID), WebReady: web.Ready, WebRestarts: web.Restarts,
		TraefikDeployed: traefik,
		KubeletAllowed:  minors(skew.Allowed(skew.Kubelet, server)),
		KubectlAllowed:  minors(skew.Allowed(skew.Kubectl, server)),
		KubeletVersion:  node.Status.NodeInfo.KubeletVersion, NodeUID: string(node.UID),
		ClusterUID: snap.ClusterUID, RecordedAt: now(),
	})
	return fmt.Sprintf("%s, web has %d ready and %s", server, web.Ready, plural(web.Restarts, "restart")), err
}

// capture reads the whole cluster through package snapshot.
func (l *lab) capture(ctx context.Context, live *live) (*snapshot.Snapshot, error) {
	clients, err := snapshot.NewClients(l.config)
	if err != nil {
		return nil, err
	}
	return snapshot.Capture(ctx, clients, snapshot.Options{
		Progress: func(done, total int, _ snapshot.List) { live.say("%d of %d kinds read", done, total) },
	})
}

// deprecated keeps the metric's lines and counts what the target removes.
func (l *lab) deprecated(ctx context.Context, live *live) (string, error) {
	server, err := l.server(ctx)
	if err != nil {
		return "", err
	}
	to, err := l.target(ctx, server, live)
	if err != nil {
		return "", err
	}
	usage, err := apiusage.Read(ctx, l.client.Discovery().RESTClient())
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	if err := usage.WriteLines(&text, to.Minor()); err != nil {
		return "", err
	}
	l.course.usage, l.course.askedAt = usage, time.Now()
	removed := usage.RemovedBy(to.Minor())
	return fmt.Sprintf("%s called, %d of them removed by %s", plural(len(usage.Lines), "deprecated API"), removed, to.Minor()),
		l.write(deprecatedFile, text.Bytes())
}

func minors(list []skew.Minor) []string {
	text := make([]string, len(list))
	for i, m := range list {
		text[i] = m.String()
	}
	return text
}
