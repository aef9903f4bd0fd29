package drainprobe

import (
	"fmt"
	"math/rand/v2"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// randomCell is a small cluster made from a seed: 1 to 4 nodes, up to 6
// workloads, up to 4 budgets, and the flags and set-up of a drain of node a.
type randomCell struct {
	*cell
	flags []string
	setup []string
}

func newRandomCell(seed int) randomCell {
	rnd, more := rand.New(rand.NewPCG(uint64(seed), 7)), wild(seed)
	c := randomCell{cell: newCell(fmt.Sprintf("r%d", seed))}
	pick := func(n int) bool { return rnd.IntN(n) == 0 }
	one := func(list ...string) string { return list[rnd.IntN(len(list))] }

	names := []string{"a", "b", "c", "d"}[:[]int{1, 2, 2, 3, 3, 4}[rnd.IntN(6)]]
	for i, n := range names {
		var edits []func(*corev1.Node)
		edits = append(edits, label("zone", one("x", "y")))
		if pick(2) {
			edits = append(edits, label("disk", "ssd"))
		}
		if i > 0 {
			switch rnd.IntN(6) {
			case 0: // stays cordoned
				edits = append(edits, closed)
			case 1, 2: // empty until the drain
				edits = append(edits, closed)
				c.setup = append(c.setup, "uncordon {"+n+"}")
			case 3:
				edits = append(edits, tainted("hard", corev1.TaintEffectNoSchedule))
			}
		}
		c.node(n, one("1", "2", "3", "4"), append(edits, more.node()...)...)
	}
	if pick(3) {
		c.priority("high", 1000, corev1.PreemptLowerPriority)
	}
	high := len(c.objects) > len(names)+1

	apps := min(6, rnd.IntN(8))
	kindOf := map[string]string{}
	for i := range apps {
		app := fmt.Sprintf("w%d", i)
		edits := []podEdit{labelled("tier", one("front", "back"))}
		if pick(2) {
			edits = append(edits, asks("cpu", one("100m", "300m", "600m", "900m")))
		}
		if pick(8) {
			edits = append(edits, on("disk", "ssd"))
		}
		if pick(8) {
			edits = append(edits, on("zone", one("x", "y")))
		}
		if pick(7) {
			edits = append(edits, tolerates("hard"))
		}
		switch rnd.IntN(12) {
		case 0:
			edits = append(edits, apart(corev1.LabelHostname))
		case 1:
			edits = append(edits, spreads(one(corev1.LabelHostname, "zone"), 1))
		case 2:
			edits = append(edits, spreads(corev1.LabelHostname, 1, honorTaints))
		case 3:
			edits = append(edits, listens(int32(8000+rnd.IntN(2))))
		case 4:
			edits = append(edits, near(fmt.Sprintf("w%d", rnd.IntN(apps)), one(corev1.LabelHostname, "zone")))
		}
		if pick(10) {
			edits = append(edits, behaves("never-ready"))
		}
		if pick(12) {
			edits = append(edits, scratch)
		}
		if high && pick(3) {
			edits = append(edits, ranked(c.id+"-high"))
		}
		edits = append(edits, more.pods(c.cell, apps)...)
		n := int32([]int{1, 2, 2, 3, 3, 4}[rnd.IntN(6)])
		kindOf[app] = one("deploy", "deploy", "deploy", "deploy", "sts", "sts", "rs", "rc", "job", "bare", "daemon")
		switch kindOf[app] {
		case "deploy":
			c.deploy(app, n, edits...)
		case "sts":
			policy := appsv1.OrderedReadyPodManagement
			if pick(2) {
				policy = appsv1.ParallelPodManagement
			}
			c.stateful(app, n, policy, edits...)
		case "rs":
			c.replicaSet(app, n, edits...)
		case "rc":
			c.controller(app, n, edits...)
		case "job":
			c.job(app, n, 6, edits...)
		case "bare":
			for k := range n {
				c.bare(fmt.Sprintf("%s-%d", app, k), app, edits...)
			}
		case "daemon":
			c.daemon(app, edits...)
		}
	}
	order := rnd.Perm(max(apps, 1))
	for i := range rnd.IntN(5) {
		s := selector(fmt.Sprintf("w%d", order[i%len(order)]))
		switch rnd.IntN(20) {
		case 0:
			s = &metav1.LabelSelector{}
		case 1:
			s = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": one("front", "back")}}
		}
		var edits []func(*policyv1.PodDisruptionBudgetSpec)
		if pick(5) {
			edits = append(edits, alwaysAllow)
		}
		if pick(2) {
			c.budget(fmt.Sprintf("b%d", i), s, "min", one("0", "1", "1", "1", "2", "2", "50%", "60%"), edits...)
		} else {
			c.budget(fmt.Sprintf("b%d", i), s, "max", one("0", "1", "1", "1", "1", "2", "25%", "50%"), edits...)
		}
	}
	c.setup = append(c.setup, more.setup(c.cell, kindOf)...)
	c.flags = []string{"--ignore-daemonsets", "--delete-emptydir-data", "--force"}
	if pick(30) {
		c.flags = c.flags[:rnd.IntN(3)]
	}
	if pick(20) {
		c.flags = append(c.flags, "--disable-eviction")
	}
	return c
}

// The same seed has to make the same cluster, or a printed seed is no use.
func TestRandomCellsAreReproducible(t *testing.T) {
	t.Parallel()
	for seed := range 50 {
		a, err := listJSON(newRandomCell(seed).objects)
		if err != nil {
			t.Fatal(err)
		}
		b, err := listJSON(newRandomCell(seed).objects)
		if err != nil {
			t.Fatal(err)
		}
		if string(a) != string(b) {
			t.Errorf("seed %d makes two different clusters", seed)
		}
	}
}
