package audit

import (
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// Generate draws a table of n records with dim features for a loss. Rows have length at most 1, and about
// half of the rows have length 1. Targets of binary losses are correlated with the first feature.
func Generate(n, dim int, l loss.Loss, seed uint64) Table {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	var t Table
	for range n {
		c := random(r, dim, l)
		if lean := float64(c.Row[0]); l.Target() == loss.Binary && r.Float64() < .5 && lean*c.Target < 0 {
			c.Target = -c.Target
		}
		t = t.And(c.Record)
	}
	return t
}
