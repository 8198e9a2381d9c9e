package engine

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/internal/simd"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
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

// clip clips the gradients of a block of records as clipStacked does, to the same bits. square holds the squared norms
// of their rows. A record with a number that is not finite becomes faulty, and what its numbers are then means nothing.
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

// clipStacked scales slopes and rest by one factor, so that their joint norm is at most radius. A shorter gradient is
// left unchanged. The joint norm is the norm of two things together: the outer product of slopes and a row whose
// squared norm is square, and rest. For a row of norm 0, clipStacked sets the slopes to 0. Their outer product with
// this row is zero, so the joint norm would not bound the slopes. It returns false if a number is not finite.
func clipStacked(slopes, rest []float64, square, radius float64) bool {
	if !sound(maxAbs(slopes)) || !sound(maxAbs(rest)) {
		return false
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

// maxAbs returns the largest absolute value of the entries of v. It is NaN if an entry is NaN.
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

// A loss with a score is phi(<w,x>, theta, y): a [Stacked] with one unit and no layer above it. A record's gradient is
// (s x, r), for the slope s in the score and the gradient r in theta. A metric for it has a dimension for each parameter.
// With the block rows N and Q of the square of its matrix R, those of theta, the squared length of a gradient is
//
//	||R (s x, r)||^2 = s^2 ||R (x, 0)||^2 + 2 s <N x, r> + <r, Q r>
//
// The products N x are computed as margins are. The three terms may cancel, so a bound on their rounding errors is added.

// scored reports whether l is a loss with a score.
func scored(l loss.Loss) bool {
	s, ok := l.(Stacked)
	return ok && s.Units() == 1 && query.Margins(l, 0) == query.Scored
}

// marginsOf returns the number of margins of l as Suits takes it. A loss that says that it has no layers has a score only
// if the engine sees one: no other gradient has a length in a metric.
func marginsOf(l loss.Loss) int {
	if scored(l) {
		return query.Scored
	}
	return loss.Count(l)
}

func parted(l loss.Loss) bool {
	_, ok := l.(Parted)
	return ok
}

// MetricFits returns an error unless the metric of a question, if it has one, suits the loss l: it must have one dimension for
// each feature of a row, which may be one of several of a record. For a loss with a score it must have one for each parameter,
// and zeros between features and other parameters.
func MetricFits(l loss.Loss, q query.Question, features, parameters int) error {
	f, dim := q.Facts(), q.First().Metric().Dim()
	switch {
	case f.Weighted:
		parameters /= max(loss.Count(l), 1)
	case f.Metric && !scored(l):
		parameters = features
	case !f.Metric:
		return nil
	}
	if dim != parameters {
		return fmt.Errorf("curator: question: metric of dimension %d: must have %d, one a feature or, for loss %s, a "+
			"parameter", dim, parameters, l.Name())
	}
	return nil
}

// inMetric holds the metric of a loss with a score, and what lengths in it need: the rows of N in the order and padding
// of the rows, and those of Q. lost is the bound on rounding errors over the squared length of a gradient without the
// metric.
type inMetric struct {
	cross       shape
	n           []float64
	q           [][]float64
	products    []float64
	lost        float64
	plain, long []float64 // of the records of a tile: squared lengths without the metric and in it
}

func newInMetric(m query.Metric, above int, rows *row.Layout, tile int) *inMetric {
	d, features := m.Dim(), rows.Dim()
	g := &inMetric{cross: shaped(above, rows), products: make([]float64, tile*above), plain: make([]float64, tile),
		long: make([]float64, tile)}
	var n []float64
	one := make([]float64, d)
	for j := features; j < d; j++ {
		one[j] = 1
		column := m.Times(m.Times(one))
		one[j] = 0
		n, g.q = append(n, column[:features]...), append(g.q, column[features:])
	}
	g.n = g.cross.pad(n)
	// An entry of the square differs by at most 2d roundings of products whose absolute values sum to at most the square
	// of the norm, and a length has another 2d of them, for each of d parameters.
	norm := float64(m.Norm() * m.Step())
	g.lost = float64(d) * lostOf(d, float64(norm*norm))
	return g
}

// measure computes the lengths of the gradients of a tile's records. A record with a number that is not finite becomes
// faulty.
func (g *inMetric) measure(p *pass, b row.Block, slopes, rest []float64, faulty []bool) {
	n, above := len(slopes), len(g.q)
	products := g.products[:n*above]
	p.dots(products, g.n, b)
	for i, s := range slopes {
		plain, sum := float64(s*s), 0.
		for j, q := range g.q {
			r := rest[j*n+i]
			plain += float64(r * r)
			inner := float64(2 * float64(s*products[i*above+j]))
			for k, v := range q {
				inner += float64(v * rest[k*n+i])
			}
			sum += float64(r * inner)
		}
		far := float64(s * float64(p.long[i]))
		g.plain[i] = plain
		g.long[i] = max(float64(far*far)+sum, 0) + float64(g.lost*plain)
		if !sound(s) || g.long[i] != g.long[i] {
			faulty[i] = true
		}
	}
}

// clipInMetric clips the gradients of a tile's records such that they are at most as long as the term's radius in the
// metric, and at most as long as the term's largest slope without it, for rows of norm 1.
func (s *stackedPass) clipInMetric(p *pass, b row.Block, slopes, rest []float64, t *stackedTerm, faulty []bool) {
	s.metric.measure(p, b, slopes, rest, faulty)
	factor := s.clip.factor[:len(faulty)]
	for i := range factor {
		factor[i] = 1
		if long := math.Sqrt(s.metric.long[i]); long > t.ball.Radius {
			factor[i] = t.ball.Radius / long
		}
		if plain := math.Sqrt(s.metric.plain[i]); plain > t.Slope() {
			factor[i] = min(factor[i], t.Slope()/plain)
		}
	}
	simd.Times(slopes, slopes, factor)
	simd.Times(rest, rest, factor)
}

// squaredSlopes sets dst to the squared lengths of the records' gradients in the metric.
func (s *stackedPass) squaredSlopes(p *pass, dst []float64, t *stackedTerm, b row.Block, faulty []bool) {
	n := len(dst)
	slopes, rest := s.slopes[:n], s.gradient[:n*s.above]
	s.squaresOf(p, b)
	s.backward(p, slopes, rest, t.first, t.point, b)
	s.clip.unsound(faulty, rest)
	s.metric.measure(p, b, slopes, rest, faulty)
	for i := range dst {
		dst[i] = min(s.metric.long[i], t.ball.Centre+t.ball.Radius)
	}
}
