package optimizetest

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// definition is what a kind of question makes of one record, clip and weight
// aside: an entry of this package's table of kinds.
type definition struct {
	// scalar is what a rank-one loss multiplies the row by, or the number that the
	// kind is.
	scalar func(l loss.RankOne, t query.Term, x []float32, y float64) float64
	// vector is the same of a loss that writes its gradient.
	vector func(l loss.General, t query.Term, x []float32, y float64) []float64
	// measured is, of kinds about pairs of features or with a metric, a vector and
	// what it is multiplied by, with the interval that this is clipped to.
	measured func(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64)
}

var kinds = [...]definition{
	query.Gradient:       {scalar: slope, vector: gradient},
	query.Difference:     {scalar: slopeChange, vector: gradientChange},
	query.Value:          {scalar: value, vector: values},
	query.Norm:           {scalar: slope, vector: gradient},
	query.SecondMoment:   {measured: moment},
	query.Curvature:      {measured: curvature},
	query.MetricGradient: {measured: metricSlope},
	query.SquaredSlope:   {measured: squaredSlope},
}

func slope(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
	return one(l.Slopes, t.Point(), x, y)
}

func slopeChange(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
	return slope(l, t, x, y) - one(l.Slopes, t.Previous(), x, y)
}

func value(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
	return one(l.Values, t.Point(), x, y)
}

// one has a rank-one loss compute a number of one record.
func one(f func(dst, z, y []float64), w []float64, x []float32, y float64) float64 {
	dst := make([]float64, 1)
	f(dst, []float64{inner(w, x)}, []float64{y})
	return dst[0]
}

func gradient(l loss.General, t query.Term, x []float32, y float64) []float64 {
	return gradientAt(l, t.Point(), x, y)
}

func gradientChange(l loss.General, t query.Term, x []float32, y float64) []float64 {
	v := gradient(l, t, x, y)
	addTo(v, -1, gradientAt(l, t.Previous(), x, y))
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

// curvature is phi” x x'.
func curvature(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	return products(x), one(l.Curvatures, t.Point(), x, y), 0, t.Ball().Radius
}

// metricSlope is phi' R x, with a norm of at most the radius.
func metricSlope(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	row := make([]float64, len(x))
	for j, e := range x {
		row[j] = float64(e)
	}
	v = t.Metric().Times(row)
	hi = min(t.Slope(), t.Ball().Radius/length(v))
	return v, slope(l, t, x, y), -hi, hi
}

// squaredSlope is (phi' ||R x||)^2, at most twice the radius.
func squaredSlope(l loss.RankOne, t query.Term, x []float32, y float64) (v []float64, s, lo, hi float64) {
	v, s, _, _ = metricSlope(l, t, x, y)
	n := length(v)
	return []float64{1}, s * s * n * n, 0, t.Ball().Centre + t.Ball().Radius
}

// products are the svec of x x'.
func products(x []float32) (v []float64) {
	for j := range x {
		v = append(v, float64(x[j])*float64(x[j]))
		for _, e := range x[j+1:] {
			v = append(v, math.Sqrt2*float64(x[j])*float64(e))
		}
	}
	return v
}
