package session

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// questionsAt returns queries of every kind, at a point and a nearby point.
func questionsAt(t testing.TB, c query.Cohort, w, prev []float64, l loss.Loss) map[string]query.Question {
	k := l.Constants()
	lo, hi := min(0, k.Curvature.Lo), max(0, k.Curvature.Hi)
	l0 := k.Lipschitz
	const charge = 1e-3
	far := query.DifferenceByCurvature(c, w, prev, lo, hi)
	all := map[string]query.Question{
		"gradient":   question(t, charge, query.GradientAt(c, w, l0)),
		"tight clip": question(t, charge, query.GradientAt(c, w, l0/50)),
		"difference": question(t, charge, query.DifferenceWithin(c, w, prev, max(-lo, hi)*far.Distance())),
		"half ball":  question(t, charge, query.DifferenceWithin(c, w, prev, .5*hi*far.Distance())),
		"centred":    question(t, charge, far),
		"mix":        question(t, charge, query.GradientAt(c, w, l0).Weighted(.2), far.Weighted(.8)),
		"value":      question(t, charge, query.ValueAt(c, w, math.Ln2, .5)),
		"norm":       question(t, charge, query.NormAt(c, w, l0, nil)),
		// Weights above 1 increase the sensitivity as they increase the sum.
		"heavy":         question(t, charge, query.GradientAt(c, w, l0).Weighted(1.5), far.Weighted(6)),
		"heavy value":   question(t, charge, query.ValueAt(c, w, math.Ln2, .5).Weighted(2.5)),
		"second moment": question(t, charge, query.SecondMomentOf(c, len(w)/loss.Parameters(l, 1))),
	}
	m := metricOf(t, prev[:len(w)/loss.Parameters(l, 1)])
	among := scaledTo(.3, prev[:m.Dim()])
	terms := map[string]query.Term{
		"curvature":             query.CurvatureAt(c, w[:m.Dim()], hi/50),
		"heavy curvature":       query.CurvatureAt(c, w[:m.Dim()], hi).Weighted(3),
		"in a metric":           query.GradientInMetric(c, w, l0, 10*l0, m),
		"in a metric, tight":    query.GradientInMetric(c, w, l0/50, 10*l0, m),
		"in a metric, heavy":    query.GradientInMetric(c, w, l0/5, l0, m).Weighted(4),
		"in a diagonal metric":  query.GradientInMetric(c, w, l0/20, 10*l0, diagonalOf(t, prev[:m.Dim()])),
		"in a metric of blocks": query.GradientInMetric(c, w, l0/20, 10*l0, blocksOf(t, prev[:m.Dim()])),
		"squared slope":         query.SquaredSlopeAt(c, w, l0*l0/4, m),
		"squared slope, double": query.SquaredSlopeAt(c, w, l0*l0/50, m).Weighted(2),

		"mean row":                query.RowMeanOf(c, m.Dim()),
		"mean row, heavy":         query.RowMeanOf(c, m.Dim()).Weighted(3),
		"squared features":        query.SquaredFeaturesOf(c, m.Dim()),
		"squared features, heavy": query.SquaredFeaturesOf(c, m.Dim()).Weighted(3),
		"squares and pairs":       query.BlockMomentOf(c, half(m.Dim())).Weighted(2),
		"squared distance":        query.SquaredDistanceFrom(c, among, 1),
		"squared distance, heavy": query.SquaredDistanceFrom(c, scaledTo(.05, among), .3).Weighted(2),
		"centred moment":          query.CentredMomentOf(c, among, 1.2),
		"centred moment, short":   query.CentredMomentOf(c, among, .2),
		"centred moment, heavy":   query.CentredMomentOf(c, among, .05).Weighted(3),

		"product":                          query.ProductAt(c, w, prev, lo, hi),
		"product, heavy":                   query.ProductAt(c, w, far.Step(), lo/9, hi/5).Weighted(3),
		"change of products":               query.ProductChangeAt(c, w, prev, far.Step(), lo, hi, math.Inf(1)),
		"change of products, near":         query.ProductChangeAt(c, w, prev, w, lo, hi, hi/100).Weighted(.3),
		"difference of values":             query.ValueChangeAt(c, w, prev, .4),
		"difference of values, heavy":      query.ValueChangeAt(c, w, prev, .01).Weighted(3),
		"difference of values, off centre": query.ValueChangeWithin(c, w, prev, .3, .2).Weighted(3),
		"curvature along":                  query.CurvatureAlongAt(c, w, scaledTo(1, far.Step()), lo, hi),
		"curvature along, heavy":           query.CurvatureAlongAt(c, w, far.Step(), lo/9, hi/30).Weighted(2),
	}
	if loss.Count(l) == 1 || loss.UnitOfMargin(l) {
		maps.Copy(terms, weightedAt(t, c, w, l0, hi, m))
	}
	for name, term := range terms {
		if q := question(t, charge, term); q.Facts().Suits(loss.Count(l), loss.Products(l), loss.UnitOfMargin(l)) {
			all[name] = q
		}
	}
	return all
}

// weightedAt returns terms of the weighted kinds. The terms about pairs have the identity as
// metric, in which orthogonal rows remain orthogonal.
func weightedAt(t testing.TB, c query.Cohort, w []float64, l0, hi float64, m query.Metric) map[string]query.Term {
	t.Helper()
	same, err := query.Identity(m.Dim())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]query.Term{
		"weighted gradient":         query.WeightedGradientAt(c, w, l0, 1, m),
		"weighted gradient, short":  query.WeightedGradientAt(c, w, l0/50, 1, same).Weighted(3),
		"weighted curvature, short": query.WeightedCurvatureAt(c, w, hi/50, .2, same),
		"scores":                    query.ScoreMomentAt(c, w, l0/50, 1, same),
		"scores, heavy":             query.ScoreMomentAt(c, w, l0/90, 1, same).Weighted(3),
		"weighted moment":           query.WeightedMomentOf(c, 1, same),
		"weighted moment, heavy":    query.WeightedMomentOf(c, .2, same).Weighted(3),
	}
}

// scaledTo returns v scaled to the given length.
func scaledTo(length float64, v []float64) []float64 {
	return plus(make([]float64, len(v)), length/euclid(v), v)
}

// metricOf returns a metric that depends on a point: it shortens vectors orthogonal to the point a
// thousandfold, and reverses some of them.
func metricOf(t testing.TB, v []float64) query.Metric {
	t.Helper()
	d, size := len(v), euclid(v)
	p := make([]float64, d*d)
	for j := range d {
		for k := range d {
			p[j*d+k] = v[j] * v[k] / size / size
		}
		p[j*d+j] += float64(1-j%3) / 1000
	}
	m, err := query.NewMetric(d, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// diagonalOf returns a diagonal metric that depends on a point: its entries are from 1/1000 to 1, with the
// signs of the point's coordinates.
func diagonalOf(t testing.TB, v []float64) query.Metric {
	t.Helper()
	entries := make([]float64, len(v))
	for j, x := range v {
		entries[j] = math.Copysign(max(math.Abs(x)/euclid(v), 1e-3), x)
	}
	m, err := query.NewDiagonal(entries)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// half returns a block of every other feature.
func half(d int) []bool {
	whole := make([]bool, d)
	for j := 0; j < d; j += 2 {
		whole[j] = true
	}
	return whole
}

// blocksOf returns the metric whose block is metricOf for every other feature, with the entries of diagonalOf beside it.
func blocksOf(t testing.TB, v []float64) query.Metric {
	t.Helper()
	var whole []int
	var in, entries []float64
	for j, x := range v {
		if entries = append(entries, math.Copysign(max(math.Abs(x)/euclid(v), 1e-3), x)); j%2 == 0 {
			whole, in = append(whole, j), append(in, x)
		}
	}
	inner, k := metricOf(t, in), len(whole)
	block, row := make([]float64, 0, k*k), make([]int64, k)
	for i := range k {
		inner.Row(row, i)
		for _, v := range row {
			block = append(block, float64(v)*inner.Step())
		}
	}
	m, err := query.NewBlocks(entries, whole, block)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// replacements returns records that a neighbouring table may have instead: ordinary records, the
// worst records for the point, extreme records, and faulty records.
func replacements(r *rand.Rand, d int, w, prev []float64) []record {
	axis := func(v float32) []float32 { x := make([]float32, d); x[0] = v; return x }
	fill := func(v float64) []float32 {
		x := make([]float32, d)
		for j := range x {
			x[j] = float32(v)
		}
		return x
	}
	along := make([]float64, d)
	var norm float64
	for j := range along {
		along[j] = w[j] - prev[j]
		norm += along[j] * along[j]
	}
	step, against := scaled(along, 1/math.Sqrt(norm)), scaled(along, -1/math.Sqrt(norm))
	// longest is the longest row that the table accepts.
	longest := scaled(along, (1+0x1p-24)/math.Sqrt(norm))
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	var list []record
	for _, x := range [][]float32{
		unit(r, d), unit(r, d), step, against, longest, axis(1), axis(-1), axis(0), fill(1 / math.Sqrt(float64(d))),
		axis(0x1p-149), fill(0x1p-140), axis(math.MaxFloat32), axis(nan), fill(float64(inf)), axis(1 + 0x1p-20),
	} {
		for _, y := range []float64{-1, 1, 0, .3, math.NaN(), math.Inf(1), 1e308, 5e-324} {
			list = append(list, record{x, y, true})
		}
	}
	return append(list, record{axis(0), 0, false}, record{unit(r, d), 1, false})
}

// TestReplacingARecord replaces records and compares the integers without noise with the charged
// sensitivity. The change must never exceed the sensitivity. For gradients and values the worst
// replacement must come close to it, since more noise than needed would be added otherwise. The
// test fails if a clip is missing, if a centre is wrong, or if a factor of two or the slack for
// rounding is missing.
func TestReplacingARecord(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	logistic, tanh := parse(t, "logistic").(loss.RankOne), parse(t, "tanh").(loss.RankOne)
	losses := map[string]loss.Loss{
		"logistic": logistic, "tanh": tanh, "steep": steep{logistic}, "wild": wild{logistic}, "mild": mild{logistic},
		"squared": parse(t, "squared(0.5)"),
	}
	closest := map[string]float64{}
	for name, l := range inOrder(losses) {
		for _, d := range []int{1, 7, 40} {
			if testing.Short() && d == 40 {
				continue
			}
			records := randomRecords(r, 8, d)
			w, prev := point(r, d, 3), point(r, d, 3)
			// Squares of features change most from one axis to another.
			crossed := slices.Clone(records)
			crossed[3].x = make([]float32, d)
			crossed[3].x[d-1] = 1
			for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
				others := replacements(r, d, w, prev)
				s, ofRecords, ofCrossed := open(t, records, l, budget(t, 50, .1, relation), nil), engineOf(t, records, l),
					engineOf(t, crossed, l)
				nextToRecords, nextToCrossed := neighboursOf(t, records, others, l, relation),
					neighboursOf(t, crossed, others, l, relation)
				for kind, q := range inOrder(questionsAt(t, s.All(), w, prev, l)) {
					g, err := newGrid(q, relation, s.mostRecords(q))
					if err != nil {
						t.Fatal(err)
					}
					own, neighbours := ofRecords, nextToRecords
					if q.Facts().Blocks && q.Dim() == q.PointDim() {
						own, neighbours = ofCrossed, nextToCrossed
					}
					before := integers(t, own, q, g, nil)
					for i, n := range neighbours {
						moved := distance(before, integers(t, n, q, g, nil)) / g.scale
						if !(moved <= g.sensitivity) {
							t.Errorf("%s d=%d %v %s: replacement %d moves the sum by %v, charged for %v", name, d, relation, kind, i, moved,
								g.sensitivity)
						}
						key := fmt.Sprint(kind, " ", relation)
						closest[key] = max(closest[key], moved/g.sensitivity)
					}
				}
			}
		}
	}
	least := .9
	if testing.Short() {
		least = .8 // mixtures come closer in 40 coordinates
	}
	for key, ratio := range closest {
		t.Logf("%s: largest ratio %.4f", key, ratio)
		if ratio < least {
			t.Errorf("%s: the worst replacement reaches only %.3f of the charged sensitivity", key, ratio)
		}
	}
}

// TestRoundingIsCharged tests a coarse grid in high dimension, on which the rounding of
// contributions alone moves the sum beyond twice the clip norm. The charged sensitivity must cover
// this.
func TestRoundingIsCharged(t *testing.T) {
	const d, rows, clip = 10000, 1e15, .25
	x, minus := make([]float32, d), make([]float32, d)
	for j := range x {
		x[j], minus[j] = .01, -.01
	}
	l := steep{parse(t, "logistic").(loss.RankOne)}
	all := query.NewCohort(account.Everyone, 1)
	worst := 0.0
	// A sequence of close charges moves the coordinates through all fractions of a grid step.
	for i := range 100 {
		q := question(t, 1e-5*(1+float64(i)/500), query.GradientAt(all, make([]float64, d), clip))
		g, err := newGrid(q, account.ReplaceOne, rows)
		if err != nil {
			t.Fatal(err)
		}
		if g.bits != minBits {
			t.Fatalf("grid has %d bits: the test wants the coarsest, %d", g.bits, minBits)
		}
		before := residual(t, []record{{x, 1, true}}, l, q, g)
		after := residual(t, []record{{minus, 1, true}}, l, q, g)
		moved := distance(before, after) / g.scale
		if !(moved <= g.sensitivity) {
			t.Errorf("charge %v: moved %v, charged for %v", q.Charge(), moved, g.sensitivity)
		}
		worst = max(worst, moved/(2*clip))
	}
	if worst < 1.01 {
		t.Errorf("rounding moved the sum by %v of twice the clip norm only: the test shows nothing", worst)
	}
}

// residual returns the integers without noise from which a query's answer is made.
func residual(t testing.TB, records []record, l loss.Loss, q query.Question, g grid) []int64 {
	t.Helper()
	return integers(t, engineOf(t, records, l), q, g, nil)
}

// engineOf returns an engine of one goroutine over records in blocks of 3.
func engineOf(t testing.TB, records []record, l loss.Loss) engine.Engine {
	t.Helper()
	e, err := engine.New(tableOf(t, records, 3), l, 1)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// neighboursOf returns engines over the neighbouring tables. In each table, one of the records
// others replaces record 3 or, under add-or-remove, is added.
func neighboursOf(t testing.TB, records, others []record, l loss.Loss, relation account.Relation) []engine.Engine {
	t.Helper()
	engines := make([]engine.Engine, len(others))
	for i, x := range others {
		n := append(records[:len(records):len(records)], x)
		if relation == account.ReplaceOne {
			n = slices.Clone(records)
			n[3] = x
		}
		engines[i] = engineOf(t, n, l)
	}
	return engines
}

func integers(t testing.TB, e engine.Engine, q query.Question, g grid, members []int32) []int64 {
	t.Helper()
	sum, err := e.Sum(context.Background(), q, sumScale(q, g), members)
	if err != nil {
		t.Fatal(err)
	}
	if lift := lifting(q); lift != nil {
		return lift(sum.Residual)
	}
	score, err := scoring(g, q)
	if err != nil {
		t.Fatal(err)
	}
	if score != nil {
		return []int64{score(0, sum.Residual)}
	}
	return sum.Residual
}

// distance returns the Euclidean distance of two integer vectors, to a relative error of 2^-51. The
// sum of squares is exact, in words of 64 bits.
func distance(a, b []int64) float64 {
	var top, middle, low uint64
	for j := range a {
		d := a[j] - b[j]
		if d < 0 {
			d = -d
		}
		high, rest := bits.Mul64(uint64(d), uint64(d))
		var carry uint64
		low, carry = bits.Add64(low, rest, 0)
		middle, carry = bits.Add64(middle, high, carry)
		top += carry
	}
	return math.Sqrt(math.Ldexp(float64(top), 128) + (math.Ldexp(float64(middle), 64) + float64(low)))
}

// TestSameIntegers tests that the sums do not depend on the number of goroutines or the block size.
func TestSameIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	const d = 13
	records := randomRecords(r, 1000, d)
	records[17].ok, records[500].y = false, math.NaN()
	w, prev := point(r, d, 3), point(r, d, 3)
	all := query.NewCohort(account.Everyone, 1000)
	for _, l := range []loss.Loss{parse(t, "logistic"), wild{parse(t, "logistic")}} {
		type cut struct{ workers, block int }
		engines := map[cut]engine.Engine{}
		for _, block := range []int{0, 1, 2, 63, 64, 65, 999, 5000} {
			table := tableOf(t, records, block)
			for _, workers := range []int{1, 2, 3, 7} {
				e, err := engine.New(table, l, workers)
				if err != nil {
					t.Fatal(err)
				}
				engines[cut{workers, block}] = e
			}
		}
		for kind, q := range inOrder(questionsAt(t, all, w, prev, l)) {
			g, err := newGrid(q, account.ReplaceOne, 1000)
			if err != nil {
				t.Fatal(err)
			}
			want := residual(t, records, l, q, g)
			var members []int32
			for _, i := range r.Perm(1000) {
				members = append(members, int32(i))
			}
			for c, e := range engines {
				if testing.Short() && (c.workers+c.block)%3 > 0 {
					continue
				}
				for _, m := range [][]int32{nil, members} {
					if !slices.Equal(integers(t, e, q, g, m), want) {
						t.Fatalf("%s: %d goroutines, blocks of %d: another sum", kind, c.workers, c.block)
					}
				}
			}
		}
	}
}

// TestContributionsAgainstBigFloats computes each record's clipped contribution from the definition
// in 400-bit arithmetic. The rounded integer must be within half a step plus the charged slack of
// it.
func TestContributionsAgainstBigFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	l := parse(t, "squared(100)").(loss.RankOne) // its slope z - y is exact in big floats
	for range 200 {
		d := 1 + r.IntN(30)
		records := randomRecords(r, 1, d)
		w, prev := point(r, d, 5), point(r, d, 5)
		clip := .05 + r.Float64()
		all := query.NewCohort(account.Everyone, 1)
		far := query.DifferenceByCurvature(all, w, prev, 0, 1)
		for _, c := range []struct {
			q    query.Question
			want func() []*big.Float
		}{
			{question(t, .01, query.GradientAt(all, w, clip)), func() []*big.Float {
				return bigRow(records[0].x, bigClamp(bigSlope(w, records[0]), -clip, clip))
			}},
			{question(t, .01, far), func() []*big.Float {
				return bigRow(records[0].x, bigDot(far.Step(), records[0].x))
			}},
		} {
			g, err := newGrid(c.q, account.ReplaceOne, 1)
			if err != nil {
				t.Fatal(err)
			}
			got := residual(t, records, l, c.q, g)
			_, centre := centreOfAll(c.q, g.scale)
			for j, want := range c.want() {
				want.Mul(want, big.NewFloat(g.scale))
				diff, _ := want.Sub(want, new(big.Float).SetInt64(got[j]+centre[j])).Float64()
				if allowed := .5 + slack(d)*c.q.Clip()*g.scale; !(math.Abs(diff) <= allowed) {
					t.Fatalf("%s d=%d: coordinate %d is off by %v steps, allowed %v", c.q.Name(), d, j, diff, allowed)
				}
			}
		}
	}
}

func bigFloat(x float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(x) }

func bigDot(w []float64, x []float32) *big.Float {
	sum := bigFloat(0)
	for j := range x {
		sum.Add(sum, new(big.Float).Mul(bigFloat(w[j]), bigFloat(float64(x[j]))))
	}
	return sum
}

func bigSlope(w []float64, r record) *big.Float {
	z := bigDot(w, r.x)
	return z.Sub(z, bigFloat(r.y))
}

func bigClamp(s *big.Float, lo, hi float64) *big.Float {
	if s.Cmp(bigFloat(lo)) < 0 {
		return bigFloat(lo)
	}
	if s.Cmp(bigFloat(hi)) > 0 {
		return bigFloat(hi)
	}
	return s
}

func bigRow(x []float32, s *big.Float) []*big.Float {
	out := make([]*big.Float, len(x))
	for j := range x {
		out[j] = new(big.Float).Mul(bigFloat(float64(x[j])), s)
	}
	return out
}
