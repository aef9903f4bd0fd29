package drainprobe

import (
	"context"
	"errors"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
)

// observed is the client that kubectl's drain code gets. It shows the attempt
// every answer to an eviction with its causes, which drain itself drops, and it
// waits for an API server that is away instead of failing. Discovery is drain's
// only other request, and evictAll waits for that: its type is another one in
// client-go 0.37.
type observed struct {
	kubernetes.Interface
	r *run
}

func (o observed) CoreV1() coreclient.CoreV1Interface { return observedCore{o.Interface.CoreV1(), o.r} }
func (o observed) AppsV1() appsclient.AppsV1Interface { return observedApps{o.Interface.AppsV1(), o.r} }
func (o observed) PolicyV1() policyclient.PolicyV1Interface {
	return observedPolicy{o.Interface.PolicyV1(), o.r}
}

type observedCore struct {
	coreclient.CoreV1Interface
	r *run
}

func (o observedCore) Pods(namespace string) coreclient.PodInterface {
	return observedPods{o.CoreV1Interface.Pods(namespace), namespace, o.r}
}

type observedPods struct {
	coreclient.PodInterface
	namespace string
	r         *run
}

func (o observedPods) Get(ctx context.Context, name string, opts metav1.GetOptions) (pod *corev1.Pod, err error) {
	err = o.r.rideOut(ctx, func() error {
		pod, err = o.PodInterface.Get(ctx, name, opts)
		return err
	})
	return pod, err
}

func (o observedPods) List(ctx context.Context, opts metav1.ListOptions) (list *corev1.PodList, err error) {
	err = o.r.rideOut(ctx, func() error {
		list, err = o.PodInterface.List(ctx, opts)
		return err
	})
	return list, err
}

func (o observedPods) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	err := o.r.rideOut(ctx, func() error { return o.PodInterface.Delete(ctx, name, opts) })
	o.r.answered(o.namespace, name, err)
	return err
}

type observedApps struct {
	appsclient.AppsV1Interface
	r *run
}

func (o observedApps) DaemonSets(namespace string) appsclient.DaemonSetInterface {
	return observedDaemonSets{o.AppsV1Interface.DaemonSets(namespace), o.r}
}

type observedDaemonSets struct {
	appsclient.DaemonSetInterface
	r *run
}

func (o observedDaemonSets) Get(_ context.Context, name string, opts metav1.GetOptions) (ds *appsv1.DaemonSet, err error) {
	// drain passes a context of its own here, which never ends.
	err = o.r.rideOut(o.r.ctx, func() error {
		ds, err = o.DaemonSetInterface.Get(o.r.ctx, name, opts)
		return err
	})
	return ds, err
}

type observedPolicy struct {
	policyclient.PolicyV1Interface
	r *run
}

func (o observedPolicy) Evictions(namespace string) policyclient.EvictionInterface {
	return observedEvictions{o.PolicyV1Interface.Evictions(namespace), o.r}
}

type observedEvictions struct {
	policyclient.EvictionInterface
	r *run
}

func (o observedEvictions) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	err := o.r.rideOut(ctx, func() error { return o.EvictionInterface.Evict(ctx, eviction) })
	o.r.answered(eviction.Namespace, eviction.Name, err)
	return err
}

// rideOut repeats a request that the API server did not answer until it does,
// ctx ends, or the drain's time is over.
func (r *run) rideOut(ctx context.Context, request func() error) error {
	pause := 200 * time.Millisecond
	for {
		err := request()
		if err == nil || !serverLost(err) {
			if err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
				r.server(true, nil)
			}
			return err
		}
		if ctx.Err() != nil || (!r.deadline.IsZero() && time.Now().After(r.deadline)) {
			return err
		}
		r.server(false, err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
			pause = min(2*pause, 2*time.Second)
		}
	}
}

// serverLost tells "nobody answered" from an answer. A server that is starting
// or stopping answers 503.
func serverLost(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if apierrors.IsServiceUnavailable(err) {
		return true
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return false
	}
	return utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsTimeout(err) || utilnet.IsHTTP2ConnectionLost(err) || strings.Contains(err.Error(), "broken pipe")
}

// refusal is the API server's answer in one line, causes included: for budgets
// they hold the numbers.
func refusal(err error) string {
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			if c.Message != "" {
				text += " " + c.Message + "."
			}
		}
	}
	return text
}
