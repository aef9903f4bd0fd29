package practice

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// kwokAnnotation marks the nodes that kwok plays.
const kwokAnnotation = "kwok.x-k8s.io/node"

// A Node is a simulated node of the cluster.
type Node struct {
	Name string
	// Labels are added to hostname, os, arch and instance-type; a server node
	// carries node-role.kubernetes.io/control-plane=true.
	Labels      map[string]string
	Annotations map[string]string
	Taints      []corev1.Taint
	// Capacity is the node's size, all of it allocatable; nil means 4 CPUs,
	// 8 GiB, 20 GiB of ephemeral storage and 110 Pods.
	Capacity corev1.ResourceList
}

// DefaultNode is the one server node that a cluster has when nothing else was
// asked for.
func DefaultNode() Node {
	return Node{Name: "practice-server", Labels: map[string]string{"node-role.kubernetes.io/control-plane": "true"}}
}

// AddNode makes a node and waits until it is Ready.
func (c *Cluster) AddNode(ctx context.Context, node Node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.createNode(ctx, node); err != nil {
		return err
	}
	return c.settled(ctx)
}

// ensureNodes makes the nodes of a new cluster, moves the kubelets of all
// nodes to the cluster's version, and waits until Pods can be made and run.
func (c *Cluster) ensureNodes(ctx context.Context) error {
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(nodes.Items) == 0 && !c.options.NoNodes {
		wanted := c.options.Nodes
		if wanted == nil {
			wanted = []Node{DefaultNode()}
		}
		for _, node := range wanted {
			if err := c.createNode(ctx, node); err != nil {
				return err
			}
		}
	}
	for _, node := range nodes.Items {
		if err := c.moveKubelet(ctx, node.Name); err != nil {
			return err
		}
	}
	c.options.Progress("waiting for the nodes to be Ready")
	return c.settled(ctx)
}

func (c *Cluster) createNode(ctx context.Context, node Node) error {
	labels := map[string]string{
		corev1.LabelHostname: node.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		corev1.LabelInstanceTypeStable: "k3s",
	}
	maps.Copy(labels, node.Labels)
	annotations := map[string]string{kwokAnnotation: "fake"}
	maps.Copy(annotations, node.Annotations)
	capacity := node.Capacity
	if capacity == nil {
		capacity = corev1.ResourceList{
			corev1.ResourceCPU:              resource.MustParse("4"),
			corev1.ResourceMemory:           resource.MustParse("8Gi"),
			corev1.ResourceEphemeralStorage: resource.MustParse("20Gi"),
			corev1.ResourcePods:             resource.MustParse("110"),
		}
	}
	_, err := c.client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: labels, Annotations: annotations},
		Spec:       corev1.NodeSpec{Taints: node.Taints},
		Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: capacity, NodeInfo: c.nodeInfo()},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("making node %s: %w", node.Name, err)
	}
	return nil
}

// nodeInfo is what a k3s node of this version reports of itself, as far as
// something here reads it.
func (c *Cluster) nodeInfo() corev1.NodeSystemInfo {
	return corev1.NodeSystemInfo{
		KubeletVersion: c.version, OperatingSystem: "linux", Architecture: "amd64",
		OSImage: "practice node (simulated by kwok)", KernelVersion: "6.12.0-practice", ContainerRuntimeVersion: "containerd://2.1.5-k3s1",
	}
}

func (c *Cluster) moveKubelet(ctx context.Context, name string) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if node.Status.NodeInfo.KubeletVersion == c.version {
			return nil
		}
		node.Status.NodeInfo.KubeletVersion = c.version
		_, err = c.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

// settled waits until every node that is meant to be Ready is, and Pods can be
// made in the default namespace.
func (c *Cluster) settled(ctx context.Context) error {
	components := []*process{c.kine, c.apiserver, c.controller, c.scheduler, c.kwok}
	return wait(ctx, "the nodes and the default service account", components, func(ctx context.Context) error {
		if _, err := c.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
			return err
		}
		nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, node := range nodes.Items {
			if node.Annotations[notReadyAnnotation] == "" && node.Annotations[kwokAnnotation] != "" && !usable(node) {
				return fmt.Errorf("node %s is not Ready or still tainted so", node.Name)
			}
		}
		return nil
	})
}

// usable is whether node is Ready and has lost the taint that new nodes carry.
func usable(node corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
			return false
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
