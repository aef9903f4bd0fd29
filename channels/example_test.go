package channels_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/k3sladder/k3sladder/channels"
	"github.com/k3sladder/k3sladder/skew"
)

func Example() {
	running := skew.MustParse("v1.34.11+k3s1")
	catalog := channels.Bundled() // or channels.Read(ctx, "", channels.Options{})
	stable, err := catalog.Latest("stable")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("stable is %d minors ahead (%s)\n", channels.Jump(running, stable), catalog.Origin())

	ladder, err := channels.Ladder(running, stable, catalog, channels.Facts{Datastore: channels.SQLite})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, rung := range ladder.Rungs {
		fmt.Println(rung.Version, rung.InstallScript)
	}
	// Output:
	// stable is 2 minors ahead (bundled snapshot of 2026-09-30, not the channel server's answer)
	// v1.35.8+k3s1 https://raw.githubusercontent.com/k3s-io/k3s/v1.35.8%2Bk3s1/install.sh
	// v1.36.4+k3s1 https://raw.githubusercontent.com/k3s-io/k3s/v1.36.4%2Bk3s1/install.sh
}

// etcd's obligatory stop on 3.5.26 needs a rung of its own.
func ExampleLadder() {
	ladder, err := channels.Ladder(
		skew.MustParse("v1.32.10+k3s1"), skew.MustParse("v1.33.13+k3s2"), channels.Bundled(),
		channels.Facts{Datastore: channels.EmbeddedEtcd, Agents: channels.No, Executor: channels.Script},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ladder)
	fmt.Println(ladder.Rungs[1].PointOfNoReturn)
	// Output:
	// v1.32.10+k3s1 -> v1.33.10+k3s1 -> v1.33.13+k3s2
	// when the last server runs v1.33.13+k3s2: etcd 3.6 does not go back to 3.5, only a snapshot taken before does
}

// Where no ladder leads, the error says which rule stands in the way.
func ExampleLadder_blocked() {
	_, err := channels.Ladder(
		skew.MustParse("v1.34.12+k3s1"), skew.MustParse("v1.36.4+k3s1"), channels.Bundled(),
		channels.Facts{Datastore: channels.SQLite, Executor: channels.SUC},
	)
	var blocked *channels.PathError
	if errors.As(err, &blocked) {
		fmt.Println(blocked.Blockers[0].ID, blocked.Detail)
		fmt.Println("nearest:", blocked.Nearest)
	}
	// Output:
	// build-month v1.35.9+k3s1 is of 2026-09, v1.36.4+k3s1 of 2026-08
	// nearest: v1.36.5+k3s1
}

// A channel that answers 301 is a trap: system-upgrade-controller takes the
// channel's own name for the version.
func ExampleReadAsSUC() {
	server := httptest.NewServer(http.RedirectHandler("https://update.k3s.io/", http.StatusMovedPermanently))
	defer server.Close()

	reading, err := channels.ReadAsSUC(context.Background(), server.URL+"/v1-release/channels/stable", channels.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reading.Version)
	fmt.Println(reading.Problem)
	// Output:
	// stable
	// the answer was 301, not 302: the controller takes the end of the channel's own address for the version
}
