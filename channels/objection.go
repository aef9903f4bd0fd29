package channels

import "github.com/k3sladder/k3sladder/skew"

// Objection is a constraint that speaks against a single step.
type Objection struct {
	Constraint Constraint `json:"constraint"`
	// Certain: the known facts say that the constraint binds. Otherwise it does
	// only if a fact that is not known turns out so.
	Certain bool `json:"certain"`
	// Detail says what the constraint sees in the step.
	Detail string `json:"detail"`
}

// Objections lists the constraints that forbid going from one version straight
// to another, besides the version skew policy ([skew.CheckUpgrade]). A release
// that is never a stop is no objection to a target that somebody names, and
// there is none to the zero Version, which CheckUpgrade refuses.
func Objections(from, to skew.Version, facts Facts) []Objection {
	if from.IsZero() || to.IsZero() {
		return nil
	}
	t := known()
	a, b := t.place(from), t.place(to)
	var os []Objection
	for i := range constraints {
		c := &constraints[i]
		if c.binds(facts) && c.judge(&a, &b, true) == forbidden {
			os = append(os, Objection{Constraint: *c, Certain: c.certain(facts), Detail: c.describe(&a, &b)})
		}
	}
	return os
}

// certain reports whether the rule binds whatever the unknown facts are.
func (c *Constraint) certain(facts Facts) bool {
	for _, d := range []Datastore{SQLite, EmbeddedEtcd} {
		for _, a := range []Answer{Yes, No} {
			for _, e := range []Executor{SUC, Script} {
				f := facts
				if f.Datastore == DatastoreUnknown {
					f.Datastore = d
				}
				if f.Agents == Unknown {
					f.Agents = a
				}
				if f.Executor == ExecutorUnknown {
					f.Executor = e
				}
				if !c.binds(f) {
					return false
				}
			}
		}
	}
	return true
}
