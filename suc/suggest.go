package suc

// nearest gives the known name that a misspelt one most likely meant, or "".
// Case does not count, and a name may be off by a third of its length.
func nearest(name string, known []string) string {
	best, bestAt := "", 0
	for _, k := range known {
		limit := max(len(name), len(k))/3 + 1
		d := distance(name, k, limit)
		if d <= limit && (best == "" || d < bestAt || d == bestAt && k < best) {
			best, bestAt = k, d
		}
	}
	return best
}

// distance is how many letters must be added, dropped, changed or swapped with
// their neighbour to make b of a, ignoring case; more than limit when it is more.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	lower := func(c byte) byte {
		if 'A' <= c && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			x, y := lower(a[i-1]), lower(b[j-1])
			cost := 1
			if x == y {
				cost = 0
			}
			d := min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x == lower(b[j-2]) && lower(a[i-2]) == y {
				d = min(d, prev2[j-2]+1)
			}
			cur[j] = d
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
