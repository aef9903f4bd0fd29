package columns_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/k3sladder/k3sladder/internal/columns"
)

func TestLinesEndWithTheirLastWord(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	w := columns.New(&b)
	fmt.Fprint(w, "node\tversion\tnote\nserver-1\tv1.34.4\t\nbox\t\tgone\n\n")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, "a\tb\n")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "node      version  note\nserver-1  v1.34.4\nbox                gone\n\na  b\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestFlushTellsWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	w := columns.New(full{})
	fmt.Fprint(w, "a\n")
	if err := w.Flush(); err == nil {
		t.Error("no error")
	}
}
