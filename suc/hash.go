package suc

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Hash identifies one application of a Plan, as the controller computes it: of
// the resolved version, the service account, the fields named by the digest
// annotation, and the contents of the Secrets (their hashes, in the Plan's
// order, without those whose updates are ignored). Neither the Plan's name nor
// its nodes, images or arguments count.
//
// It is "" when a Secret's hash is needed and not given.
// Source: https://github.com/rancher/system-upgrade-controller/blob/v0.20.1/pkg/upgrade/plan/plan.go
func Hash(p *Plan, version string, secretHashes []string) string {
	if p == nil {
		return ""
	}
	h := sha256.New224()
	h.Write([]byte(munge(version)))
	h.Write([]byte(p.Spec.ServiceAccountName))
	if fields := p.Annotations[AnnotationDigest]; fields != "" {
		var m map[string]any
		b, err := json.Marshal(p)
		if err != nil {
			return ""
		}
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.UseNumber()
		if dec.Decode(&m) != nil {
			return ""
		}
		for _, f := range strings.Split(fields, ",") {
			h.Write([]byte(digestText(m, strings.Split(f, "."))))
		}
	}
	n := 0
	for _, s := range p.Spec.Secrets {
		if s.IgnoreUpdates {
			continue
		}
		if n >= len(secretHashes) {
			return ""
		}
		h.Write([]byte(secretHashes[n]))
		n++
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// digestText is the text that the controller hashes for a field. Only the
// simple kinds are certain.
func digestText(m map[string]any, fields []string) string {
	var v any = m
	for _, f := range fields {
		m, _ := v.(map[string]any)
		v = m[f]
	}
	if list, ok := v.([]any); ok { // the first of a list counts
		v = nil
		if len(list) > 0 {
			v = list[0]
		}
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(v)
	case bool:
		return strconv.FormatBool(v)
	default:
		return fmt.Sprint(v)
	}
}
