package losstest

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stillpoint-dp/stillpoint/loss"
)

type blockMethod struct {
	name string
	run  func(dst, z, y []float64)
}

func blockMethods(l loss.RankOne) []blockMethod {
	return []blockMethod{{"Values", l.Values}, {"Slopes", l.Slopes}, {"Curvatures", l.Curvatures}}
}

// one returns the result of f for the margin z and the target y, as a block of one record. f is a method that
// works on blocks of margins and targets.
func one(f func(dst, z, y []float64), z, y float64) float64 {
	dst := make([]float64, 1)
	f(dst, []float64{z}, []float64{y})
	return dst[0]
}

// checkBlocks compares the results of a loss's methods for blocks of records with their results for single
// records. It tries blocks of 0 to 17 records at the offsets 0 to 8, and one block of 261 records. It also
// tests that arguments stay unchanged, that dst may be z or y, and that unequal lengths panic.
func checkBlocks(fs *findings, g *glm) {
	const n = 261
	rng := rand.New(rand.NewPCG(0x5eed, 3))
	z, y := make([]float64, n), make([]float64, n)
	for i := range z {
		z[i] = rng.NormFloat64() * math.Pow(10, 4*rng.Float64()-2)
		y[i] = math.Copysign(1, rng.NormFloat64())
		if g.l.Target() == loss.Real {
			y[i] = 2*rng.Float64() - 1
		}
	}
	z[3], z[17], y[40], z[100] = math.NaN(), math.Inf(1), math.NaN(), math.Inf(-1)
	z0, y0 := slices.Clone(z), slices.Clone(y)

	for _, m := range blockMethods(g.l) {
		want := make([]float64, n)
		for i := range want {
			want[i] = one(m.run, z[i], y[i])
		}
		dst := make([]float64, n+1)
		compare := func(from, to int) {
			for i := range dst {
				dst[i] = 12345
			}
			m.run(dst[from:to], z[from:to], y[from:to])
			for i := range n {
				expect := want[i]
				if i < from || i >= to {
					expect = 12345
				}
				if !same(dst[i], expect) {
					fs.add(ruleBlock, "%s on rows %d to %d: row %d is %v, alone %v", m.name, from, to, i, dst[i], expect)
				}
			}
		}
		compare(0, n)
		for from := range 9 {
			for length := range 18 {
				compare(from, from+length)
			}
		}
		if !slices.EqualFunc(z, z0, same) || !slices.EqualFunc(y, y0, same) {
			fs.add(ruleSideEffects, "%s writes to z or y", m.name)
			copy(z, z0)
			copy(y, y0)
		}

		inPlace := slices.Clone(z)
		m.run(inPlace, inPlace, y)
		if !slices.EqualFunc(inPlace, want, same) {
			fs.add(ruleBlock, "%s with dst = z differs", m.name)
		}
		inPlace = slices.Clone(y)
		m.run(inPlace, z, inPlace)
		if !slices.EqualFunc(inPlace, want, same) {
			fs.add(ruleBlock, "%s with dst = y differs", m.name)
		}

		for _, lengths := range [][3]int{{3, 2, 3}, {3, 3, 2}, {2, 3, 3}, {3, 4, 3}, {3, 3, 4}} {
			d, z, y := make([]float64, lengths[0]), make([]float64, lengths[1]), make([]float64, lengths[2])
			if !panics(func() { m.run(d, z, y) }) {
				fs.add(ruleLengths, "%s with lengths %v does not panic", m.name, lengths)
			}
		}
	}
}

// checkFaults tests that a NaN margin or a NaN target gives NaN, and that an infinite margin gives the limit of the
// method's result. It finds limits from the results at margins of absolute value 1e200 and 1e250.
func checkFaults(fs *findings, g *glm) {
	nan := math.NaN()
	for _, m := range blockMethods(g.l) {
		for _, p := range []point{{nan, 1}, {nan, -1}, {0, nan}, {1, nan}, {-1e3, nan}, {math.Inf(1), nan}, {nan, nan}} {
			if got := one(m.run, p.z, p.y); got == got {
				fs.add(ruleNaN, "%s gives %v at %v", m.name, got, p)
			}
		}
		for _, y := range []float64{-1, 1} {
			for _, sign := range []float64{-1, 1} {
				near, far := one(m.run, sign*1e200, y), one(m.run, sign*1e250, y)
				got := one(m.run, sign*math.Inf(1), y)
				scale := 1e-9 * max(1, math.Abs(near))
				switch {
				case math.Abs(near) < 1e100 && math.Abs(far-near) <= scale: // the result has reached its limit
					if !(math.Abs(got-near) <= scale) {
						fs.add(ruleInfinity, "%s gives %v at z = %v, y = %v, and %v at %v", m.name, got, sign*math.Inf(1), y, near,
							sign*1e200)
					}
				case math.Abs(near) >= 1e100 && math.Abs(far) > math.Abs(near): // the result grows without limit
					if want := math.Copysign(math.Inf(1), far); got != want {
						fs.add(ruleInfinity, "%s gives %v at z = %v, y = %v: must be %v", m.name, got, sign*math.Inf(1), y, want)
					}
				case math.IsInf(near, 0) && near == far:
					if got != near {
						fs.add(ruleInfinity, "%s gives %v at z = %v, y = %v: must be %v", m.name, got, sign*math.Inf(1), y, near)
					}
				}
			}
		}
	}
}
