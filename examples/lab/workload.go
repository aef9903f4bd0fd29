package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	namespace    = "upg"
	webName      = "web"
	webImage     = "public.ecr.aws/docker/library/nginx:1.27-alpine"
	webReplicas  = 2
	minAvailable = 1
)

// workload makes what the upgrade must not lose. What is there already stays
// the same object.
func (l *lab) workload(ctx context.Context, live *live) (string, error) {
	labels := map[string]string{"app": webName}
	replicas, budget := int32(webReplicas), intstr.FromInt32(minAvailable)
	live.say("making namespace %s, Deployment and PodDisruptionBudget %s", namespace, webName)
	_, nsErr := l.client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err := unlessThere(nsErr); err != nil {
		return "", err
	}
	_, deployErr := l.client.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: webName, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: webName, Image: webImage}}},
			},
		},
	}, metav1.CreateOptions{})
	if err := unlessThere(deployErr); err != nil {
		return "", err
	}
	_, budgetErr := l.client.PolicyV1().PodDisruptionBudgets(namespace).Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: webName},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &budget, Selector: &metav1.LabelSelector{MatchLabels: labels},
		},
	}, metav1.CreateOptions{})
	if err := unlessThere(budgetErr); err != nil {
		return "", err
	}
	if err := l.waitWeb(ctx, live); err != nil {
		return "", err
	}
	deployment, err := l.client.AppsV1().Deployments(namespace).Get(ctx, webName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	kept, err := l.client.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, webName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if kept.Spec.MinAvailable == nil || kept.Spec.MinAvailable.Type != intstr.Int {
		return "", fmt.Errorf("PodDisruptionBudget %s/%s is not the lab's own: it has no whole minAvailable; delete it and repeat", namespace, webName)
	}
	record := workloadRecord{
		DeploymentUID: string(deployment.UID), PDBMinAvailable: kept.Spec.MinAvailable.IntValue(),
		WebReplicas: int(deployment.Status.ReadyReplicas), RecordedAt: now(),
	}
	if record.WebReplicas != webReplicas || record.PDBMinAvailable != minAvailable {
		return "", fmt.Errorf("namespace %s holds another web: %d replicas, a budget that keeps %d; the lab's has %d and %d. Remove the namespace (kubectl delete namespace %s) and repeat",
			namespace, record.WebReplicas, record.PDBMinAvailable, webReplicas, minAvailable, namespace)
	}
	return fmt.Sprintf("Deployment %s/%s, %d ready, budget keeps %d", namespace, webName, deployment.Status.ReadyReplicas, record.PDBMinAvailable),
		l.writeJSON(workloadFile, record)
}

func unlessThere(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// waitWeb waits until every replica of web is ready.
func (l *lab) waitWeb(ctx context.Context, live *live) error {
	err := waitFor(ctx, l.readyTimeout, live, "web's Pods", func(ctx context.Context) (string, bool) {
		d, err := l.client.AppsV1().Deployments(namespace).Get(ctx, webName, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		wanted := int32(1)
		if d.Spec.Replicas != nil {
			wanted = *d.Spec.Replicas
		}
		current := d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas == wanted
		state := fmt.Sprintf("%d of %d ready", d.Status.ReadyReplicas, wanted)
		if current && d.Status.ReadyReplicas == wanted {
			return state, true
		}
		return state + l.webWaitsFor(ctx), false
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w; look at: kubectl -n %s describe pods", err, namespace)
	}
	return err
}

// webWaitsFor says why a Pod of web is not ready, as far as the cluster tells.
func (l *lab) webWaitsFor(ctx context.Context) string {
	pods, err := l.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + webName})
	if err != nil {
		return ""
	}
	for _, pod := range pods.Items {
		for _, c := range pod.Status.Conditions {
			if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse {
				continue
			}
			if node, err := l.node(ctx); err == nil && node.Spec.Unschedulable {
				// The remedy first: a line that moves is cut.
				return fmt.Sprintf("; kubectl uncordon %s: cordoned, so %s stays Pending", node.Name, pod.Name)
			}
			return fmt.Sprintf("; %s stays Pending: %s", pod.Name, c.Message)
		}
		for _, s := range pod.Status.ContainerStatuses {
			if w := s.State.Waiting; w != nil && w.Message != "" {
				return fmt.Sprintf("; %s: %s: %s", pod.Name, w.Reason, w.Message)
			}
		}
	}
	return ""
}
