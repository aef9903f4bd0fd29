package snapshot

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// discover gives the group-versions served and, for every resource that can be
// listed, the version its group prefers.
func discover(d discovery.DiscoveryInterface) ([]API, []List, error) {
	groups, resources, err := d.ServerGroupsAndResources()
	failed := map[schema.GroupVersion]error{}
	if err != nil {
		f, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
		if !partial {
			return nil, nil, fmt.Errorf("asking what the API server serves: %w", err)
		}
		failed = f
	}
	if len(resources) == 0 {
		return nil, nil, fmt.Errorf("the API server says that it serves no API at all")
	}
	byGV := map[string]*metav1.APIResourceList{}
	for _, r := range resources {
		byGV[r.GroupVersion] = r
	}

	var apis []API
	var lists []List
	for _, g := range groups {
		// The preferred version first, the others in the server's order.
		versions := []string{g.PreferredVersion.GroupVersion}
		for _, v := range g.Versions {
			if v.GroupVersion != g.PreferredVersion.GroupVersion {
				versions = append(versions, v.GroupVersion)
			}
		}
		seen := map[string]bool{}
		for _, v := range versions {
			gv, err := schema.ParseGroupVersion(v)
			if err != nil || v == "" {
				continue
			}
			api := API{GroupVersion: v}
			if why, ok := failed[gv]; ok {
				api.Unavailable = firstLine(why)
			}
			if r := byGV[v]; r != nil {
				for _, res := range r.APIResources {
					if strings.Contains(res.Name, "/") {
						continue
					}
					api.Resources = append(api.Resources, res.Name)
					if seen[res.Name] || !slices.Contains(res.Verbs, "list") {
						continue
					}
					seen[res.Name] = true
					lists = append(lists, List{Group: gv.Group, Version: gv.Version, Resource: res.Name, Kind: res.Kind, Namespaced: res.Namespaced})
				}
			}
			slices.Sort(api.Resources)
			apis = append(apis, api)
		}
	}
	// A group of which no version answered may not be in groups at all.
	for gv, why := range failed {
		if !slices.ContainsFunc(apis, func(a API) bool { return a.GroupVersion == gv.String() }) {
			apis = append(apis, API{GroupVersion: gv.String(), Unavailable: firstLine(why)})
		}
	}
	slices.SortFunc(apis, func(a, b API) int { return strings.Compare(a.GroupVersion, b.GroupVersion) })
	slices.SortFunc(lists, func(a, b List) int {
		return strings.Compare(a.Group+"/"+a.Resource, b.Group+"/"+b.Resource)
	})
	return apis, lists, nil
}

func firstLine(err error) string {
	if err == nil {
		return "no answer"
	}
	if s, ok := err.(apierrors.APIStatus); ok && s.Status().Message != "" {
		err = fmt.Errorf("%s", s.Status().Message)
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
