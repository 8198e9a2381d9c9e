package query

import (
	"fmt"
	"math"
	"math/bits"
)

// Directions are the public random directions of a term with randomized smoothing (the smoothers Gradients and Values).
// The term evaluates the loss at its point plus multiples of these directions. A term has a pool of directions. Each
// record uses a few consecutive directions of the pool. A hash of the record's own features and target selects the
// first of them. A record's contribution therefore depends on this record and on public random bits alone, and not on
// other records or their order. All records together use many directions although each uses few.
//
// The directions are computed from the seed and the bits of the term's point. Each point has new directions, and
// anybody who knows the seed and the point can compute them. A difference of gradients between points W and Prev uses
// the directions of W at both points. The directions are the same on every machine.
type Directions struct {
	by    Smoother
	count int
	dim   int
	key   uint64
}

// Directions returns the random directions of a term. ok is false if the term does not smooth the
// loss by random directions.
func (t Term) Directions() (d Directions, ok bool) {
	s := t.smoothing
	if !s.Sampled() {
		return Directions{}, false
	}
	key := mix(s.Seed)
	for _, v := range t.w {
		key = absorb(key, math.Float64bits(v))
	}
	return Directions{by: s.By, count: s.Directions, dim: len(t.w), key: mix(key)}, true
}

// Count returns the number of directions that a record uses.
func (d Directions) Count() int { return d.count }

// poolNumbers is the approximate number of float64s in a pool of directions: 8 megabytes. poolLeast and
// poolMost bound the number of directions in a pool. A pool takes more than poolNumbers float64s if a
// point has more than poolNumbers/poolLeast coordinates.
const poolNumbers, poolLeast, poolMost = 1 << 20, 64, 1 << 12

// Pool returns the number of directions in the pool of a point with dim coordinates, from 64 to 4096.
func Pool(dim int) int { return min(max(poolNumbers/max(dim, 1), poolLeast), poolMost) }

// Of returns the index in the pool of the j-th direction that a record with features x and target y uses.
// j is at least 0 and below Count.
func (d Directions) Of(x []float32, y float64, j int) int {
	h := d.key
	for _, v := range x {
		b := math.Float32bits(v)
		if v == 0 { // zeros of either sign have the same bits
			b = 0
		}
		h = absorb(h, uint64(b))
	}
	n := Pool(d.dim)
	first, _ := bits.Mul64(mix(absorb(h, math.Float64bits(y))), uint64(n))
	return (int(first) + j) % n
}

// Write sets dst to one direction of the pool: the direction with the given index (number). dst must have
// as many coordinates as the point. For the smoother Gradients, the direction is a uniform point of the
// unit ball. For Values, it is a uniform point of the unit sphere.
//
// A vector of independent standard normals, scaled to length 1, is uniform on the sphere. The first d coordinates of a
// uniform point on the unit sphere in d+2 dimensions are uniform in the unit ball in d dimensions.
func (d Directions) Write(dst []float64, number int) {
	s := stream(mix(d.key + uint64(number)))
	all := len(dst)
	if d.by == Gradients {
		all += 2
	}
	var square float64
	for j := 0; j < all; j += 2 {
		a, b := s.normals()
		square += float64(a * a)
		if j < len(dst) {
			dst[j] = a
		}
		if j+1 < all {
			square += float64(b * b)
		}
		if j+1 < len(dst) {
			dst[j+1] = b
		}
	}
	length := math.Sqrt(square)
	for j := range dst {
		dst[j] /= length
	}
}

// stream is a generator of public pseudo-random bits, SplitMix64 (Steele, Lea and Flood 2014). Its
// value is the state.
type stream uint64

const golden = 0x9e3779b97f4a7c15

func (s *stream) next() uint64 {
	*s += golden
	return mix(uint64(*s))
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func absorb(h, v uint64) uint64 { return bits.RotateLeft64((h^v)*golden, 29) }

// signed returns a uniform odd multiple of 2^-53 between -1 and 1, excluded.
func (s *stream) signed() float64 { return float64(int64(s.next())>>10|1) * 0x1p-53 }

// normals returns two standard normals by the polar method (Marsaglia and Bray 1964).
func (s *stream) normals() (a, b float64) {
	for {
		u, v := s.signed(), s.signed()
		if q := float64(u*u) + float64(v*v); q < 1 {
			f := math.Sqrt(-2 * logarithm(q) / q)
			return float64(u * f), float64(v * f)
		}
	}
}

// logarithm returns ln x for 0 < x < 1 within 1e-15, with the same bits on every machine. For x =
// 2^e m it uses the series of ln m = 2 artanh((m-1)/(m+1)). The absolute value of (m-1)/(m+1) is below .1716.
func logarithm(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	s := (m - 1) / (m + 1)
	square, sum := float64(s*s), 0.
	for _, c := range [...]float64{1. / 21, 1. / 19, 1. / 17, 1. / 15, 1. / 13, 1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3,
		1} {
		sum = math.FMA(sum, square, c)
	}
	return math.FMA(float64(e), math.Ln2, float64(2*s)*sum)
}

// Steepness returns a bound on the curvature of a smoothed loss: the loss has Lipschitz constant 1 in the parameters
// and is smoothed over a ball of radius 1 in dim dimensions. For other losses and balls, the curvature is in
// [-Steepness, Steepness] times the Lipschitz constant over the radius. The bound is the largest density of the first
// coordinate of a uniform point of the ball, times 2, since slopes range from -1 to 1:
//
//	2 Gamma(d/2+1)/(sqrt(pi) Gamma((d+1)/2)), about .8 sqrt d.
func Steepness(dim int) float64 {
	up, _ := math.Lgamma(float64(dim)/2 + 1)
	down, _ := math.Lgamma(float64(dim+1) / 2)
	return 2 / math.Sqrt(math.Pi) * math.Exp(up-down)
}

// sampledName returns the name that events give to a smoothing along random directions. The directions can be
// computed again from this name and the point.
func (s Smoothing) sampledName() string {
	what := "gradients in the ball"
	if s.By == Values {
		what = "values on the sphere"
	}
	return fmt.Sprintf(" by %d %s of %v, seed %d", s.Directions, what, s.Radius, s.Seed)
}

// Smoothing makes a term use a smoothed loss: each record's loss, smoothed as a function of the parameters w.
// The smoothed gradient replaces the gradient before the clip. Clip norm and charge do not change. The zero
// Smoothing leaves the loss as it is.
//
// Losses phi(<w,x>, y) whose slopes jump are smoothed in closed form (loss.Kinked). For any other loss, the
// gradient of the smoothed loss is estimated from gradients or values of the loss at points around w. These
// points are w plus multiples of public random directions ([Directions]).
type Smoothing struct {
	// Radius is the radius of the ball of parameters over which the loss is smoothed by the method By. It
	// is 0 for no smoothing, and otherwise between 1e-9 and 1e9.
	Radius float64
	// By is the method of smoothing.
	By Smoother
	// Directions is the number of directions that each record uses, if By is Gradients or Values. It is zero
	// otherwise.
	Directions int
	// Seed is the seed from which directions are drawn, if By is Gradients or Values. It is zero otherwise.
	Seed uint64
}

// Smoother is a method of smoothing.
type Smoother uint8

const (
	// Ball is the mean of the loss over the ball around w (loss.OverBall).
	Ball Smoother = iota
	// LasryLions is the Lasry-Lions regularization: the Moreau envelope of a Moreau envelope of the loss
	// (loss.LasryLions).
	LasryLions
	// Gradients estimates the gradient of the smoothing Ball by the mean of gradients at w + Radius
	// u, for directions u uniform in the unit ball (a first-order estimate). The norm of the estimate
	// is at most the largest norm of gradients.
	Gradients
	// Values estimates the gradient of the smoothing Ball by the mean of
	//
	//	(d/(2 Radius)) (f(w + Radius u) - f(w - Radius u)) u
	//
	// for directions u uniform on the unit sphere and the loss f of d parameters. It uses no gradients (a
	// zero-order estimate). The norm of the estimate from one direction may be d times the norm of
	// gradients. With about d directions it is near the norm of gradients.
	Values
)

// leastRadius and mostRadius bound the radius, so that products with it stay far from the ends of the range
// of float64.
const leastRadius, mostRadius = 1e-9, 1e9

// On reports whether s smooths the loss: the zero Smoothing does not.
func (s Smoothing) On() bool { return s.Radius != 0 }

// Sampled reports whether s estimates the gradient of the smoothed loss along random directions, as
// the smoothers Gradients and Values do.
func (s Smoothing) Sampled() bool { return s.On() && (s.By == Gradients || s.By == Values) }

// Smoothed returns the same term for the loss smoothed by s. [New] returns an error if s is invalid or the
// term's kind does not allow smoothing.
func (t Term) Smoothed(s Smoothing) Term {
	t.smoothing = s
	return t
}

// Smoothing returns the smoothing of the loss that the term uses. It is the zero Smoothing if there
// is none.
func (t Term) Smoothing() Smoothing { return t.smoothing }

func (t Term) validateSmoothing(f Facts) error {
	switch s := t.smoothing; {
	case !s.On():
	case !f.Smooths:
		return fmt.Errorf("query: %v: smoothing radius = %v: must be 0: it is not asked of smoothed losses", t.kind, s.Radius)
	case !(s.Radius >= leastRadius && s.Radius <= mostRadius):
		return fmt.Errorf("query: %v: smoothing radius = %v: must be between %v and %v, or 0 for none", t.kind, s.Radius,
			leastRadius, mostRadius)
	case s.By > Values:
		return fmt.Errorf("query: %v: smoothing = %d: must be one of Ball, LasryLions, Gradients and Values", t.kind, s.By)
	case s.Sampled() && f.Metric:
		return fmt.Errorf("query: %v: smoothing = %d: must be Ball or LasryLions: what is measured in a metric is a "+
			"multiple of the row", t.kind, s.By)
	case s.Sampled() && !(s.Directions >= 1 && s.Directions <= Pool(len(t.w))):
		return fmt.Errorf("query: %v: smoothing: directions = %d: must be between 1 and %d", t.kind, s.Directions,
			Pool(len(t.w)))
	case !s.Sampled() && (s.Directions != 0 || s.Seed != 0):
		return fmt.Errorf("query: %v: smoothing: directions = %d, seed = %d: must be 0 where none are drawn", t.kind,
			s.Directions, s.Seed)
	}
	return nil
}
