package main

import (
	"fmt"
	"io"
	"strings"
)

// textWidth is how wide the text output gets.
const textWidth = 100

// writeWrapped writes text in lines of at most textWidth columns, as long as no
// word is longer.
func writeWrapped(w io.Writer, first, rest, text string) error {
	var b strings.Builder
	line := first
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && len(line)+1+len(word) > textWidth {
			b.WriteString(line + "\n")
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	_, err := fmt.Fprintln(w, b.String()+line)
	return err
}
