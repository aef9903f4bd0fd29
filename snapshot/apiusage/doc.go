// Package apiusage tells which deprecated APIs clients still call, from the API
// server's own count, and what of it the next minor takes away.
//
// An API server sets one sample of apiserver_requested_deprecated_apis for every
// deprecated group, version and resource that somebody asked for since it
// started. [Scan] takes those lines out of a /metrics stream of any size, word
// for word, without parsing the rest; [Read] asks the servers themselves; [Merge]
// puts several servers' answers together.
//
//	usage, err := apiusage.Read(ctx, client.Discovery().RESTClient())
//	if err != nil {
//		return err
//	}
//	target := skew.Minor{Major: 1, Minor: 36}
//	for _, api := range usage.Removed(target) {
//		fmt.Println(api, "goes in", api.RemovedRelease, "- use", api.Replacement)
//	}
//	fmt.Println(usage.RemovedBy(target))
//
// What the metric cannot say:
//
//   - who called. No user, no user agent, no count is in it. The audit log has
//     them: its events carry the annotations k8s.io/deprecated and
//     k8s.io/removed-release (see [WhoToAsk]).
//   - what happened before the server started. It begins empty at every start,
//     and every server of a cluster has its own; [Server.Started] is there to be
//     read beside an empty answer.
//   - what is stored. An object that was once written through a removed version
//     and never touched since is not in it; [FindObjects] looks for those.
//
// Source: https://kubernetes.io/docs/reference/using-api/deprecation-policy/
package apiusage
