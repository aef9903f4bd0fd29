package snapshot

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// reader reads one list of the cluster into the capture and gives the revision
// it was read at. An empty namespace is all of them.
type reader func(ctx context.Context, c *capture, l *List, namespace string) (string, error)

// readers are the kinds of which more than the metadata is kept.
var readers = map[schema.GroupResource]reader{
	{Resource: "nodes"}: reading(func(c Clients, _ string) lister[*corev1.NodeList] { return c.Kubernetes.CoreV1().Nodes().List },
		func(_ *capture, l *corev1.NodeList) []Node { return each(l.Items, node) },
		func(s *Snapshot) *[]Node { return &s.Nodes }),
	{Resource: "pods"}: readPods,
	{Group: "apps", Resource: "deployments"}: reading(func(c Clients, ns string) lister[*appsv1.DeploymentList] {
		return c.Kubernetes.AppsV1().Deployments(ns).List
	},
		func(_ *capture, l *appsv1.DeploymentList) []Workload { return each(l.Items, deployment) }, workloads),
	{Group: "apps", Resource: "statefulsets"}: reading(func(c Clients, ns string) lister[*appsv1.StatefulSetList] {
		return c.Kubernetes.AppsV1().StatefulSets(ns).List
	},
		func(_ *capture, l *appsv1.StatefulSetList) []Workload { return each(l.Items, statefulSet) }, workloads),
	{Group: "apps", Resource: "daemonsets"}: reading(func(c Clients, ns string) lister[*appsv1.DaemonSetList] {
		return c.Kubernetes.AppsV1().DaemonSets(ns).List
	},
		func(_ *capture, l *appsv1.DaemonSetList) []Workload { return each(l.Items, daemonSet) }, workloads),
	{Group: "apps", Resource: "replicasets"}: readReplicaSets,
	{Resource: "replicationcontrollers"}: reading(func(c Clients, ns string) lister[*corev1.ReplicationControllerList] {
		return c.Kubernetes.CoreV1().ReplicationControllers(ns).List
	}, func(_ *capture, l *corev1.ReplicationControllerList) []Workload {
		return each(l.Items, replicationController)
	}, workloads),
	{Group: "batch", Resource: "jobs"}: reading(func(c Clients, ns string) lister[*batchv1.JobList] { return c.Kubernetes.BatchV1().Jobs(ns).List },
		func(_ *capture, l *batchv1.JobList) []Workload { return each(l.Items, job) }, workloads),
	{Group: "batch", Resource: "cronjobs"}: reading(func(c Clients, ns string) lister[*batchv1.CronJobList] {
		return c.Kubernetes.BatchV1().CronJobs(ns).List
	},
		func(_ *capture, l *batchv1.CronJobList) []Workload { return each(l.Items, cronJob) }, workloads),
	{Resource: "persistentvolumeclaims"}: reading(func(c Clients, ns string) lister[*corev1.PersistentVolumeClaimList] {
		return c.Kubernetes.CoreV1().PersistentVolumeClaims(ns).List
	}, func(_ *capture, l *corev1.PersistentVolumeClaimList) []Claim { return each(l.Items, claim) },
		func(s *Snapshot) *[]Claim { return &s.Claims }),
	{Resource: "persistentvolumes"}: reading(func(c Clients, _ string) lister[*corev1.PersistentVolumeList] {
		return c.Kubernetes.CoreV1().PersistentVolumes().List
	}, func(_ *capture, l *corev1.PersistentVolumeList) []Volume { return each(l.Items, volume) },
		func(s *Snapshot) *[]Volume { return &s.Volumes }),
	{Resource: "services"}: reading(func(c Clients, ns string) lister[*corev1.ServiceList] { return c.Kubernetes.CoreV1().Services(ns).List },
		func(_ *capture, l *corev1.ServiceList) []Service { return each(l.Items, service) },
		func(s *Snapshot) *[]Service { return &s.Services }),
	{Group: "networking.k8s.io", Resource: "ingresses"}: reading(func(c Clients, ns string) lister[*networkingv1.IngressList] {
		return c.Kubernetes.NetworkingV1().Ingresses(ns).List
	}, func(_ *capture, l *networkingv1.IngressList) []Ingress { return each(l.Items, ingress) },
		func(s *Snapshot) *[]Ingress { return &s.Ingresses }),
	{Group: "autoscaling", Resource: "horizontalpodautoscalers"}: reading(func(c Clients, ns string) lister[*autoscalingv1.HorizontalPodAutoscalerList] {
		return c.Kubernetes.AutoscalingV1().HorizontalPodAutoscalers(ns).List
	}, func(_ *capture, l *autoscalingv1.HorizontalPodAutoscalerList) []Autoscaler {
		return each(l.Items, autoscaler)
	},
		func(s *Snapshot) *[]Autoscaler { return &s.Autoscalers }),
	{Resource: "secrets"}: reading(func(c Clients, ns string) lister[*corev1.SecretList] { return c.Kubernetes.CoreV1().Secrets(ns).List },
		func(c *capture, l *corev1.SecretList) []Data { return each(l.Items, c.secret) }, data),
	{Resource: "configmaps"}: reading(func(c Clients, ns string) lister[*corev1.ConfigMapList] {
		return c.Kubernetes.CoreV1().ConfigMaps(ns).List
	},
		func(c *capture, l *corev1.ConfigMapList) []Data { return each(l.Items, c.configMap) }, data),
	{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}: reading(func(c Clients, _ string) lister[*apiextensionsv1.CustomResourceDefinitionList] {
		return c.Extensions.ApiextensionsV1().CustomResourceDefinitions().List
	}, func(_ *capture, l *apiextensionsv1.CustomResourceDefinitionList) []CRD { return each(l.Items, crd) },
		func(s *Snapshot) *[]CRD { return &s.CRDs }),
	{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"}: reading(func(c Clients, _ string) lister[*admissionv1.ValidatingWebhookConfigurationList] {
		return c.Kubernetes.AdmissionregistrationV1().ValidatingWebhookConfigurations().List
	}, func(_ *capture, l *admissionv1.ValidatingWebhookConfigurationList) []Webhook {
		return each(l.Items, validating)
	}, webhooks),
	{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"}: reading(func(c Clients, _ string) lister[*admissionv1.MutatingWebhookConfigurationList] {
		return c.Kubernetes.AdmissionregistrationV1().MutatingWebhookConfigurations().List
	}, func(_ *capture, l *admissionv1.MutatingWebhookConfigurationList) []Webhook {
		return each(l.Items, mutating)
	}, webhooks),
	{Group: "helm.cattle.io", Resource: "helmcharts"}: reading(unstructuredLister("helm.cattle.io", "helmcharts"),
		func(_ *capture, l *unstructured.UnstructuredList) []HelmChart { return each(l.Items, helmChart) },
		func(s *Snapshot) *[]HelmChart { return &s.HelmCharts }),
	{Group: "k3s.cattle.io", Resource: "addons"}: reading(unstructuredLister("k3s.cattle.io", "addons"),
		func(_ *capture, l *unstructured.UnstructuredList) []Addon { return each(l.Items, addon) },
		func(s *Snapshot) *[]Addon { return &s.Addons }),
}

// hasPods are the kinds whose restarts are their Pods'.
var hasPods = map[schema.GroupResource]bool{
	{Group: "apps", Resource: "deployments"}: true, {Group: "apps", Resource: "statefulsets"}: true,
	{Group: "apps", Resource: "daemonsets"}: true, {Resource: "replicationcontrollers"}: true,
	{Group: "batch", Resource: "jobs"}: true, {Group: "batch", Resource: "cronjobs"}: true,
}

// versions that readers ask for; any other version of these resources would
// have other fields.
var readerVersion = map[string]string{"": "v1", "apps": "v1", "autoscaling": "v1", "batch": "v1", "networking.k8s.io": "v1",
	"apiextensions.k8s.io": "v1", "admissionregistration.k8s.io": "v1", "helm.cattle.io": "v1", "k3s.cattle.io": "v1"}

type lister[L page] func(context.Context, metav1.ListOptions) (L, error)

// reading composes a reader: how to list, what to keep of a page, and where it
// goes.
func reading[L page, T any](list func(Clients, string) lister[L], take func(*capture, L) []T, into func(*Snapshot) *[]T) reader {
	return func(ctx context.Context, c *capture, l *List, namespace string) (string, error) {
		var got []T
		revision, err := pages(ctx, c.pageSize(l), list(c.clients, namespace),
			func() { got = nil },
			func(p L) error { got = append(got, take(c, p)...); return nil })
		if err != nil {
			return "", err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		dst := into(c.out)
		*dst = append(*dst, got...)
		l.Count += len(got)
		return revision, nil
	}
}

// readMetadata is the reader of every kind that has none of its own.
func readMetadata(ctx context.Context, c *capture, l *List, namespace string) (string, error) {
	gv := schema.GroupVersion{Group: l.Group, Version: l.Version}
	return reading(func(cl Clients, ns string) lister[*metav1.PartialObjectMetadataList] {
		return cl.Metadata.Resource(gv.WithResource(l.Resource)).Namespace(ns).List
	}, func(_ *capture, p *metav1.PartialObjectMetadataList) []Object {
		return each(p.Items, func(m *metav1.PartialObjectMetadata) Object {
			return object(l.Group, l.Kind, gv.String(), m)
		})
	}, func(s *Snapshot) *[]Object { return &s.Others })(ctx, c, l, namespace)
}

func unstructuredLister(group, resource string) func(Clients, string) lister[*unstructured.UnstructuredList] {
	gvr := schema.GroupVersionResource{Group: group, Version: readerVersion[group], Resource: resource}
	return func(c Clients, ns string) lister[*unstructured.UnstructuredList] {
		return c.Dynamic.Resource(gvr).Namespace(ns).List
	}
}

func workloads(s *Snapshot) *[]Workload { return &s.Workloads }
func data(s *Snapshot) *[]Data          { return &s.Data }
func webhooks(s *Snapshot) *[]Webhook   { return &s.Webhooks }

func each[I, T any](items []I, take func(*I) T) []T {
	out := make([]T, 0, len(items))
	for i := range items {
		out = append(out, take(&items[i]))
	}
	return out
}
