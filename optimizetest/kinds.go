package optimizetest

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// definition defines a kind of query (an entry of the table kinds) by what one record contributes to
// its sum.
type definition struct {
	// rankOne computes the contribution for a loss phi(<w,x>, y): a vector v, the scalar s that multiplies v,
	// and the interval [lo, hi] to which s is clipped.
	rankOne func(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64)
	// general computes the contribution, before the clip, for a loss that computes its own gradient. It is nil
	// for kinds that only rank-one losses allow, and for kinds that do not depend on the loss.
	general func(l loss.General, t query.Term, x []float32, y float64) []float64
}

var kinds = [...]definition{
	query.Gradient:       {slope, gradient},
	query.Difference:     {slopeChange, gradientChange},
	query.Value:          {value, values},
	query.Norm:           {slope, gradient},
	query.SecondMoment:   {moment, nil},
	query.Curvature:      {curvature, nil},
	query.MetricGradient: {metricSlope, gradientInMetric},
	query.SquaredSlope:   {squaredSlope, squaredInMetric},
	query.Product:        {hessian, hessianTimes},
	query.ProductChange:  {hessianChange, hessianTimesChange},
	query.CurvatureAlong: {curvatureAlong, curvatureAlongOf},
	query.ValueChange:    {valueChange, valueChanges},

	query.RowMean:         {rowMean, nil},
	query.SquaredDistance: {squaredDistance, nil},
	query.CentredMoment:   {centredMoment, nil},

	query.WeightedGradient:  {weightedGradient, partedGradient},
	query.WeightedCurvature: {weightedCurvature, partedCurvature},
	query.ScoreMoment:       {scoreMoment, partedScores},
	query.WeightedMoment:    {weightedMoment, nil},

	query.SquaredFeatures: {squaredFeatures, nil},
}

// slope defines the contribution of one record to a query for gradients: phi' x, where phi' is the
// derivative of the loss in the margin and x is the row.
func slope(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	return vector(x), one(slopes(l, t, x), t.Point(), x, y), -t.Ball().Radius, t.Ball().Radius
}

// slopes returns the function that computes a derivative in the margin for the term t. If t has no
// smoothing, it is the derivative of the loss l. If t has a smoothing, it is the derivative of the smoothed
// loss for rows with the norm of x.
func slopes(l loss.RankOne, t query.Term, x []float32) func(dst, z, y []float64) {
	by := t.Smoothing()
	if !by.On() {
		return l.Slopes
	}
	s, err := loss.OverBall(len(x), by.Radius)
	if by.By == query.LasryLions {
		s, err = loss.LasryLions(by.Radius)
	}
	if err != nil {
		panic(err)
	}
	return func(dst, z, y []float64) {
		l.(loss.Kinked).SmoothedSlopes(dst, z, y, []float64{length(vector(x))}, s)
	}
}

// slopeChange defines one record's contribution to a query for gradient differences: the change of phi', the loss's
// derivative in the margin, times the row x. If the term has a curvature interval [a, b], the change is clipped to this
// interval times the change of the record's margin. Otherwise it is clipped to [-r, r] for the term's radius r.
func slopeChange(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	v, s, lo, hi = slope(l, t, x, y)
	if a, b, ok := t.Curvature(); ok {
		move := inner(t.Step(), x)
		lo, hi = min(a*move, b*move), max(a*move, b*move)
	}
	return v, s - one(slopes(l, t, x), t.Previous(), x, y), lo, hi
}

// value defines one record's contribution to a query for the mean loss: its loss phi, clipped to the term's
// clip interval.
func value(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	b := t.Ball()
	return []float64{1}, one(l.Values, t.Point(), x, y), b.Centre - b.Radius, b.Centre + b.Radius
}

// valueChange defines one record's contribution to a query for the change of the mean loss between two
// points: the change of its loss phi, clipped to [c-r, c+r] for the term's centre c and radius r.
func valueChange(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	b := t.Ball()
	change := one(l.Values, t.Point(), x, y) - one(l.Values, t.Previous(), x, y)
	return []float64{1}, change, b.Centre - b.Radius, b.Centre + b.Radius
}

func valueChanges(l loss.General, t query.Term, x []float32, y float64) []float64 {
	return []float64{l.Value(t.Point(), x, y) - l.Value(t.Previous(), x, y)}
}

// one returns f at a single record (x, y) and the parameters w. f computes the value or a derivative of a
// rank-one loss from margins and targets.
func one(f func(dst, z, y []float64), w []float64, x []float32, y float64) float64 {
	dst := make([]float64, 1)
	f(dst, []float64{inner(w, x)}, []float64{y})
	return dst[0]
}

func gradient(l loss.General, t query.Term, x []float32, y float64) []float64 {
	return estimateAt(l, t, t.Point(), x, y)
}

func gradientChange(l loss.General, t query.Term, x []float32, y float64) []float64 {
	v := gradient(l, t, x, y)
	addTo(v, -1, estimateAt(l, t, t.Previous(), x, y))
	return v
}

func gradientAt(l loss.General, w []float64, x []float32, y float64) []float64 {
	v := make([]float64, len(w))
	l.Gradient(v, w, x, y)
	return v
}

func values(l loss.General, t query.Term, x []float32, y float64) []float64 {
	return []float64{l.Value(t.Point(), x, y)}
}

// moment defines one record's contribution to the second moment of the rows: x x', in svec form (see
// svec).
func moment(_ loss.RankOne, _ query.Term, x []float32, _ float64) (v []float64, s, lo, hi float64) {
	return products(x), 1, 0, 1
}

// rowMean defines one record's contribution to the mean row: its row x.
func rowMean(_ loss.RankOne, _ query.Term, x []float32, _ float64) (v []float64, s, lo, hi float64) {
	return vector(x), 1, 0, 1
}

// squaredFeatures defines one record's contribution to the mean squares of the features: the vector
// of the x_j^2, and of the products of the pairs in the block, times sqrt 2.
func squaredFeatures(_ loss.RankOne, t query.Term, x []float32, _ float64) (v []float64, s, lo, hi float64) {
	v = vector(x)
	for j, e := range v {
		v[j] = e * e
	}
	for at, in := 0, t.Whole(); at < len(in); at++ {
		for _, k := range in[at+1:] {
			v = append(v, math.Sqrt2*float64(x[in[at]])*float64(x[k]))
		}
	}
	return v, 1, 0, 1
}

// squaredDistance defines one record's contribution to the mean squared distance from the public row m: ||x
// - m||^2, clipped to at most centre + radius of the term's clip interval.
func squaredDistance(_ loss.RankOne, t query.Term, x []float32, _ float64) (v []float64, s, lo, hi float64) {
	n := length(from(x, t.Point()))
	return []float64{1}, n * n, 0, t.Ball().Centre + t.Ball().Radius
}

// centredMoment defines one record's contribution to the second moment about the public row m: z z' in svec form (see
// svec), for z = x - m. If ||z||^2 exceeds the clip radius, z z' is scaled down to the norm of the radius.
func centredMoment(_ loss.RankOne, t query.Term, x []float32, _ float64) (v []float64, s, lo, hi float64) {
	z := from(x, t.Point())
	n := length(z)
	for j := range z {
		v = append(v, z[j]*z[j])
		for _, e := range z[j+1:] {
			v = append(v, math.Sqrt2*z[j]*e)
		}
	}
	return v, 1, 0, t.Ball().Radius / max(n*n, math.SmallestNonzeroFloat64)
}

// from returns the difference x - m of a row x and a public row m.
func from(x []float32, m []float64) []float64 {
	z := vector(x)
	addTo(z, -1, m)
	return z
}

// curvature defines one record's contribution to the mean Hessian: the second derivative of its loss
// in the margin times x x', in svec form (see svec).
func curvature(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	return products(x), one(l.Curvatures, t.Point(), x, y), 0, t.Ball().Radius
}

// metricSlope defines one record's contribution to the gradient in a metric: phi' R x, where R is the
// term's metric and phi' is the loss's derivative in the margin. phi' is clipped to the term's slope limit,
// and further until the contribution's norm is at most the radius.
func metricSlope(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	v = t.Metric().Times(vector(x))
	hi = min(t.Slope(), t.Ball().Radius/length(v))
	return v, one(slopes(l, t, x), t.Point(), x, y), -hi, hi
}

// squaredSlope defines one record's contribution to the mean squared gradient norm in the term's metric R:
// (phi' ||R x||)^2, where phi' is the loss's derivative in the margin. It is clipped to at most centre +
// radius of the term's clip interval.
func squaredSlope(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	v, s, _, _ = metricSlope(l, t, x, y)
	n := length(v)
	return []float64{1}, s * s * n * n, 0, t.Ball().Centre + t.Ball().Radius
}

// gradientInMetric and squaredInMetric define the same for a loss with a score, whose metric has a dimension for each
// parameter. The gradient is clipped to the term's slope limit before it is multiplied by the metric.
func gradientInMetric(l loss.General, t query.Term, x []float32, y float64) []float64 {
	g := gradient(l, t, x, y)
	short := min(1, t.Slope()/length(g))
	for j := range g {
		g[j] *= short
	}
	return t.Metric().Times(g)
}

func squaredInMetric(l loss.General, t query.Term, x []float32, y float64) []float64 {
	n := length(t.Metric().Times(gradient(l, t, x, y)))
	return []float64{n * n}
}

// weightedRow returns the row times the term's metric, R x, and the weight of the row, u = min(1,
// reach^2/||R x||^2).
func weightedRow(t query.Term, x []float32) (v []float64, u float64) {
	v = t.Metric().Times(vector(x))
	short := min(1, t.Reach()/length(v))
	return v, short * short
}

// weightedGradient defines one record's contribution to the weighted gradient: u phi' R x, where R and u are as in
// weightedRow, and phi' is the loss's derivative in the margin, clipped to the term's slope limit.
func weightedGradient(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	v, u := weightedRow(t, x)
	for j := range v {
		v[j] *= u
	}
	return v, one(l.Slopes, t.Point(), x, y), -t.Slope(), t.Slope()
}

// weightedCurvature defines one record's contribution to the weighted Hessian: u times the loss's second derivative in
// the margin times R x x' R, in svec form (see svec). R and u are as in weightedRow.
func weightedCurvature(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	z, u := weightedRow(t, x)
	return svec(u, z), one(l.Curvatures, t.Point(), x, y), 0, t.Slope()
}

// scoreMoment defines one record's contribution to the second moment of weighted gradients: u^2 phi'^2 R x x' R, in
// svec form (see svec). R and u are as in weightedRow, and phi' is the loss's derivative in the margin.
func scoreMoment(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	z, u := weightedRow(t, x)
	s = one(l.Slopes, t.Point(), x, y)
	return svec(u*u, z), s * s, 0, t.Slope() * t.Slope()
}

// parts returns the parts of a record of ordered classes: the rows of the loss's parts times the term's metric, with their
// slopes and second derivatives, and the weight of the record, that of its longest row of a cut.
func parts(l loss.General, t query.Term, x []float32, y float64) (rows [][]float64, slopes, curvatures [3]float64, u float64) {
	of := l.(interface {
		Parts(v []float64, z, y float64) (int, [3]float64, [3]float64, bool)
	})
	d, n := len(t.Point()), len(x)
	var cuts [][]float64
	short := 1.
	for k := range d - n + 1 {
		q := append(vector(x), make([]float64, d-n)...)
		for j := range k {
			q[n+j] = -1
		}
		cuts = append(cuts, t.Metric().Times(q))
		short = min(short, t.Reach()/length(cuts[k]))
	}
	class, slopes, curvatures, ok := of.Parts(t.Point()[n:], inner(t.Point()[:n], x), y)
	if !ok {
		slopes[0] = math.NaN()
	}
	rows = make([][]float64, 3)
	if class < len(cuts) {
		rows[0] = cuts[class]
	}
	if class > 0 {
		rows[1] = cuts[class-1]
		if class < len(cuts) {
			gap := make([]float64, d)
			gap[n+class-1] = 1
			rows[2] = t.Metric().Times(gap)
		}
	}
	return rows, slopes, curvatures, short * short
}

// blocks returns the gradient of a loss of several margins and, if whole is set, its Hessian, row after row, each margin's
// part times the term's metric and the weight u of the row.
func blocks(l loss.General, t query.Term, x []float32, y float64, whole bool) (v, h []float64) {
	z, d := t.Metric().Times(vector(x)), len(t.Point())
	short := min(1, t.Reach()/length(z))
	v = make([]float64, d)
	l.Gradient(v, t.Point(), x, y)
	v = t.Metric().Times(v)
	for j := range v {
		v[j] *= short * short
	}
	if !whole {
		return v, nil
	}
	h = make([]float64, d*d)
	for j := range d {
		one := make([]float64, d)
		one[j] = 1
		l.(loss.Twice).HessianVector(h[j*d:(j+1)*d], t.Point(), t.Metric().Times(one), x, y)
		copy(h[j*d:], t.Metric().Times(h[j*d:(j+1)*d]))
	}
	for j := range h {
		h[j] *= short * short
	}
	return v, h
}

func several(l loss.General) bool {
	_, parts := l.(interface {
		Parts(v []float64, z, y float64) (int, [3]float64, [3]float64, bool)
	})
	return !parts
}

func partedGradient(l loss.General, t query.Term, x []float32, y float64) []float64 {
	if several(l) {
		v, _ := blocks(l, t, x, y, false)
		return v
	}
	rows, slopes, _, u := parts(l, t, x, y)
	v := make([]float64, len(t.Point()))
	for i, row := range rows {
		addTo(v, u*slopes[i], row)
	}
	return v
}

func partedScores(l loss.General, t query.Term, x []float32, y float64) []float64 {
	return svec(1, partedGradient(l, t, x, y))
}

// partedCurvature scales the second derivatives down such that the trace is at most the term's radius.
func partedCurvature(l loss.General, t query.Term, x []float32, y float64) (out []float64) {
	if several(l) {
		_, h := blocks(l, t, x, y, true)
		for j, d := 0, len(t.Point()); j < d; j++ {
			out = append(out, h[j*d+j])
			for k := j + 1; k < d; k++ {
				out = append(out, math.Sqrt2*h[j*d+k])
			}
		}
		return out
	}
	rows, _, curvatures, u := parts(l, t, x, y)
	trace := 0.
	for i, row := range rows {
		trace += u * curvatures[i] * length(row) * length(row)
	}
	d := len(t.Point())
	v := make([]float64, d*(d+1)/2)
	for i, row := range rows {
		if row != nil {
			addTo(v, u*curvatures[i]*min(1, t.Ball().Radius/max(trace, 1e-300)), svec(1, row))
		}
	}
	return v
}

// weightedMoment defines one record's contribution to the weighted second moment of the rows: u R x
// x' R, in svec form (see svec). R and u are as in weightedRow.
func weightedMoment(_ loss.RankOne, t query.Term, x []float32, _ float64) (v []float64, s, lo, hi float64) {
	z, u := weightedRow(t, x)
	return svec(u, z), 1, 0, 1
}

// svec returns the symmetric matrix c z z' as a vector: the entries on and above the diagonal, line by line. Entries
// above the diagonal are multiplied by sqrt 2. The vector's norm is then the matrix's Frobenius norm.
func svec(c float64, z []float64) (v []float64) {
	for j := range z {
		v = append(v, c*z[j]*z[j])
		for _, e := range z[j+1:] {
			v = append(v, c*math.Sqrt2*z[j]*e)
		}
	}
	return v
}

// hessian defines one record's contribution to the product of the mean Hessian and a vector v: the loss's
// second derivative in the margin times <v,x> x. The factor of x, the derivative times <v,x>, is clipped to
// the curvature interval times <v,x>.
func hessian(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	move := inner(t.Step(), x)
	a, b, _ := t.Curvature()
	return vector(x), one(l.Curvatures, t.Point(), x, y) * move, min(a*move, b*move), max(a*move, b*move)
}

// hessianChange defines one record's contribution to the change of a Hessian-vector product between two
// points: the change of the loss's second derivative in the margin, times <v,x> x. The factor of x is
// clipped to [-r, r] for the term's radius r.
func hessianChange(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	change := one(l.Curvatures, t.Point(), x, y) - one(l.Curvatures, t.Previous(), x, y)
	return vector(x), change * inner(t.Along(), x), -t.Ball().Radius, t.Ball().Radius
}

// curvatureAlong defines one record's contribution to the curvature along v: the loss's second
// derivative in the margin times <v,x>^2.
func curvatureAlong(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	u, b := inner(t.Along(), x), t.Ball()
	return []float64{1}, one(l.Curvatures, t.Point(), x, y) * u * u, b.Centre - b.Radius, b.Centre + b.Radius
}

func hessianTimes(l loss.General, t query.Term, x []float32, y float64) []float64 {
	return hessianAt(l, t.Point(), t.Step(), x, y)
}

func hessianTimesChange(l loss.General, t query.Term, x []float32, y float64) []float64 {
	v := hessianAt(l, t.Point(), t.Along(), x, y)
	addTo(v, -1, hessianAt(l, t.Previous(), t.Along(), x, y))
	return v
}

func curvatureAlongOf(l loss.General, t query.Term, x []float32, y float64) []float64 {
	var sum float64
	for j, h := range hessianAt(l, t.Point(), t.Along(), x, y) {
		sum += t.Along()[j] * h
	}
	return []float64{sum}
}

func hessianAt(l loss.General, w, v []float64, x []float32, y float64) []float64 {
	h := make([]float64, len(w))
	l.(loss.Twice).HessianVector(h, w, v, x, y)
	return h
}

// vector converts x to float64.
func vector(x []float32) []float64 {
	v := make([]float64, len(x))
	for j, e := range x {
		v[j] = float64(e)
	}
	return v
}

// products returns the matrix x x' in svec form (see svec).
func products(x []float32) (v []float64) {
	for j := range x {
		v = append(v, float64(x[j])*float64(x[j]))
		for _, e := range x[j+1:] {
			v = append(v, math.Sqrt2*float64(x[j])*float64(e))
		}
	}
	return v
}
