package main

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/k3sladder/k3sladder/drainprobe"
)

// drain tries a real drain, gives the node back, and decides.
func (l *lab) drain(ctx context.Context, live *live) (string, error) {
	node, err := l.node(ctx)
	if err != nil {
		return "", err
	}
	if node.Spec.Unschedulable {
		l.cordoned(node, live)
	}
	options := l.drainOptions(live)
	options.WaitReady = l.readyTimeout
	attempted, err := drainprobe.Attempt(ctx, l.client, node.Name, options)
	if err != nil {
		return "", err
	}
	if l.readyTimeout > 0 && !attempted.Recovered {
		live.note("the evicted workloads are not ready again after %s; see: kubectl get pods -A", l.readyTimeout)
	}
	decision := drainprobe.Decide(attempted, drainprobe.Policy{KeepBudgets: l.keepBudgets})
	l.course.attempted, l.course.decided = attempted, decision
	output := attempted.Output
	if !strings.HasSuffix(output, "\n") {
		output += "\n"
	}
	outcome := "the drain finished"
	if !attempted.Drained {
		outcome = fmt.Sprintf("the drain did not finish in %s", l.drainTimeout)
	}
	result := fmt.Sprintf("%s; %s\n%s", outcome, decision, strings.Join(decision.Reasons, "\n"))
	return result, l.write(drainFile, []byte(output+decision.String()+"\n"))
}

// cordoned says of a node that it is cordoned, and stays so.
func (l *lab) cordoned(node *corev1.Node, live *live) {
	live.note("node %s is cordoned: a Pod that has to start again stays Pending; unless it is meant to be (a killed drain leaves it so): kubectl uncordon %s", node.Name, node.Name)
}

func (l *lab) drainOptions(live *live) drainprobe.Options {
	return drainprobe.Options{
		IgnoreDaemonSets: true, DeleteEmptyDirData: true, Timeout: l.drainTimeout,
		OnEvent: func(e drainprobe.Event) { live.say("%s", eventText(e)) },
	}
}

func eventText(e drainprobe.Event) string {
	text := string(e.Type)
	if e.Pod != nil {
		text += " " + e.Pod.String()
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return fmt.Sprintf("%d of %d gone, %s", e.Gone, e.Total, text)
}
