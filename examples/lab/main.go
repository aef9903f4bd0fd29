// Command lab takes a k3s cluster exactly one Kubernetes minor version up, with
// what must be written down before, and the proof after: on a practice cluster
// (lab run --practice) or on the k3s server it runs on.
package main

import "github.com/k3sladder/k3sladder/examples/internal/cli"

func main() { cli.Main(newCommand()) }
