//go:build race

package backup_test

// The race detector makes each process ten times as slow.
const slow = true
