package measure

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// MinNormPoint is a point of approximately least norm in the convex hull of given points.
type MinNormPoint struct {
	// Point is the sum of the given points, each times its weight in Weights. Weights are >= 0 and sum to 1.
	Point, Weights []float64
	// Norm is the norm of Point. The least norm in the hull is between Lower and Norm.
	Norm, Lower float64
	// Gap is the duality gap ||x||^2 - min <x, p> over the given points p, for x = Point. It is zero at
	// the minimum, and the distance from Point to the minimum is at most sqrt(Gap).
	Gap float64
}

// MinNorm finds the point of least norm in the convex hull of points by Wolfe's algorithm (1976). It stops
// when the duality gap is at most 1e-12 of the largest squared norm of a point, or when rounding prevents
// progress. The result's Gap is the duality gap at the end. MinNorm returns an error if there is no point,
// or if points have different lengths or coordinates that are not finite.
func MinNorm(points [][]float64) (MinNormPoint, error) {
	if len(points) == 0 {
		return MinNormPoint{}, fmt.Errorf("measure: least norm: must have at least one point")
	}
	var largest float64
	start := 0
	for i, p := range points {
		n := dot(p, p)
		if len(p) != len(points[0]) || n-n != 0 {
			return MinNormPoint{}, fmt.Errorf("measure: least norm: point %d: must have %d finite coordinates", i,
				len(points[0]))
		}
		largest = max(largest, n)
		if n < dot(points[start], points[start]) {
			start = i
		}
	}
	c := &corral{points: points, members: []int{start}, weights: []float64{1}}
	x := c.sum()
	c.keep()
	for {
		worst, gap := c.farthest(x)
		if gap <= 1e-12*largest || !c.enter(worst) {
			break
		}
		next, ok := c.reduce()
		// The search ends if a step does not lower the norm, which only rounding can cause.
		if !ok || !(dot(next, next) < dot(x, x)) {
			break
		}
		x = next
		c.keep()
	}
	return c.result(x), nil
}

// corral (Wolfe's term) is a set of affinely independent points, and a point of their convex hull. members
// has the indices of the set in points. weights has the weights of the members in the point.
type corral struct {
	points  [][]float64
	members []int
	weights []float64
	// best has the members and weights of the point of lowest norm so far.
	best struct {
		members []int
		weights []float64
	}
}

func (c *corral) keep() {
	c.best.members = append([]int(nil), c.members...)
	c.best.weights = append([]float64(nil), c.weights...)
}

// farthest returns the index of the given point p with the least inner product <x, p>, and the
// duality gap of x.
func (c *corral) farthest(x []float64) (worst int, gap float64) {
	least := math.Inf(1)
	for i, p := range c.points {
		if v := dot(x, p); v < least {
			worst, least = i, v
		}
	}
	return worst, dot(x, x) - least
}

// enter adds point i to the corral with weight 0. If the corral already contains point i, enter changes
// nothing and returns false.
func (c *corral) enter(i int) bool {
	for _, m := range c.members {
		if m == i {
			return false
		}
	}
	c.members, c.weights = append(c.members, i), append(c.weights, 0)
	return true
}

// reduce moves the weights to the point of least norm in the affine hull of the corral. If this point is
// outside the convex hull, reduce moves towards it as far as the hull reaches, removes the members whose
// weight becomes 0, and repeats. It returns the new point, or false if rounding prevents this.
func (c *corral) reduce() ([]float64, bool) {
	for len(c.members) > 0 {
		target, ok := c.affine()
		if !ok {
			return nil, false
		}
		step := 1.0
		for k, t := range target {
			if t <= 0 && c.weights[k] > t {
				step = min(step, c.weights[k]/(c.weights[k]-t))
			}
		}
		least := math.Inf(1)
		for k, t := range target {
			c.weights[k] += step * (t - c.weights[k])
			least = min(least, c.weights[k])
		}
		if step == 1 {
			return c.sum(), true
		}
		// The step ends at the first weight that reaches 0. With rounding this is the least weight.
		members, weights := c.members[:0], c.weights[:0]
		var total float64
		for k, i := range c.members {
			if w := c.weights[k]; w > max(least, 0)+1e-15 {
				members, weights = append(members, i), append(weights, w)
				total += w
			}
		}
		for k := range weights {
			weights[k] /= total
		}
		c.members, c.weights = members, weights
	}
	return nil, false
}

func (c *corral) sum() []float64 {
	x := make([]float64, len(c.points[0]))
	for k, i := range c.members {
		for j, v := range c.points[i] {
			x[j] += c.weights[k] * v
		}
	}
	return x
}

// affine returns the weights, which sum to 1, of the point of least norm in the affine hull of the corral's
// points. They are mu/sum(mu), where mu solves (s 11' + P P') mu = 1 for a positive scale s and the matrix
// P whose rows are the points. The matrix s 11' + P P' is positive definite for affinely independent
// points. affine returns false if this matrix is too ill-conditioned.
func (c *corral) affine() ([]float64, bool) {
	m := len(c.members)
	var size float64
	for _, i := range c.members {
		size = max(size, dot(c.points[i], c.points[i]))
	}
	if size == 0 {
		size = 1
	}
	g := mat.NewSymDense(m, nil)
	ones := mat.NewVecDense(m, nil)
	for a := range m {
		ones.SetVec(a, 1)
		for b := range a + 1 {
			g.SetSym(a, b, 1+dot(c.points[c.members[a]], c.points[c.members[b]])/size)
		}
	}
	var f mat.Cholesky
	if !f.Factorize(g) || f.Cond() > 1e15 {
		return nil, false
	}
	mu := mat.NewVecDense(m, nil)
	if err := f.SolveVecTo(mu, ones); err != nil {
		return nil, false
	}
	total := mat.Sum(mu)
	out := make([]float64, m)
	for k := range out {
		out[k] = mu.AtVec(k) / total
	}
	return out, true
}

func (c *corral) result(x []float64) MinNormPoint {
	c.members, c.weights = c.best.members, c.best.weights
	r := MinNormPoint{Point: x, Weights: make([]float64, len(c.points)), Norm: stationarity.Norm(x)}
	for k, i := range c.members {
		r.Weights[i] = c.weights[k]
	}
	_, r.Gap = c.farthest(x)
	if r.Gap = max(r.Gap, 0); r.Norm > 0 {
		r.Lower = max(r.Norm-r.Gap/r.Norm, 0)
	}
	return r
}
