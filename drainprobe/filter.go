package drainprobe

import (
	"context"
	"errors"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	appsclient "k8s.io/client-go/kubernetes/typed/apps/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/kubectl/pkg/drain"
)

// filtered is what kubectl drain's own filters make of the Pods on a node.
type filtered struct {
	evict    []*corev1.Pod
	skipped  map[*corev1.Pod]string
	warnings string
	errs     []error // any of them stops the drain before the first eviction
}

// filterPods runs drain.Helper.GetPodsForDeletion on the world, so that the
// filters are kubectl's and not a copy of them.
func filterPods(w *World, node string, opts Options) filtered {
	f := filtered{skipped: map[*corev1.Pod]string{}}
	h := &drain.Helper{
		Ctx: context.Background(), Client: worldClient{w: w},
		Force: opts.Force, IgnoreAllDaemonSets: opts.IgnoreDaemonSets, DeleteEmptyDirData: opts.DeleteEmptyDirData,
		PodSelector: opts.PodSelector,
		// Skipping by age is done below: drain asks the wall clock, and a
		// world may have been read long ago.
	}
	byUID := map[string]*corev1.Pod{}
	selector, err := labels.Parse(opts.PodSelector)
	if err != nil {
		f.errs = []error{err}
		return f
	}
	for _, p := range w.Pods {
		if p.Spec.NodeName != node {
			continue
		}
		key := p.Namespace + "/" + p.Name
		byUID[key] = p
		switch {
		case !selector.Matches(labels.Set(p.Labels)):
			f.skipped[p] = "outside --pod-selector"
		case skipByAge(p, w.Taken, opts.SkipWaitForDeleteTimeout):
			f.skipped[p] = "terminating for longer than --skip-wait-for-delete-timeout"
		}
	}
	h.AdditionalFilters = nil
	list, errs := h.GetPodsForDeletion(node)
	f.errs = errs
	if list == nil {
		return f
	}
	f.warnings = list.Warnings()
	goes := map[*corev1.Pod]bool{}
	for _, p := range list.Pods() {
		mine := byUID[p.Namespace+"/"+p.Name]
		if f.skipped[mine] == "" {
			f.evict = append(f.evict, mine)
			goes[mine] = true
		}
	}
	for _, p := range byUID {
		switch {
		case goes[p] || f.skipped[p] != "":
		case p.Annotations[corev1.MirrorPodAnnotationKey] != "" || hasKey(p.Annotations, corev1.MirrorPodAnnotationKey):
			f.skipped[p] = "static Pod of the kubelet"
		case isDaemonSetPod(p):
			f.skipped[p] = "DaemonSet Pod, the drain leaves it"
		default:
			f.skipped[p] = "kept by a filter"
		}
	}
	if len(f.errs) > 0 {
		f.errs = withoutSkipped(f.errs, f.skipped)
	}
	return f
}

func hasKey(m map[string]string, k string) bool { _, ok := m[k]; return ok }

func isDaemonSetPod(p *corev1.Pod) bool {
	ref := metav1.GetControllerOf(p)
	return ref != nil && ref.Kind == "DaemonSet" && ref.APIVersion == appsv1.SchemeGroupVersion.String()
}

// skipByAge is drain's rule: the deletion's own time, which already includes
// the grace period, lies more than the limit back.
func skipByAge(p *corev1.Pod, now time.Time, limit time.Duration) bool {
	return limit >= time.Second && p.DeletionTimestamp != nil && now.Sub(p.DeletionTimestamp.Time).Truncate(time.Second) > limit.Truncate(time.Second)
}

// withoutSkipped drops the Pods that skipByAge passes over from filter errors:
// drain looks at the age first. Errors read "...: ns/a, ns/b".
func withoutSkipped(errs []error, skipped map[*corev1.Pod]string) []error {
	drop := map[string]bool{}
	for p, why := range skipped {
		if strings.HasPrefix(why, "terminating") {
			drop[p.Namespace+"/"+p.Name] = true
		}
	}
	if len(drop) == 0 {
		return errs
	}
	var out []error
	for _, e := range errs {
		head, tail, ok := cutLast(e.Error(), ": ")
		if !ok {
			out = append(out, e)
			continue
		}
		var left []string
		for _, name := range strings.Split(tail, ", ") {
			if !drop[name] {
				left = append(left, name)
			}
		}
		if len(left) > 0 {
			out = append(out, errors.New(head+": "+strings.Join(left, ", ")))
		}
	}
	return out
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// worldClient answers from a World the two requests that drain's filters make.
type worldClient struct {
	kubernetes.Interface
	w *World
}

func (c worldClient) CoreV1() coreclient.CoreV1Interface { return worldCore{w: c.w} }
func (c worldClient) AppsV1() appsclient.AppsV1Interface { return worldApps{w: c.w} }

type worldCore struct {
	coreclient.CoreV1Interface
	w *World
}

func (c worldCore) Pods(string) coreclient.PodInterface { return worldPods{w: c.w} }

type worldPods struct {
	coreclient.PodInterface
	w *World
}

func (c worldPods) List(_ context.Context, opts metav1.ListOptions) (*corev1.PodList, error) {
	selector, err := labels.Parse(opts.LabelSelector)
	if err != nil {
		return nil, err
	}
	node := strings.TrimPrefix(opts.FieldSelector, "spec.nodeName=")
	out := &corev1.PodList{}
	for _, p := range c.w.Pods {
		if p.Spec.NodeName == node && selector.Matches(labels.Set(p.Labels)) {
			out.Items = append(out.Items, *p)
		}
	}
	return out, nil
}

type worldApps struct {
	appsclient.AppsV1Interface
	w *World
}

func (c worldApps) DaemonSets(ns string) appsclient.DaemonSetInterface {
	return worldDaemonSets{w: c.w, namespace: ns}
}

type worldDaemonSets struct {
	appsclient.DaemonSetInterface
	w         *World
	namespace string
}

func (c worldDaemonSets) Get(_ context.Context, name string, _ metav1.GetOptions) (*appsv1.DaemonSet, error) {
	for _, d := range c.w.DaemonSets {
		if d.Namespace == c.namespace && d.Name == name {
			return d, nil
		}
	}
	return nil, apierrors.NewNotFound(appsv1.Resource("daemonsets"), name)
}
