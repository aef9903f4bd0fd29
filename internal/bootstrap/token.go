package bootstrap

import (
	"errors"
	"regexp"
	"strings"
)

const (
	tokenPrefix  = "K10"
	caHashLength = 64 // hex digits of a SHA-256
)

// What a token can be wrong in. None of them quotes the token.
var (
	ErrEmptyToken  = errors.New("the token is empty")
	ErrTokenFormat = errors.New("the token is neither K10<CA hash>::<user>:<password> nor a bare password")
	// ErrJoinToken is a bootstrap token of "k3s token create" (abcdef.0123456789abcdef):
	// agents join with it, but no datastore is sealed with it.
	ErrJoinToken = errors.New("the token is a join token (id.secret), which cannot open a datastore; the server token is needed")
)

var joinToken = regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)

// Password gives the password of a server token: of the secure form
// K10<CA hash>::<user>:<password>, or of a short token, which is the password
// itself. White space around the token, such as the newline or CRLF at the end
// of a file, does not count, as in k3s (pkg/util/token.go). The error never
// holds any part of the token.
func Password(token string) (string, error) {
	token = strings.TrimSpace(token)
	if token == "" {
		return "", ErrEmptyToken
	}
	if joinToken.MatchString(token) {
		return "", ErrJoinToken
	}
	secure, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok {
		return token, nil
	}
	creds := secure
	if hash, rest, found := strings.Cut(secure, "::"); found {
		if hash != "" && len(hash) != caHashLength {
			return "", ErrTokenFormat
		}
		creds = rest
	}
	if joinToken.MatchString(creds) {
		return "", ErrJoinToken
	}
	_, password, found := strings.Cut(creds, ":")
	if !found || password == "" {
		return "", ErrTokenFormat
	}
	return password, nil
}
