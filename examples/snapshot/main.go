// Command snapshot writes down what a cluster is, says whether it is the same
// one later, and names the deprecated APIs that clients still call.
package main

import "github.com/k3sladder/k3sladder/examples/internal/cli"

func main() { cli.Main(newCommand()) }
