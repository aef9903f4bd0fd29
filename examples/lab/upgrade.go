package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k3sladder/k3sladder/drainprobe"

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
	recorded, err := skew.Parse(before.ServerVersion)
	if err != nil {
		return "", fmt.Errorf("%s: server_version: %w", l.path(beforeFile), err)
	}
	// No backup makes a forbidden target a good one, so that comes first.
	to, err := l.upgradeTarget(ctx, recorded, live)
	if err != nil {
		return "", err
	}
	var workload workloadRecord
	if err := l.read(workloadFile, "workload", &workload); err != nil {
		return "", err
	}
	live.say("verifying the backup")
	cluster, err := l.clusterUID(ctx)
	if err != nil {
		return "", err
	}
	verified, err := l.verifyBackup(ctx, cluster)
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
	if from == recorded && string(node.UID) != before.NodeUID {
		return "", fmt.Errorf("the node was made anew since %s: it had UID %s, now it has %s; record what there is now (%s)", l.path(beforeFile), before.NodeUID, node.UID, l.again("before"))
	}
	switch from {
	case recorded:
		if verified.K3sVersion != from.String() {
			return "", fmt.Errorf("the backup is of %q and the cluster runs %s: back up again (%s)", verified.K3sVersion, from, l.again("backup"))
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
		if err := l.climb(ctx, node, from, to, live); err != nil {
			return "", err
		}
	case to:
		// An upgrade that was interrupted after its work was done.
		live.note("the cluster runs %s already", to)
		if err := l.waitVersion(ctx, from, to, node.Name, live); err != nil {
			return "", err
		}
	default:
		return "", fmt.Errorf("the cluster runs %s, which is neither what %s recorded (%s) nor the target (%s); if an interrupted upgrade brought it there, repeat with --to %s",
			from, l.path(beforeFile), recorded, to, from)
	}
	if node, err = l.node(ctx); err != nil {
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
		return skew.Version{}, cli.Negative(fmt.Errorf("refused: the cluster runs %s already; name the next version with --to (a before.json recorded now proves nothing about an upgrade that is done)", to))
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
		return fmt.Errorf("the server's token changed since the backup, whose own would be needed to restore it: back up again (%s)", l.again("backup"))
	}
	return nil
}

// climb does what the drain step decided, then the upgrade, and waits for it.
func (l *lab) climb(ctx context.Context, node *corev1.Node, from, to skew.Version, live *live) (err error) {
	decision, err := l.decided()
	if err != nil {
		return err
	}
	switch decision {
	case drainprobe.ActionAddNodeFirst:
		return cli.Negative(fmt.Errorf("refused: %s says decision=%s: add a node and drain again (%s), or let go of the budget (the same without --keep-budgets)",
			l.path(drainFile), decision, l.again("drain")))
	case drainprobe.ActionDrain:
		giveBack, err := l.emptyNode(ctx, node, live)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, giveBack()) }()
	default:
		if node.Spec.Unschedulable {
			l.cordoned(node, live)
		}
	}
	if err = l.engine.upgrade(ctx, from, to, live); err != nil {
		err = fmt.Errorf("upgrading to %s: %w", to, err)
		// A script that failed may have left k3s down; before it nothing was touched.
		if ended := new(exec.ExitError); !errors.As(err, &ended) {
			return err
		}
	} else {
		err = l.waitVersion(ctx, from, to, node.Name, live)
	}
	if err != nil && !l.engine.offline() {
		err = fmt.Errorf("%w; see: journalctl -u k3s; if it does not come up, the way back is: systemctl stop k3s, then backup restore %s --data-dir %s, which says how to start %s again",
			err, l.path(backupDir), l.dataDir, from)
	}
	return err
}

// decided is what drain.txt says; nothing when no drain was tried.
func (l *lab) decided() (drainprobe.Action, error) {
	if _, err := os.Stat(l.path(drainFile)); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	decision, err := l.decision()
	if err != nil {
		return "", fmt.Errorf("%s: %w", l.path(drainFile), err)
	}
	return drainprobe.Action(decision), nil
}

// emptyNode drains the node for the time of the upgrade. The returned function
// gives it back as it was found.
func (l *lab) emptyNode(ctx context.Context, node *corev1.Node, live *live) (giveBack func() error, err error) {
	cordon := func(ctx context.Context, on bool) error {
		patch := fmt.Sprintf(`{"spec":{"unschedulable":%v}}`, on)
		_, err := l.client.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
	// The way back is not to end with ctx, and outlives a restarting server.
	giveBack = func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.readyTimeout)
		defer cancel()
		err := waitFor(ctx, l.readyTimeout, live, "node "+node.Name+" to be given back", func(ctx context.Context) (string, bool) {
			err := cordon(ctx, node.Spec.Unschedulable)
			return fmt.Sprint(err), err == nil
		})
		if err != nil {
			return fmt.Errorf("the node is still cordoned: kubectl uncordon %s: %w", node.Name, err)
		}
		return nil
	}
	if err := cordon(ctx, true); err != nil {
		return nil, errors.Join(fmt.Errorf("cordoning %s: %w", node.Name, err), giveBack())
	}
	drained, err := drainprobe.Attempt(ctx, l.client, node.Name, l.drainOptions(live))
	if err == nil && !drained.Drained {
		err = fmt.Errorf("the drain that %s promised does not finish any more: %s; decide again (%s)", l.path(drainFile), drained.Reason, l.again("drain"))
	}
	if err != nil {
		return nil, errors.Join(err, giveBack())
	}
	return giveBack, nil
}

// waitVersion waits until API server and node are at to and the node is Ready.
// The engine is done by then, so a server that answers with another version is
// not waited for long.
func (l *lab) waitVersion(ctx context.Context, from, to skew.Version, nodeName string, live *live) error {
	began := time.Now()
	var elsewhere error
	err := waitFor(ctx, l.readyTimeout, live, "the API server and node "+nodeName, func(ctx context.Context) (string, bool) {
		server, err := l.server(ctx)
		if err != nil {
			return "the API server does not answer", false
		}
		if server != to && time.Since(began) > l.settle {
			elsewhere = fmt.Errorf("the upgrade ended without an error and the cluster runs %s, not %s: look at what the install script said", server, to)
			return "", true
		}
		node, err := l.node(ctx)
		if err != nil {
			return err.Error(), false
		}
		kubelet, err := skew.Parse(node.Status.NodeInfo.KubeletVersion)
		ready := err == nil && isReady(node)
		return fmt.Sprintf("API server at %s, kubelet at %s, Ready=%v", server, kubelet, ready), server == to && kubelet == to && ready
	})
	return errors.Join(err, elsewhere)
}
