package main

import (
	"context"
	"fmt"

	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/skew"
)

// upgrade takes the server to the target, once everything that a way back and
// a proof need is there.
func (l *lab) upgrade(ctx context.Context, live *live) (string, error) {
	var before beforeRecord
	if err := l.read(beforeFile, "before", &before); err != nil {
		return "", err
	}
	var workload workloadRecord
	if err := l.read(workloadFile, "workload", &workload); err != nil {
		return "", err
	}
	live.say("verifying the backup")
	verified, err := l.verifyBackup(ctx)
	if err != nil {
		return "", err
	}
	from, err := l.server(ctx)
	if err != nil {
		return "", err
	}
	node, err := l.node(ctx)
	if err != nil {
		return "", err
	}
	recorded, err := skew.Parse(before.ServerVersion)
	if err != nil {
		return "", fmt.Errorf("%s: server_version: %w", l.path(beforeFile), err)
	}
	if string(node.UID) != before.NodeUID {
		return "", fmt.Errorf("%s is of another cluster: its node had UID %s, this one has %s", l.path(beforeFile), before.NodeUID, node.UID)
	}
	to, err := l.upgradeTarget(ctx, recorded, live)
	if err != nil {
		return "", err
	}
	switch from {
	case recorded:
		if verified.K3sVersion != from.String() {
			return "", fmt.Errorf("the backup is of %q and the cluster runs %s: back up again (lab step backup --force)", verified.K3sVersion, from)
		}
		if err := l.sameToken(verified.TokenSHA256); err != nil {
			return "", err
		}
		snap, err := l.capture(ctx, live)
		if err != nil {
			return "", err
		}
		// An earlier try may have left one; the cluster has not moved since.
		if err := snap.WriteFile(l.path(snapshotBefore), true); err != nil {
			return "", l.explain(err)
		}
		l.course.how = l.engine.how(to)
		if err := l.engine.upgrade(ctx, from, to, live); err != nil {
			return "", fmt.Errorf("upgrading to %s: %w", to, err)
		}
	case to:
		// An upgrade that was interrupted after its work was done.
		live.note("the cluster runs %s already", to)
	default:
		return "", fmt.Errorf("the cluster runs %s, which is neither what %s recorded (%s) nor the target (%s)", from, l.path(beforeFile), recorded, to)
	}
	if err := l.waitVersion(ctx, to, node.Name, live); err != nil {
		return "", err
	}
	node, err = l.node(ctx)
	if err != nil {
		return "", err
	}
	err = l.writeJSON(upgradeFile, upgradeRecord{From: recorded.String(), To: to.String(), NodeUID: string(node.UID), RecordedAt: now()})
	same := "same node"
	if string(node.UID) != before.NodeUID {
		same = "ANOTHER node object (its UID changed)"
	}
	return fmt.Sprintf("%s -> %s, %s", recorded, to, same), err
}

// upgradeTarget is the target, if the skew policy lets from go there. A refusal
// is a verdict: exit code 1.
func (l *lab) upgradeTarget(ctx context.Context, from skew.Version, live *live) (skew.Version, error) {
	to, err := l.target(ctx, from, live)
	if err != nil {
		return skew.Version{}, err
	}
	step, err := skew.CheckUpgrade(from, to)
	if err != nil {
		return skew.Version{}, cli.Negative(fmt.Errorf("refused: %w; the lab goes exactly one minor up, or to a newer patch of %s", err, from.Minor()))
	}
	if step.Kind == skew.NoOp {
		return skew.Version{}, cli.Negative(fmt.Errorf("refused: the cluster runs %s already; name the next version with --to", to))
	}
	return to, nil
}

// sameToken makes sure that the backup's token is the one k3s has.
func (l *lab) sameToken(sha string) error {
	now, err := tokenSHA256(l.dataDir)
	if err != nil {
		return err
	}
	if now != sha {
		return fmt.Errorf("the server's token changed since the backup, whose own would be needed to restore it: back up again (lab step backup --force)")
	}
	return nil
}

// waitVersion waits until API server and node are at to and the node is Ready.
func (l *lab) waitVersion(ctx context.Context, to skew.Version, nodeName string, live *live) error {
	return waitFor(ctx, l.readyTimeout, live, "the API server and node "+nodeName, func(ctx context.Context) (string, bool) {
		server, err := l.server(ctx)
		if err != nil {
			return "the API server does not answer", false
		}
		node, err := l.node(ctx)
		if err != nil {
			return err.Error(), false
		}
		kubelet, err := skew.Parse(node.Status.NodeInfo.KubeletVersion)
		ready := err == nil && isReady(node)
		return fmt.Sprintf("API server at %s, kubelet at %s, Ready=%v", server, kubelet, ready), server == to && kubelet == to && ready
	})
}
