package channels

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/k3sladder/k3sladder/skew"
)

// Resolution is what a single channel's address answered.
type Resolution struct {
	// URL is the address that was asked, Location where it points.
	URL      string `json:"url"`
	Location string `json:"location"`
	// Tag is the last part of Location, as it is written there: a release's tag.
	Tag string `json:"tag"`
	// Version is the tag read as a version.
	Version skew.Version `json:"version"`
}

// Resolve asks the address of one channel, such as
// https://update.k3s.io/v1-release/channels/stable, or of GitHub's newest
// release, such as https://github.com/k3s-io/k3s/releases/latest (k3OS's Plans
// use that one). Both answer with a redirect to the release's page, which is
// read and not followed.
//
// Faults are [*SourceError] values that name the address: a channel that the
// server does not know or that points at nothing (404 with the server's own
// words), an answer that is no redirect, a redirect to something that is no
// version. The cache is not used.
func Resolve(ctx context.Context, address string, opts Options) (*Resolution, error) {
	opts = opts.withDefaults()
	shown := redact(address)
	if !isURL(address) {
		return nil, &SourceError{Source: shown, Err: errors.New("no http or https address")}
	}
	a, err := request(ctx, address, 0, opts)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*Resolution, error) {
		return nil, &SourceError{Source: shown, Status: a.status, Err: err}
	}
	if a.status < 300 || a.status > 399 || a.location == "" {
		if a.status < 300 {
			return fail(fmt.Errorf("%w: a channel answers with a redirect to its release (a login page, or the address of the list?)", statusError(a)))
		}
		return fail(statusError(a))
	}
	tag, err := lastElement(address, a.location)
	if err != nil {
		return fail(err)
	}
	v, err := skew.Parse(tag)
	if err != nil {
		return fail(fmt.Errorf("it redirects to %s, which ends in no release: %w", redact(a.location), err))
	}
	return &Resolution{URL: shown, Location: redact(a.location), Tag: tag, Version: v}, nil
}

// lastElement is the last part of the path that a redirect from address points
// at, decoded: "v1.36.4+k3s1". A plus sign stands for itself, escaped or not.
func lastElement(address, location string) (string, error) {
	base, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	to, err := base.Parse(location)
	if err != nil {
		return "", fmt.Errorf("it redirects to %q, which is no address", location)
	}
	path := strings.TrimRight(to.Path, "/")
	return path[strings.LastIndexByte(path, '/')+1:], nil
}

// SUCReading is what system-upgrade-controller makes of a channel. The
// controller takes the answer as it comes and never asks whether it is a
// version: what it would run is Version, and Problem says why that is not what
// the channel means.
type SUCReading struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
	// Version is what the controller would put into the Plan's status and, as an
	// image tag, into its Jobs: plus signs are hyphens there.
	Version string `json:"version"`
	// Problem is empty when the reading is the release that the channel points at.
	Problem string `json:"problem,omitempty"`
}

// ReadAsSUC asks a channel the way system-upgrade-controller does for
// spec.channel (https://github.com/rancher/system-upgrade-controller/blob/master/pkg/upgrade/plan/plan.go):
// one GET that follows no redirect. Only a 302 is read for a version, the last
// part of its Location. Any other answer from 200 to 399 makes the last part of
// the channel's own address the version: a 301 from http to https gives the
// image tag "stable". Answers from 400 on, and failed requests, are errors and
// the controller tries again.
func ReadAsSUC(ctx context.Context, address string, opts Options) (*SUCReading, error) {
	opts = opts.withDefaults()
	opts.Attempts = 1
	shown := redact(address)
	if !isURL(address) {
		return nil, &SourceError{Source: shown, Err: errors.New("no http or https address: the controller's request fails")}
	}
	a, err := request(ctx, address, 0, opts)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*SUCReading, error) {
		return nil, &SourceError{Source: shown, Status: a.status, Err: err}
	}
	r := &SUCReading{URL: shown, Status: a.status}
	var raw string
	switch {
	case a.status >= 400:
		return fail(statusError(a))
	case a.status == http.StatusFound:
		if a.location == "" {
			return fail(errors.New("the server answered 302 without saying where to go"))
		}
		if raw, err = lastElement(address, a.location); err != nil {
			return fail(err)
		}
	default:
		// The controller cuts the text of the address, query string and all.
		text := strings.TrimRight(address, "/")
		raw = text[strings.LastIndexByte(text, '/')+1:]
		r.Problem = fmt.Sprintf("the answer was %d, not 302: the controller takes the end of the channel's own address for the version", a.status)
	}
	r.Version = strings.ReplaceAll(raw, "+", "-")
	if _, err := skew.Parse(raw); err != nil && r.Problem == "" {
		r.Problem = "it points at something that is no version, and the controller does not look: " + err.Error()
	}
	return r, nil
}
