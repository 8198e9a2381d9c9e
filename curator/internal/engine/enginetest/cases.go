package enginetest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
	"github.com/stillpoint-dp/stillpoint/internal/testloss"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// panics is a rank-one loss that panics on records of target 1 whose margin is between .1 and .2.
// Most tiles contain such records.
type panics struct{ loss.RankOne }

func (p panics) Slopes(dst, z, y []float64) {
	for i := range z {
		if y[i] == 1 && .1 < z[i] && z[i] < .2 {
			panic("a record")
		}
	}
	p.RankOne.Slopes(dst, z, y)
}

// skips is a rank-one loss that leaves some slopes unwritten: the slopes of records of target 1 with a
// margin between .1 and .2.
type skips struct{ loss.RankOne }

func (s skips) Slopes(dst, z, y []float64) {
	for i := range z {
		if !(y[i] == 1 && .1 < z[i] && z[i] < .2) {
			s.RankOne.Slopes(dst[i:i+1], z[i:i+1], y[i:i+1])
		}
	}
}

// stops is a network that overwrites its arguments. It panics on some records, and leaves a number of
// the gradient, or the value, unwritten for some others.
type stops struct{ engine.Stacked }

func (s stops) Forward(dst, z, theta, y []float64) {
	first := slices.Clone(z[:len(y)])
	s.Stacked.Forward(dst, z, theta, y)
	s.spoil(dst, first, z, theta, y)
}

func (s stops) Backward(slopes, rest, z, theta, square, y []float64) {
	first := slices.Clone(z[:len(y)])
	s.Stacked.Backward(slopes, rest, z, theta, square, y)
	clear(square)
	s.spoil(rest[:len(y)], first, z, theta, y)
}

// spoil spoils the results of a block of records, by their first margins and targets.
func (stops) spoil(results, first, z, theta, y []float64) {
	clear(z)
	clear(theta)
	for i, target := range y {
		switch {
		case target > .5 && first[i] > 0:
			clear(results)
			panic("a record")
		case target < -.5 && first[i] > 0:
			results[i] = math.NaN()
		}
	}
	clear(y)
}

// leaves is a general loss that panics on some records and leaves the gradient of
// others unwritten.
type leaves struct{ loss.General }

func (l leaves) Gradient(dst, w []float64, x []float32, y float64) {
	switch {
	case y == 1 && x[0] > .2:
		panic("a record")
	case y == 1 && x[0] > .1:
		return
	}
	l.General.Gradient(dst, w, x, y)
}

// HessianVector writes a vector that is no product with a Hessian. For some records it writes nothing.
func (l leaves) HessianVector(dst, w, v []float64, x []float32, y float64) {
	if y == 1 && x[0] > .1 {
		return
	}
	for j := range dst {
		dst[j] = float64(w[j]*v[j]) + float64(y*float64(x[j]))
	}
}

// several is a loss of three margins, whose targets are classes. The tests' targets -1 and 1 become its
// classes 0 and 2. If the field panics is true, the loss panics on records of one class at some margins.
type several struct {
	loss.Margins
	panics bool
}

func (s several) Values(dst, z, y []float64) { s.Margins.Values(dst, z, classes(y)) }

func (s several) Slopes(dst, z, y []float64) {
	for i := range y {
		if s.panics && y[i] == 1 && .1 < z[3*i+1] && z[3*i+1] < .2 {
			panic("a record")
		}
	}
	s.Margins.Slopes(dst, z, classes(y))
}

// CurvaturesAlong writes zeros to its argument u after the loss has read it.
func (s several) CurvaturesAlong(dst, z, u, y []float64) {
	s.Margins.CurvaturesAlong(dst, z, u, classes(y))
	clear(u)
}

func classes(y []float64) []float64 {
	c := make([]float64, len(y))
	for i := range y {
		c[i] = y[i] + 1
	}
	return c
}

// twins is a general loss with two parameters for each feature. Its value is the mean of two values
// of the loss one: at the first half of the parameters and at the second half.
type twins struct{ one loss.General }

func (l twins) Name() string                { return "twins" }
func (l twins) Constants() loss.Constants   { return l.one.Constants() }
func (l twins) Target() loss.Target         { return l.one.Target() }
func (l twins) Parameters(features int) int { return 2 * features }

func (l twins) Value(w []float64, x []float32, y float64) float64 {
	return (l.one.Value(w[:len(x)], x, y) + l.one.Value(w[len(x):], x, y)) / 2
}

func (l twins) Gradient(dst, w []float64, x []float32, y float64) {
	l.one.Gradient(dst[:len(x)], w[:len(x)], x, y)
	l.one.Gradient(dst[len(x):], w[len(x):], x, y)
	for j := range dst {
		dst[j] /= 2
	}
}

// HessianVector writes a vector that is not the product with a Hessian, but takes as many roundings
// as a product does.
func (l twins) HessianVector(dst, w, v []float64, x []float32, y float64) {
	l.Gradient(dst, w, x, y)
	for j := range dst {
		dst[j] = float64(dst[j]*v[j]) + float64(y*v[len(v)-1-j])
	}
}

func parse(t testing.TB, name string) loss.Loss {
	t.Helper()
	l, err := testloss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func losses(t testing.TB) map[string]loss.Loss {
	return map[string]loss.Loss{
		"logistic":           parse(t, "logistic"),
		"squared":            parse(t, "squared(1)"),
		"welsch":             parse(t, "welsch(0.5)"),
		"slow-tail":          parse(t, "slow-tail"),
		"rank-one, panics":   panics{parse(t, "tanh").(loss.RankOne)},
		"rank-one, skips":    skips{parse(t, "tanh").(loss.RankOne)},
		"general, unwritten": leaves{parse(t, "slow-tail").(loss.General)},
		"general, shaped":    twins{parse(t, "slow-tail").(loss.General)},
		"network":            parse(t, "network(3,tanh,softmax(3))"),
		"network, panics":    stops{parse(t, "network(2-3,tanh,huber(0.3))").(engine.Stacked)},
		"ordered":            parse(t, "ordered(4)"),
		"ordered, panics":    stops{parse(t, "ordered(5)").(engine.Stacked)},
		"softmax":            several{Margins: parse(t, "softmax(3)").(loss.Margins)},
		"softmax, panics":    several{parse(t, "softmax(3)").(loss.Margins), true},
		"capped absolute":    parse(t, "capped-absolute(0.5)"),
	}
}

// questions returns queries of every kind: clipped and unclipped, with a public centre other than
// zero and with centre zero, and queries of several terms.
func questions(t testing.TB, l loss.Loss, features int) map[string]query.Question {
	t.Helper()
	return questionsIn(t, l, inOrder(features))
}

// inOrder returns the list 0, 1, ... of the features' places in a table: each feature is in its own
// place.
func inOrder(features int) []int {
	places := make([]int, features)
	for j := range places {
		places[j] = j
	}
	return places
}

// questionsIn returns the same queries as the function questions, but for a table with the features
// in another order: feature j is in place places[j].
func questionsIn(t testing.TB, l loss.Loss, places []int) map[string]query.Question {
	t.Helper()
	features := len(places)
	k, dim := l.Constants(), loss.Parameters(l, features)
	r := rand.New(rand.NewPCG(6, uint64(dim)))
	w, prev := make([]float64, dim), make([]float64, dim)
	for j := range w {
		at := parameterIn(l, places, j)
		w[at], prev[at] = r.NormFloat64(), r.NormFloat64()
	}
	on := query.NewCohort(0, 10)
	lo, hi, size := min(k.Curvature.Lo, 0), max(k.Curvature.Hi, 0), k.Lipschitz
	if math.IsInf(hi-lo, 0) { // for a loss whose slope jumps, any interval will do, since clipping enforces it
		lo, hi = -1, 3
	}
	ball, envelope := query.Smoothing{Radius: .7}, query.Smoothing{Radius: .3, By: query.LasryLions}
	first := query.Smoothing{Radius: .3, By: query.Gradients, Directions: 3, Seed: 5}
	zero := query.Smoothing{Radius: .2, By: query.Values, Directions: 4, Seed: 6}
	of := places // of the metric: the features, or all parameters of a loss with a score
	if s, ok := l.(engine.Stacked); ok && s.Units() == 1 {
		of = append(slices.Clone(places), inOrder(dim)[features:]...)
	}
	m, other := metric(t, of, 7), metric(t, of, 8)
	near := make([]float64, features) // a point among the rows
	for j := range near {
		near[j] = w[j] / 10 / math.Sqrt(float64(features))
	}
	all := map[string]query.Question{}
	for name, terms := range map[string][]query.Term{
		"gradient":            {query.GradientAt(on, w, size)},
		"gradient, clipped":   {query.GradientAt(on, w, size/7)},
		"difference":          {query.DifferenceByCurvature(on, w, prev, lo, hi)},
		"difference, narrow":  {query.DifferenceByCurvature(on, w, prev, lo/5, hi/5)},
		"difference around 0": {query.DifferenceWithin(on, w, prev, 2*size)},
		"difference, clipped": {query.DifferenceWithin(on, w, prev, size/9)},
		"mix": {query.GradientAt(on, w, size).Weighted(.3),
			query.DifferenceByCurvature(on, w, prev, lo, hi).Weighted(.7)},
		"mix of three": {query.DifferenceByCurvature(on, w, prev, lo, hi),
			query.GradientAt(on, prev, size/2).Weighted(2), query.DifferenceWithin(on, prev, w, size)},
		"mix around 0": {query.GradientAt(on, w, size/2).Weighted(2), query.DifferenceWithin(on, prev, w, size),
			query.GradientAt(on, prev, size)},
		"value":                  {query.ValueAt(on, w, k.InitialGap, k.InitialGap)},
		"value, clipped":         {query.ValueAt(on, w, 100, 99.9)},
		"two values":             {query.ValueAt(on, w, 1, 1), query.ValueAt(on, prev, 0, .5).Weighted(3)},
		"norm":                   {query.NormAt(on, w, size, nil)},
		"norm, shifted, clipped": {query.NormAt(on, w, size/3, prev)},

		"smoothed":                    {query.GradientAt(on, w, size).Smoothed(ball)},
		"smoothed otherwise, clipped": {query.GradientAt(on, w, size/7).Smoothed(envelope)},
		"difference, smoothed": {query.DifferenceWithin(on, w, prev, size).Smoothed(ball),
			query.GradientAt(on, w, size).Weighted(.5)},
		"norm, smoothed":                {query.NormAt(on, w, size, nil).Smoothed(ball)},
		"in a metric, smoothed":         {query.GradientInMetric(on, w, size, 2*size, m).Smoothed(ball)},
		"squared slope, smoothed":       {query.SquaredSlopeAt(on, w, size*size, other).Smoothed(ball)},
		"difference of values":          {query.ValueChangeAt(on, w, prev, k.InitialGap).Weighted(.7)},
		"difference of values, clipped": {query.ValueChangeAt(on, prev, w, k.InitialGap/30)},
		"difference of values, centred": {query.ValueChangeWithin(on, prev, w, k.InitialGap/40, k.InitialGap/30).Weighted(.7)},
		"second moment":                 {query.SecondMomentOf(on, features).Weighted(.7)},
		"mean row":                      {query.RowMeanOf(on, features).Weighted(.7)},
		"squared features":              {query.SquaredFeaturesOf(on, features).Weighted(.7)},
		"squares and pairs":             {query.BlockMomentOf(on, half(places)).Weighted(.7)},
		"squared distance":              {query.SquaredDistanceFrom(on, w[:features], 9)},
		"squared distance, cut":         {query.SquaredDistanceFrom(on, near, .5).Weighted(3)},
		"centred moment":                {query.CentredMomentOf(on, near, 2).Weighted(.7)},
		"centred moment, shortened":     {query.CentredMomentOf(on, near, .6)},
		"centred moment, from afar":     {query.CentredMomentOf(on, w[:features], .3)},
		"curvature":                     {query.CurvatureAt(on, w, hi)},
		"curvature, clipped":            {query.CurvatureAt(on, w, hi/9).Weighted(2)},
		"weighted gradient":             {query.WeightedGradientAt(on, w, size, 9, m).Weighted(.7)},
		"weighted gradient, shortened":  {query.WeightedGradientAt(on, prev, size/7, .4, other)},
		"weighted curvature":            {query.WeightedCurvatureAt(on, w, hi, 9, other)},
		"weighted curvature, shortened": {query.WeightedCurvatureAt(on, w, hi/9, .4, m).Weighted(2)},
		"scores":                        {query.ScoreMomentAt(on, w, size, 9, m).Weighted(2)},
		"scores, shortened":             {query.ScoreMomentAt(on, w, size/7, .4, m)},
		"weighted moment":               {query.WeightedMomentOf(on, 9, other).Weighted(2)},
		"weighted moment, shortened":    {query.WeightedMomentOf(on, .4, m)},
		"in a metric":                   {query.GradientInMetric(on, w, size, 2*size, m)},
		"in another, clipped":           {query.GradientInMetric(on, prev, size/5, 2*size, other).Weighted(1.5)},
		"in a diagonal metric": {query.GradientInMetric(on, w, size/2, 2*size,
			diagonal(t, of, 9)).Weighted(1.5)},
		"squared slope, diagonal": {query.SquaredSlopeAt(on, w, size*size/5, diagonal(t, of, 9))},
		"in a metric of blocks":   {query.GradientInMetric(on, w, size/2, 2*size, blocks(t, of)).Weighted(1.5)},
		"squared slope, blocks":   {query.SquaredSlopeAt(on, w, size*size/5, blocks(t, of))},
		"in a metric, steep":      {query.GradientInMetric(on, w, 3*size, size/20, m)},
		"squared slope":           {query.SquaredSlopeAt(on, w, size*size, other)},
		"squared slope, clipped":  {query.SquaredSlopeAt(on, prev, size*size/50, m).Weighted(3)},

		"product":                   {query.ProductAt(on, w, prev, lo, hi)},
		"product, narrow":           {query.ProductAt(on, prev, w, lo/5, hi/5).Weighted(.3)},
		"by gradients around":       {query.GradientAt(on, w, size).Smoothed(first)},
		"by values around, clipped": {query.GradientAt(on, prev, size/2).Smoothed(zero).Weighted(2)},
		"difference by gradients around": {query.DifferenceByCurvature(on, w, prev, lo, hi).Smoothed(first),
			query.GradientAt(on, w, size).Weighted(.5)},
		"difference by values around": {query.DifferenceWithin(on, w, prev, size).Smoothed(zero)},
		"norm by gradients around":    {query.NormAt(on, w, size, nil).Smoothed(first)},
		"directions and a smoothing": {query.DifferenceWithin(on, w, prev, size).Smoothed(first),
			query.GradientAt(on, w, size).Smoothed(ball)},
		"change of products, narrow": {query.ProductChangeAt(on, prev, w, w, lo, hi, .01).Weighted(2)},
		"curvature along, narrow":    {query.CurvatureAlongAt(on, w, prev, lo/7, hi/7).Weighted(3)},
	} {
		f := terms[0].Kind().Facts()
		if f.Weighted && !f.Suits(query.Margins(l, loss.Count(l)), false, loss.UnitOfMargin(l)) {
			continue
		}
		if terms[0].Kind().Facts().Metric && dim%features != 0 && len(of) != dim {
			continue // the parameters are not one vector for each margin
		}
		q, err := query.New(1, terms...)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = q
	}
	return all
}

// parameterIn returns the place of parameter j of a loss, for a table with reordered features:
// feature i is in place places[i].
func parameterIn(l loss.Loss, places []int, j int) int {
	d, rows := len(places), loss.Parameters(l, len(places))/len(places)
	if n, ok := l.(engine.Stacked); ok {
		rows = n.Units()
	}
	if j >= rows*d {
		return j
	}
	return j/d*d + places[j%d]
}

// metric returns the metric of a random symmetric matrix with positive and negative eigenvalues.
func metric(t testing.TB, places []int, seed uint64) query.Metric {
	t.Helper()
	dim := len(places)
	r := rand.New(rand.NewPCG(seed, uint64(dim)))
	p := make([]float64, dim*dim)
	for j := range dim {
		for k := range j + 1 {
			v := r.NormFloat64()
			p[places[j]*dim+places[k]], p[places[k]*dim+places[j]] = v, v
		}
	}
	m, err := query.NewMetric(dim, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// diagonal returns a diagonal metric with positive and negative entries, one of which is zero.
func diagonal(t testing.TB, places []int, seed uint64) query.Metric {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, uint64(len(places))))
	entries := make([]float64, len(places))
	for j := range entries {
		entries[places[j]] = r.NormFloat64()
	}
	if len(entries) > 1 {
		entries[places[1]] = 0
	}
	m, err := query.NewDiagonal(entries)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// half returns a block of every other feature.
func half(places []int) []bool {
	whole := make([]bool, len(places))
	for j, place := range places {
		whole[place] = j%2 == 0
	}
	return whole
}

// blocks returns a metric with a block of every other feature and entries of both signs.
func blocks(t testing.TB, places []int) query.Metric {
	t.Helper()
	from, entries, row := metric(t, places, 9), make([]float64, len(places)), make([]int64, len(places))
	var whole []int
	for j, in := range half(places) {
		if entries[j] = float64(from.Entry(j)) * from.Step(); in {
			whole = append(whole, j)
		}
	}
	var block []float64
	for _, j := range whole {
		from.Row(row, j)
		for _, k := range whole {
			block = append(block, float64(row[k])*from.Step())
		}
	}
	m, err := query.NewBlocks(entries, whole, block)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// passes returns passes of SGD: with and without a ball to which iterates are projected, with a start
// outside the ball, and with a regularizer.
func passes(dim int) map[string]query.Pass {
	r := rand.New(rand.NewPCG(8, uint64(dim)))
	v := make([]float64, dim)
	for j := range v {
		v[j] = r.NormFloat64() / 4
	}
	return map[string]query.Pass{
		"plain":       {Start: make([]float64, dim), Step: .1, Clip: .5},
		"ball":        {Start: v, Step: .3, Clip: 1, Radius: .1, Centre: make([]float64, dim)},
		"regularized": {Start: v, Step: .2, Clip: .7, Lambda: .1, Linear: v, Radius: 1, Centre: v},
	}
}

// strange gives some records targets that no loss accepts, and other records targets that only
// losses for real targets accept.
func strange(records []rowtest.Record) []rowtest.Record {
	targets := []float64{2, -.25, 1e300, 0, 1 + 0x1p-52, -1 - 0x1p-52, -7, 0x1p-1074}
	out := slices.Clone(records)
	for i := range out {
		if i%3 == 1 && out[i].Y == out[i].Y {
			out[i].Y = targets[i/3%len(targets)]
		}
	}
	return out
}

// small holds factors near zero: zero, subnormal numbers, and a number whose square float32 cannot
// represent.
var small = []float64{0, 0x1p-149, 0x1p-138, 1e-30}

// shrunk multiplies every ninth row by a factor near zero.
func shrunk(records []rowtest.Record) []rowtest.Record {
	out := slices.Clone(records)
	for i := 4; i < len(out); i += 9 {
		size := small[i/9%len(small)]
		out[i].X = slices.Clone(out[i].X)
		for j, v := range out[i].X {
			out[i].X[j] = float32(size * float64(v))
		}
		out[i].Level = float32(size * float64(out[i].Level))
	}
	return out
}

// lists returns named lists of members of n rows. A nil list means all rows.
func lists(n int) map[string][]int32 {
	r := rand.New(rand.NewPCG(9, uint64(n)))
	var upward, downward, some, again []int32
	for i := range n {
		upward = append(upward, int32(i))
		downward = append(downward, int32(n-1-i))
		if r.IntN(2) == 0 {
			some = append(some, int32(i))
		}
	}
	for range 2 * n {
		again = append(again, int32(r.IntN(n)))
	}
	shuffled := make([]int32, n)
	for i, k := range r.Perm(n) {
		shuffled[i] = int32(k)
	}
	all := map[string][]int32{"all": nil, "none": {}}
	for name, list := range map[string][]int32{"upward": upward, "downward": downward, "shuffled": shuffled, "some": some,
		"repeated": again} {
		if len(list) > 0 {
			all[name] = list
		}
	}
	return all
}

// of returns the records with the numbers in members, or all records if members is nil.
func of(records []rowtest.Record, members []int32) []rowtest.Record {
	if members == nil {
		return records
	}
	var named []rowtest.Record
	for _, m := range members {
		named = append(named, records[m])
	}
	return named
}
