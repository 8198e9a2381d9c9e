package onepass_test

import "github.com/stillpoint-dp/stillpoint/optimize"

// method is an algorithm as its users configure it.
type method struct {
	name string
	plan func(p optimize.Problem, s size) (optimize.Plan, error)
}

func count(flags ...bool) (n int) {
	for _, f := range flags {
		if f {
			n++
		}
	}
	return n
}
