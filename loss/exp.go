package loss

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
)

// block is scratch space on the stack for one value of each of up to 64 records.
type block [64]float64

// take returns the first min(records, len(b)) elements of b.
func (b *block) take(records int) []float64 { return b[:min(records, len(b))] }

// margins returns, in the memory of b, scale y[i] z[i] for the first min(len(z), len(b)) records.
func (b *block) margins(scale float64, z, y []float64) []float64 {
	m := b.take(len(z))
	z, y = z[:len(m)], y[:len(m)]
	for i := range m {
		m[i] = float64(scale * y[i] * z[i])
	}
	return m
}

// expOfSizes returns, in the memory of b, e^-|m[i]| for each i. The results are in [0, 1]. len(m) must be
// at most len(b).
func (b *block) expOfSizes(m []float64) []float64 {
	e := b[:len(m)]
	for i, v := range m {
		e[i] = -math.Abs(v)
	}
	repromath.Exps(e, e)
	return e
}

// expBelow returns, in the memory of b, e^(z[i]-top) for the first min(len(z), len(b)) elements of z.
func (b *block) expBelow(z []float64, top float64) []float64 {
	e := b.take(len(z))
	expsBelow(e, z[:len(e)], top)
	return e
}

// expsBelow sets dst[i] to e^(z[i]-top). dst may be z.
func expsBelow(dst, z []float64, top float64) {
	for i, v := range z {
		dst[i] = v - top
	}
	repromath.Exps(dst, dst)
}
