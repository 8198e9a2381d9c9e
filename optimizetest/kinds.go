package optimizetest

import (
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
}

var kinds = [...]definition{
	query.Gradient:   {slope, gradient},
	query.Difference: {slopeChange, gradientChange},
	query.Value:      {value, values},
	query.Norm:       {slope, gradient},
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
