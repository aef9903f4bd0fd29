//go:build !linux

package backup

func openBy(string) int { return 0 }

type owner struct{}

func ownerOf(string) owner           { return owner{} }
func (owner) give(string) error      { return nil }
func sameDevice(string, string) bool { return false }
