package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/k3sladder/k3sladder/internal/bootstrap"
)

// Opens says whether a token opens a datastore.
type Opens string

// The verdicts. Only OpensYes proves that k3s can start with this pair.
const (
	OpensYes       Opens = "yes"
	OpensNo        Opens = "no"        // every record was sealed with another token
	OpensNoRecord  Opens = "no-record" // not made by k3s, or never finished its first start
	OpensUndecided Opens = "undecided" // see the reason
)

// TokenCheck is the verdict on a pair of token and datastore. It never holds
// any part of the token.
type TokenCheck struct {
	Opens   Opens  `json:"opens"`
	Reason  string `json:"reason,omitempty"`
	Records int    `json:"records"` // bootstrap records in the datastore
	// Warning is what a person should know although the verdict stands.
	Warning string `json:"warning,omitempty"`
}

// String is one line, e.g. "token opens datastore: yes".
func (c TokenCheck) String() string {
	s := "token opens datastore: "
	switch c.Opens {
	case OpensNo:
		s += "no (other token)"
	case OpensNoRecord:
		s += "no bootstrap record"
	default:
		s += string(c.Opens)
	}
	if c.Reason != "" {
		s += ": " + c.Reason
	}
	return s
}

const maxToken = 64 << 10

// readToken gives the bytes of a token file, following a symbolic link. The
// error never holds any of them.
func readToken(path string) ([]byte, error) {
	b, err := readBounded(path, maxToken)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fail("read token", path, ErrNoToken, "k3s writes it at its first start; without it a backup cannot be restored (https://docs.k3s.io/cli/token)")
	}
	if err != nil {
		return nil, fail("read token", path, fmt.Errorf("%w: %w", ErrNoToken, err), "run as root, or give read access to the file")
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, fail("read token", path, ErrNoToken, "the file is empty; k3s writes it at its first start")
	}
	return b, nil
}

func readBounded(path string, limit int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("larger than %d bytes", limit)
	}
	return b, err
}

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// candidate is a password that some k3s would use for this token.
type candidate struct{ password, warning string }

// candidates lists the passwords under which k3s looks for its record, the one
// of today's k3s first: k3s reads the password out of the token, and takes over
// records under the empty password and under the whole token that older
// versions wrote (pkg/cluster/storage.go). Versions that cut only the newline
// off the file took a carriage return for a part of the password.
func candidates(token []byte) ([]candidate, error) {
	password, err := bootstrap.Password(string(token))
	if err != nil {
		return nil, err
	}
	list := []candidate{{password: password}}
	crlf := strings.HasSuffix(strings.TrimRight(string(token), "\n"), "\r")
	if crlf {
		list = append(list, candidate{password + "\r",
			"the record was sealed with the carriage return at the end of the token file as part of the password; a k3s that trims the file will not open it"})
	}
	if whole := strings.TrimSpace(string(token)); whole != password {
		list = append(list, candidate{whole,
			"the record was sealed with the whole token, as old versions of k3s did; k3s seals it anew when it starts"})
	}
	return append(list, candidate{"",
		"the record was sealed with the empty password, as old versions of k3s did: anyone who has the database can open it; k3s seals it anew when it starts"}), nil
}

// checkToken finds out whether token opens the datastore.
func checkToken(ctx context.Context, db querier, token []byte) (TokenCheck, error) {
	records := map[string][]byte{}
	if err := liveRows(ctx, db, bootstrap.Prefix, func(name string, value []byte) { records[name] = value }); err != nil {
		return TokenCheck{}, err
	}
	return judgeToken(records, token), nil
}

func judgeToken(records map[string][]byte, token []byte) TokenCheck {
	c := TokenCheck{Records: len(records)}
	list, err := candidates(token)
	if err != nil {
		c.Opens, c.Reason = OpensNo, err.Error()
		if len(records) == 0 {
			c.Opens = OpensNoRecord
		}
		return c
	}
	if len(records) == 0 {
		c.Opens = OpensNoRecord
		c.Reason = "the datastore was not made by k3s, or k3s never finished its first start on it"
		return c
	}
	var why []string
	for _, cand := range list {
		value, found := records[bootstrap.Key(cand.password)]
		if !found {
			continue
		}
		_, err := bootstrap.Open(cand.password, value)
		if err == nil {
			c.Opens, c.Reason, c.Warning = OpensYes, "", cand.warning
			if len(records) > 1 {
				c.Warning = joinWords(c.Warning, fmt.Sprintf("the datastore has %d bootstrap records; k3s uses the one of this token", len(records)))
			}
			return c
		}
		why = append(why, err.Error())
	}
	c.Opens = OpensNo
	if why != nil {
		// The name is made from this password, the value does not open with it.
		c.Opens = OpensUndecided
		c.Reason = strings.Join(why, "; ") + "; the record's name belongs to this token, so it is damaged or incomplete"
	}
	return c
}

func joinWords(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
