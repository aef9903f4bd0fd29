package bootstrap

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
)

// Prefix begins the name of every bootstrap record in the datastore.
const Prefix = "/bootstrap/"

const (
	saltBytes  = 8 // written as 16 hex digits, which are the salt
	iterations = 4096
	keyLength  = 32
	nameDigits = 12
)

var (
	// ErrPassword says that the record was sealed with another password, or
	// was damaged: the two cannot be told apart.
	ErrPassword = errors.New("the bootstrap record does not open with this password")
	// ErrRecordFormat says that the value is no bootstrap record at all.
	ErrRecordFormat = errors.New("not a bootstrap record (salt:base64)")
	// ErrLocked says that the value is empty: a k3s server has claimed the
	// record and has not filled it yet, or died before it could.
	ErrLocked = errors.New("the bootstrap record is empty: a server that was being set up has claimed it and not filled it")
)

// Key is the datastore name of the record that belongs to password:
// /bootstrap/ and the first 12 hex digits of the password's SHA-256.
func Key(password string) string {
	sum := sha256.Sum256([]byte(password))
	return Prefix + hex.EncodeToString(sum[:])[:nameDigits]
}

// Seal encrypts plaintext as k3s does: AES-256-GCM under
// PBKDF2-HMAC-SHA1(password, salt, 4096, 32), written as salt:base64(nonce|sealed).
func Seal(password string, plaintext []byte) ([]byte, error) {
	raw := make([]byte, saltBytes)
	rand.Read(raw) // never fails, see crypto/rand
	salt := hex.EncodeToString(raw)
	gcm, err := aead(password, salt)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, gcm.NonceSize())
	rand.Read(nonce)
	sealed := gcm.Seal(nonce, nonce, plaintext, nil)
	return []byte(salt + ":" + base64.StdEncoding.EncodeToString(sealed)), nil
}

// Open gives what Seal (or k3s) sealed with password. Its error is
// [ErrPassword], [ErrRecordFormat] or [ErrLocked] and holds no secret.
func Open(password string, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 {
		return nil, ErrLocked
	}
	salt, encoded, found := bytes.Cut(sealed, []byte(":"))
	if !found {
		return nil, ErrRecordFormat
	}
	data, err := base64.StdEncoding.DecodeString(string(encoded))
	if err != nil {
		return nil, fmt.Errorf("%w: the part after the colon is not base64", ErrRecordFormat)
	}
	gcm, err := aead(password, string(salt))
	if err != nil {
		return nil, err
	}
	if len(data) < gcm.NonceSize()+gcm.Overhead() {
		return nil, fmt.Errorf("%w: %d bytes are too few", ErrRecordFormat, len(data))
	}
	plaintext, err := gcm.Open(nil, data[:gcm.NonceSize()], data[gcm.NonceSize():], nil)
	if err != nil {
		return nil, ErrPassword
	}
	return plaintext, nil
}

func aead(password, salt string) (cipher.AEAD, error) {
	key, err := pbkdf2.Key(sha1.New, password, []byte(salt), iterations, keyLength)
	if err != nil {
		return nil, fmt.Errorf("derive the key of the bootstrap record: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("use the key of the bootstrap record: %w", err)
	}
	return cipher.NewGCM(block)
}
