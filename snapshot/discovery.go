package snapshot

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/k3sladder/k3sladder/snapshot/apiusage"
)

// discover gives the group-versions served and, for every resource that can be
// listed, the version its group prefers, or one that is not deprecated: asking
// for those would put this program's own calls into the server's count of
// deprecated API use.
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
		at := map[string]int{} // where a resource is in lists
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
					if !slices.Contains(res.Verbs, "list") {
						continue
					}
					l := List{Group: gv.Group, Version: gv.Version, Resource: res.Name, Kind: res.Kind, Namespaced: res.Namespaced}
					if i, seen := at[res.Name]; !seen {
						at[res.Name] = len(lists)
						lists = append(lists, l)
					} else if deprecated(lists[i]) && !deprecated(l) {
						lists[i] = l
					}
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
	lists = slices.DeleteFunc(lists, func(l List) bool { return movedTo(l, byGV) })
	slices.SortFunc(apis, func(a, b API) int { return strings.Compare(a.GroupVersion, b.GroupVersion) })
	slices.SortFunc(lists, func(a, b List) int {
		return strings.Compare(a.Group+"/"+a.Resource, b.Group+"/"+b.Resource)
	})
	return apis, lists, nil
}

func deprecated(l List) bool {
	_, known := apiusage.Lookup(l.Group, l.Version, l.Resource)
	return known
}

// movedTo: the same objects are served in another group too, as Ingresses were
// in extensions and networking.k8s.io.
func movedTo(l List, served map[string]*metav1.APIResourceList) bool {
	r, known := apiusage.Lookup(l.Group, l.Version, l.Resource)
	if !known {
		return false
	}
	gv, err := schema.ParseGroupVersion(r.Replacement)
	there := served[r.Replacement]
	return err == nil && gv.Group != l.Group && there != nil &&
		slices.ContainsFunc(there.APIResources, func(a metav1.APIResource) bool { return a.Name == l.Resource })
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
