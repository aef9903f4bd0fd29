package apiusage_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/k3sladder/k3sladder/skew"
	"github.com/k3sladder/k3sladder/snapshot/apiusage"
)

// A page that an API server served, saved to a file or still on its way.
func ExampleScan() {
	page := `apiserver_request_total{code="200"} 12
apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="policy",removed_release="1.25",resource="poddisruptionbudgets",subresource="",version="v1beta1"} 1
process_start_time_seconds 1.7962524e+09
`
	usage, err := apiusage.Scan(strings.NewReader(page), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	target := skew.Minor{Major: 1, Minor: 35}
	if err := usage.WriteLines(os.Stdout, target); err != nil {
		fmt.Println(err)
	}
	for _, api := range usage.Removed(target) {
		fmt.Println(api, "went in", api.RemovedRelease, "- use", api.Replacement)
	}
	fmt.Println(usage.Servers[0].Memory(time.Unix(1796252400, 0).Add(3 * time.Hour)))
	// Output:
	// apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1
	// apiserver_requested_deprecated_apis{group="policy",removed_release="1.25",resource="poddisruptionbudgets",subresource="",version="v1beta1"} 1
	// removed_by_target=1
	// poddisruptionbudgets.v1beta1.policy went in 1.25 - use policy/v1
	// The server counts since its start at 2026-12-02T23:00:00Z, 3h0m0s before this answer; older calls are forgotten.
}
