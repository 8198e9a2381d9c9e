package loss

import (
	"fmt"
	"math"
	"sync"
)

// Smoothing says how a Kinked loss is smoothed as a function of the parameters w. Each
// record's loss is smoothed by itself, in closed form, so that nothing is sampled. The
// zero Smoothing is none.
type Smoothing struct {
	radius float64
	ball   *ball // nil for LasryLions
}

// OverBall is randomized smoothing: f becomes its mean over the ball of a radius around
// w, in dim dimensions,
//
//	f_r(w) = E f(w + r u), u uniform in the unit ball
//
// (Duchi, Bartlett and Wainwright 2012). The gradient at w of the mean of f_r over records
// is a mean of gradients of F within r of w: a point at which it has norm b is an
// (r, b)-stationary one in Goldstein's sense (1977). For f = phi(<w,x>, y)
//
//	f_r(w) = E phi(<w,x> + r ||x|| U, y),   grad f_r = E phi'(...) x
//
// where U, the first coordinate of u, has the density c_d (1 - t^2)^((d-1)/2) on [-1, 1],
// c_d = Gamma(d/2+1)/(sqrt pi Gamma((d+1)/2)), about .4 sqrt d. So
//
//	the Lipschitz constant stays, and f_r is nowhere below f - L0 r or above f + L0 r
//	a jump of phi' by j bends f_r by at most j c_d ||x||/r
//
// The distribution function of U is interpolated between values of a quadrature, with an
// error below 1e-8, by operations that give the same bits on every machine.
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

// LasryLions is the double envelope
//
//	f~(w) = max_v min_u f(u) + ||v-u||^2/(4 lambda) - ||v-w||^2/(2 lambda)
//
// (Lasry and Lions 1986) with lambda = radius/L0, L0 being 1: it is smooth with a constant
// that does not grow with the dimension. For f = phi(<w,x>, y) it is that of phi with
// lambda ||x||^2, and for phi linear between kinks every kink at a, between slopes p and q,
// becomes an interval from a + lambda ||x||^2 min(p, q) to a + lambda ||x||^2 max(p, q)
// on which the slope goes linearly from p to q, as long as these intervals do not meet
// (SmoothedConstants refuses a radius at which they do).
//
// Records' gradients at points within radius of w, each record's at a point of its own,
// are what its gradient is a mean of. That is weaker than Goldstein's measure.
func LasryLions(radius float64) (Smoothing, error) {
	return Smoothing{radius: radius}, checkRadius(radius)
}

// balls are the tables made so far, by dimension: the same whoever made them.
var balls sync.Map

// Radii between these leave products of them, norms and margins far inside the range
// of float64.
const leastRadius, mostRadius = 1e-9, 1e9

func checkRadius(radius float64) error {
	if !(radius >= leastRadius && radius <= mostRadius) {
		return fmt.Errorf("loss: smoothing: radius = %v: must be between %v and %v", radius, leastRadius, mostRadius)
	}
	return nil
}

// width is the unit of margins that a row's kinks are spread in.
func (s Smoothing) width(long float64) float64 {
	if s.ball == nil {
		return float64(s.radius * float64(long*long))
	}
	return float64(s.radius * long)
}

// rise is the part of its jump that the slope has made at a distance of u widths from a
// kink between slopes p and q: 0 far to the left, 1 far to the right.
func (s Smoothing) rise(u, p, q float64) float64 {
	if s.ball != nil {
		return s.ball.below(u)
	}
	lo, hi := min(p, q), max(p, q)
	return clamp((u-lo)/(hi-lo), 0, 1)
}

// steepness is the curvature that a jump becomes, of a row of norm 1.
func (s Smoothing) steepness(jump float64) float64 {
	if s.ball == nil {
		return 1 / s.radius
	}
	return jump * s.ball.peak / s.radius
}

// spread bounds the mean distance that the loss of a row of norm 1 is looked at from.
func (s Smoothing) spread() float64 {
	if s.ball == nil {
		return s.radius
	}
	return s.radius / math.Sqrt(float64(s.ball.dim+2)) // E U^2 = 1/(d+2)
}

// ball is the distribution of U, the first coordinate of a point drawn uniformly from
// the unit ball.
//
// Its density has a root at t = 1 in even dimensions. In v = sqrt(1-|t|) it has none:
// with m = (d-1)/2 the mass of v is proportional to 2 v (v^2 (2 - v^2))^m, which is as
// smooth as sqrt(2 - v^2) on [0, 1].
type ball struct {
	dim int
	// peak is the density at 0, reach where |t| ends: less than 1e-16 is beyond.
	peak, reach float64
	// mass and density are, at v = 1 - i/cells (1 - sqrt(1-reach)), the probability of
	// |t'| < |t|, halved, and its derivative by i.
	mass, density [cells + 1]float64
	perCell       float64 // cells over the range of v
}

// cells keep the error of cubic interpolation, h^4/384 times a fourth derivative of about
// 1.4 in standard deviations, below 1e-8 where a cell is at most .035 of one.
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
	// Gauss-Legendre of three points on each cell, exact to the order h^7.
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

// halfPower is x^(n/2), rounded alike everywhere.
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

// below is the probability of U < t, by cubic Hermite interpolation.
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
	ends := float64(b.mass[i]*float64(float64(g*g)*(1+float64(2*f)))) + float64(b.mass[i+1]*float64(float64(f*f)*(1+float64(2*g))))
	tangents := float64(float64(f*g) * (float64(b.density[i]*g) - float64(b.density[i+1]*f)))
	if t > 0 {
		return .5 + (ends + tangents)
	}
	return .5 - (ends + tangents)
}
