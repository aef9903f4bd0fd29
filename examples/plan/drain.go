package main

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/k3sladder/k3sladder/drainprobe"
	"github.com/k3sladder/k3sladder/suc"
)

// forecaster lets drainprobe forecast the drains that a Plan asks for.
type forecaster struct{ kube kubernetes.Interface }

// Forecast implements [suc.Forecaster].
func (f forecaster) Forecast(ctx context.Context, node string, d *suc.DrainSpec) (*suc.DrainForecast, error) {
	res, err := drainprobe.Forecast(ctx, f.kube, node, drainOptions(d))
	if err != nil {
		return nil, err
	}
	return &suc.DrainForecast{Verdict: string(res.Verdict), Reasons: res.Reasons}, nil
}

// drainOptions are the flags with which the controller would call kubectl
// drain.
func drainOptions(d *suc.DrainSpec) drainprobe.Options {
	set := func(b *bool) bool { return b == nil || *b }
	o := drainprobe.Options{
		IgnoreDaemonSets:         set(d.IgnoreDaemonSets),
		DeleteEmptyDirData:       set(d.DeleteLocalData) && set(d.DeleteEmptydirData),
		Force:                    d.Force,
		DisableEviction:          d.DisableEviction,
		SkipWaitForDeleteTimeout: time.Duration(max(d.SkipWaitForDeleteTimeout, 0)) * time.Second,
		PodSelector:              d.Selector(),
	}
	if d.GracePeriod != nil && *d.GracePeriod >= 0 { // below zero is each Pod's own
		g := time.Duration(*d.GracePeriod) * time.Second
		o.GracePeriod = &g
	}
	if t := d.Timeout; t != nil {
		o.Timeout = time.Duration(t.IntVal)
		if t.StrVal != "" {
			o.Timeout, _ = time.ParseDuration(t.StrVal) // one that cannot be read is lint's business
		}
	}
	return o
}
