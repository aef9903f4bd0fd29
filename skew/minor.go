package skew

import (
	"cmp"
	"fmt"
	"strings"
)

// Minor is a Kubernetes minor version: 1.34. Version skew is counted in minors.
type Minor struct {
	Major, Minor int
}

// ParseMinor reads "1.34", "v1.34", the "1.34+" that some clouds report, and
// any text that [Parse] reads, of which it takes the minor.
func ParseMinor(s string) (Minor, error) {
	text := strings.TrimSpace(s)
	digits := strings.TrimSuffix(strings.TrimPrefix(text, "v"), "+")
	if major, rest, ok := cutNumber(digits); ok && rest != "" && rest[0] == '.' {
		if minor, rest, ok := cutNumber(rest[1:]); ok && rest == "" {
			return Minor{major, minor}, nil
		}
	}
	v, err := Parse(text)
	if err != nil {
		return Minor{}, fmt.Errorf("no minor version such as 1.34: %w", err)
	}
	return v.Minor(), nil
}

// String is the form "1.34".
func (m Minor) String() string { return fmt.Sprintf("%d.%d", m.Major, m.Minor) }

// IsZero reports whether m is the zero Minor, 0.0.
func (m Minor) IsZero() bool { return m == Minor{} }

// Next is the minor after m in the same major.
func (m Minor) Next() Minor { return Minor{m.Major, m.Minor + 1} }

// Compare is negative when m is older than o, positive when it is newer.
func (m Minor) Compare(o Minor) int {
	return cmp.Or(cmp.Compare(m.Major, o.Major), cmp.Compare(m.Minor, o.Minor))
}

// MarshalText gives "1.34".
func (m Minor) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText is [ParseMinor].
func (m *Minor) UnmarshalText(text []byte) error {
	n, err := ParseMinor(string(text))
	if err != nil {
		return err
	}
	*m = n
	return nil
}
