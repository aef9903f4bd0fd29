package channels_test

import (
	"fmt"

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
