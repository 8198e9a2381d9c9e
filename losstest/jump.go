package losstest

import (
	"math"
	"slices"
)

// jump is how much of the Lipschitz constant the slope changes by, over a step of no
// length, to count as a jump.
const jump = 1e-4

// jumps reports whether the loss says that its slope has jumps.
func (g *glm) jumps() bool { return math.IsInf(g.c.Curvature.Hi-g.c.Curvature.Lo, 0) }

// checkSlopesAround holds a difference of values over a step against the slopes there,
// of which it is a mean wherever jumps are, and each slope against its neighbours: a
// slope at a jump lies between those beside it.
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
			fs.add(ruleSlope, "slopes from %v to %v, difference of values %v, slope %v at %v", least, greatest, mean, g.slope(p.z, p.y), p)
			return
		}
	}
}

// checkJumps looks for a jump upward where the curvature is unbounded above, and for one
// downward where it is below; at an end that is finite there may be none.
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

// narrow halves an interval of margins, keeping the half in which the slope changes more,
// and returns the change in what is left.
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
