// Command ladder prints the way from a running k3s version to where a channel
// points, one pinned release a rung, with what is allowed and what can break on
// each of them.
package main

import "github.com/k3sladder/k3sladder/examples/internal/cli"

func main() { cli.Main(newCommand()) }
