package audit

import (
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// Generate draws a table of n records with dim features for a loss: rows of
// length at most 1, every other one of length 1, and targets that lean on the
// first features.
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
