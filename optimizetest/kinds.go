package optimizetest

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// definition computes the contribution of one record for a kind of query. It is an entry of this
// package's table of kinds.
type definition struct {
	// rankOne computes the contribution for a loss phi(<w,x>, y): a vector v and the scalar s that
	// multiplies it, with the interval to which s is clipped.
	rankOne func(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64)
	// general computes the vector for a loss that writes its gradient, before the clip. It is nil
	// for kinds of rank-one losses only, and for kinds that do not depend on the loss.
	general func(l loss.General, t query.Term, x []float32, y float64) []float64
}

var kinds = [...]definition{
	query.Gradient:       {slope, gradient},
	query.Difference:     {slopeChange, gradientChange},
	query.Value:          {value, values},
	query.Norm:           {slope, gradient},
	query.SecondMoment:   {moment, nil},
	query.Curvature:      {curvature, nil},
	query.MetricGradient: {metricSlope, nil},
	query.SquaredSlope:   {squaredSlope, nil},
	query.Product:        {hessian, hessianTimes},
	query.ProductChange:  {hessianChange, hessianTimesChange},
	query.CurvatureAlong: {curvatureAlong, curvatureAlongOf},
	query.ValueChange:    {valueChange, valueChanges},

	query.RowMean:         {rowMean, nil},
	query.SquaredDistance: {squaredDistance, nil},
	query.CentredMoment:   {centredMoment, nil},
}

// slope is phi' x.
func slope(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	return vector(x), one(slopes(l, t, x), t.Point(), x, y), -t.Ball().Radius, t.Ball().Radius
}

// slopes returns the slope function that a term uses: of the loss, or of the smoothed loss for a
// row with the norm of x.
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

// slopeChange is the change of phi', times x. If a curvature interval was declared, the change is
// clipped to the interval times the record's change of margin.
func slopeChange(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	v, s, lo, hi = slope(l, t, x, y)
	if a, b, ok := t.Curvature(); ok {
		move := inner(t.Step(), x)
		lo, hi = min(a*move, b*move), max(a*move, b*move)
	}
	return v, s - one(slopes(l, t, x), t.Previous(), x, y), lo, hi
}

// value is phi.
func value(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	b := t.Ball()
	return []float64{1}, one(l.Values, t.Point(), x, y), b.Centre - b.Radius, b.Centre + b.Radius
}

// valueChange is the change of phi.
func valueChange(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	b := t.Ball()
	return []float64{1}, one(l.Values, t.Point(), x, y) - one(l.Values, t.Previous(), x, y), -b.Radius, b.Radius
}

func valueChanges(l loss.General, t query.Term, x []float32, y float64) []float64 {
	return []float64{l.Value(t.Point(), x, y) - l.Value(t.Previous(), x, y)}
}

// one has a rank-one loss compute a number of one record.
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

// moment is x x'.
func moment(_ loss.RankOne, _ query.Term, x []float32, _ float64) (v []float64, s, lo, hi float64) {
	return products(x), 1, 0, 1
}

// rowMean is x.
func rowMean(_ loss.RankOne, _ query.Term, x []float32, _ float64) (v []float64, s, lo, hi float64) {
	return vector(x), 1, 0, 1
}

// squaredDistance is ||x - m||^2, at most twice the radius.
func squaredDistance(_ loss.RankOne, t query.Term, x []float32, _ float64) (v []float64, s, lo, hi float64) {
	n := length(from(x, t.Point()))
	return []float64{1}, n * n, 0, t.Ball().Centre + t.Ball().Radius
}

// centredMoment is z z' for z = x - m, as far as its length allows.
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

// from is x - m.
func from(x []float32, m []float64) []float64 {
	z := vector(x)
	addTo(z, -1, m)
	return z
}

// curvature is the second derivative of phi, times x x'.
func curvature(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	return products(x), one(l.Curvatures, t.Point(), x, y), 0, t.Ball().Radius
}

// metricSlope is phi' R x, clipped to a norm of at most the radius.
func metricSlope(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	v = t.Metric().Times(vector(x))
	hi = min(t.Slope(), t.Ball().Radius/length(v))
	return v, one(slopes(l, t, x), t.Point(), x, y), -hi, hi
}

// squaredSlope is (phi' ||R x||)^2, at most twice the radius.
func squaredSlope(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	v, s, _, _ = metricSlope(l, t, x, y)
	n := length(v)
	return []float64{1}, s * s * n * n, 0, t.Ball().Centre + t.Ball().Radius
}

// hessian is the second derivative of phi times <v,x>, times x. It is clipped to the curvature
// interval times <v,x>.
func hessian(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	move := inner(t.Step(), x)
	a, b, _ := t.Curvature()
	return vector(x), one(l.Curvatures, t.Point(), x, y) * move, min(a*move, b*move), max(a*move, b*move)
}

// hessianChange is the change of the second derivative of phi, times <v,x> x.
func hessianChange(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	change := one(l.Curvatures, t.Point(), x, y) - one(l.Curvatures, t.Previous(), x, y)
	return vector(x), change * inner(t.Along(), x), -t.Ball().Radius, t.Ball().Radius
}

// curvatureAlong is the second derivative of phi times <v,x>^2.
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

// vector returns x in float64.
func vector(x []float32) []float64 {
	v := make([]float64, len(x))
	for j, e := range x {
		v[j] = float64(e)
	}
	return v
}

// products returns the svec of x x'.
func products(x []float32) (v []float64) {
	for j := range x {
		v = append(v, float64(x[j])*float64(x[j]))
		for _, e := range x[j+1:] {
			v = append(v, math.Sqrt2*float64(x[j])*float64(e))
		}
	}
	return v
}
