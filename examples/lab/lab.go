package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/drainprobe"
	"github.com/k3sladder/k3sladder/examples/internal/cli"
	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/snapshot/report"
)

// lab is the procedure on one cluster with one folder.
type lab struct {
	folder
	term *terminal

	config   *rest.Config
	client   kubernetes.Interface
	dataDir  string
	nodeName string // empty: the only server
	// engine takes the cluster to another version.
	engine engine

	to           string // empty: the ladder's next rung on the way to stable
	drainTimeout time.Duration
	readyTimeout time.Duration
	settle       time.Duration // how long a finished upgrade may look like none
	keepBudgets  bool
	language     string
	channels     string // URL, file, or empty for the channel server
	crd          string // URL, file, or empty
	catalog      *channels.Catalog
	course       course
	result       *reportFacts // once the report is written
}

// engine carries an upgrade out and ends when its part is done; the lab then
// waits for the API server and the node.
type engine interface {
	upgrade(ctx context.Context, from, to skew.Version, live *live) error
	// how says in a few words what upgrade does.
	how(to skew.Version) string
	// can is nil when there is what upgrade needs to go to that version.
	can(ctx context.Context, to skew.Version) error
	// offline: nothing may be fetched that was not asked for by a flag.
	offline() bool
}

// run does steps in order, in a folder that it has taken.
func (l *lab) run(ctx context.Context, todo []step) error {
	for _, s := range todo {
		if err := l.free(s.files...); err != nil {
			return errors.Join(l.stays(ctx, s, err), l.goOn(todo, l.missing(todo)))
		}
	}
	if len(todo) > 1 {
		if err := l.preflight(ctx); err != nil {
			return unlessInterrupted(ctx, err)
		}
	}
	for i, s := range todo {
		live := l.term.begin(s.name)
		began := time.Now()
		var result string
		err := l.sameCluster(ctx, s)
		if err == nil {
			err = l.inTime(ctx, s)
		}
		if err == nil {
			result, err = s.run(l, ctx, live)
		}
		if err != nil {
			live.end("")
			return errors.Join(l.failed(ctx, s, err), l.goOn(todo, todo[i:]))
		}
		live.end(result)
		note, _, _ := strings.Cut(result, "\n")
		l.course.steps = append(l.course.steps, report.Step{Name: s.name, Took: time.Since(began), Note: note})
	}
	if l.result != nil && !l.summary(l.result) {
		return cli.Negative(fmt.Errorf("not everything is as it was; see: lab check --dir %s", l.dir))
	}
	return nil
}

// unlessInterrupted is err, unless it only follows from an interrupt.
func unlessInterrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted before the first step")
	}
	return err
}

// preflight refuses a target that the upgrade would refuse or could not get,
// before a node is drained for it.
func (l *lab) preflight(ctx context.Context) error {
	live := l.term.begin("target")
	defer live.end("")
	from, err := l.server(ctx)
	if err != nil {
		return err
	}
	to, err := l.upgradeTarget(ctx, from, live)
	if err != nil {
		return err
	}
	live.say("looking for what takes it to %s", to)
	if err := l.engine.can(ctx, to); err != nil {
		return fmt.Errorf("%s cannot be had: %w", to, err)
	}
	if l.crd != "" {
		_, err = l.planCRD(ctx, live)
	}
	return err
}

// failed says which step it was, and after an interrupt how to go on.
func (l *lab) failed(ctx context.Context, s step, err error) error {
	var stuck *drainprobe.RestoreError
	_, gone := l.engine.(practiceEngine) // its cluster ends with the run
	switch {
	case ctx.Err() == nil:
		return fmt.Errorf("step %s: %w", s.name, err)
	case errors.As(err, &stuck):
		return fmt.Errorf("step %s: interrupted: %w", s.name, stuck)
	case s.name == "upgrade" && !gone:
		return fmt.Errorf("step %s: interrupted; an upgrade that had begun is not taken back: start k3s if it is stopped, then repeat the step", s.name)
	default:
		return fmt.Errorf("step %s: interrupted; what it had taken is given back, and it can be repeated", s.name)
	}
}

// missing are the steps whose files are not all there, without those of before
// an upgrade that is done.
func (l *lab) missing(todo []step) (left []step) {
	_, err := os.Lstat(l.path(upgradeFile))
	for _, s := range todo {
		if err == nil && s.early {
			continue
		}
		if slices.ContainsFunc(s.files, func(name string) bool { _, err := os.Lstat(l.path(name)); return err != nil }) {
			left = append(left, s)
		}
	}
	return left
}

// goOn says how to go on with a run of which only left is still to be done;
// nil where that is nothing or all, and where the cluster ends with the run.
func (l *lab) goOn(todo, left []step) error {
	if _, gone := l.engine.(practiceEngine); gone || len(left) == 0 || len(left) == len(todo) {
		return nil
	}
	next := fmt.Sprintf("lab step %s --dir %s", left[0].name, l.dir)
	for _, s := range left[1:] {
		next += ", then " + s.name
	}
	return fmt.Errorf("%d of %d steps left; to go on, with the same flags: %s", len(left), len(todo), next)
}

// inTime is nil unless the step belongs before the upgrade and that is done:
// its record would be one of after, and what is there of before would be lost.
func (l *lab) inTime(ctx context.Context, s step) error {
	if _, err := os.Lstat(l.path(beforeFile)); err != nil || !s.early || s.name == "before" {
		return nil
	}
	var before beforeRecord
	if err := l.read(beforeFile, "before", &before); err != nil {
		return err
	}
	server, err := l.server(ctx)
	if err != nil {
		return err
	}
	if recorded, err := skew.Parse(before.ServerVersion); err == nil && recorded == server {
		return nil
	}
	err = fmt.Errorf("the cluster runs %s and %s was recorded at %s: this step belongs before the upgrade, and what there is of it stays", server, l.path(beforeFile), before.ServerVersion)
	if s.name == "backup" {
		err = fmt.Errorf("%w; to save this cluster too use: backup save --out DIR", err)
	}
	return err
}

// stays is err, which says that what a step wrote is there, without --force
// where the step would refuse to write it anew.
func (l *lab) stays(ctx context.Context, s step, err error) error {
	var before beforeRecord
	if !errors.Is(err, errThere) || !s.early || l.read(beforeFile, "before", &before) != nil {
		return err
	}
	recorded, malformed := skew.Parse(before.ServerVersion)
	server, silent := l.server(ctx)
	if malformed != nil || silent != nil || recorded == server {
		return err
	}
	return fmt.Errorf("what step %s wrote %w, of %s, and the cluster runs %s: it stays, --force or not; for another climb use another --dir", s.name, errThere, recorded, server)
}

// sameCluster is nil unless before.json is there and of another cluster than
// the one asked, of which nothing may stand beside it. A server that gives no
// answer is for the step to tell.
func (l *lab) sameCluster(ctx context.Context, s step) error {
	var before beforeRecord
	if s.name == "before" || s.name == "report" || l.read(beforeFile, "before", &before) != nil || before.ClusterUID == "" {
		return nil
	}
	uid, err := l.clusterUID(ctx)
	if err != nil || uid == before.ClusterUID {
		return nil
	}
	err = fmt.Errorf("%s is of another cluster: its kube-system had UID %s, this one's has %s; name the right cluster (--kubeconfig, --context) or the right folder (--dir; a new cluster takes a new one)",
		l.path(beforeFile), before.ClusterUID, uid)
	if s.name == "after" { // the answer to what this step asks
		err = cli.Negative(fmt.Errorf("%w; if both are right, the cluster of before is gone, and the way back is %s", err, l.path(backupDir)))
	}
	return err
}

// server gives the API server's version.
func (l *lab) server(ctx context.Context) (skew.Version, error) {
	// ServerVersion of the discovery client would not end with ctx, and a
	// server that says nothing is no server.
	ctx, cancel := context.WithTimeoutCause(ctx, 20*time.Second, errors.New("no answer within 20 seconds"))
	defer cancel()
	answer, err := l.client.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return skew.Version{}, fmt.Errorf("asking the API server at %s for its version: %w; is it the right cluster (--kubeconfig, --context), and does it run?", l.config.Host, err)
	}
	var info version.Info
	if err := json.Unmarshal(answer, &info); err != nil {
		return skew.Version{}, fmt.Errorf("the API server at %s: /version: %w", l.config.Host, err)
	}
	return skew.Parse(info.GitVersion)
}

// node gives the server node that the lab works on.
func (l *lab) node(ctx context.Context) (*corev1.Node, error) {
	if l.nodeName != "" {
		node, err := l.client.CoreV1().Nodes().Get(ctx, l.nodeName, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("--node %s: %w; kubectl get nodes lists them", l.nodeName, err)
		}
		return node, nil
	}
	list, err := l.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "node-role.kubernetes.io/control-plane=true"})
	if err != nil {
		return nil, fmt.Errorf("listing the server nodes: %w", err)
	}
	var names []string
	for _, n := range list.Items {
		names = append(names, n.Name)
	}
	switch len(names) {
	case 0:
		return nil, errors.New("no node carries node-role.kubernetes.io/control-plane=true; name the server with --node")
	case 1:
		return &list.Items[0], nil
	default:
		return nil, fmt.Errorf("the cluster has %d servers (%s); the lab takes one up: name it with --node", len(names), strings.Join(names, ", "))
	}
}

// versions gives the channels, read once; where nothing may be fetched, the
// bundled ones.
func (l *lab) versions(ctx context.Context, live *live) (*channels.Catalog, error) {
	if l.catalog != nil {
		return l.catalog, nil
	}
	source := l.channels
	if source == "" && l.engine.offline() {
		source = channels.BundledSource
	}
	live.say("reading release channels")
	catalog, err := channels.Read(ctx, source, channels.Options{})
	if err != nil {
		return nil, fmt.Errorf("%w; --channels takes a mirror's URL, a saved file, or %q", err, channels.BundledSource)
	}
	if catalog.Bundled {
		live.note("channels: %s", catalog.Origin())
	}
	l.catalog = catalog
	return catalog, nil
}

// target is the version to go to from a running one.
func (l *lab) target(ctx context.Context, from skew.Version, live *live) (skew.Version, error) {
	if l.to != "" {
		to, err := skew.Parse(l.to)
		if err != nil {
			return skew.Version{}, fmt.Errorf("--to: %w", err)
		}
		return to, nil
	}
	catalog, err := l.versions(ctx, live)
	if err != nil {
		return skew.Version{}, err
	}
	return nextRung(from, catalog)
}

// nextRung is the ladder's first rung from a version to where stable points.
func nextRung(from skew.Version, catalog *channels.Catalog) (skew.Version, error) {
	stable, err := catalog.Latest("stable")
	if err != nil {
		return skew.Version{}, fmt.Errorf("%w (%s); name the version to go to with --to", err, catalog.Origin())
	}
	if !from.Less(stable) {
		return skew.Version{}, cli.Negative(fmt.Errorf("nothing to do: the cluster runs %s, stable points at %s (%s); name a newer one with --to", from, stable, catalog.Origin()))
	}
	// A rung from which the upgrade image can go on, too, unless there is none.
	facts := channels.Facts{Datastore: channels.SQLite}
	climb, err := channels.Ladder(from, stable, catalog, facts)
	if errors.Is(err, channels.ErrNoPath) {
		facts.Executor = channels.Script
		climb, err = channels.Ladder(from, stable, catalog, facts)
	}
	if err != nil {
		return skew.Version{}, fmt.Errorf("no target above %s: %w (%s); name one with --to", from, err, catalog.Origin())
	}
	return offered(climb.Rungs[0].Version, catalog), nil
}

// offered is a rung, or the newest patch of its minor that a channel points at
// where that is older: a mirror may not have more.
func offered(rung skew.Version, catalog *channels.Catalog) skew.Version {
	if newest, err := catalog.NewestPatch(rung.Minor()); err == nil && newest.Less(rung) {
		return newest
	}
	return rung
}

// waitFor asks ready until it says yes, and tells what it last said.
func waitFor(ctx context.Context, limit time.Duration, live *live, what string, ready func(context.Context) (string, bool)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %s", limit))
	defer cancel()
	for {
		state, ok := ready(ctx)
		if ok {
			return nil
		}
		live.say("waiting for %s: %s", what, state)
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w (last: %s)", what, context.Cause(ctx), state)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func now() string { return time.Now().UTC().Format(time.RFC3339Nano) }

// plural is "1 Pod", "2 Pods".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
