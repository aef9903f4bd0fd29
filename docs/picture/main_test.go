package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

func TestThePictureInTheRepoIsTheOneDrawn(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("../ladder.svg")
	if err != nil {
		t.Fatal(err)
	}
	got := draw()
	if got != string(want) {
		t.Error("docs/ladder.svg is another picture: go run ./docs/picture > docs/ladder.svg")
	}
	decoder := xml.NewDecoder(strings.NewReader(got))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
