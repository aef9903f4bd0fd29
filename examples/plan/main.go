// Command plan writes, judges, explains, applies and follows Plans of
// system-upgrade-controller.
package main

import "github.com/k3sladder/k3sladder/examples/internal/cli"

func main() { cli.Main(newCommand()) }
