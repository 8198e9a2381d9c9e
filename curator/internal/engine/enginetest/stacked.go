package enginetest

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// aroundZero reports whether an engine computes a query about a loss.Stacked (a loss whose first
// layer is linear in the row) without writing out each record's contribution. An engine does so if
// all terms are unsmoothed gradients and differences of gradients that are clipped around zero.
func aroundZero(q query.Question) bool {
	for _, t := range q.Terms() {
		kind := t.Kind()
		if kind != query.Gradient && kind != query.Norm && kind != query.Difference || t.Ball().Centre != 0 ||
			t.Smoothing().On() {
			return false
		}
	}
	return true
}

// stacked returns the expected contribution of one record to a query about a loss.Stacked (a loss
// whose first layer is linear in the row), in grid steps before rounding. ok is false for a faulty
// record.
func stacked(l loss.Stacked, q query.Question, scale float64, r sample) ([]float64, bool) {
	units, d := l.Units(), len(r.X)
	square := r.Square()
	at := func(w []float64) (slopes, rest []float64, ok bool) {
		z := make([]float64, units)
		for k := range z {
			z[k] = r.inner(w[k*d : (k+1)*d])
		}
		slopes, rest = make([]float64, units), make([]float64, len(w)-units*d)
		for j := range slopes {
			slopes[j] = math.NaN()
		}
		for j := range rest {
			rest[j] = math.NaN()
		}
		defer func() { ok = recover() == nil }()
		l.Backward(slopes, rest, z, w[units*d:], square, r.Y)
		return slopes, rest, true
	}
	coef, above := make([]float64, units), []float64(nil)
	for _, t := range q.Terms() {
		slopes, rest, ok := at(t.Point())
		if t.Kind() == query.Difference && ok {
			var s, g []float64
			s, g, ok = at(t.Previous())
			for k := range s {
				slopes[k] -= s[k]
			}
			for j := range g {
				rest[j] -= g[j]
			}
		}
		if !ok {
			return nil, false
		}
		var ofSlopes, ofRest float64
		for _, v := range slopes {
			ofSlopes += float64(v * v)
		}
		for _, v := range rest {
			ofRest += float64(v * v)
		}
		norm := math.Sqrt(float64(ofSlopes*square) + ofRest)
		if math.IsNaN(norm) || math.IsInf(norm, 0) {
			return nil, false
		}
		factor := 1.
		if radius := t.Ball().Radius; norm > radius {
			factor = radius / norm
		}
		if above == nil {
			above = make([]float64, len(rest))
		}
		for k, v := range slopes {
			coef[k] += float64(t.Weight() * float64(v*factor))
		}
		for j, v := range rest {
			above[j] += float64(t.Weight() * float64(v*factor))
		}
	}
	v := make([]float64, 0, units*d+len(above))
	for _, c := range coef {
		c = float64(c * scale)
		for _, x := range r.X {
			v = append(v, float64(c*float64(x)))
		}
	}
	for _, c := range above {
		v = append(v, float64(c*scale))
	}
	return v, true
}
