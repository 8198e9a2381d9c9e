package loss

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/elementary"
)

// block is room for a run of records, on the stack.
type block [64]float64

// take returns the first of records, as many as are left and fit.
func (b *block) take(records int) []float64 { return b[:min(records, len(b))] }

// margins sets the first of m to scale y z, and returns them, for as many records as fit.
func (b *block) margins(scale float64, z, y []float64) []float64 {
	m := b.take(len(z))
	z, y = z[:len(m)], y[:len(m)]
	for i := range m {
		m[i] = float64(scale * y[i] * z[i])
	}
	return m
}

// expMargins is margins, and then e to their power.
func (b *block) expMargins(scale float64, z, y []float64) []float64 {
	m := b.margins(scale, z, y)
	elementary.Exps(m, m)
	return m
}

// expOfSizes is e^-|m|, at most 1.
func (b *block) expOfSizes(m []float64) []float64 {
	e := b[:len(m)]
	for i, v := range m {
		e[i] = -math.Abs(v)
	}
	elementary.Exps(e, e)
	return e
}

// expBelow is e^(z-top), for as many of z as fit.
func (b *block) expBelow(z []float64, top float64) []float64 {
	e := b.take(len(z))
	expsBelow(e, z[:len(e)], top)
	return e
}

// expsBelow sets dst to e^(z-top). dst may be z.
func expsBelow(dst, z []float64, top float64) {
	for i, v := range z {
		dst[i] = v - top
	}
	elementary.Exps(dst, dst)
}
