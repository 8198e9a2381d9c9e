package losstest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// site is a place at which a general loss is evaluated: parameters w, a row x of norm at most 1, a
// target y, and a direction v of length 1.
type site struct {
	w []float64
	x []float32
	y float64
	v []float64
}

func (s site) String() string {
	return fmt.Sprintf("w = %.6g, x = %.6g, y = %v, direction %.6g", s.w, s.x, s.y, s.v)
}

// field evaluates a general loss (one that computes its own gradient) at a site.
type field struct {
	l    loss.General
	c    loss.Constants
	unit float64 // distance of parameters over which the gradient can change by the constant Lipschitz
	bend float64 // largest absolute value of a declared curvature
}

func (f field) gradient(w []float64, s site) []float64 {
	dst := make([]float64, len(w))
	for j := range dst {
		dst[j] = math.NaN() // the method Gradient must overwrite every entry
	}
	f.l.Gradient(dst, w, s.x, s.y)
	return dst
}

// along returns the component in the direction v of the loss's gradient at the parameters w + t v. It returns NaN where
// the gradient is clipped, because the derivative of a clipped gradient is not a Hessian.
func (f field) along(s site, t float64) float64 {
	g := f.gradient(shift(s.w, t, s.v), s)
	if f.c.Clipped && norm(g) >= f.c.Lipschitz*(1-1e-9) {
		return math.NaN()
	}
	return dot(g, s.v)
}

func (f field) curvature(s site) float64 {
	h := 1e-4 * f.unit
	return (f.along(s, h) - f.along(s, -h)) / (2 * h)
}

// third returns an estimate of the third derivative of the loss in the direction v: a second difference of
// the gradient's component along v. This estimate is a mean of third derivatives, so it does not exceed the
// largest third derivative. A search over single directions v is sufficient, because a symmetric tensor
// attains its norm on one direction (Banach 1938).
func (f field) third(s site) float64 {
	h := 1e-3 * f.unit
	return (f.along(s, h) - 2*f.along(s, 0) + f.along(s, -h)) / (h * h)
}

// fall returns the loss of the record at the parameters 0 minus its loss at w. If the loss declares
// InitialGap only for tables whose rows sum to zero, fall returns the mean of this difference over two
// records: the record, and the record with the row -x and the same target.
func (f field) fall(s site) float64 {
	zero := make([]float64, len(s.w))
	fall := f.l.Value(zero, s.x, s.y) - f.l.Value(s.w, s.x, s.y)
	if f.c.ZeroMean {
		opposite := make([]float32, len(s.x))
		for j, x := range s.x {
			opposite[j] = -x
		}
		fall = (fall + f.l.Value(zero, opposite, s.y) - f.l.Value(s.w, opposite, s.y)) / 2
	}
	return fall
}

func checkGeneral(fs *findings, l loss.General) {
	f := field{l: l, c: l.Constants(), unit: 1}
	f.bend = max(math.Abs(f.c.Curvature.Lo), math.Abs(f.c.Curvature.Hi))
	if f.bend > 0 {
		f.unit = f.c.Lipschitz / f.bend
	}
	rng := rand.New(rand.NewPCG(0x5eed, 4))
	var sites []site
	for _, d := range []int{1, 2, 5} {
		for range 400 {
			sites = append(sites, f.randomSite(rng, d))
		}
	}
	for _, s := range sites {
		checkGradientAt(fs, f, s)
	}
	if l, ok := l.(loss.Twice); ok {
		checkProducts(fs, f, l, sites)
	}
	checkGeneralExtremes(fs, f, sites, rng)
	for _, s := range sites[len(sites)-3:] {
		checkGeneralContract(fs, f, s)
	}
}

func (f field) randomSite(rng *rand.Rand, d int) site {
	n := loss.Parameters(f.l, d)
	s := site{w: normals(rng, n), x: make([]float32, d), v: normals(rng, n)}
	size := math.Pow(10, 9*rng.Float64()-4)
	if f.c.Local != "" {
		size = min(size, 1) // the declared curvature holds near zero only
	}
	rescale(s.w, f.unit*size)
	rescale(s.v, 1)
	if rng.IntN(2) == 0 { // a direction along an axis
		clear(s.v)
		s.v[rng.IntN(n)] = 1
	}
	row := normals(rng, d)
	rescale(row, []float64{0, rng.Float64(), 1}[rng.IntN(3)])
	s.setRow(row)
	s.y = f.target(rng)
	return s
}

// target returns a random target of the kind that the loss declares.
func (f field) target(rng *rand.Rand) float64 {
	if f.l.Target() == loss.Real && rng.IntN(2) == 0 {
		return 2*rng.Float64() - 1
	}
	targets := targetsOf(f.l)
	return targets[rng.IntN(len(targets))]
}

// setRow sets the site's row x to the given row, scaled into the unit ball and rounded to float32.
func (s *site) setRow(row []float64) {
	scale := (1 - 1e-6) / max(1, norm(row))
	for j := range s.x {
		s.x[j] = float32(row[j] * scale)
	}
}

// checkGradientAt compares the gradient with the vector of central differences of values. If the loss clips its
// gradient, this vector is clipped, too. The tolerance of each coordinate is the tolerance of checkSlopeAt, scaled down
// by the factor of the clip and multiplied by the root of the number of coordinates.
func checkGradientAt(fs *findings, f field, s site) {
	h := 1e-5 * f.unit * max(1, 1e-3*norm(s.w)/f.unit)
	want := make([]float64, len(s.w))
	axis := make([]float64, len(s.w))
	for j := range want {
		axis[j] = 1
		want[j] = (f.l.Value(shift(s.w, h, axis), s.x, s.y) - f.l.Value(shift(s.w, -h, axis), s.x, s.y)) / (2 * h)
		axis[j] = 0
	}
	size := norm(s.w)
	rounding := 0x1p-48 * (math.Abs(f.l.Value(s.w, s.x, s.y)) + f.c.Lipschitz*(1+size) + f.bend*size*size) / h
	tolerance := (f.c.Curvature.Hi-f.c.Curvature.Lo)*h/2 + 1e-9*f.c.Lipschitz + rounding
	if n := norm(want); f.c.Clipped && n > f.c.Lipschitz {
		rescale(want, f.c.Lipschitz)
		tolerance *= f.c.Lipschitz / n
	}
	got := f.gradient(s.w, s)
	for j := range want {
		if !(math.Abs(got[j]-want[j]) <= tolerance*math.Sqrt(float64(len(want)))) {
			fs.add(ruleSlope, "coordinate %d is %v, difference of values %v at %v", j, got[j], want[j], s)
		}
	}
}

// checkProducts compares products of the Hessian and a direction with central differences of
// gradients along the direction, in every coordinate, at sites where the gradient is not clipped.
// Where the second derivative jumps, it accepts the value of either side. It also tests that arguments stay
// unchanged, that NaN gives NaN, and that wrong lengths panic.
func checkProducts(fs *findings, f field, l loss.Twice, sites []site) {
	product := func(s site) []float64 {
		dst := slices.Repeat([]float64{math.NaN()}, len(s.w))
		l.HessianVector(dst, s.w, s.v, s.x, s.y)
		return dst
	}
	for _, s := range sites {
		got := product(s)
		h := 1e-5 * f.unit * max(1, 1e-3*norm(s.w)/f.unit)
		before, at, after := f.gradient(shift(s.w, -h, s.v), s), f.gradient(s.w, s), f.gradient(shift(s.w, h, s.v), s)
		if f.c.Clipped && max(norm(before), norm(after)) >= f.c.Lipschitz*(1-1e-9) {
			continue
		}
		rounding := 0x1p-48 * (f.c.Lipschitz + f.bend*norm(s.w)) / h
		for j, v := range got {
			left, right := (at[j]-before[j])/h, (after[j]-at[j])/h
			// The tolerance includes the difference between the left and right derivatives, so that
			// the product of either side is accepted where the second derivative jumps.
			slack := math.Abs(right-left) + 1e-6*f.bend + 2*rounding
			if !(math.Abs(v-(left+right)/2) <= slack) {
				fs.add(ruleProduct, "coordinate %d is %v, difference of gradients %v at %v", j, v, (left+right)/2, s)
			}
		}
	}
	for _, s := range sites[len(sites)-3:] {
		used := site{slices.Clone(s.w), slices.Clone(s.x), s.y, slices.Clone(s.v)}
		first := product(used)
		if !slices.Equal(used.w, s.w) || !slices.Equal(used.x, s.x) || !slices.Equal(used.v, s.v) {
			fs.add(ruleSideEffects, "HessianVector writes to w, v or x at %v", s)
		}
		if !slices.EqualFunc(first, product(s), same) {
			fs.add(ruleSideEffects, "two products at %v differ", s)
		}
		bad := []site{s, s, s, s}
		for i := range bad {
			bad[i] = site{slices.Clone(s.w), slices.Clone(s.x), s.y, slices.Clone(s.v)}
		}
		bad[0].w[0], bad[1].x[0], bad[2].y, bad[3].v[0] = math.NaN(), float32(math.NaN()), math.NaN(), math.NaN()
		for i, what := range []string{"w", "x", "y", "v"} {
			if g := product(bad[i]); !slices.ContainsFunc(g, math.IsNaN) {
				fs.add(ruleNaN, "HessianVector gives %v for NaN in %s", g, what)
			}
		}
	}
	p := loss.Parameters(l, 3)
	for _, n := range [][4]int{{p - 1, p, p, 3}, {p, p - 1, p, 3}, {p, p, p + 1, 3}, {p, p, p, 2}} {
		dst, w, v, x := make([]float64, n[0]), make([]float64, n[1]), make([]float64, n[2]), make([]float32, n[3])
		if m := loss.Parameters(l, n[3]); n[0] == m && n[1] == m && n[2] == m {
			continue // rows of other lengths may have the same number of parameters
		}
		if !panics(func() { l.HessianVector(dst, w, v, x, 1) }) {
			fs.add(ruleLengths, "HessianVector with lengths %v does not panic", n)
		}
	}
}

// checkGeneralExtremes tests every constant that a general loss declares. For each constant, it searches for
// the parameters and the record at which the quantity that the constant bounds is largest. It compares this
// largest value with the constant.
func checkGeneralExtremes(fs *findings, f field, sites []site, rng *rand.Rand) {
	c := f.c
	steep, at := f.climb(sites, rng, func(s site) float64 { return norm(f.gradient(s.w, s)) })
	checkBound(fs, ruleLipschitz, c.Loose, c.Lipschitz, steep, 1e-12*c.Lipschitz, at.String())

	fall, at := f.climb(sites, rng, f.fall)
	checkBound(fs, ruleInitialGap, c.Loose, c.InitialGap, fall, 1e-9*c.InitialGap, at.String())
	if c.Local != "" {
		return // the search would leave the region where the derivatives are bounded
	}

	noise := func(s site, h float64) float64 { return 0x1p-50 * (c.Lipschitz + f.bend*norm(s.w)) / h }
	hi, atHi := f.climb(sites, rng, f.curvature)
	lo, atLo := f.climb(sites, rng, func(s site) float64 { return -f.curvature(s) })
	rounding := 1e-9*f.bend + max(noise(atHi, 1e-4*f.unit), noise(atLo, 1e-4*f.unit))
	checkInterval(fs, c.Loose, c.Curvature, -lo, hi, rounding, atLo.String(), atHi.String())

	if !math.IsInf(c.HessianLipschitz, 1) {
		third, at := f.climb(sites, rng, func(s site) float64 {
			return math.Abs(f.third(s)) - 4*noise(s, 1e-6*f.unit*f.unit)
		})
		checkBound(fs, ruleThird, c.Loose, c.HessianLipschitz, third, 1e-6*c.HessianLipschitz, at.String())
	}
}

// climb maximises score over parameters, rows, targets and directions. It starts from the 12 best of the given sites
// and takes 600 random steps from each. The length of steps is doubled if the score increases, and multiplied by .9 if
// it does not. A site with score NaN is never chosen. climb returns the largest score and its site.
func (f field) climb(sites []site, rng *rand.Rand, score func(site) float64) (float64, site) {
	valued := func(s site) float64 {
		if v := score(s); v == v {
			return v
		}
		return math.Inf(-1)
	}
	top, at := math.Inf(-1), sites[0]
	for _, s := range worstFirst(sites, valued, 12) {
		value := valued(s)
		step := 0.5
		for range 600 {
			next := f.nudge(rng, s, step)
			if v := valued(next); v > value {
				s, value, step = next, v, min(step*2, 4)
			} else {
				step = max(step*.9, 1e-9)
			}
		}
		if value > top {
			top, at = value, s
		}
	}
	return top, at
}

// nudge returns a copy of the site in which one part is moved in a random direction: the parameters, the
// direction v, or the row together with the target. The distance is about step. For the parameters it is
// about step times the larger of f.unit and their norm.
func (f field) nudge(rng *rand.Rand, s site, step float64) site {
	next := site{slices.Clone(s.w), slices.Clone(s.x), s.y, slices.Clone(s.v)}
	switch rng.IntN(4) {
	case 0, 1:
		move := normals(rng, len(s.w))
		if rng.IntN(2) == 0 {
			j := rng.IntN(len(s.w))
			keep := move[j]
			clear(move)
			move[j] = keep
		}
		next.w = shift(s.w, step*max(f.unit, norm(s.w)), move)
	case 2:
		next.v = shift(s.v, step, normals(rng, len(s.v)))
		rescale(next.v, 1)
	case 3:
		row := normals(rng, len(s.x))
		for j := range row {
			row[j] = float64(s.x[j]) + step*row[j]
		}
		next.setRow(row)
		if f.l.Target() == loss.Real {
			next.y = min(max(s.y+step*rng.NormFloat64(), -1), 1)
		} else if f.l.Target() == loss.Classes {
			next.y = f.target(rng)
		}
	}
	return next
}

// checkGeneralContract tests that NaN gives NaN, that wrong lengths panic, and that the methods do not change
// their arguments and give the same gradient twice.
func checkGeneralContract(fs *findings, f field, s site) {
	clone := func() site { return site{slices.Clone(s.w), slices.Clone(s.x), s.y, s.v} }
	first := f.gradient(s.w, s)
	used := clone()
	if again := f.gradient(used.w, used); !slices.EqualFunc(first, again, same) {
		fs.add(ruleSideEffects, "two gradients at %v differ", s)
	}
	f.l.Value(used.w, used.x, used.y)
	if !slices.Equal(used.w, s.w) || !slices.Equal(used.x, s.x) {
		fs.add(ruleSideEffects, "w or x is written to at %v", s)
	}

	faulty := func(what string, s site) {
		if v := f.l.Value(s.w, s.x, s.y); v == v {
			fs.add(ruleNaN, "Value gives %v for NaN in %s", v, what)
		}
		if g := f.gradient(s.w, s); !slices.ContainsFunc(g, math.IsNaN) {
			fs.add(ruleNaN, "Gradient gives %v for NaN in %s", g, what)
		}
	}
	for j := range s.w {
		bad := clone()
		bad.w[j] = math.NaN()
		faulty(fmt.Sprintf("w[%d]", j), bad)
	}
	for j := range s.x {
		bad := clone()
		bad.x[j] = float32(math.NaN())
		faulty(fmt.Sprintf("x[%d]", j), bad)
	}
	bad := clone()
	bad.y = math.NaN()
	faulty("y", bad)

	p := loss.Parameters(f.l, 3)
	for _, n := range [][3]int{{p, p - 1, 3}, {p, p, 2}, {p - 1, p, 3}, {p, p + 1, 3}, {p, p, 4}} {
		dst, w, x := make([]float64, n[0]), make([]float64, n[1]), make([]float32, n[2])
		m := loss.Parameters(f.l, n[2])
		if n[0] == m && n[1] == m {
			continue // rows of other lengths may have the same number of parameters
		}
		if !panics(func() { f.l.Gradient(dst, w, x, 1) }) {
			fs.add(ruleLengths, "Gradient with lengths %v does not panic", n)
		}
		if n[1] != m && !panics(func() { f.l.Value(w, x, 1) }) {
			fs.add(ruleLengths, "Value with lengths %v does not panic", n[1:])
		}
	}
}
