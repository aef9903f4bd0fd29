package main

import (
	"github.com/k3sladder/k3sladder/suc"
	"sigs.k8s.io/yaml"
)

func decodePlans(content []byte) ([]*suc.Plan, error) {
	p := &suc.Plan{}
	return []*suc.Plan{p}, yaml.UnmarshalStrict(content, p)
}
