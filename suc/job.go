package suc

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Selector is the label selector of the Pods that the controller drains: all
// but its own and those of its Jobs, further limited by PodSelector.
func (d *DrainSpec) Selector() string {
	mine, _ := labels.NewRequirement(LabelController, selection.DoesNotExist, nil)
	selector := labels.NewSelector().Add(*mine)
	if d != nil && d.PodSelector != nil {
		if s, err := metav1.LabelSelectorAsSelector(d.PodSelector); err == nil { // else the Plan is invalid
			if r, ok := s.Requirements(); ok {
				selector = selector.Add(r...)
			}
		}
	}
	return selector.String()
}

// DrainArgs are the arguments with which the controller calls kubectl.
// Without a DrainSpec there are none: it does not call it.
func DrainArgs(node string, d *DrainSpec) []string {
	if d == nil {
		return nil
	}
	set := func(b *bool) bool { return b == nil || *b }
	args := []string{"drain", node, "--pod-selector", d.Selector()}
	if set(d.IgnoreDaemonSets) {
		args = append(args, "--ignore-daemonsets")
	}
	if set(d.DeleteLocalData) && set(d.DeleteEmptydirData) {
		args = append(args, "--delete-emptydir-data")
	}
	if d.Force {
		args = append(args, "--force")
	}
	if t := d.Timeout; t != nil {
		text := t.StrVal
		if t.Type == intstr.Int {
			text = time.Duration(t.IntVal).String()
		}
		args = append(args, "--timeout", text)
	}
	if d.GracePeriod != nil {
		args = append(args, "--grace-period", strconv.Itoa(int(*d.GracePeriod)))
	}
	if d.DisableEviction {
		args = append(args, "--disable-eviction=true")
	}
	if d.SkipWaitForDeleteTimeout > 0 {
		args = append(args, "--skip-wait-for-delete-timeout", strconv.Itoa(d.SkipWaitForDeleteTimeout))
	}
	return args
}

// JobName is the name of a node's Job. Only the part of the node's name before
// its first dot counts; a name of 64 characters or more is cut, with the
// beginning of its SHA-256 behind it.
func JobName(plan, node, hash string) string {
	short, _, _ := strings.Cut(node, ".")
	name := strings.Join([]string{"apply", plan, "on", short, "with", hash}, "-")
	if len(name) < 64 {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	digest := hex.EncodeToString(sum[:])
	if c := name[56]; 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
		return name[:57] + "-" + digest[:5]
	}
	return name[:56] + "-" + digest[:6]
}
