package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/suc"
)

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
		minorAbove(next, now),
		serversOnly(plan.Spec.NodeSelector))
}

func minorAbove(next, now skew.Version) error {
	if (now == skew.Version{}) {
		return errors.New("cannot be judged without the version in after.json")
	}
	return equal("the minor of spec.version", next.Minor().String(), "the one above after.json's", now.Minor().Next().String())
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
