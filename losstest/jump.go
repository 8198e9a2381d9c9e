package losstest

import (
	"math"
	"slices"
)

// jump is the change of a loss's slope, as a fraction of the Lipschitz constant, that counts as a
// jump if it happens over an interval as short as the precision of floats allows.
const jump = 1e-4

// jumps reports whether the loss declares that its slope has jumps, by an infinite curvature.
func (g *glm) jumps() bool { return math.IsInf(g.c.Curvature.Hi-g.c.Curvature.Lo, 0) }

// checkSlopesAround tests two numbers: mean, which is a difference quotient of the loss's values around the
// point p, and the slope at p. Each of these two numbers must lie between the least and the greatest of eight
// slopes around p, up to the tolerance. For a correct loss this holds at jumps of the slope as well.
func (g *glm) checkSlopesAround(fs *findings, p point, mean, tolerance float64) {
	h := g.step(p.z)
	var slopes []float64
	for k := -4; k <= 4; k++ {
		if k != 0 {
			slopes = append(slopes, g.slope(p.z+h*float64(k)/4, p.y))
		}
	}
	least, greatest := slices.Min(slopes), slices.Max(slopes)
	for _, got := range []float64{mean, g.slope(p.z, p.y)} {
		if !(least-tolerance <= got && got <= greatest+tolerance) {
			fs.add(ruleSlope, "slopes from %v to %v, difference of values %v, slope %v at %v", least, greatest, mean,
				g.slope(p.z, p.y), p)
			return
		}
	}
}

// checkJumps searches for jumps of a loss's slope: for a jump upward if the declared curvature is
// unbounded above, and for a jump downward if it is unbounded below. It reports an error if it does
// not find such a jump. It also reports an error if the slope jumps upward although the curvature
// is declared bounded above, or downward although it is declared bounded below.
func checkJumps(fs *findings, g *glm, points []point) {
	up, down := false, false
	byTarget := map[float64][]float64{}
	for _, p := range points {
		byTarget[p.y] = append(byTarget[p.y], p.z)
	}
	for y, zs := range byTarget {
		slices.Sort(zs)
		for i := 1; i < len(zs); i++ {
			move := g.narrow(zs[i-1], zs[i], y)
			up, down = up || move > jump*g.c.Lipschitz, down || move < -jump*g.c.Lipschitz
		}
	}
	for _, end := range []struct {
		name     string
		declared float64
		sign     int
		found    bool
	}{{"Hi", g.c.Curvature.Hi, 1, up}, {"Lo", g.c.Curvature.Lo, -1, down}} {
		if unbounded := math.IsInf(end.declared, end.sign); unbounded != end.found {
			fs.add(ruleInterval, "declared %s = %v, found a jump of the slope that way: %v", end.name, end.declared, end.found)
		}
	}
}

// narrow searches the margins from lo to hi for a jump of the loss's slope. It halves the interval up to 60
// times and keeps the half in which the slope changes more. It returns the change of the slope over the last
// interval. This is the size of the jump, or about 0 if it finds no jump.
func (g *glm) narrow(lo, hi, y float64) float64 {
	a, b := g.slope(lo, y), g.slope(hi, y)
	for range 60 {
		if a == b {
			return 0
		}
		middle := lo + (hi-lo)/2
		if c := g.slope(middle, y); math.Abs(c-a) >= math.Abs(b-c) {
			hi, b = middle, c
		} else {
			lo, a = middle, c
		}
	}
	return b - a
}
