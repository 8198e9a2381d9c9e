package loss

import (
	"fmt"
	"math"
	"sync"
)

// Smoothing describes how a [Kinked] loss is smoothed as a function of the parameters w. The loss of each record is
// smoothed by itself, in closed form, without sampling. The zero Smoothing does not smooth.
type Smoothing struct {
	radius float64
	ball   *ball // the table for OverBall; nil for LasryLions
}

// OverBall returns randomized smoothing: the loss f of a record is replaced by its mean over the ball of
// the given radius r around w, in dim dimensions,
//
//	f_r(w) = E f(w + r u), u uniform in the unit ball
//
// (Duchi, Bartlett and Wainwright 2012). The gradient at w of the mean of f_r over records is a mean
// of gradients of the objective F at points within r of w. If this gradient has norm b, then w is an
// (r, b)-stationary point in Goldstein's sense (1977). For f = phi(<w,x>, y)
//
//	f_r(w) = E phi(<w,x> + r ||x|| U, y),   grad f_r = E phi'(...) x
//
// where U, the first coordinate of u, has the density c_d (1 - t^2)^((d-1)/2) on [-1, 1], c_d =
// Gamma(d/2+1)/(sqrt pi Gamma((d+1)/2)), about .4 sqrt d. Therefore
//
//	the Lipschitz constant L0 does not change, and f - L0 r <= f_r <= f + L0 r
//	a jump of phi' by j gives f_r a curvature of at most j c_d ||x||/r
//
// The distribution function of U is interpolated between values that are computed by quadrature. Its
// error is below 1e-8, and its bits are the same on every machine. It is an error if dim is not in
// [1, 2^24] or radius is not in [1e-9, 1e9].
func OverBall(dim int, radius float64) (Smoothing, error) {
	if dim < 1 || dim > mostParameters {
		return Smoothing{}, fmt.Errorf("loss: smoothing: dimension = %d: must be between 1 and %d", dim, mostParameters)
	}
	if err := checkRadius(radius); err != nil {
		return Smoothing{}, err
	}
	b, ok := balls.Load(dim)
	if !ok {
		b, _ = balls.LoadOrStore(dim, newBall(dim))
	}
	return Smoothing{radius, b.(*ball)}, nil
}

// LasryLions returns the smoothing that replaces the loss f of a record by the double envelope
//
//	f~(w) = max_v min_u f(u) + ||v-u||^2/(4 lambda) - ||v-w||^2/(2 lambda)
//
// (Lasry and Lions 1986) with lambda = radius/L0 and L0 = 1. The smoothness constant of f~ does not grow with the
// dimension. For f = phi(<w,x>, y), f~ is the envelope of phi with lambda ||x||^2 in place of lambda. If phi is
// piecewise linear, a kink at a between slopes p and q becomes the interval from a + lambda ||x||^2 min(p, q) to a +
// lambda ||x||^2 max(p, q), on which the slope goes linearly from p to q. This holds if the intervals of different
// kinks do not overlap. If they overlap, SmoothedConstants returns an error. The radius must be in [1e-9, 1e9].
//
// The gradient of the smoothed objective at w is a mean of gradients of the records' losses at
// points within radius of w. Each record has its own point. A small norm of this gradient is therefore a
// weaker property than Goldstein stationarity, in which all records share the same points.
func LasryLions(radius float64) (Smoothing, error) {
	return Smoothing{radius: radius}, checkRadius(radius)
}

// balls caches the tables of type ball by dimension. A table depends only on its dimension, so it does not
// matter which call made it.
var balls sync.Map

// leastRadius and mostRadius keep products of radii, norms and margins far inside the range of
// float64.
const leastRadius, mostRadius = 1e-9, 1e9

func checkRadius(radius float64) error {
	if !(radius >= leastRadius && radius <= mostRadius) {
		return fmt.Errorf("loss: smoothing: radius = %v: must be between %v and %v", radius, leastRadius, mostRadius)
	}
	return nil
}

// width returns the distance, in the margin <w,x>, over which smoothing spreads a jump of the slope.
// long is the norm of the row x.
func (s Smoothing) width(long float64) float64 {
	if s.ball == nil {
		return float64(s.radius * float64(long*long))
	}
	return float64(s.radius * long)
}

// rise returns (s-p)/(q-p) for the smoothed slope s near a kink at which the slope jumps from p to q. It
// is 0 far to the left of the kink and 1 far to the right. u is the distance to the right of the kink,
// divided by the result of the method width.
func (s Smoothing) rise(u, p, q float64) float64 {
	if s.ball != nil {
		return s.ball.below(u)
	}
	lo, hi := min(p, q), max(p, q)
	return clamp((u-lo)/(hi-lo), 0, 1)
}

// steepness returns the largest curvature of the smoothed loss at a kink where the slope jumps by jump >
// 0, for a row of norm 1.
func (s Smoothing) steepness(jump float64) float64 {
	if s.ball == nil {
		return 1 / s.radius
	}
	return jump * s.ball.peak / s.radius
}

// spread returns a bound on the mean change of a row's margin when w is replaced by the points that
// smoothing uses, for a row of norm 1.
func (s Smoothing) spread() float64 {
	if s.ball == nil {
		return s.radius
	}
	return s.radius / math.Sqrt(float64(s.ball.dim+2)) // sqrt(E U^2) = 1/sqrt(d+2)
}

// ball tabulates the distribution of U, the first coordinate of a point drawn uniformly from the
// unit ball.
//
// In even dimensions the density behaves like a square root at |t| = 1. The tables therefore use
// v = sqrt(1-|t|): with m = (d-1)/2, the density of v is proportional to 2 v (v^2 (2 - v^2))^m,
// which is as smooth as sqrt(2 - v^2) on [0, 1].
type ball struct {
	dim int
	// peak is the density of U at 0. reach is the largest tabulated |t|: the probability of |U| > reach is
	// less than 1e-16.
	peak, reach float64
	// The tables have entries for the points v = 1 - (i/cells) (1 - sqrt(1-reach)), i = 0, ..., cells.
	// mass[i] is P(|U| < |t|)/2 at |t| = 1 - v^2, and density[i] is the derivative of mass by i.
	mass, density [cells + 1]float64
	perCell       float64 // cells divided by the length of the range of v
}

// cells is the number of intervals of the table. The error of cubic interpolation is h^4/384 times the
// fourth derivative, for intervals of width h. In units of standard deviations of U, the fourth derivative
// is about 1.4 and h is at most .035. The error is therefore below 1e-8.
const cells = 512

func newBall(dim int) *ball {
	b := &ball{dim: dim, reach: min(1, 9/math.Sqrt(float64(dim)))}
	span := 1 - math.Sqrt(1-b.reach)
	b.perCell = cells / span
	h := span / cells
	at := func(v float64) float64 {
		s := float64(v * v)
		return float64(2*v) * halfPower(float64(s*(2-s)), dim-1)
	}
	// Gauss-Legendre quadrature with three points on each interval of width h, with an error of order h^7.
	node := math.Sqrt(.6) / 2
	for i := range cells {
		middle := 1 - float64(h*(float64(i)+.5))
		sum := float64(8*at(middle)) + float64(5*at(middle-float64(h*node))) + float64(5*at(middle+float64(h*node)))
		b.mass[i+1] = b.mass[i] + float64(h*sum/18)
	}
	half := 2 * b.mass[cells]
	b.peak = 1 / half
	for i := range b.mass {
		b.mass[i] /= half
		b.density[i] = float64(h*at(1-float64(h*float64(i)))) / half
	}
	return b
}

// halfPower returns x^(n/2), with the same rounding on every machine.
func halfPower(x float64, n int) float64 {
	p := 1.
	if n%2 == 1 {
		p = math.Sqrt(x)
	}
	for n /= 2; n > 0; n /= 2 {
		if n%2 == 1 {
			p = float64(p * x)
		}
		x = float64(x * x)
	}
	return p
}

// below returns the probability of U < t, for the first coordinate U of a uniform point of the unit
// ball, by cubic Hermite interpolation.
func (b *ball) below(t float64) float64 {
	a := math.Abs(t)
	if !(a < b.reach) {
		if t > 0 {
			return 1
		}
		return 0
	}
	x := float64((1 - math.Sqrt(1-a)) * b.perCell)
	i := min(int(x), cells-1)
	f := x - float64(i)
	g := 1 - f
	ends := float64(b.mass[i]*float64(float64(g*g)*(1+float64(2*f)))) +
		float64(b.mass[i+1]*float64(float64(f*f)*(1+float64(2*g))))
	tangents := float64(float64(f*g) * (float64(b.density[i]*g) - float64(b.density[i+1]*f)))
	if t > 0 {
		return .5 + (ends + tangents)
	}
	return .5 - (ends + tangents)
}
