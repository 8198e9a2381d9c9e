package losstest

import (
	"math"
	"slices"
)

// worstFirst returns the n points with the greatest values of f, in descending order of the values. NaN
// counts as +Inf, so that no NaN is overlooked. If there are fewer than n points, it returns all of them.
func worstFirst[P any](points []P, f func(P) float64, n int) []P {
	type scored struct {
		p P
		f float64
	}
	all := make([]scored, len(points))
	for i, p := range points {
		v := f(p)
		if v != v {
			v = math.Inf(1)
		}
		all[i] = scored{p, v}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		switch {
		case a.f > b.f:
			return -1
		case a.f < b.f:
			return 1
		}
		return 0
	})
	best := make([]P, 0, n)
	for _, s := range all[:min(n, len(all))] {
		best = append(best, s.p)
	}
	return best
}
