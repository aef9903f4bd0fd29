package channels

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// maxRedirects is how many redirects a list may take to its content.
const maxRedirects = 5

// answer is what a server said.
type answer struct {
	status   int
	location string
	date     time.Time
	body     []byte
}

// get fetches a list: redirects are followed, everything but 200 is an error.
func get(ctx context.Context, address string, opts Options) (answer, error) {
	a, err := request(ctx, address, maxRedirects, opts)
	if err != nil {
		return answer{}, err
	}
	if a.status != http.StatusOK {
		return answer{}, &SourceError{Source: redact(address), Status: a.status, Err: statusError(a), unreachable: a.status >= 500}
	}
	return a, nil
}

// request makes one GET with the retries that opts allow, following up to
// redirects redirects; with 0 the redirect itself is the answer.
func request(ctx context.Context, address string, redirects int, opts Options) (answer, error) {
	client := *opts.Client
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if redirects == 0 {
			return http.ErrUseLastResponse
		}
		if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
			return fmt.Errorf("it redirects from https to %s", req.URL.Redacted())
		}
		if len(via) > redirects {
			return fmt.Errorf("stopped after %d redirects, the last one to %s", redirects, req.URL.Redacted())
		}
		return nil
	}
	pause := opts.Backoff
	for attempt := 1; ; attempt++ {
		a, err := once(ctx, &client, address, opts)
		retry := err != nil && retryable(err) || err == nil && a.status >= 500
		if !retry || ctx.Err() != nil || attempt == opts.Attempts {
			if err != nil {
				err = &SourceError{Source: redact(address), Err: explain(err, opts), unreachable: retry || errors.Is(err, context.DeadlineExceeded)}
			}
			return a, err
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
		}
		pause *= 2
	}
}

func once(ctx context.Context, client *http.Client, address string, opts Options) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, opts.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("User-Agent", opts.UserAgent)
	req.Header.Set("Accept", "application/json, */*;q=0.1")
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, location: resp.Header.Get("Location"), date: time.Now().UTC().Truncate(time.Second)}
	a.body, err = readBounded(resp.Body, opts.MaxBytes)
	if err != nil {
		return answer{}, &bodyError{err}
	}
	return a, nil
}

// bodyError is a fault after the headers had come.
type bodyError struct{ error }

func (e *bodyError) Unwrap() error { return e.error }

// retryable reports whether the connection failed in a way that may pass.
// Certificates, redirects and unusable answers do not.
func retryable(err error) bool {
	var body *bodyError
	var u *url.Error
	if errors.As(err, &body) || !errors.As(err, &u) {
		return false
	}
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	if errors.As(err, &cert) || errors.As(err, &record) {
		return false
	}
	var op interface{ Timeout() bool }
	if errors.As(u.Err, &op) {
		return true // a net.Error: refused, reset, unreachable, timed out, no such host
	}
	return errors.Is(u.Err, io.EOF) || errors.Is(u.Err, io.ErrUnexpectedEOF)
}

// explain puts a failed request into words that say which host and what to look
// at.
func explain(err error, opts Options) error {
	host := "the server"
	var u *url.Error
	if errors.As(err, &u) {
		if parsed, perr := url.Parse(u.URL); perr == nil {
			host = parsed.Host
		}
	}
	var cert *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var body *bodyError
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &body) && errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the answer did not end within %v: %w", opts.Timeout, context.DeadlineExceeded)
	case errors.As(err, &body):
		return body.error
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s did not answer within %v: %w", host, opts.Timeout, context.DeadlineExceeded)
	case errors.As(err, &unknown):
		return fmt.Errorf("the certificate of %s is signed by an authority this machine does not know (a proxy that opens TLS?): %w", host, unknown)
	case errors.As(err, &name):
		return fmt.Errorf("the certificate of %s is for another name: %w", host, name)
	case errors.As(err, &cert):
		return fmt.Errorf("the certificate of %s is not valid: %w", host, cert.Err)
	case u != nil:
		return u.Err
	default:
		return err
	}
}

// statusError says what an answer other than 200 means, with the words of the
// server's own JSON error when it sent one.
func statusError(a answer) error {
	text := fmt.Sprintf("the server answered %d %s", a.status, http.StatusText(a.status))
	var e struct {
		Type    string `json:"type"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(a.body, &e) == nil && e.Type == "error" {
		text += " (" + serverError(e.Code, e.Message, 0) + ")"
	}
	if a.status >= 300 && a.status < 400 && a.location == "" {
		text += " without saying where to go"
	}
	return errors.New(text)
}
