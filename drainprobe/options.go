package drainprobe

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// Options are kubectl drain's flags and what an attempt needs besides. The
// zero value is `kubectl drain NODE` without flags.
//
// Flags: https://kubernetes.io/docs/reference/kubectl/generated/kubectl_drain/
type Options struct {
	// IgnoreDaemonSets is --ignore-daemonsets. Without it one DaemonSet Pod on
	// the node stops the drain before the first eviction.
	IgnoreDaemonSets bool
	// DeleteEmptyDirData is --delete-emptydir-data. Without it one Pod with an
	// emptyDir volume stops the drain before the first eviction.
	DeleteEmptyDirData bool
	// Force is --force. Without it one Pod that no controller owns stops the
	// drain before the first eviction.
	Force bool
	// GracePeriod is --grace-period in whole seconds. Nil leaves each Pod its
	// own terminationGracePeriodSeconds; zero kills at once.
	GracePeriod *time.Duration
	// Timeout is --timeout: how long the drain tries. Zero sets no limit, as
	// in kubectl; the caller's context still ends an attempt.
	Timeout time.Duration
	// PodSelector is --pod-selector, a label selector. Empty takes all Pods.
	PodSelector string
	// DisableEviction is --disable-eviction: Pods are deleted, and budgets
	// are not asked.
	DisableEviction bool
	// SkipWaitForDeleteTimeout is --skip-wait-for-delete-timeout in whole
	// seconds: Pods whose deletion began longer ago are passed over. Zero
	// waits for all of them.
	SkipWaitForDeleteTimeout time.Duration

	// RetryDelay is the pause after a refused eviction. Zero is kubectl's 5 s.
	RetryDelay time.Duration

	// OnOutput gets the text of an attempt piece by piece, as kubectl would
	// print it. OnEvent gets the same as data. Both are called one at a time,
	// on the goroutine that called Attempt.
	OnOutput func(text string)
	OnEvent  func(Event)
	// RestoreTimeout bounds how long an attempt tries to give the node back,
	// in its own time: it starts after the drain and does not end with the
	// caller's context. Zero is 2 minutes.
	RestoreTimeout time.Duration
	// WaitReady is how long an attempt waits, after the node was given back,
	// until the workloads it evicted have as many ready Pods as before. Zero
	// does not wait.
	WaitReady time.Duration
}

// Defaults of the fields whose zero value stands for something else.
const (
	DefaultRetryDelay     = 5 * time.Second
	DefaultRestoreTimeout = 2 * time.Minute
)

// validate names the first field that no drain could run with.
func (o Options) validate() error {
	if _, err := labels.Parse(o.PodSelector); err != nil {
		return fmt.Errorf("pod selector %q: %w", o.PodSelector, err)
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"timeout", o.Timeout},
		{"retry delay", o.RetryDelay},
		{"restore timeout", o.RestoreTimeout},
		{"wait for ready", o.WaitReady},
		{"skip-wait-for-delete timeout", o.SkipWaitForDeleteTimeout},
	} {
		if f.value < 0 {
			return fmt.Errorf("%s %v is negative", f.name, f.value)
		}
	}
	return nil
}

func (o Options) retryDelay() time.Duration {
	if o.RetryDelay == 0 {
		return DefaultRetryDelay
	}
	return o.RetryDelay
}

func (o Options) restoreTimeout() time.Duration {
	if o.RestoreTimeout == 0 {
		return DefaultRestoreTimeout
	}
	return o.RestoreTimeout
}

// graceSeconds is the grace period in kubectl's terms: -1 is each Pod's own.
func (o Options) graceSeconds() int {
	if o.GracePeriod == nil {
		return -1
	}
	return int(o.GracePeriod.Seconds())
}
