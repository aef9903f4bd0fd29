package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/k3sladder/k3sladder/drainprobe"
)

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
	case node == "":
		return errors.New("cannot be judged without the node in before.json")
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
