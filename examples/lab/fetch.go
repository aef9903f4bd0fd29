package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	fetchLimit   = 8 << 20
	fetchTimeout = 2 * time.Minute
)

// fetch reads a URL or a file, whole, up to fetchLimit bytes.
func fetch(ctx context.Context, source string) ([]byte, error) {
	if !strings.HasPrefix(source, "http://") && !strings.HasPrefix(source, "https://") {
		file, err := os.Open(source)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return readAll(source, file)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetching %s: %w", source, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetching %s: the server answers %s", source, response.Status)
	}
	return readAll(source, response.Body)
}

func readAll(source string, r io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, fetchLimit+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", source, err)
	}
	if len(content) > fetchLimit {
		return nil, fmt.Errorf("%s has more than %d bytes, which is not what was expected there", source, fetchLimit)
	}
	return content, nil
}
