// Package bootstrap reads and writes k3s's bootstrap record: the copy of the
// cluster's certificates, keys and encryption configuration that k3s keeps in
// its datastore, sealed with the server token.
//
// The record is one row of the datastore. Its name is made from the token's
// password, its value is sealed with a key derived from that password, so a
// token either opens a datastore or it does not:
//
//	password, err := bootstrap.Password(string(tokenFile))
//	row := db[bootstrap.Key(password)]
//	plaintext, err := bootstrap.Open(password, row)
//
// The formats are those of k3s's pkg/cluster/encrypt.go, pkg/cluster/storage.go
// and pkg/clientaccess/token.go (https://github.com/k3s-io/k3s); the token is
// described at https://docs.k3s.io/cli/token.
package bootstrap
