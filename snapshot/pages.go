package snapshot

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// page is any list that carries a continue token and a revision.
type page interface {
	GetContinue() string
	GetResourceVersion() string
}

// errPaging: a server that does not page as the API's conventions ask.
var errPaging = errors.New("the server's pages do not fit together")

// pages reads one list page by page at one revision and gives that revision.
// When the server has forgotten it before the last page (410 Gone), everything
// visited so far is dropped with reset and the list begins anew: pages of two
// revisions are never mixed, though the server offers that. The last try asks
// for everything at once, which cannot expire.
func pages[L page](ctx context.Context, size int64, list func(context.Context, metav1.ListOptions) (L, error), reset func(), visit func(L) error) (string, error) {
	const tries = 3
	for try := 1; ; try++ {
		opts := metav1.ListOptions{Limit: size}
		if try == tries {
			opts.Limit = 0
		}
		revision, err := onePass(ctx, opts, list, visit)
		if err == nil {
			return revision, nil
		}
		if try == tries || !apierrors.IsResourceExpired(err) {
			return "", err
		}
		reset()
	}
}

func onePass[L page](ctx context.Context, opts metav1.ListOptions, list func(context.Context, metav1.ListOptions) (L, error), visit func(L) error) (string, error) {
	revision := ""
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		l, err := list(ctx, opts)
		if err != nil {
			return "", err
		}
		if err := visit(l); err != nil {
			return "", err
		}
		switch {
		case revision == "":
			revision = l.GetResourceVersion()
		case l.GetResourceVersion() != revision && l.GetResourceVersion() != "":
			return "", fmt.Errorf("%w: one of revision %s came after one of revision %s", errPaging, l.GetResourceVersion(), revision)
		}
		next := l.GetContinue()
		if next == "" {
			return revision, nil
		}
		if next == opts.Continue {
			return "", fmt.Errorf("%w: the same one comes again and again", errPaging)
		}
		opts.Continue = next
	}
}

// older gives the lower of two revisions; an unknown one is the lowest.
func older(a, b string) string {
	x, errA := strconv.ParseUint(a, 10, 64)
	y, errB := strconv.ParseUint(b, 10, 64)
	if errA != nil || errB == nil && x <= y {
		return a
	}
	return b
}
