package practice

import "context"

// TB is what Start needs of a test; *testing.T and *testing.B are one.
type TB interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// Start starts a cluster for a test, which fails if it does not come up, and
// closes it when the test ends.
func Start(t TB, opts Options) *Cluster {
	t.Helper()
	if opts.Progress == nil {
		opts.Progress = func(line string) { t.Logf("%s", line) }
	}
	c, err := New(t.Context(), opts)
	if err != nil {
		t.Fatalf("the practice cluster does not start: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing the practice cluster: %v", err)
		}
	})
	return c
}
