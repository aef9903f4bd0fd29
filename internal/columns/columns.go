// Package columns aligns what people read in tables.
package columns

import (
	"bytes"
	"io"
	"text/tabwriter"
)

// Writer aligns lines of cells that end in tabs, two blanks apart. Unlike a
// bare [tabwriter.Writer] it leaves no blanks at the end of a line.
type Writer struct {
	*tabwriter.Writer
	table *bytes.Buffer
	to    io.Writer
}

// New writes to w when it is flushed.
func New(w io.Writer) *Writer {
	table := new(bytes.Buffer)
	return &Writer{tabwriter.NewWriter(table, 0, 0, 2, ' ', 0), table, w}
}

// Flush writes what was aligned.
func (c *Writer) Flush() error {
	if err := c.Writer.Flush(); err != nil {
		return err
	}
	for line := range bytes.Lines(c.table.Bytes()) {
		if _, err := c.to.Write(append(bytes.TrimRight(line, " \n"), '\n')); err != nil {
			return err
		}
	}
	c.table.Reset()
	return nil
}
