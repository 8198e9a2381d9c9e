// Package enginetest tests engines. An engine must return the integers of a reference that processes
// one record after the other. It must return them over every source of rows, in blocks of any size
// and with any number of goroutines. The reference is a second implementation and not a list of results,
// since a new kind of question, source or processor has to be tried on random tables.
package enginetest

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// residuals returns, for each record, the vector that the record adds to the expected sum: its rounded
// contribution minus the rounded public centre.
func residuals(l loss.Loss, q query.Question, scale float64, records []rowtest.Record) [][]int64 {
	centre := centreSteps(q, scale)
	of := make([][]int64, len(records))
	for i, r := range records {
		of[i] = contribution(l, q, scale, r)
		for j, c := range centre {
			of[i][j] -= c
		}
	}
	return of
}

// total adds up the vectors of the records numbered by members, or all vectors if members is nil. dim
// is the length of the sum.
func total(vectors [][]int64, members []int32, dim int) []int64 {
	sum := make([]int64, dim)
	add := func(v []int64) {
		for j, e := range v {
			sum[j] += e
		}
	}
	if members == nil {
		for _, v := range vectors {
			add(v)
		}
	}
	for _, m := range members {
		add(vectors[m])
	}
	return sum
}

// nearest rounds a number of steps to the nearest integer, ties to even.
func nearest(steps float64) int64 { return int64(math.RoundToEven(steps)) }

// nearestProduct rounds the exact product a*b to the nearest integer, ties to even. The rounded product p differs from
// the exact one by a number that is computed exactly. It decides where p is halfway between two integers.
func nearestProduct(a, b float64) float64 {
	p := float64(a * b)
	n := math.RoundToEven(p)
	if half := p - n; math.Abs(half) == .5 && half*math.FMA(a, b, -p) > 0 {
		n += 2 * half
	}
	return n
}

// centreSteps returns the public centre of every record's contribution, in rounded grid steps: the sum, over the
// query's terms, of the term's weight times its centre times the displacement between its two points. centreSteps
// returns zero for kinds of numbers, whose centres are subtracted before clipping.
func centreSteps(q query.Question, scale float64) []int64 {
	sum, steps := make([]float64, q.SumDim()), make([]int64, q.SumDim())
	for _, t := range q.Terms() {
		if t.Kind().Facts().Number {
			return steps
		}
		for j, v := range t.Step() {
			sum[j] += float64(float64(t.Weight()*t.Ball().Centre) * v)
		}
	}
	for j, v := range sum {
		steps[j] = nearest(float64(v * scale))
	}
	return steps
}

// contribution returns the expected contribution of one record in grid steps. The contribution of a
// faulty record is zero or, for kinds of numbers, the clipped value of 0 minus the public centre.
func contribution(l loss.Loss, q query.Question, scale float64, record rowtest.Record) []int64 {
	c := make([]int64, q.SumDim())
	v, ok := []float64(nil), false
	if record.Sound() {
		r := sample{record, record.Full()}
		switch {
		case q.Facts().Weighted:
			v, ok = weighted(l, q.Terms()[0], scale, r)
		case q.Facts().Losses == query.NoLoss:
			v, ok = ofFeatures(q.Terms()[0], scale, r), true
		case q.Sampled():
			v, ok = vector(asWritten(l), q, scale, r)
		default:
			switch l := l.(type) {
			case loss.General:
				if s, is := l.(engine.Stacked); is && layered(q) {
					v, ok = stacked(s, q, scale, r)
				} else {
					v, ok = vector(l, q, scale, r)
				}
			case loss.Margins:
				v, ok = product(l, q, scale, r)
			case loss.RankOne:
				v, ok = multiple(l, q, scale, r)
			}
		}
	}
	if !ok {
		if q.Facts().Number {
			var absent float64
			for _, t := range q.Terms() {
				absent += float64(t.Weight() * clamp(-t.Ball().Centre, -t.Ball().Radius, t.Ball().Radius))
			}
			c[0] = nearest(float64(absent * scale))
		}
		return c
	}
	for j := range c {
		c[j] = nearest(v[j])
	}
	return c
}

// ofFeatures returns the contribution of a record to a term of a kind that depends on the features alone, in
// grid steps. Products with features are rounded to integers.
func ofFeatures(t query.Term, scale float64, r sample) []float64 {
	c, ball := float64(t.Weight()*scale), t.Ball()
	switch t.Kind() {
	case query.RowMean:
		v := make([]float64, len(r.X))
		for j, x := range r.X {
			v[j] = nearestProduct(c, float64(x))
		}
		return v
	case query.SquaredFeatures:
		v := make([]float64, len(r.X))
		for j, x := range r.X {
			v[j] = nearestProduct(c, float64(x)*float64(x))
		}
		in := t.Whole()
		for i, j := range in {
			for _, k := range in[i+1:] {
				v = append(v, nearestProduct(float64(float64(c*math.Sqrt2)*float64(r.X[j])), float64(r.X[k])))
			}
		}
		return v
	case query.SquaredDistance:
		s := min(fromPoint(r.X, t.Point()), ball.Centre+ball.Radius) - ball.Centre
		return []float64{float64(float64(t.Weight()*clamp(s, -ball.Radius, ball.Radius)) * scale)}
	case query.CentredMoment:
		m, radius, f := t.Point(), math.Sqrt(ball.Radius), 1.
		most := float64(radius * (1 - 0x1p-23))
		if n := math.Sqrt(fromPoint(r.X, m)); n > most {
			f = most / n
		}
		z := make([]float32, len(m))
		for j := range z {
			z[j] = float32((float64(r.X[j]) - m[j]) * f)
		}
		return products(c, z)
	}
	return products(c, r.X)
}

// fromPoint returns the squared distance ||x - m||^2 of a row x from a public point m, as four
// interleaved sums in the order of the features.
func fromPoint(x []float32, m []float64) float64 {
	var s [4]float64
	for j := range x {
		z := float64(x[j]) - m[j]
		s[j%4] += float64(z * z)
	}
	return (s[0] + s[2]) + (s[1] + s[3])
}

// multiple returns a record's contribution for a rank-one loss, in grid steps. The contribution is a multiple of
// the row, whose products are rounded to integers, or a number for kinds of numbers. ok is false for a faulty record.
func multiple(l loss.RankOne, q query.Question, scale float64, r sample) (v []float64, ok bool) {
	ok = true
	var coef float64
	for _, t := range q.Terms() {
		z, slopes := r.inner(t.Point()), slopesFor(l, t, len(r.X), r.norm())
		lo, hi := -t.Ball().Radius, t.Ball().Radius
		var s float64
		switch t.Kind() {
		case query.Value:
			s = scalar(l.Values, z, r.Y) - t.Ball().Centre
		case query.ValueChange:
			s = scalar(l.Values, z, r.Y) - scalar(l.Values, z-r.inner(t.Step()), r.Y)
			s -= t.Ball().Centre
		case query.Difference:
			move := r.inner(t.Step())
			s = scalar(slopes, z, r.Y) - scalar(slopes, z-move, r.Y)
			if a, b, centred := t.Curvature(); centred {
				a, b = float64(a*move), float64(b*move)
				lo, hi = min(a, b), max(a, b)
			}
		case query.Curvature:
			s, lo = scalar(l.Curvatures, z, r.Y), 0
		case query.Product:
			move := r.inner(t.Step())
			s = float64(scalar(l.Curvatures, z, r.Y) * move)
			a, b, _ := t.Curvature()
			a, b = float64(a*move), float64(b*move)
			lo, hi = min(a, b), max(a, b)
		case query.ProductChange:
			u, before := r.inner(t.Along()), z-r.inner(t.Step())
			s = float64(scalar(l.Curvatures, z, r.Y)*u) - float64(scalar(l.Curvatures, before, r.Y)*u)
		case query.CurvatureAlong:
			u := r.inner(t.Along())
			s = float64(u*float64(scalar(l.Curvatures, z, r.Y)*u)) - t.Ball().Centre
		case query.MetricGradient:
			s = scalar(slopes, z, r.Y)
			most := min(hi/float64(long(t.Metric(), r.X)), t.Slope())
			if size := math.Sqrt(float64(s * s)); size > most && !math.IsInf(size, 0) {
				s = float64(s * (most / size))
			}
			lo, hi = s, s
		case query.SquaredSlope:
			s = scalar(slopes, z, r.Y)
			ok = ok && !math.IsInf(s, 0)
			n := float64(long(t.Metric(), r.X))
			s = min(float64(float64(s*s)*float64(n*n)), t.Ball().Centre+t.Ball().Radius) - t.Ball().Centre
		default:
			s = scalar(slopes, z, r.Y)
		}
		ok = ok && !math.IsNaN(s) && !math.IsInf(s, 0)
		coef += float64(t.Weight() * clamp(s, lo, hi))
	}
	coef = float64(coef * scale)
	switch {
	case q.Facts().Number:
		return []float64{coef}, ok
	case q.Facts().Pairs:
		return products(coef, r.X), ok
	}
	v = make([]float64, len(r.X))
	for j := range v {
		v[j] = nearestProduct(coef, float64(r.X[j]))
	}
	return v, ok
}

// slopesFor returns the slopes that a term uses: the slopes of the loss, or of the loss smoothed in closed
// form for a row of the given norm.
func slopesFor(l loss.RankOne, t query.Term, dim int, norm float64) func(dst, z, y []float64) {
	s := t.Smoothing()
	if !s.On() {
		return l.Slopes
	}
	by, err := loss.OverBall(dim, s.Radius)
	if s.By == query.LasryLions {
		by, err = loss.LasryLions(s.Radius)
	}
	if err != nil {
		panic(err)
	}
	return func(dst, z, y []float64) { l.(loss.Kinked).SmoothedSlopes(dst, z, y, []float64{norm}, by) }
}

// products returns c times x x' as a vector: the entries on and above the diagonal, row after row, with the
// entries above the diagonal times sqrt 2. The last product of each entry is rounded to an integer.
func products(c float64, x []float32) (v []float64) {
	for j, a := range x {
		v = append(v, nearestProduct(float64(c*float64(a)), float64(a)))
		for _, b := range x[j+1:] {
			v = append(v, nearestProduct(float64(float64(c*math.Sqrt2)*float64(a)), float64(b)))
		}
	}
	return v
}

// squared returns entry j, k of the square of the metric's matrix, as an integer multiple of the
// square of the metric's rounding unit.
func squared(m query.Metric, j, k int) (s int64) {
	a, b := make([]int64, m.Dim()), make([]int64, m.Dim())
	m.Row(a, j)
	m.Row(b, k)
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// long returns the length ||R x|| of a row x in the metric with matrix R, rounded up. It is computed as the
// root of x' R^2 x plus a bound on the rounding error.
func long(m query.Metric, x []float32) float32 {
	var square, largest float64
	for j := range m.Dim() {
		var along, beside float64
		for k := range m.Dim() {
			s := float64(squared(m, j, k))
			along += math.Abs(s)
			if k > j && k < len(x) {
				beside += float64(s * float64(x[k]))
			}
		}
		if largest = max(largest, along); j >= len(x) {
			continue
		}
		square += float64(float64(x[j]) * (float64(float64(squared(m, j, j))*float64(x[j])) + 2*beside))
	}
	want := math.Sqrt(max(square, 0)+float64(4*m.Dim()+8)*0x1p-53*largest) * (1 + 0x1p-50) * m.Step()
	got := float32(want)
	for float64(got) < want {
		got = math.Nextafter32(got, math.MaxFloat32)
	}
	return got
}

// product returns a record's contribution for a loss of several margins, in grid steps before rounding. The
// contribution is an outer product, or a number for kinds of numbers. ok is false for a faulty record.
func product(l loss.Margins, q query.Question, scale float64, r sample) (v []float64, ok bool) {
	ok = true
	k, number := l.K(), q.Facts().Number
	width := k
	if number {
		width = 1
	}
	coef := make([]float64, width)
	for _, t := range q.Terms() {
		z := r.inners(t.Point())
		s, centre, radius := []float64(nil), make([]float64, width), t.Ball().Radius
		switch t.Kind() {
		case query.Value:
			s = written(l.Values, 1, z, r.Y)
			s[0] -= t.Ball().Centre
		case query.Difference:
			move := r.inners(t.Step())
			before, square := make([]float64, k), 0.
			for j := range before {
				before[j] = z[j] - move[j]
			}
			s = written(l.Slopes, k, z, r.Y)
			for j, u := range written(l.Slopes, k, before, r.Y) {
				s[j] -= u
			}
			if lo, hi, centred := t.Curvature(); centred {
				for j, m := range move {
					centre[j] = float64((lo + hi) / 2 * m)
					square += float64(m * m)
					s[j] -= centre[j]
				}
				radius = float64((hi - lo) / 2 * math.Sqrt(square))
			}
		case query.Product:
			move, square := r.inners(t.Step()), 0.
			s = bent(l, z, move, r.Y)
			lo, hi, _ := t.Curvature()
			for j, m := range move {
				centre[j] = float64((lo + hi) / 2 * m)
				square += float64(m * m)
				s[j] -= centre[j]
			}
			radius = float64((hi - lo) / 2 * math.Sqrt(square))
		case query.ProductChange:
			before, u := r.inners(t.Step()), r.inners(t.Along())
			for j := range before {
				before[j] = z[j] - before[j]
			}
			s = bent(l, z, u, r.Y)
			for j, b := range bent(l, before, u, r.Y) {
				s[j] -= b
			}
		case query.ValueChange:
			before := r.inners(t.Step())
			for j := range before {
				before[j] = z[j] - before[j]
			}
			s = []float64{written(l.Values, 1, z, r.Y)[0] - written(l.Values, 1, before, r.Y)[0]}
			s[0] -= t.Ball().Centre
		case query.CurvatureAlong:
			u := r.inners(t.Along())
			sum := 0.
			for j, b := range bent(l, z, u, r.Y) {
				sum += float64(u[j] * b)
			}
			s = []float64{sum - t.Ball().Centre}
		case query.MetricGradient:
			s = written(l.Slopes, k, z, r.Y)
			radius = min(radius/float64(long(t.Metric(), r.X)), t.Slope())
		case query.SquaredSlope:
			n := float64(long(t.Metric(), r.X))
			s = []float64{0}
			for _, u := range written(l.Slopes, k, z, r.Y) {
				s[0] += float64(u * u)
			}
			s[0] = min(float64(s[0]*float64(n*n)), t.Ball().Centre+radius) - t.Ball().Centre
		default:
			s = written(l.Slopes, k, z, r.Y)
		}
		factor, square := 1., 0.
		for _, u := range s {
			square += float64(u * u)
		}
		ok = ok && !math.IsNaN(square) && !math.IsInf(square, 0)
		if norm := math.Sqrt(square); norm > radius {
			factor = radius / norm
		}
		for j, u := range s {
			if number {
				coef[j] += float64(t.Weight() * clamp(u, -radius, radius))
			} else {
				coef[j] += float64(t.Weight() * (float64(u*factor) + centre[j]))
			}
		}
	}
	for _, c := range coef {
		c = float64(c * scale)
		if number {
			return []float64{c}, ok
		}
		for _, x := range r.X {
			v = append(v, nearestProduct(c, float64(x)))
		}
	}
	return v, ok
}

// bent returns the loss's second derivative at the margins z, times the vector u.
func bent(l loss.Margins, z, u []float64, y float64) []float64 {
	return written(func(dst, z, y []float64) { l.CurvaturesAlong(dst, z, slices.Clone(u), y) }, len(u), z, y)
}

// inners returns the dot products of x with the rows of a matrix, which are stored in w one after the
// other.
func inners(w []float64, x []float32) []float64 {
	z := make([]float64, len(w)/len(x))
	for k := range z {
		z[k] = inner(w[k*len(x):(k+1)*len(x)], x)
	}
	return z
}

// written returns the n numbers that the loss computes for one record by f. A number that the loss
// leaves unwritten is NaN, and the first number is NaN if the loss panics.
func written(f func(dst, z, y []float64), n int, z []float64, y float64) (s []float64) {
	s = make([]float64, n)
	for j := range s {
		s[j] = math.NaN()
	}
	defer func() {
		if recover() != nil {
			s[0] = math.NaN()
		}
	}()
	f(s, z, []float64{y})
	return s
}

// vector returns a record's contribution for a general loss, in grid steps before rounding. A number that the loss
// leaves unwritten is NaN. ok is false for a faulty record, which includes a record on which the loss panics.
func vector(l loss.General, q query.Question, scale float64, r sample) (v []float64, ok bool) {
	defer func() {
		if recover() != nil {
			v, ok = nil, false
		}
	}()
	v = make([]float64, q.SumDim())
	for _, t := range q.Terms() {
		ball := t.Ball()
		if t.Kind() == query.Value || t.Kind() == query.ValueChange {
			s := l.Value(t.Point(), r.X, r.Y)
			if t.Kind() == query.ValueChange {
				s -= l.Value(t.Previous(), r.X, r.Y)
			}
			s -= ball.Centre
			if math.IsNaN(s) || math.IsInf(s, 0) {
				return nil, false
			}
			v[0] += float64(t.Weight() * clamp(s, -ball.Radius, ball.Radius))
			continue
		}
		if t.Kind() == query.CurvatureAlong {
			s := 0.
			for j, h := range hessian(l, t.Point(), t.Along(), r) {
				s += float64(t.Along()[j] * h)
			}
			if s -= ball.Centre; math.IsNaN(s) || math.IsInf(s, 0) {
				return nil, false
			}
			v[0] += float64(t.Weight() * clamp(s, -ball.Radius, ball.Radius))
			continue
		}
		g := estimate(l, t, t.Point(), r)
		centre := make([]float64, len(g))
		switch t.Kind() {
		case query.Product:
			g = hessian(l, t.Point(), t.Step(), r)
			for j := range g {
				centre[j] = float64(ball.Centre * t.Step()[j])
				g[j] -= centre[j]
			}
		case query.ProductChange:
			g = hessian(l, t.Point(), t.Along(), r)
			for j, u := range hessian(l, t.Previous(), t.Along(), r) {
				g[j] -= u
			}
		}
		if t.Kind() == query.Difference {
			for j, u := range estimate(l, t, t.Previous(), r) {
				centre[j] = float64(ball.Centre * t.Step()[j])
				g[j] = g[j] - u - centre[j]
			}
		}
		var square float64
		for _, u := range g {
			square += float64(u * u)
		}
		if math.IsNaN(square) {
			return nil, false
		}
		factor := 1.
		if norm := math.Sqrt(square); norm > ball.Radius {
			factor = ball.Radius / norm
		}
		for j, u := range g {
			v[j] += float64(t.Weight() * (float64(u*factor) + centre[j]))
		}
	}
	for j := range v {
		v[j] = float64(v[j] * scale)
	}
	return v, true
}

func gradient(l loss.General, w []float64, r sample) []float64 {
	g := make([]float64, len(w))
	for j := range g {
		g[j] = math.NaN()
	}
	l.Gradient(g, w, r.X, r.Y)
	return g
}

func hessian(l loss.General, w, v []float64, r sample) []float64 {
	h := make([]float64, len(w))
	for j := range h {
		h[j] = math.NaN()
	}
	l.(loss.Twice).HessianVector(h, w, v, r.X, r.Y)
	return h
}

// scalar returns the number that the loss computes by f. The number is NaN if the loss leaves it
// unwritten or panics.
func scalar(f func(dst, z, y []float64), z, y float64) (s float64) {
	defer func() {
		if recover() != nil {
			s = math.NaN()
		}
	}()
	dst := []float64{math.NaN()}
	f(dst, []float64{z}, []float64{y})
	return dst[0]
}

// inner returns <w, x> for rows whose features are all numbers. It adds up eight interleaved sums by fused
// multiplications and additions, and folds them in a tree, as every engine does.
func inner(w []float64, x []float32) float64 {
	var s [row.Lane]float64
	for j := range x {
		s[j%row.Lane] = math.FMA(float64(x[j]), w[j], s[j%row.Lane])
	}
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

// sample is a record that is not faulty, with all of its features in X.
type sample struct {
	rowtest.Record
	X []float32
}

// inner returns <w, x> for the record's row x, in the order that every engine uses. It adds three parts. The first is
// the dot product with the features stored as numbers. The second is the level, the common value of the one-hot groups'
// nonzero features, times the sum of these features' entries of w, in four interleaved sums. The third is the sum of
// the products with the values of curves' basis functions, edge by edge.
func (r sample) inner(w []float64) float64 {
	numbers := make([]float64, 0, len(w))
	for _, j := range rowtest.Numbers(r.Of) {
		numbers = append(numbers, w[j])
	}
	z := inner(numbers, r.Record.X)
	if len(r.In) > 0 {
		var s [4]float64
		for g, k := range r.In {
			s[g%4] += w[r.Of.Group(g).First+int(k)]
		}
		z = math.FMA(float64(r.Level), (s[0]+s[2])+(s[1]+s[3]), z)
	}
	if len(r.By) == 0 {
		return z
	}
	var products []float64
	r.Hats(func(feature int, v float32) { products = append(products, float64(float64(v)*w[feature])) })
	sum := 0.
	for i := 0; i < len(products); i += 2 {
		sum += products[i] + products[i+1]
	}
	return z + sum
}

// inners returns the dot products of the record's row with the rows of a matrix, which are stored in
// w one after the other.
func (r sample) inners(w []float64) []float64 {
	z := make([]float64, len(w)/len(r.X))
	for k := range z {
		z[k] = r.inner(w[k*len(r.X) : (k+1)*len(r.X)])
	}
	return z
}

// norm returns the norm of the record's row. The squares of the numbers are added up in the order of a dot
// product.
func (r sample) norm() float64 {
	level := float64(r.Level)
	square := inner(wide(r.Record.X), r.Record.X) + float64(float64(len(r.In))*float64(level*level))
	for _, v := range r.By {
		square += float64(float64(v) * float64(v))
	}
	return math.Sqrt(square)
}

func wide(x []float32) []float64 {
	v := make([]float64, len(x))
	for j := range x {
		v[j] = float64(x[j])
	}
	return v
}

func clamp(v, lo, hi float64) float64 { return min(max(v, lo), hi) }
