package query

import (
	"fmt"
	"math"
	"math/bits"
)

// Directions are the public directions at which a term looks beside its point
// (Smoothing.By Gradients or Values): a pool of them for the term, of which a record
// takes so many that follow one another, from a place that its own features and target
// name. So a contribution depends on its record and on public coins alone, whatever
// other records there are and wherever they stand, and the directions of all records are
// many where each of them takes few.
//
// The coins are the seed and the bits of the term's point, so that each point has fresh
// directions and anybody who knows both can draw them again. A difference has those of
// its W at both points. Bits are the same on every machine.
type Directions struct {
	by    Smoother
	count int
	dim   int
	key   uint64
}

// Directions returns those of a term; ok is false for one that draws none.
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

// Count returns how many a record takes.
func (d Directions) Count() int { return d.count }

// poolNumbers is how many numbers a pool holds about, poolLeast and poolMost how many
// directions: 8 megabytes, or more in very many dimensions.
const poolNumbers, poolLeast, poolMost = 1 << 20, 64, 1 << 12

// Pool returns how many there are, for points of dim coordinates.
func Pool(dim int) int { return min(max(poolNumbers/max(dim, 1), poolLeast), poolMost) }

// Of returns the number of the j-th direction of a record, j from 0.
func (d Directions) Of(x []float32, y float64, j int) int {
	h := d.key
	for _, v := range x {
		b := math.Float32bits(v)
		if v == 0 { // whatever its sign
			b = 0
		}
		h = absorb(h, uint64(b))
	}
	n := Pool(d.dim)
	first, _ := bits.Mul64(mix(absorb(h, math.Float64bits(y))), uint64(n))
	return (int(first) + j) % n
}

// Write sets dst, of as many coordinates as the point, to the direction of a number: for
// Gradients a point drawn uniformly from the unit ball, for Values from the unit sphere.
//
// A vector of normals has a uniform direction, and the first d coordinates of a uniform
// point on the sphere of d+2 dimensions are uniform in the ball of d.
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

// stream is SplitMix64 (Steele, Lea and Flood 2014).
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

// signed returns an odd multiple of 2^-53 between -1 and 1.
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

// logarithm returns ln x for 0 < x < 1 within 1e-15, with the same bits on every machine:
// of x = 2^e m the series of ln m = 2 artanh((m-1)/(m+1)), whose argument is below .1716.
func logarithm(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	s := (m - 1) / (m + 1)
	square, sum := float64(s*s), 0.
	for _, c := range [...]float64{1. / 21, 1. / 19, 1. / 17, 1. / 15, 1. / 13, 1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3, 1} {
		sum = math.FMA(sum, square, c)
	}
	return math.FMA(float64(e), math.Ln2, float64(2*s)*sum)
}

// Steepness returns how much the gradient of a loss of Lipschitz constant 1, smoothed over
// a ball of radius 1, moves with its point at most: the smoothing's curvature lies in
// [-Steepness, Steepness] times the Lipschitz constant over the radius. It is the largest
// density of a ball's first coordinate, times 2 for slopes from -1 to 1,
//
//	2 Gamma(d/2+1)/(sqrt(pi) Gamma((d+1)/2)), about .8 sqrt d.
func Steepness(dim int) float64 {
	up, _ := math.Lgamma(float64(dim)/2 + 1)
	down, _ := math.Lgamma(float64(dim+1) / 2)
	return 2 / math.Sqrt(math.Pi) * math.Exp(up-down)
}

// sampledName is what events call a term that draws directions: whoever knows its point
// can draw them again.
func (s Smoothing) sampledName() string {
	what := "gradients in the ball"
	if s.By == Values {
		what = "values on the sphere"
	}
	return fmt.Sprintf(" by %d %s of %v, seed %d", s.Directions, what, s.Radius, s.Seed)
}
