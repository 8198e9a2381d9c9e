package engine

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/internal/simd"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

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

// MetricFits returns an error unless the metric suits the loss l: it must have one dimension for each feature of a row.
// For a loss with a score it must have one for each parameter, and zeros between features and other parameters.
func MetricFits(l loss.Loss, m query.Metric, features, parameters int) error {
	if !scored(l) {
		parameters = features
	}
	if m.Dim() != parameters {
		return fmt.Errorf("curator: question: metric of dimension %d: must have %d, one a feature or, for loss %s, a "+
			"parameter", m.Dim(), parameters, l.Name())
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
