package engine

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/simd"
)

// stackedClip is scratch memory for the clip of a block of records.
type stackedClip struct {
	// ofSlopes and ofRest hold the records' largest absolute values, then sums of squares. factor holds the
	// factors by which the records are scaled.
	ofSlopes, ofRest, factor []float64
	// slopes and rest are the two parts of one record's gradient.
	slopes, rest []float64
}

func (c *stackedClip) make(records, units, above int) {
	c.ofSlopes, c.ofRest, c.factor = make([]float64, records), make([]float64, records), make([]float64, records)
	c.slopes, c.rest = make([]float64, units), make([]float64, above)
}

// unsound marks the records as faulty for which a number in the block is not finite.
func (c *stackedClip) unsound(faulty []bool, block []float64) {
	largest := c.ofRest[:len(faulty)]
	simd.Largest(largest, block)
	for i, v := range largest {
		faulty[i] = faulty[i] || !sound(v)
	}
}

// clip clips the gradients of a block of records as clipStacked does, to the same bits. square holds the squared
// norms of their rows. A record with a number that is not finite becomes faulty, and what its numbers are then
// means nothing.
func (c *stackedClip) clip(slopes, rest, square []float64, radius float64, faulty []bool) {
	n := len(faulty)
	ofSlopes, ofRest, factor := c.ofSlopes[:n], c.ofRest[:n], c.factor[:n]
	simd.Largest(ofSlopes, slopes)
	simd.Largest(ofRest, rest)
	for i := range factor {
		// The larger of the two sizes; it is NaN or infinite if one of them is.
		factor[i] = max(ofSlopes[i], ofRest[i])
	}
	simd.Squares(ofSlopes, slopes)
	simd.Squares(ofRest, rest)
	scales := false
	for i, big := range factor {
		factor[i] = 1
		switch {
		case !sound(big):
			faulty[i] = true
		case !ordinary(big) || square[i] == 0:
			c.alone(slopes, rest, square[i], radius, i, n)
		default:
			if norm := math.Sqrt(float64(ofSlopes[i]*square[i]) + ofRest[i]); norm > radius {
				factor[i], scales = radius/norm, true
			}
		}
	}
	if scales {
		simd.Times(slopes, slopes, factor)
		simd.Times(rest, rest, factor)
	}
}

// alone clips record i of a block of n, at any size of its numbers.
func (c *stackedClip) alone(slopes, rest []float64, square, radius float64, i, n int) {
	for k := range c.slopes {
		c.slopes[k] = slopes[k*n+i]
	}
	for j := range c.rest {
		c.rest[j] = rest[j*n+i]
	}
	clipStacked(c.slopes, c.rest, square, radius)
	for k, v := range c.slopes {
		slopes[k*n+i] = v
	}
	for j, v := range c.rest {
		rest[j*n+i] = v
	}
}

// ordinary reports whether the squares of numbers whose largest absolute value is big neither over- nor
// underflow in a way that matters to their sum.
func ordinary(big float64) bool { return 0x1p-100 <= big && big <= 0x1p100 }

// clipStacked scales slopes and rest by one factor, so that their joint norm is at most radius. A shorter
// gradient is left unchanged. The joint norm is the norm of two things together: the outer product of
// slopes and a row whose squared norm is square, and rest. For a row of norm 0, clipStacked sets the slopes
// to 0. Their outer product with this row is zero, so the joint norm would not bound the slopes. It returns
// false if a number is not finite.
func clipStacked(slopes, rest []float64, square, radius float64) bool {
	for _, list := range [...][]float64{slopes, rest} {
		for _, v := range list {
			if !sound(v) {
				return false
			}
		}
	}
	if square == 0 {
		clear(slopes)
	}
	norm, exp := stackedNorm(slopes, rest, square)
	if math.Ldexp(norm, exp) <= radius {
		return true
	}
	factor := radius / norm
	for _, list := range [...][]float64{slopes, rest} {
		for j, v := range list {
			list[j] = float64(math.Ldexp(v, -exp) * factor)
		}
	}
	return true
}

// stackedNorm returns the joint norm of a record's gradient as norm times 2^exp: the norm of the
// outer product of slopes and a row with the given squared norm, together with rest. If the sums of
// squares could over- or underflow, slopes and rest are each scaled by a power of two of their own.
// With a common power, one of the two could be lost when large slopes belong to a row of tiny norm.
func stackedNorm(slopes, rest []float64, square float64) (norm float64, exp int) {
	ofSlopes, ofRest := maxAbs(slopes), maxAbs(rest)
	if ordinary(max(ofSlopes, ofRest)) {
		return math.Sqrt(float64(squares(slopes, 0)*square) + squares(rest, 0)), 0
	}
	_, first := math.Frexp(ofSlopes)
	_, above := math.Frexp(ofRest)
	s, at := math.Frexp(math.Sqrt(squares(slopes, first)) * math.Sqrt(square))
	g, beside := math.Frexp(math.Sqrt(squares(rest, above)))
	first, above = first+at, above+beside
	switch {
	case g == 0:
		return s, first
	case s == 0:
		return g, above
	}
	exp = max(first, above)
	s, g = math.Ldexp(s, first-exp), math.Ldexp(g, above-exp)
	return math.Sqrt(float64(s*s) + float64(g*g)), exp
}

// maxAbs returns the largest absolute value of the entries of v.
func maxAbs(v []float64) (big float64) {
	for _, x := range v {
		big = max(big, math.Abs(x))
	}
	return big
}

// squares returns the sum of (x/2^exp)^2 over the entries x of v.
func squares(v []float64, exp int) (sum float64) {
	if exp == 0 {
		for _, x := range v {
			sum += float64(x * x)
		}
		return sum
	}
	for _, x := range v {
		s := math.Ldexp(x, -exp)
		sum += float64(s * s)
	}
	return sum
}
