// Command backup saves the SQLite datastore of a running k3s server with its
// token, proves that the copy can be restored, and restores it.
package main

import "github.com/k3sladder/k3sladder/examples/internal/cli"

func main() { cli.Main(newCommand()) }
