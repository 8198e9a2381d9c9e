package session

import (
	"slices"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// weighed returns the contribution of a record to a term of a kind that weights rows by their length in a
// metric, from the definition. Let x be a row with weight u, and R the metric's matrix. The kind of the
// term decides which of four things the contribution is. It is the average over the record's rows of the
// slope times u R x, of the second derivative of phi times u R x x' R, or of u R x x' R. Or it is the outer
// product of the first of these averages with itself. weighed returns nil for a faulty record.
func weighed(l loss.Loss, t query.Term, x []float32, y float64) []float64 {
	xs, ys, share := [][]float32{x}, []float64{y}, 1.
	if u, is := l.(loss.Units); is {
		lie, _ := targetpair.RowsIn(len(x), u.Rows())
		n, ok := lie.Count(y)
		if !ok {
			return nil
		}
		xs, ys, share = nil, nil, 1/float64(n)
		if u.Summed() {
			share = 1 / float64(u.Rows())
		}
		for i := range n {
			row := make([]float32, lie.Features)
			lie.Take(row, x, i)
			xs, ys = append(xs, row), append(ys, lie.Target(x, i))
		}
		l = u.Row()
	}
	if parted, ok := l.(engine.Parted); ok {
		return weighedParts(parted, t, x, y)
	}
	if several, ok := l.(loss.Margins); ok {
		return weighedMargins(several, t, x, y)
	}
	d := t.Metric().Dim()
	score, pairs := make([]float64, d), make([]float64, d*(d+1)/2)
	for i, x := range xs {
		long := times(t.Metric(), x)
		u := math.Pow(min(1, t.Reach()/max(euclid(long), 1e-300)), 2)
		s, lo := references[t.Kind()].scalar(l.(loss.RankOne), t, x, ys[i]), -t.Slope()
		if t.Kind() == query.WeightedCurvature {
			lo = 0
		}
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return nil
		}
		s = min(max(s, lo), t.Slope())
		score = plus(score, share*s*u, long)
		pairs = plus(pairs, 1, svec(share*s*u, long))
	}
	switch t.Kind() {
	case query.WeightedGradient:
		return score
	case query.ScoreMoment:
		return svec(1, score)
	}
	return pairs
}

// weighedParts is weighed for ordered classes: from the gradient of the loss in the score's weights and the gaps, and from
// the parts' second derivatives.
func weighedParts(l engine.Parted, t query.Term, x []float32, y float64) []float64 {
	d, features := t.Metric().Dim(), len(x)
	cut := func(k int) []float32 {
		q := append(slices.Clone(x), make([]float32, d-features)...)
		for j := range k {
			q[features+j] = -1
		}
		return q
	}
	short := 1.
	for k := range d - features + 1 {
		short = min(short, t.Reach()/max(euclid(times(t.Metric(), cut(k))), 1e-300))
	}
	class, _, curvatures, ok := l.Parts(t.Point()[features:], inner(t.Point()[:features], x), y)
	g := gradient(l.(loss.General), t.Point(), x, y)
	if !ok || math.IsNaN(g[0]) {
		return nil
	}
	at := l.(interface {
		Thresholds([]float64, int) []float64
	}).Thresholds(t.Point(), features)
	for j := features; j < d; j++ { // of a parameter v, whose gap log(1 + e^u), u = unit v, has the derivative unit (1 - e^-gap)
		g[j] /= (1 - math.Exp(at[j-features]-at[j-features+1])) / (2 * math.Sqrt(float64(d-features)))
	}
	score := make([]float64, d)
	for j, v := range g {
		one := make([]float32, d)
		one[j] = 1
		score = plus(score, short*short*v, times(t.Metric(), one))
	}
	score = plus(make([]float64, d), min(1, t.Slope()*t.Reach()/max(euclid(score), 1e-300)), score)
	switch t.Kind() {
	case query.WeightedGradient:
		return score
	case query.ScoreMoment:
		return svec(1, score)
	}
	pairs, trace := make([]float64, d*(d+1)/2), 0.
	for i, c := range curvatures {
		if c == 0 {
			continue
		}
		q := make([]float32, d)
		if i == 2 {
			q[features+class-1] = 1
		} else {
			q = cut(class - i)
		}
		long := times(t.Metric(), q)
		trace += short * short * c * math.Pow(euclid(long), 2)
		pairs = plus(pairs, short*short*c, svec(1, long))
	}
	return plus(make([]float64, len(pairs)), min(1, t.Ball().Radius/max(trace, 1e-300)), pairs)
}

// weighedMargins is weighed for several margins. The curvature is a sum over pairs of margins of c (e_i - e_j)(e_i - e_j)'
// and the row's outer product, with c minus the second derivative in both, if that is above 0.
func weighedMargins(l loss.Margins, t query.Term, x []float32, y float64) []float64 {
	k, d := l.K(), len(x)
	long := times(t.Metric(), x)
	short := min(1, t.Reach()/max(euclid(long), 1e-300))
	s := slopesAt(l, t.Point(), x, y)
	if n := euclid(s); t.Kind() != query.WeightedCurvature && (math.IsNaN(n) || math.IsInf(n, 0)) {
		return nil
	}
	s = plus(make([]float64, k), min(1, t.Slope()/max(euclid(s), 1e-300)), s)
	score := make([]float64, 0, k*d)
	for _, v := range s {
		score = append(score, plus(make([]float64, d), v*short*short, long)...)
	}
	switch t.Kind() {
	case query.WeightedGradient:
		return score
	case query.ScoreMoment:
		return svec(1, score)
	}
	pairs, square := make([]float64, k*d*(k*d+1)/2), make([]float64, k*k)
	z := loss.MarginsAt(t.Point(), x)
	for i := range k {
		one, column := make([]float64, k), make([]float64, k)
		one[i] = 1
		l.CurvaturesAlong(column, z, one, []float64{y})
		for j, c := range column {
			if math.IsNaN(c) || math.IsInf(c, 0) {
				return nil
			}
			if c = max(0, -c); j > i && c > 0 {
				apart := make([]float64, k*d)
				copy(apart[i*d:], plus(make([]float64, d), short, long))
				copy(apart[j*d:], plus(make([]float64, d), -short, long))
				pairs = plus(pairs, c, svec(1, apart))
				square[i*k+j] -= c
				square[j*k+i] -= c
				square[i*k+i] += c
				square[j*k+j] += c
			}
		}
	}
	return plus(make([]float64, len(pairs)), min(1, t.Slope()/max(euclid(square), 1e-300)), pairs)
}

// TestWeightedKindsOfUnits tests units with one row and several, whose rows are weighted as a mean
// and as a sum. The answers of the weighted kinds must equal their definitions, and replacing a unit
// must move the answers by no more than is charged. The test fails if the share of a row is not the
// loss's, if an outer product is taken row by row, or if a row is not shortened.
func TestWeightedKindsOfUnits(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 7))
	const n, d, rows = 30, 4, 3
	for _, name := range []string{"units(logistic,3)", "units(squared(0.5),3,sum)"} {
		u := parse(t, name).(loss.Units)
		unit := func(size float64) record {
			var x [][]float32
			var y []float64
			for range 1 + r.IntN(rows) {
				v := unit(r, d)
				for j := range v {
					v[j] *= float32(size)
				}
				x, y = append(x, v), append(y, float64(2*r.IntN(2)-1))
			}
			of, target := loss.JoinRows(u, x, y)
			return record{of, target, true}
		}
		records := make([]record, n)
		for i := range records {
			records[i] = unit(r.Float64())
		}
		records[4].y, records[9].y, records[11].ok = rows+1, .5, false
		w := point(r, d, 2)
		m := metricOf(t, point(r, d, 1))
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			s := open(t, records, u, budget(t, 50, .1, relation), func(c *Config) {
				if noiseless(c); relation == account.AddOrRemove {
					c.Declared = n
				}
			})
			for form, term := range inOrder(map[string]query.Term{
				"gradient":  query.WeightedGradientAt(s.All(), w, .4, .5, m),
				"curvature": query.WeightedCurvatureAt(s.All(), w, .2, .5, m),
				"scores":    query.ScoreMomentAt(s.All(), w, .4, .5, m).Weighted(3), "moment": query.WeightedMomentOf(s.All(), .5, m),
			}) {
				q := question(t, 1e-3, term)
				g, _, err := s.law(q)
				if err != nil {
					t.Fatal(err)
				}
				got, want := answer(t, s, q).Mean, slowly(u, q, records)
				for j := range want {
					if off := math.Abs(got[j] - want[j]); !(off <= (n*rounding(q)+2)/g.scale/n+1e-11) {
						t.Errorf("%s, %v: %s: coordinate %d is %v, by its definition %v", name, relation, form, j, got[j], want[j])
					}
				}
				before := residual(t, records, u, q, g)
				for range 60 {
					after := append([]record(nil), records...)
					if after[3] = unit(1); relation == account.AddOrRemove {
						after = append(records[:n:n], unit(1))
					}
					if moved := distance(before, residual(t, after, u, q, g)) / g.scale; !(moved <= g.sensitivity) {
						t.Errorf("%s, %v: %s: a unit moves the sum by %v, charged for %v", name, relation, form, moved, g.sensitivity)
					}
				}
			}
		}
	}
}
