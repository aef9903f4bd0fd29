package suc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

// FieldManager is the name under which [Apply] owns fields.
const FieldManager = "k3sladder"

// Resource is the API of Plans.
var Resource = schema.GroupVersionResource{Group: Group, Version: "v1", Resource: "plans"}

var (
	crdResource       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// ErrNoCRD: the cluster does not know Plans, and nothing said how to install
// the CRD.
var ErrNoCRD = errors.New("the cluster has no CRD " + CRDName)

// LintError is a refusal to apply Plans that would not do what they say.
type LintError struct {
	Findings Findings
}

// Error lists the findings that are errors.
func (e *LintError) Error() string {
	var lines []string
	for _, f := range e.Findings {
		if f.Severity == Error {
			lines = append(lines, f.String())
		}
	}
	return fmt.Sprintf("the Plans would not do what they say, and nothing was applied:\n  %s", strings.Join(lines, "\n  "))
}

// ApplyOptions say what [Apply] brings into the cluster.
type ApplyOptions struct {
	// CRD is a YAML file with the CustomResourceDefinition, such as the one at
	// [OfficialCRDURL] or [CRD]. It is installed only where the cluster has
	// none: an existing one belongs to the controller that runs there. Nil: the
	// cluster must have it.
	CRD []byte
	// Controller is a YAML file with the controller's manifest, such as the one
	// at [OfficialManifestURL]. Nil: no controller is installed.
	Controller []byte
	// Plans to apply, in this order. Their namespaces are made where they are
	// absent.
	Plans []*Plan
	// Facts sharpen the check of the Plans before anything is sent. Nil: they are
	// judged by themselves.
	Facts *Facts
	// IgnoreLint applies Plans although [LintPlans] found errors.
	IgnoreLint bool
	// FieldManager owns the applied fields. Empty: [FieldManager].
	FieldManager string
	// Force takes over fields that another manager owns. Without it such a
	// field is a conflict error that names the manager.
	Force bool
	// DryRun asks the API server to check everything and to keep nothing.
	DryRun bool
	// Timeout is how long to wait until the CRD is established. Zero: a minute.
	Timeout time.Duration
}

// Apply brings Plans into a cluster by server-side apply: the CRD first, until
// it is established, then the controller, the namespaces and the Plans. It
// stops at the first error and says in its result what was done before. Plans
// in which [LintPlans] finds an error are refused with a [*LintError] before
// anything is sent.
//
// It does not wait for the Plans to run; see [Watch].
func Apply(ctx context.Context, client dynamic.Interface, opts ApplyOptions) (*ApplyResult, error) {
	a := &applier{client: client, opts: opts, result: &ApplyResult{DryRun: opts.DryRun}}
	if a.opts.FieldManager == "" {
		a.opts.FieldManager = FieldManager
	}
	if a.opts.Timeout == 0 {
		a.opts.Timeout = time.Minute
	}
	return a.result, a.run(ctx)
}

type applier struct {
	client dynamic.Interface
	opts   ApplyOptions
	result *ApplyResult
	// noCRD and the namespaces that map to true are what a dry run would have
	// made and did not.
	noCRD      bool
	namespaces map[string]bool
}

func (a *applier) run(ctx context.Context) error {
	if a.client == nil {
		return errNoClient
	}
	if i := slices.Index(a.opts.Plans, nil); i >= 0 {
		return fmt.Errorf("plan %d of %d is nil", i+1, len(a.opts.Plans))
	}
	if !a.opts.IgnoreLint {
		if found := LintPlans(a.opts.Plans, LintOptions{Facts: a.opts.Facts}); found.Highest() == Error {
			return &LintError{Findings: found}
		}
	}
	controller, err := objects(a.opts.Controller)
	if err != nil {
		return fmt.Errorf("the controller's manifest: %w", err)
	}
	if err := a.crd(ctx); err != nil {
		return err
	}
	for _, o := range controller {
		if o.GetKind() == "CustomResourceDefinition" {
			continue // the CRD has its own rules
		}
		if err := a.apply(ctx, guessResource(o), o); err != nil {
			return err
		}
	}
	for _, p := range a.opts.Plans {
		if p.Namespace == "" {
			return fmt.Errorf("plan %s has no namespace: the controller reads only its own, usually %s", p.Name, DefaultNamespace)
		}
		if err := a.namespace(ctx, p.Namespace); err != nil {
			return err
		}
		m, err := cleaned(p)
		if err != nil {
			return err
		}
		o := &unstructured.Unstructured{Object: m}
		switch {
		case a.noCRD:
			a.unchecked(o, "the CRD is not there yet, so the API server cannot judge the Plan")
		case a.opts.DryRun && a.namespaces[p.Namespace]:
			a.unchecked(o, "its namespace is not there yet, so the API server cannot judge the Plan")
		default:
			if err := a.apply(ctx, Resource, o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *applier) unchecked(o *unstructured.Unstructured, why string) {
	a.result.Objects = append(a.result.Objects, Applied{
		Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), Action: "unchecked", Note: why,
	})
}

// crd sees to it that the cluster knows Plans.
func (a *applier) crd(ctx context.Context) error {
	have, err := a.client.Resource(crdResource).Get(ctx, CRDName, metav1.GetOptions{})
	switch {
	case err == nil:
		a.result.Objects = append(a.result.Objects, Applied{Kind: "CustomResourceDefinition", Name: CRDName, Action: "kept"})
		if established(have) == nil {
			return nil
		}
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("looking for the CRD: %w", err)
	case a.opts.CRD == nil:
		return fmt.Errorf("%w: install the controller first, or give its CRD, for instance %s", ErrNoCRD, OfficialCRDURL)
	default:
		o, err := theCRD(a.opts.CRD)
		if err != nil {
			return err
		}
		if err := a.apply(ctx, crdResource, o); err != nil {
			return err
		}
		if a.opts.DryRun {
			a.noCRD = true
			return nil
		}
	}
	return a.awaitCRD(ctx)
}

// awaitCRD waits until the CRD is established and Plans can be listed, which
// comes a little later.
func (a *applier) awaitCRD(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, a.opts.Timeout, true, func(ctx context.Context) (bool, error) {
		o, err := a.client.Resource(crdResource).Get(ctx, CRDName, metav1.GetOptions{})
		if err != nil {
			last = err
			return false, nil
		}
		if last = established(o); last != nil {
			return false, nil
		}
		_, last = a.client.Resource(Resource).List(ctx, metav1.ListOptions{Limit: 1})
		return last == nil, nil
	})
	if err != nil {
		if ctx.Err() == nil && last != nil {
			err = last
		}
		return fmt.Errorf("waiting %s for the CRD %s to be established: %w", a.opts.Timeout, CRDName, err)
	}
	return nil
}

// established is nil for a CRD that the API server serves.
func established(crd *unstructured.Unstructured) error {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		c, ok := c.(map[string]any)
		if !ok {
			continue
		}
		switch {
		case c["type"] == "NamesAccepted" && c["status"] == "False":
			return fmt.Errorf("its names are taken: %v", c["message"])
		case c["type"] == "Established" && c["status"] == "True":
			return nil
		}
	}
	return errors.New("the API server has not established it yet")
}

// namespace makes the namespace where it is absent. The label lets the Jobs
// run, which are privileged, where Pod security is enforced by default; the
// controller's manifest has it too.
func (a *applier) namespace(ctx context.Context, name string) error {
	if _, done := a.namespaces[name]; done {
		return nil
	}
	if a.namespaces == nil {
		a.namespaces = map[string]bool{}
	}
	_, err := a.client.Resource(namespaceResource).Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		a.namespaces[name] = false
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("looking for namespace %s: %w", name, err)
	}
	a.namespaces[name] = true
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{
			"name":   name,
			"labels": map[string]any{"pod-security.kubernetes.io/enforce": "privileged"},
		},
	}}
	return a.apply(ctx, namespaceResource, o)
}

func (a *applier) apply(ctx context.Context, gvr schema.GroupVersionResource, o *unstructured.Unstructured) error {
	var r dynamic.ResourceInterface = a.client.Resource(gvr)
	if ns := o.GetNamespace(); ns != "" {
		r = a.client.Resource(gvr).Namespace(ns)
	}
	done := Applied{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
	what := o.GetKind() + " " + o.GetName()
	before, err := r.Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("looking for %s: %w", what, err)
	}
	existed := err == nil
	opts := metav1.ApplyOptions{FieldManager: a.opts.FieldManager, Force: a.opts.Force}
	if a.opts.DryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	after, err := r.Apply(ctx, o.GetName(), o, opts)
	if err != nil {
		if apierrors.IsConflict(err) {
			return fmt.Errorf("applying %s: %w; take the fields over with force, or leave them to their manager", what, err)
		}
		return fmt.Errorf("applying %s: %w", what, err)
	}
	switch {
	case !existed:
		done.Action = "created"
	case same(before, after):
		done.Action = "unchanged"
	default:
		done.Action = "configured"
	}
	a.result.Objects = append(a.result.Objects, done)
	return nil
}

// same compares what an object says; a dry run leaves the resource version as
// it is whatever it would change.
func same(a, b *unstructured.Unstructured) bool {
	bare := func(o *unstructured.Unstructured) map[string]any {
		o = o.DeepCopy()
		for _, f := range []string{"managedFields", "resourceVersion", "generation"} {
			unstructured.RemoveNestedField(o.Object, "metadata", f)
		}
		return o.Object
	}
	return equality.Semantic.DeepEqual(bare(a), bare(b))
}
