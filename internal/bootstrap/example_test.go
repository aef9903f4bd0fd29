package bootstrap_test

import (
	"fmt"

	"github.com/k3sladder/k3sladder/internal/bootstrap"
)

func Example() {
	password, err := bootstrap.Password("K10::server:correct horse\n")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(bootstrap.Key(password))

	sealed, _ := bootstrap.Seal(password, []byte("certificates"))
	plaintext, err := bootstrap.Open(password, sealed)
	fmt.Println(string(plaintext), err)

	_, err = bootstrap.Open("another", sealed)
	fmt.Println(err)
	// Output:
	// /bootstrap/4104d36f8da2
	// certificates <nil>
	// the bootstrap record does not open with this password
}
