package enginetest

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// weighted returns the expected contribution of one record to a term of a weighted kind, which
// weights a row by its length in a metric, in grid steps before rounding. A record is a row, or the
// rows of a unit. ok is false for a faulty record.
func weighted(l loss.Loss, t query.Term, scale float64, r sample) (v []float64, ok bool) {
	xs, ys, share := [][]float32{r.X}, []float64{r.Y}, 1.
	if u, is := l.(loss.Units); is {
		packed, _ := targetpair.RowsIn(len(r.X), u.Rows())
		n, ok := packed.Count(r.Y)
		if !ok {
			return nil, false
		}
		xs, ys, share = nil, nil, 1/float64(n)
		if u.Summed() {
			share = 1 / float64(u.Rows())
		}
		for i := range n {
			x := make([]float32, packed.Features)
			packed.Take(x, r.X, i)
			xs, ys = append(xs, x), append(ys, packed.Target(r.X, i))
		}
		l = u.Row()
	}
	if parted, is := l.(engine.Parted); is {
		return weightedParts(parted, t, scale, r)
	}
	if several, is := l.(loss.Margins); is {
		return weightedMargins(several, t, scale, r)
	}
	d := t.Metric().Dim()
	score, pairs := make([]float64, d), make([]float64, d*(d+1)/2)
	for i, x := range xs {
		z, root, margin := shortened(t, x)
		s := 1.
		lo, hi := -t.Slope(), t.Slope()
		switch t.Kind() {
		case query.WeightedCurvature:
			s, lo = scalar(l.(loss.RankOne).Curvatures, margin, ys[i]), 0
		case query.WeightedGradient, query.ScoreMoment:
			s = scalar(l.(loss.RankOne).Slopes, margin, ys[i])
		}
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return nil, false
		}
		s = clamp(s, lo, hi)
		of := float64(share * float64(s*root))
		for j, e := range z {
			score[j] += float64(of * e)
		}
		for j, e := range outer(float64(share*s), z) {
			pairs[j] += e
		}
	}
	return finished(t, scale, score, pairs), true
}

// weightedParts is weighted for a record of ordered classes: a sum over the parts of its loss.
func weightedParts(l engine.Parted, t query.Term, scale float64, r sample) (v []float64, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	features, d := len(r.X), t.Metric().Dim()
	row := make([]int64, d)
	column := func(j int) []float64 {
		t.Metric().Row(row, j)
		out := make([]float64, d)
		for k, e := range row {
			out[k] = float64(float64(e) * t.Metric().Step())
		}
		return out
	}
	long := func(z []float64) (n float64) {
		for _, e := range z {
			n += float64(e * e)
		}
		return n
	}
	cuts := [][]float64{make([]float64, d)}
	var margin, longest float64
	for j, e := range r.X {
		margin += float64(float64(e) * t.Point()[j])
		for k, v := range column(j) {
			cuts[0][k] += float64(float64(e) * v)
		}
	}
	for j := features; j < d; j++ {
		next := slices.Clone(cuts[len(cuts)-1])
		for k, v := range column(j) {
			next[k] -= v
		}
		cuts = append(cuts, next)
	}
	for _, z := range cuts {
		longest = max(longest, long(z))
	}
	factor := 1.
	if n := math.Sqrt(longest); n > t.Reach() {
		factor = t.Reach() / n
	}
	u := float64(factor * factor)
	class, slopes, curvatures, ok := l.Parts(t.Point()[features:], margin, r.Y)
	if !ok {
		return nil, false
	}
	rows := make([][]float64, 3)
	if class < len(cuts) {
		rows[0] = cuts[class]
	}
	if class > 0 {
		rows[1] = cuts[class-1]
		if class < len(cuts) {
			rows[2] = column(features + class - 1)
		}
	}
	score, pairs, trace := make([]float64, d), make([]float64, d*(d+1)/2), 0.
	for i, z := range rows {
		for k, e := range z {
			score[k] += float64(float64(u*slopes[i]) * e)
		}
		trace += float64(float64(u*curvatures[i]) * long(z))
	}
	by := min(1, t.Ball().Radius/max(trace, 1e-300))
	if trace <= t.Ball().Radius {
		by = 1
	}
	for i, z := range rows {
		for k, e := range outer(float64(by*float64(u*curvatures[i])), z) {
			pairs[k] += e
		}
	}
	if n, most := math.Sqrt(long(score)), float64(t.Slope()*t.Reach()); n > most {
		for k, e := range score {
			score[k] = float64(e * (most / n))
		}
	}
	return finished(t, scale, score, pairs), true
}

// weightedMargins is weighted for a loss of several margins: the slopes of all margins times the row, or the matrix of
// second derivatives off the diagonal times the row's outer product.
func weightedMargins(l loss.Margins, t query.Term, scale float64, r sample) (v []float64, ok bool) {
	z, root, _ := shortened(t, r.X)
	k, d, w := l.K(), len(z), t.Point()
	at := make([]float64, k)
	for m := range at {
		for j, x := range r.X {
			at[m] += float64(float64(x) * w[m*d+j])
		}
	}
	slopes, long, bent := make([]float64, k), 0., t.Kind() == query.WeightedCurvature
	if !bent {
		slopes = written(l.Slopes, k, slices.Clone(at), r.Y)
	}
	matrix := make([]float64, k*k) // of L, with -c off the diagonal
	for i := range k {
		one := make([]float64, k)
		one[i] = 1
		column := make([]float64, k)
		if bent {
			column = written(func(dst, z, y []float64) { l.CurvaturesAlong(dst, z, one, y) }, k, slices.Clone(at), r.Y)
		}
		for j, c := range column {
			if math.IsNaN(c) || math.IsInf(c, 0) {
				return nil, false
			}
			if j > i {
				matrix[i*k+j] = -max(0, -c)
			}
		}
	}
	for i := range k { // the additions of a diagonal entry are in the order of pairs
		for j := i + 1; j < k; j++ {
			matrix[j*k+i] = matrix[i*k+j]
			matrix[i*k+i] -= matrix[i*k+j]
			matrix[j*k+j] -= matrix[i*k+j]
		}
	}
	for _, s := range slopes {
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return nil, false
		}
		long += float64(s * s)
	}
	short := 1.
	if n := math.Sqrt(long); n > t.Slope() {
		short = t.Slope() / n
	}
	score, size := make([]float64, k*d), 0.
	for m, s := range slopes {
		if short < 1 {
			s = float64(s * short)
		}
		of := float64(s * root)
		for j, e := range z {
			score[m*d+j] = float64(of * e)
		}
	}
	for _, c := range matrix {
		size += float64(c * c)
	}
	by := 1.
	if n := math.Sqrt(size); n > t.Slope() {
		by = t.Slope() / n
	}
	var pairs []float64
	for p := range k * d {
		for q := p; q < k*d; q++ {
			c, first := float64(by*matrix[p/d*k+q/d]), z[p%d]
			if p == q {
				pairs = append(pairs, float64(c*float64(first*first)))
				continue
			}
			pairs = append(pairs, float64(float64(c*float64(first*math.Sqrt2))*z[q%d]))
		}
	}
	return finished(t, scale, score, pairs), true
}

// shortened returns three numbers or vectors for a row x and the term t, whose kind weights rows by their length in a
// metric. z is the product of the metric's matrix and x, shortened to the public limit t.Reach() if it is longer.
// factor is the factor by which z was shortened. margin is <w, x>, where w is the point of the term t.
func shortened(t query.Term, x []float32) (z []float64, factor, margin float64) {
	w, d := t.Point(), t.Metric().Dim()
	z = make([]float64, d)
	row := make([]int64, d)
	for j, e := range x {
		t.Metric().Row(row, j)
		margin += float64(float64(e) * w[j])
		for k := range z {
			z[k] += float64(float64(e) * float64(float64(row[k])*t.Metric().Step()))
		}
	}
	var square float64
	for _, e := range z {
		square += float64(e * e)
	}
	factor = 1
	if n := math.Sqrt(square); n > t.Reach() {
		factor = t.Reach() / n
		for k := range z {
			z[k] = float64(z[k] * factor)
		}
	}
	return z, factor, margin
}

// outer returns c times z z' as a vector: the entries on and above the diagonal, row after row,
// with the entries above the diagonal times sqrt 2.
func outer(c float64, z []float64) (v []float64) {
	for j, a := range z {
		v = append(v, float64(float64(c*a)*a))
		for _, b := range z[j+1:] {
			v = append(v, float64(float64(float64(c*a)*math.Sqrt2)*b))
		}
	}
	return v
}

// finished returns the contribution of a record to the term t, of its weighted gradient or of its sum of curvatures.
func finished(t query.Term, scale float64, score, pairs []float64) []float64 {
	v := pairs
	switch t.Kind() {
	case query.WeightedGradient:
		v = score
	case query.ScoreMoment:
		v = outer(1, score)
	}
	for j := range v {
		v[j] = float64(float64(t.Weight()*v[j]) * scale)
	}
	return v
}
