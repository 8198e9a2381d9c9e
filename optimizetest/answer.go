package optimizetest

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// mean returns the query's answer without noise over the records of the given row numbers, and the number
// of rows whose contribution a clip changed. A record's contribution is the weighted sum of its clipped
// terms. A record whose target or contribution is not finite contributes zero, clipped like any
// contribution. The mean is the centre of the clip balls plus the sum of the contributions' differences
// from this centre, divided by the declared number of records, even if fewer or more records are present.
func (o *Oracle) mean(q query.Question, rows []int) (mean []float64, clipped int) {
	terms := q.Terms()
	dim := q.SumDim()
	centre := make([]float64, dim)
	for _, t := range terms {
		addTo(centre, t.Weight(), centreOf(t))
	}
	sum := make([]float64, dim)
	for _, i := range rows {
		c, cut, ok := o.contribution(terms, o.config.Rows[i], o.config.Targets[i])
		if !ok {
			c, cut = nothing(terms, dim), false
		}
		if cut {
			clipped++
		}
		for j := range sum {
			sum[j] += float64(o.config.Repeat) * (c[j] - centre[j])
		}
	}
	mean = centre
	addTo(mean, 1/q.Cohort().Size(), sum)
	if q.Facts().Normed {
		addTo(mean, 1, terms[0].Shift())
		return []float64{length(mean)}, clipped
	}
	return mean, clipped
}

// nothing returns the contribution of a faulty record, whose target or contribution is not finite. For vectors it is
// zero, since all clip balls contain zero. For a number it is the point of the clip interval that is nearest to zero.
func nothing(terms []query.Term, dim int) []float64 {
	sum := make([]float64, dim)
	for _, t := range terms {
		if b := t.Ball(); t.Kind().Facts().Number {
			sum[0] += t.Weight() * min(max(0, b.Centre-b.Radius), b.Centre+b.Radius)
		}
	}
	return sum
}

// centreOf returns the public centre of the ball to which a term is clipped.
func centreOf(t query.Term) []float64 {
	facts := t.Kind().Facts()
	c := make([]float64, t.SumDim())
	switch facts.Centre {
	case query.Anywhere:
		c[0] = t.Ball().Centre
	case query.AlongStep:
		addTo(c, t.Ball().Centre, t.Step())
	}
	return c
}

// contribution returns a record's weighted sum of clipped terms, for a row x with target y. cut is true if
// a clip changed a term. ok is false for a faulty record, whose target or contribution is not finite.
func (o *Oracle) contribution(terms []query.Term, x []float32, y float64) (sum []float64, cut, ok bool) {
	if math.IsNaN(y) || math.IsInf(y, 0) {
		return nil, false, false
	}
	for _, t := range terms {
		var v []float64
		var c bool
		definition := kinds[t.Kind()]
		switch l := written(o.config.Loss, terms).(type) {
		case loss.RankOne:
			v, c = scaled(definition.rankOne(l, t, x, y))
		case loss.General:
			if t.Kind().Facts().Losses == query.NoLoss {
				v, c = scaled(definition.rankOne(nil, t, x, y))
				break
			}
			v, c = general(l, t, x, y)
		}
		for _, e := range v {
			if math.IsNaN(e) || math.IsInf(e, 0) {
				return nil, false, false
			}
		}
		if sum == nil {
			sum = make([]float64, len(v))
		}
		addTo(sum, t.Weight(), v)
		cut = cut || c
	}
	return sum, cut, true
}

// scaled multiplies v, in place, by the scalar s clipped to [lo, hi]. It returns v and whether the clip
// changed s. If s is infinite, v becomes NaN.
func scaled(v []float64, s, lo, hi float64) ([]float64, bool) {
	if math.IsInf(s, 0) {
		s = math.NaN() // a faulty record must stay visible after the clip
	}
	c := min(max(s, lo), hi)
	for j := range v {
		v[j] *= c
	}
	return v, math.Abs(c-s) > 1e-12*math.Abs(s)
}

// general returns a record's clipped contribution to the term t, for a loss that computes its own
// gradient, and whether the clip changed it. A vector outside the clip ball is moved to the ball's
// surface, along the straight line to the ball's centre.
func general(l loss.General, t query.Term, x []float32, y float64) ([]float64, bool) {
	v := kinds[t.Kind()].general(l, t, x, y)
	centre := centreOf(t)
	addTo(v, -1, centre)
	n := length(v)
	cut := n > t.Ball().Radius*(1+1e-12)
	if n > t.Ball().Radius {
		for j := range v {
			v[j] *= t.Ball().Radius / n
		}
	}
	addTo(v, 1, centre)
	return v, cut
}

// addTo adds a times v to dst. If v is nil, dst stays unchanged.
func addTo(dst []float64, a float64, v []float64) {
	for j := range v {
		dst[j] += a * v[j]
	}
}

func inner(w []float64, x []float32) float64 {
	var s float64
	for j, v := range x {
		s += w[j] * float64(v)
	}
	return s
}

// Length returns the Euclidean norm of v.
func Length(v []float64) float64 { return length(v) }

func length(v []float64) float64 {
	var s float64
	for _, x := range v {
		s += x * x
	}
	return math.Sqrt(s)
}
