package enginetest

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/query"
)

// layered reports whether an engine computes a query about a engine.Stacked (a loss whose first layer is linear in the
// row) without writing out each record's contribution. An engine does so if all terms are unsmoothed values and
// differences of values, or gradients and differences of gradients that are clipped around zero.
func layered(q query.Question) bool {
	for _, t := range q.Terms() {
		switch t.Kind() {
		case query.Value, query.ValueChange:
		case query.Gradient, query.Norm, query.Difference:
			if t.Ball().Centre != 0 {
				return false
			}
		case query.MetricGradient, query.SquaredSlope:
		default:
			return false
		}
		if t.Smoothing().On() {
			return false
		}
	}
	return true
}

// stacked returns the expected contribution of one record to a query about a engine.Stacked (a loss whose first layer
// is linear in the row), in grid steps before rounding. ok is false for a faulty record.
func stacked(l engine.Stacked, q query.Question, scale float64, r sample) ([]float64, bool) {
	units, d := l.Units(), len(r.X)
	square := r.Square()
	margins := func(w []float64) []float64 {
		z := make([]float64, units)
		for k := range z {
			z[k] = r.inner(w[k*d : (k+1)*d])
		}
		return z
	}
	if q.Facts().Number {
		if q.Terms()[0].Kind() != query.SquaredSlope {
			return stackedValue(l, q, scale, r, margins)
		}
	}
	at := func(w []float64) (slopes, rest []float64, ok bool) {
		slopes, rest = make([]float64, units), make([]float64, len(w)-units*d)
		for j := range slopes {
			slopes[j] = math.NaN()
		}
		for j := range rest {
			rest[j] = math.NaN()
		}
		defer func() { ok = recover() == nil }()
		l.Backward(slopes, rest, margins(w), slices.Clone(w[units*d:]), []float64{square}, []float64{r.Y})
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
		if t.Kind().Facts().Metric {
			norm = inMetric(t.Metric(), slopes[0], rest, r)
		}
		if t.Kind() == query.SquaredSlope {
			if math.IsNaN(norm) {
				return nil, false
			}
			v := min(norm, t.Ball().Centre+t.Ball().Radius) - t.Ball().Centre
			return []float64{float64(float64(t.Weight()*max(v, -t.Ball().Radius)) * scale)}, true
		}
		if t.Kind() == query.MetricGradient {
			norm = math.Sqrt(norm)
		}
		if math.IsNaN(norm) || math.IsInf(norm, 0) {
			return nil, false
		}
		factor := 1.
		if radius := t.Ball().Radius; norm > radius {
			factor = radius / norm
		}
		if plain := math.Sqrt(float64(slopes[0]*slopes[0]) + ofRest); t.Kind() == query.MetricGradient && plain > t.Slope() {
			factor = min(factor, t.Slope()/plain)
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
			v = append(v, nearestProduct(c, float64(x)))
		}
	}
	for _, c := range above {
		v = append(v, float64(c*scale))
	}
	return v, true
}

// inMetric returns the squared length in the metric of the gradient (slope x, rest), for the row x of r, with a bound on
// the rounding errors of its three terms.
func inMetric(m query.Metric, slope float64, rest []float64, r sample) float64 {
	d := len(r.X)
	plain, sum := float64(slope*slope), 0.
	for j, v := range rest {
		one := make([]float64, m.Dim())
		one[d+j] = 1
		column := m.Times(m.Times(one))
		plain += float64(v * v)
		inner := float64(2 * float64(slope*r.inner(column[:d])))
		for k, u := range rest {
			inner += float64(column[d+k] * u)
		}
		sum += float64(v * inner)
	}
	far := float64(slope * float64(long(m, r.X)))
	norm := float64(m.Norm() * m.Step())
	lost := float64(m.Dim()) * (2 * float64(2*m.Dim()+4) * 0x1p-53 * float64(norm*norm))
	return max(float64(far*far)+sum, 0) + float64(lost*plain)
}

// stackedValue is stacked for queries whose contributions are numbers. margins computes the first layer's margins
// of the record.
func stackedValue(l engine.Stacked, q query.Question, scale float64, r sample, margins func(w []float64) []float64) (
	v []float64, ok bool) {
	at := func(w []float64) float64 {
		dst := []float64{math.NaN()}
		l.Forward(dst, margins(w), slices.Clone(w[l.Units()*len(r.X):]), []float64{r.Y})
		return dst[0]
	}
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	var sum float64
	for _, t := range q.Terms() {
		value := at(t.Point())
		if t.Kind() == query.ValueChange {
			value -= at(t.Previous())
		}
		value -= t.Ball().Centre
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, false
		}
		sum += float64(t.Weight() * clamp(value, -t.Ball().Radius, t.Ball().Radius))
	}
	return []float64{float64(sum * scale)}, true
}
