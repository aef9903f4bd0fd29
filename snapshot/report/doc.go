// Package report renders one procedure - before, backup, drain, upgrade, after -
// as a page to keep: text, JSON, Markdown, or one self-contained HTML file that
// asks nothing of the network, reads well on a phone and prints.
//
// [New] fills in what two snapshots tell: the verdict, the versions and the
// identities. The caller adds what it did; every part that is left out is left
// out of the page.
//
//	r := report.New(before, after, snapshot.CompareOptions{})
//	r.Ladder = report.Ladder{Rungs: []report.Rung{
//		{Version: "v1.34.4+k3s1", State: report.Climbed},
//		{Version: "v1.35.4+k3s1", State: report.Here},
//		{Version: "v1.36.4+k3s1", State: report.Next, Note: "pinned in a Plan"},
//	}}
//	r.GiveUp("the drain: web's budget lets no Pod go while the node has no partner")
//	err := r.WriteHTML(file)
package report
