//go:build !race

package backup_test

const slow = false
