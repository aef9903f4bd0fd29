package channels

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/k3sladder/k3sladder/skew"
)

// The channel servers that Rancher runs, and the word that stands for the
// snapshot in this module.
const (
	K3sServer  = "https://update.k3s.io/v1-release/channels"
	RKE2Server = "https://update.rke2.io/v1-release/channels"
	// BundledSource as a source means [Bundled].
	BundledSource = "bundled"
)

// Channel is one release channel.
type Channel struct {
	Name string `json:"name"`
	// Latest is the release it points at. Some channels point at none (testing
	// channels between release candidates): then it is the zero Version.
	Latest skew.Version `json:"latest,omitzero"`
	// LatestRegexp and ExcludeRegexp are how the server chooses releases; a
	// channel that is pinned by hand (stable) has neither.
	LatestRegexp  string `json:"latestRegexp,omitempty"`
	ExcludeRegexp string `json:"excludeRegexp,omitempty"`
}

// Catalog is what a channel server knows: its channels in the server's order. A
// nil *Catalog has no channel.
type Catalog struct {
	// Source is the URL or file the catalog was read from, or [BundledSource].
	Source string `json:"source"`
	// Date is when the source said so: the time of the answer, of the saved
	// file, of the cached copy or of the bundled snapshot.
	Date time.Time `json:"date"`
	// Bundled: this is the snapshot in this module, not the server's answer.
	Bundled bool `json:"bundled,omitempty"`
	// Cached: the server could not be reached, and this is the copy that an
	// earlier call left in the cache folder.
	Cached   bool      `json:"cached,omitempty"`
	Channels []Channel `json:"channels"`
}

// The reasons for which a catalog has no answer; test for them with errors.Is.
var (
	// ErrNoChannel: the catalog has no channel of that name.
	ErrNoChannel = errors.New("no such channel")
	// ErrNoLatest: the channel points at no release.
	ErrNoLatest = errors.New("channel points at no release")
	// ErrNoRelease: no release of that minor is known.
	ErrNoRelease = errors.New("no release known")
)

//go:embed data/k3s.json
var bundledJSON []byte

// bundledDate is when the bundled snapshot was taken.
var bundledDate = time.Date(2026, time.September, 30, 0, 0, 0, 0, time.UTC)

// Bundled is the snapshot of k3s's channels in this module, for use without a
// network. It is as old as its Date; a caller who uses it must say so
// ([Catalog.Origin]).
func Bundled() *Catalog {
	chs, err := decode(bundledJSON)
	if err != nil {
		panic("channels: the bundled snapshot is broken: " + err.Error()) // a test reads it
	}
	return &Catalog{Source: BundledSource, Date: bundledDate, Bundled: true, Channels: chs}
}

// Origin says in a few words where the catalog comes from and how old it is:
// "bundled snapshot of 2026-09-30, not the channel server's answer".
func (c *Catalog) Origin() string {
	if c == nil {
		return "no catalog"
	}
	day := c.Date.Format(time.DateOnly)
	switch {
	case c.Source == "":
		return "a catalog of unknown origin"
	case c.Date.IsZero():
		return c.Source
	case c.Bundled:
		return "bundled snapshot of " + day + ", not the channel server's answer"
	case c.Cached:
		return "cached copy of " + c.Source + " from " + c.Date.Format(time.DateTime) + " UTC; the server could not be reached"
	default:
		return c.Source + ", " + day
	}
}

func (c *Catalog) channels() []Channel {
	if c == nil {
		return nil
	}
	return c.Channels
}

// Channel finds a channel by name. The error is [ErrNoChannel].
func (c *Catalog) Channel(name string) (Channel, error) {
	for _, ch := range c.channels() {
		if ch.Name == name {
			return ch, nil
		}
	}
	return Channel{}, fmt.Errorf("%w: %q in %s", ErrNoChannel, name, c.Origin())
}

// Latest is the release that a channel points at. The error is [ErrNoChannel]
// or [ErrNoLatest].
func (c *Catalog) Latest(name string) (skew.Version, error) {
	ch, err := c.Channel(name)
	if err != nil {
		return skew.Version{}, err
	}
	if ch.Latest.IsZero() {
		return skew.Version{}, fmt.Errorf("%w: %q in %s", ErrNoLatest, name, c.Origin())
	}
	return ch.Latest, nil
}

// NewestPatch is the newest release of a minor that any channel points at,
// leaving prereleases out. Newest is by [skew.Compare], which counts +k3s3 above
// +k3s1. The error is [ErrNoRelease].
//
// It is what a channel points at, not a checked upgrade target: [Ladder] knows
// releases that must not be a stop and those that need another stop before.
func (c *Catalog) NewestPatch(m skew.Minor) (skew.Version, error) {
	var newest skew.Version
	for _, ch := range c.channels() {
		if ch.Latest.Minor() == m && ch.Latest.Prerelease() == "" && newest.Less(ch.Latest) {
			newest = ch.Latest
		}
	}
	if newest.IsZero() {
		return newest, fmt.Errorf("%w: no channel points at a %s release in %s", ErrNoRelease, m, c.Origin())
	}
	return newest, nil
}

// Jump is how many minors lie between two versions: 2 from v1.34.11+k3s1 to
// v1.36.4+k3s1, negative when to is the lower one. Anything above 1 is more than
// the version skew policy allows as one step. Versions of different majors have
// no distance that anyone defined; Jump counts as if a major had 1000 minors, so
// that it is never mistaken for a step. It is 0 when one of them is the zero
// Version, which [skew.CheckUpgrade] refuses.
func Jump(from, to skew.Version) int {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	a, b := from.Minor(), to.Minor()
	return (b.Major-a.Major)*1000 + b.Minor - a.Minor
}

// maxChannels bounds a list, since the search for a ladder takes the square of
// it. k3s's has about sixty.
const maxChannels = 2000

// decode reads the list that a channel server answers with:
// https://update.k3s.io/v1-release/channels.
func decode(body []byte) ([]Channel, error) {
	type object struct {
		Type         string `json:"type"`
		ResourceType string `json:"resourceType"`
		// An error of the server has these.
		Code    string `json:"code"`
		Message string `json:"message"`
		Status  int    `json:"status"`
		Data    *[]struct {
			Type          string `json:"type"`
			ID            string `json:"id"`
			Name          string `json:"name"`
			Latest        string `json:"latest"`
			LatestRegexp  string `json:"latestRegexp"`
			ExcludeRegexp string `json:"excludeRegexp"`
		} `json:"data"`
	}
	var list object
	body = bytes.TrimLeft(body, " \t\r\n\uFEFF") // some editors save a byte order mark
	switch {
	case len(body) == 0:
		return nil, errors.New("the answer is empty")
	case body[0] == '<':
		return nil, errors.New("the answer is a web page, not a channel list: a login page, a proxy, or the address of a single channel")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&list); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("the JSON is cut off")
		}
		return nil, fmt.Errorf("no channel list: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something follows the channel list")
	}
	switch {
	case list.Type == "error":
		return nil, fmt.Errorf("the server answered with an error: %s", serverError(list.Code, list.Message, list.Status))
	case list.Data == nil, list.Type != "collection", list.ResourceType != "" && list.ResourceType != "channels":
		return nil, errors.New(`the JSON is no channel list (type "collection" with data)`)
	}
	if len(*list.Data) > maxChannels {
		return nil, fmt.Errorf("the list has %d channels, more than %d", len(*list.Data), maxChannels)
	}
	channels := make([]Channel, 0, len(*list.Data))
	seen := make(map[string]bool, len(*list.Data))
	for i, d := range *list.Data {
		ch := Channel{Name: d.Name, LatestRegexp: d.LatestRegexp, ExcludeRegexp: d.ExcludeRegexp}
		if ch.Name == "" {
			ch.Name = d.ID
		}
		switch {
		case ch.Name == "":
			return nil, fmt.Errorf("channel %d has no name", i)
		case seen[ch.Name]:
			return nil, fmt.Errorf("channel %q is there twice", ch.Name)
		}
		seen[ch.Name] = true
		if d.Latest != "" {
			v, err := skew.Parse(d.Latest)
			if err != nil {
				return nil, fmt.Errorf("channel %q points at something else: %w", ch.Name, err)
			}
			ch.Latest = v
		}
		channels = append(channels, ch)
	}
	if !slices.ContainsFunc(channels, func(c Channel) bool { return !c.Latest.IsZero() }) {
		return nil, errors.New("no channel in the list points at a release")
	}
	return channels, nil
}

func serverError(code, message string, status int) string {
	text := code
	if message != "" {
		text += ": " + message
	}
	if status != 0 {
		text = fmt.Sprintf("%d %s", status, text)
	}
	return printable(text)
}

// printable makes a stranger's words fit for a terminal: on one line, without
// control characters, and no longer than a person reads.
func printable(text string) string {
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
