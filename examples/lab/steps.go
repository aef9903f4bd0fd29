package main

import (
	"context"
	"strings"
)

// A step is one line of the procedure.
type step struct {
	name  string
	files []string // what it writes, in this order
	early bool     // belongs before the upgrade
	help  string   // two lines
	// run does it and says in a few words what came out.
	run func(l *lab, ctx context.Context, live *live) (string, error)
}

// steps are the procedure, in order.
var steps = []step{
	{"before", []string{beforeFile}, true, `
Writes down versions and identities, before anything is touched: who has
nothing to compare with cannot say afterwards what was lost.`, (*lab).before},
	{"workload", []string{workloadFile}, true, `
Makes namespace upg with Deployment web, two replicas of which a
PodDisruptionBudget keeps one: the commonest workload that a drain cannot finish on.`, (*lab).workload},
	{"deprecated", []string{deprecatedFile}, true, `
Reads from the API server's own metric which deprecated APIs were called, and
counts those that the target version no longer serves.`, (*lab).deprecated},
	{"backup", []string{backupDatabase, backupToken, backupFile}, true, `
Copies the live datastore and the token that opens it, and proves that they
belong together: Kubernetes has no downgrade, this is the only way back.`, (*lab).backup},
	{"drain", []string{drainFile}, true, `
Really drains the node, keeps what the drain said, gives the node back, and
decides: upgrade without a drain, or add a node first.`, (*lab).drain},
	{"upgrade", []string{upgradeFile}, false, `
Takes the server one minor up. Refuses without before.json, workload.json and a
backup that verifies, and refuses every target that is not exactly one minor up.`, (*lab).upgrade},
	{"after", []string{afterFile}, false, `
Reads versions and identities again: the same node, the same workload, its
restarts, and which kubelets and kubectls the new server allows.`, (*lab).after},
	{"plan", []string{planFile}, false, `
Writes the next rung down as a Plan of system-upgrade-controller, pinned to a
version, and applies it, unless the controller is there and would act on it.`, (*lab).plan},
	{"report", []string{reportFile, pageFile}, false, `
Writes what happened, where the stable channel points meanwhile, and why a
version was pinned instead of following it.`, (*lab).report},
}

func stepNames() []string {
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = s.name
	}
	return names
}

// short is a step's help as one line.
func (s step) short() string {
	text := strings.ReplaceAll(strings.TrimSpace(s.help), "\n", " ")
	if end := strings.IndexAny(text, ":,."); end >= 0 {
		text = text[:end]
	}
	return text
}
