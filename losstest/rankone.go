package losstest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// glm evaluates a rank-one loss, phi(<w,x>, y), at one margin and target.
type glm struct {
	l    loss.RankOne
	c    loss.Constants
	unit float64 // difference of margins over which the slope can change by the constant Lipschitz
	bend float64 // largest absolute value of a declared curvature that is finite

	dst, z, y []float64 // memory for one record
}

func newGLM(l loss.RankOne) *glm {
	g := &glm{l: l, c: l.Constants(), unit: 1, dst: make([]float64, 1), z: make([]float64, 1), y: make([]float64, 1)}
	for _, end := range []float64{g.c.Curvature.Lo, g.c.Curvature.Hi} {
		if !math.IsInf(end, 0) {
			g.bend = max(g.bend, math.Abs(end))
		}
	}
	if g.bend > 0 {
		g.unit = g.c.Lipschitz / g.bend
	}
	return g
}

// step returns the step for divided differences of the loss at the margin z. It is short compared
// with the scales of the loss, and long compared with the spacing of floats around z.
func (g *glm) step(z float64) float64 { return max(1e-5*g.unit, 0x1p-40*math.Abs(z)) }

func (g *glm) value(z, y float64) float64 {
	g.z[0], g.y[0] = z, y
	g.l.Values(g.dst, g.z, g.y)
	return g.dst[0]
}

func (g *glm) slope(z, y float64) float64 {
	g.z[0], g.y[0] = z, y
	g.l.Slopes(g.dst, g.z, g.y)
	return g.dst[0]
}

func (g *glm) curvature(z, y float64) float64 {
	g.z[0], g.y[0] = z, y
	g.l.Curvatures(g.dst, g.z, g.y)
	return g.dst[0]
}

// third returns a divided difference of the loss's curvatures at the margin z. The divided difference is a
// mean of third derivatives, so it does not exceed the largest third derivative.
func (g *glm) third(z, y float64) float64 {
	h := g.step(z)
	lo, hi := z-h, z+h
	return (g.curvature(hi, y) - g.curvature(lo, y)) / (hi - lo)
}

// point is a margin z and a target y at which a loss is evaluated.
type point struct{ z, y float64 }

func (p point) String() string { return fmt.Sprintf("z = %v, y = %v", p.z, p.y) }

func checkRankOne(fs *findings, l loss.RankOne) {
	g := newGLM(l)
	points := g.points()
	for _, p := range points {
		if v, s, c := g.value(p.z, p.y), g.slope(p.z, p.y), g.curvature(p.z, p.y); !finite(v) || !finite(s) || !finite(c) {
			fs.add(ruleFinite, "value %v, slope %v, curvature %v at %v", v, s, c, p)
		}
	}
	for _, p := range points {
		checkSlopeAt(fs, g, p)
		checkCurvatureAt(fs, g, p)
	}
	checkChords(fs, g, points)
	checkExtremes(fs, g, points)
	checkBlocks(fs, g)
	checkFaults(fs, g)
}

func finite(x float64) bool { return x-x == 0 }

// points returns margins z and targets y at which the loss is tested. The margins are 0, y and -y, where
// losses have corners, and points at both sides of them. The distances from 0, y and -y are from 1e-4 to 1e5,
// times 1 and times g.unit. Further distances are random.
func (g *glm) points() []point {
	rng := rand.New(rand.NewPCG(0x5eed, 1))
	ys := []float64{-1, 1}
	if g.l.Target() == loss.Real {
		ys = append(ys, -.5, 0, .5, 2*rng.Float64()-1, 2*rng.Float64()-1)
	}
	var ps []point
	for _, y := range ys {
		for _, centre := range []float64{0, y, -y} {
			ps = append(ps, point{centre, y})
			for _, unit := range []float64{g.unit, 1} {
				for k := -32; k <= 40; k++ {
					step := unit * math.Pow(10, float64(k)/8)
					ps = append(ps, point{centre + step, y}, point{centre - step, y})
				}
				for range 50 {
					step := unit * rng.NormFloat64() * math.Pow(10, 4*rng.Float64()-2)
					ps = append(ps, point{centre + step, y})
				}
			}
		}
	}
	return ps
}

// checkSlopeAt compares a loss's slope with a central difference of its values, of step h. The error of the difference
// has two parts. The first part is at most the width of the curvature interval times h/4, even where the second
// derivative jumps. The second part is rounding of the values, by a few parts in 2^52, and of the margin.
func checkSlopeAt(fs *findings, g *glm, p point) {
	h := g.step(p.z)
	lo, hi := p.z-h, p.z+h
	want := (g.value(hi, p.y) - g.value(lo, p.y)) / (hi - lo)
	if g.c.Clipped {
		want = min(max(want, -g.c.Lipschitz), g.c.Lipschitz)
	}
	rounding := 0x1p-50 * (math.Abs(g.value(p.z, p.y)) + g.c.Lipschitz*(1+math.Abs(p.z))) / h
	if g.jumps() {
		g.checkSlopesAround(fs, p, want, 1e-9*g.c.Lipschitz+rounding)
		return
	}
	tolerance := (g.c.Curvature.Hi-g.c.Curvature.Lo)*h/2 + 1e-9*g.c.Lipschitz + rounding
	if got := g.slope(p.z, p.y); !(math.Abs(got-want) <= tolerance) {
		fs.add(ruleSlope, "slope %v, difference of values %v at %v", got, want, p)
	}
}

// checkCurvatureAt compares a central difference of slopes, which is a mean of curvatures over the step, with the least
// and the greatest of nine curvatures in the step. This allows for jumps of the curvature. Between two of the nine
// points the curvature changes by at most the third derivative times h/8.
func checkCurvatureAt(fs *findings, g *glm, p point) {
	h := g.step(p.z)
	lo, hi := p.z-h, p.z+h
	mean := (g.slope(hi, p.y) - g.slope(lo, p.y)) / (hi - lo)
	if g.jumps() && math.Abs(mean)*h > jump*g.c.Lipschitz {
		return // there is no curvature at a jump
	}
	least, greatest := math.Inf(1), math.Inf(-1)
	for k := 0; k <= 8; k++ {
		c := g.curvature(lo+(hi-lo)*float64(k)/8, p.y)
		least, greatest = min(least, c), max(greatest, c)
	}
	tolerance := 1e-6*g.bend + 0x1p-50*(g.c.Lipschitz+g.bend*(1+math.Abs(p.z)))/h
	if !math.IsInf(g.c.HessianLipschitz, 1) {
		tolerance += g.c.HessianLipschitz * h / 8
	}
	if !(least-tolerance <= mean && mean <= greatest+tolerance) {
		fs.add(ruleCurvature, "curvature from %v to %v, difference of slopes %v at %v", least, greatest, mean, p)
	}
}

// checkChords compares difference quotients of a loss's slopes at points far apart with the
// declared curvature interval. The engine clips gradient differences to that interval.
func checkChords(fs *findings, g *glm, points []point) {
	rng := rand.New(rand.NewPCG(0x5eed, 2))
	for _, p := range points {
		z := points[rng.IntN(len(points))].z
		gap := z - p.z
		if math.Abs(gap) < 1e-6*g.unit {
			continue
		}
		chord := (g.slope(z, p.y) - g.slope(p.z, p.y)) / gap
		rounding := 1e-12*g.bend + 0x1p-50*(g.c.Lipschitz+g.bend*max(1, math.Abs(z), math.Abs(p.z)))/math.Abs(gap)
		if !(chord >= g.c.Curvature.Lo-rounding && chord <= g.c.Curvature.Hi+rounding) {
			fs.add(ruleInterval, "slopes at z = %v and %v, y = %v, differ by %v of the distance: declared [%v, %v]",
				z, p.z, p.y, chord, g.c.Curvature.Lo, g.c.Curvature.Hi)
		}
	}
}

// checkExtremes tests every constant that a rank-one loss declares. For each constant, it searches for the margin and
// target at which the quantity that the constant bounds is largest. It compares this largest value with the constant.
func checkExtremes(fs *findings, g *glm, points []point) {
	c := g.c
	steep, at := g.climb(points, func(z, y float64) float64 { return math.Abs(g.slope(z, y)) })
	checkBound(fs, ruleLipschitz, c.Loose, c.Lipschitz, steep, 1e-12*c.Lipschitz, at.String())

	hi, atHi := g.climb(points, g.curvature)
	lo, atLo := g.climb(points, func(z, y float64) float64 { return -g.curvature(z, y) })
	if g.jumps() {
		checkJumps(fs, g, points)
	} else {
		checkInterval(fs, c.Loose, c.Curvature, -lo, hi, 1e-12*g.bend, atLo.String(), atHi.String())
	}

	if !math.IsInf(c.HessianLipschitz, 1) {
		third, at := g.climb(points, func(z, y float64) float64 { return math.Abs(g.third(z, y)) })
		rounding := 1e-6*c.HessianLipschitz + 0x1p-50*(g.bend+c.HessianLipschitz*(1+math.Abs(at.z)))/g.step(at.z)
		checkBound(fs, ruleThird, c.Loose, c.HessianLipschitz, third, rounding, at.String())
	}

	fall, at := g.climb(points, func(z, y float64) float64 { return g.value(0, y) - g.value(z, y) })
	checkBound(fs, ruleInitialGap, c.Loose, c.InitialGap, fall, 1e-12*c.InitialGap, at.String())
}

// climb maximises f over margins and targets by a pattern search from each of the 8 best of the given
// points. A step is doubled if f increases and halved if it does not. There are at most 300 steps from each
// point, because f may be unbounded. climb returns the largest value of f and its point.
func (g *glm) climb(points []point, f func(z, y float64) float64) (float64, point) {
	best := worstFirst(points, func(p point) float64 { return f(p.z, p.y) }, 8)
	top, at := math.Inf(-1), point{}
	for _, p := range best {
		value := f(p.z, p.y)
		step, stepY := g.unit, .25
		for range 300 {
			if step < 1e-14*max(g.unit, math.Abs(p.z)) {
				break
			}
			next := p
			tries := []point{{p.z + step, p.y}, {p.z - step, p.y}}
			if g.l.Target() == loss.Real {
				tries = append(tries, point{p.z, min(p.y+stepY, 1)}, point{p.z, max(p.y-stepY, -1)})
			}
			for _, q := range tries {
				if v := f(q.z, q.y); v > value {
					next, value = q, v
				}
			}
			factor := 2.0
			if next == p {
				factor = .5
			}
			step, stepY = step*factor, min(stepY*factor, 1)
			p = next
		}
		if value > top {
			top, at = value, p
		}
	}
	return top, at
}
