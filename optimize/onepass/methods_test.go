package onepass_test

import "github.com/stillpoint-dp/stillpoint/optimize"

// method is the name of an algorithm and a function that plans it with fixed settings.
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
