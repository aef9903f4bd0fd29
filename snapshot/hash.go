package snapshot

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

func (c *capture) secret(s *corev1.Secret) Data {
	d := Data{Object: object("", "Secret", "v1", s), Type: string(s.Type), Keys: len(s.Data)}
	h := c.hash(d.Object)
	writeField(h, s.Type)
	writeMap(h, s.Data)
	d.Hash = sum(h)
	return d
}

func (c *capture) configMap(m *corev1.ConfigMap) Data {
	d := Data{Object: object("", "ConfigMap", "v1", m), Keys: len(m.Data) + len(m.BinaryData)}
	h := c.hash(d.Object)
	writeMap(h, m.Data)
	writeMap(h, m.BinaryData)
	d.Hash = sum(h)
	return d
}

// hash begins a hash that is worth comparing only for the same object of the
// same cluster: the same password in two Secrets gives two hashes, and a table
// of hashes made elsewhere is of no use.
func (c *capture) hash(o Object) hash.Hash {
	h := hmac.New(sha256.New, []byte(Format+"\x00"+c.out.ClusterUID))
	for _, s := range []string{o.Kind, o.Namespace, o.Name} {
		writeField(h, s)
	}
	return h
}

func writeMap[V ~string | ~[]byte](h hash.Hash, m map[string]V) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	writeField(h, string(binary.AppendUvarint(nil, uint64(len(keys)))))
	for _, k := range keys {
		writeField(h, k)
		writeField(h, m[k])
	}
}

// writeField writes the length first, so that no two lists of fields give the
// same bytes.
func writeField[V ~string | ~[]byte](h hash.Hash, v V) {
	h.Write(binary.AppendUvarint(nil, uint64(len(v))))
	h.Write([]byte(v))
}

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:16]) }
