// Drainprobe says whether a drain of a node would finish, or tries it and
// gives the node back.
package main

import "github.com/k3sladder/k3sladder/examples/internal/cli"

func main() { cli.Main(newCommand()) }
