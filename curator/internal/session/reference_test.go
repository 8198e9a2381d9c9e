package session

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/internal/querytest"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// slow computes a kind of query from its definition, one record at a time, before clip and weight. The
// variable references has one for each kind. It exists in addition to the reference of package enginetest,
// because it serves to test the answers of whole sessions. A session, not an engine, chooses the grid, the
// centre and the clip.
type slow struct {
	// scalar returns the number by which a rank-one term multiplies the row, or the term itself if
	// it is a number.
	scalar func(l loss.RankOne, t query.Term, x []float32, y float64) float64
	// vector returns the term of a loss that writes its own gradient.
	vector func(l loss.General, t query.Term, x []float32, y float64) []float64
	// features returns the clipped term of a kind that depends on features alone, whatever the
	// loss.
	features func(t query.Term, x []float32) []float64
}

var references = map[query.Kind]slow{
	query.Gradient: {
		scalar: func(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
			return slope(l, t, t.Point(), x, y)
		},
		vector: func(l loss.General, t query.Term, x []float32, y float64) []float64 {
			return estimate(l, t, t.Point(), x, y)
		},
	},
	query.Norm: {
		scalar: func(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
			return slope(l, t, t.Point(), x, y)
		},
		vector: func(l loss.General, t query.Term, x []float32, y float64) []float64 {
			return estimate(l, t, t.Point(), x, y)
		},
	},
	query.Difference: {
		scalar: func(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
			return slope(l, t, t.Point(), x, y) - slope(l, t, t.Previous(), x, y)
		},
		vector: func(l loss.General, t query.Term, x []float32, y float64) []float64 {
			return plus(estimate(l, t, t.Point(), x, y), -1, estimate(l, t, t.Previous(), x, y))
		},
	},
	query.Value: {
		scalar: func(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
			v := []float64{0}
			l.Values(v, []float64{inner(t.Point(), x)}, []float64{y})
			return v[0]
		},
		vector: func(l loss.General, t query.Term, x []float32, y float64) []float64 {
			return []float64{l.Value(t.Point(), x, y)}
		},
	},
	query.ValueChange: {
		scalar: func(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
			v := []float64{0, 0}
			l.Values(v, []float64{inner(t.Point(), x), inner(t.Previous(), x)}, []float64{y, y})
			return v[0] - v[1]
		},
		vector: func(l loss.General, t query.Term, x []float32, y float64) []float64 {
			return []float64{l.Value(t.Point(), x, y) - l.Value(t.Previous(), x, y)}
		},
	},
	query.SecondMoment: {features: func(_ query.Term, x []float32) []float64 { return products(1, x) }},
	query.RowMean:      {features: func(t query.Term, x []float32) []float64 { return from(x, make([]float64, len(x))) }},
	query.SquaredFeatures: {features: func(t query.Term, x []float32) []float64 {
		v := from(x, make([]float64, len(x)))
		for j := range v {
			v[j] *= v[j]
		}
		for j, in := range t.Point() {
			for k, other := range t.Point()[:len(x)] {
				if k > j && in*other == 1 {
					v = append(v, math.Sqrt2*float64(x[j])*float64(x[k]))
				}
			}
		}
		return v
	}},
	query.SquaredDistance: {features: func(t query.Term, x []float32) []float64 {
		return []float64{min(math.Pow(euclid(from(x, t.Point())), 2), t.Ball().Centre+t.Ball().Radius)}
	}},
	query.CentredMoment: {features: func(t query.Term, x []float32) []float64 {
		z := from(x, t.Point())
		short := min(1, math.Sqrt(t.Ball().Radius)/max(euclid(z), 1e-300))
		return svec(short*short, z)
	}},
	query.Curvature: {scalar: func(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
		v := []float64{0}
		l.Curvatures(v, []float64{inner(t.Point(), x)}, []float64{y})
		return v[0]
	}},
	query.MetricGradient: {scalar: func(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
		return slope(l, t, t.Point(), x, y)
	}, vector: func(l loss.General, t query.Term, x []float32, y float64) []float64 {
		g := gradient(l, t.Point(), x, y)
		return t.Metric().Times(plus(make([]float64, len(g)), min(1, t.Slope()/max(euclid(g), 1e-300)), g))
	}},
	query.SquaredSlope: {scalar: func(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
		s := slope(l, t, t.Point(), x, y)
		return math.Pow(s*euclid(times(t.Metric(), x)), 2)
	}, vector: func(l loss.General, t query.Term, x []float32, y float64) []float64 {
		return []float64{math.Pow(euclid(t.Metric().Times(gradient(l, t.Point(), x, y))), 2)}
	}},
	query.WeightedGradient: {scalar: func(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
		return slope(l, t, t.Point(), x, y)
	}},
	query.ScoreMoment: {scalar: func(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
		return slope(l, t, t.Point(), x, y)
	}},
	query.WeightedCurvature: {scalar: func(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
		v := []float64{0}
		l.Curvatures(v, []float64{inner(t.Point(), x)}, []float64{y})
		return v[0]
	}},
	query.WeightedMoment: {scalar: func(loss.RankOne, query.Term, []float32, float64) float64 { return 1 }},
	query.Product: {
		scalar: func(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
			return curvature(l, t.Point(), t.Step(), x, y)
		},
		vector: func(l loss.General, t query.Term, x []float32, y float64) []float64 {
			return hessian(l, t.Point(), t.Step(), x, y)
		},
	},
	query.ProductChange: {
		scalar: func(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
			return curvature(l, t.Point(), t.Along(), x, y) - curvature(l, t.Previous(), t.Along(), x, y)
		},
		vector: func(l loss.General, t query.Term, x []float32, y float64) []float64 {
			return plus(hessian(l, t.Point(), t.Along(), x, y), -1, hessian(l, t.Previous(), t.Along(), x, y))
		},
	},
	query.CurvatureAlong: {
		scalar: func(l loss.RankOne, t query.Term, x []float32, y float64) float64 {
			return curvature(l, t.Point(), t.Along(), x, y) * inner(t.Along(), x)
		},
		vector: func(l loss.General, t query.Term, x []float32, y float64) []float64 {
			return []float64{dotted(t.Along(), hessian(l, t.Point(), t.Along(), x, y))}
		},
	},
}

// curvature returns the second derivative of phi times <v,x>.
func curvature(l loss.RankOne, w, v []float64, x []float32, y float64) float64 {
	b := []float64{0}
	l.Curvatures(b, []float64{inner(w, x)}, []float64{y})
	return b[0] * inner(v, x)
}

func hessian(l loss.General, w, v []float64, x []float32, y float64) []float64 {
	h := make([]float64, len(w))
	l.(loss.Twice).HessianVector(h, w, v, x, y)
	return h
}

func dotted(u, v []float64) (sum float64) {
	for j := range u {
		sum += u[j] * v[j]
	}
	return sum
}

// from returns x - m for a row x and a public point m.
func from(x []float32, m []float64) []float64 {
	z := make([]float64, len(x))
	for j := range z {
		z[j] = float64(x[j]) - m[j]
	}
	return z
}

// products returns c times the svec of x x': the upper triangle as a vector, with the entries above
// the diagonal times sqrt 2.
func products(c float64, x []float32) (v []float64) {
	return svec(c, from(x, make([]float64, len(x))))
}

// svec returns c times the svec of x x': the entries on and above the diagonal, with the entries
// above the diagonal times sqrt 2.
func svec(c float64, x []float64) (v []float64) {
	for j := range x {
		for k := j; k < len(x); k++ {
			p := c * x[j] * x[k]
			if k > j {
				p *= math.Sqrt2
			}
			v = append(v, p)
		}
	}
	return v
}

// times returns R x for the metric's matrix R.
func times(m query.Metric, x []float32) []float64 {
	v := make([]float64, len(x))
	for j := range x {
		v[j] = float64(x[j])
	}
	return m.Times(v)
}

// slope returns the derivative of the loss phi(<w,x>, y) in its margin. If the term smooths the loss,
// it returns the derivative of the smoothed loss.
func slope(l loss.RankOne, t query.Term, w []float64, x []float32, y float64) float64 {
	s := []float64{0}
	if by := t.Smoothing(); by.On() {
		ball, err := loss.OverBall(len(x), by.Radius)
		if by.By == query.LasryLions {
			ball, err = loss.LasryLions(by.Radius)
		}
		if err != nil {
			panic(err)
		}
		l.(loss.Kinked).SmoothedSlopes(s, []float64{inner(w, x)}, []float64{y}, []float64{euclid32(x)}, ball)
		return s[0]
	}
	l.Slopes(s, []float64{inner(w, x)}, []float64{y})
	return s[0]
}

func euclid32(x []float32) (norm float64) {
	for _, v := range x {
		norm = math.Hypot(norm, float64(v))
	}
	return norm
}

func gradient(l loss.General, w []float64, x []float32, y float64) []float64 {
	v := make([]float64, len(w))
	l.Gradient(v, w, x, y)
	return v
}

func inner(w []float64, x []float32) (sum float64) {
	for j := range w {
		sum += w[j] * float64(x[j])
	}
	return sum
}

func plus(v []float64, c float64, u []float64) []float64 {
	sum := make([]float64, len(v))
	for j := range v {
		sum[j] = v[j] + c*u[j]
	}
	return sum
}

func euclid(v []float64) (norm float64) {
	for _, x := range v {
		norm = math.Hypot(norm, x)
	}
	return norm
}

// centreOf returns the public centre of a term's ball.
func centreOf(t query.Term) []float64 {
	switch t.Kind().Facts().Centre {
	case query.Anywhere:
		return []float64{t.Ball().Centre}
	case query.AlongStep:
		return plus(make([]float64, len(t.Step())), t.Ball().Centre, t.Step())
	}
	return make([]float64, t.SumDim())
}

// centreOfAll returns the public centre of a query's terms, and the integer number of steps that is
// subtracted for the centre from every record. The steps are 0 for numbers, whose centres are
// subtracted before clipping.
func centreOfAll(q query.Question, scale float64) (centre []float64, steps []int64) {
	centre, steps = make([]float64, q.SumDim()), make([]int64, q.SumDim())
	for _, t := range q.Terms() {
		centre = plus(centre, t.Weight(), centreOf(t))
	}
	for j, v := range centre {
		if !q.Facts().Number {
			steps[j] = int64(math.RoundToEven(v * scale))
		}
	}
	return centre, steps
}

// clipped returns a record's clipped term. It returns nil for a faulty record.
func clipped(l loss.Loss, t query.Term, x []float32, y float64) []float64 {
	if math.IsNaN(y) || math.IsInf(y, 0) {
		return nil
	}
	facts, ball := t.Kind().Facts(), t.Ball()
	if facts.Losses == query.NoLoss {
		return references[t.Kind()].features(t, x)
	}
	if facts.Weighted {
		return weighed(l, t, x, y)
	}
	if m, ok := l.(loss.Margins); ok && !facts.Number {
		return clippedProduct(m, t, x, y)
	} else if ok && facts.Metric {
		v := math.Pow(euclid(slopesAt(m, t.Point(), x, y))*euclid(times(t.Metric(), x)), 2)
		return []float64{min(max(v, ball.Centre-ball.Radius), ball.Centre+ball.Radius)}
	} else if ok {
		l = loss.Joint(m)
	}
	if r, ok := l.(loss.RankOne); ok && !facts.Number {
		s, lo, hi := references[t.Kind()].scalar(r, t, x, y), -ball.Radius, ball.Radius
		if a, b, ok := t.Curvature(); ok {
			move := inner(t.Step(), x)
			lo, hi = min(a*move, b*move), max(a*move, b*move)
		}
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return nil
		}
		switch {
		case facts.Pairs:
			return products(min(max(s, 0), hi), x)
		case facts.Lifted:
			long := times(t.Metric(), x)
			most := min(ball.Radius/max(euclid(long), 1e-300), t.Slope())
			return plus(make([]float64, len(x)), min(max(s, -most), most), long)
		}
		v := make([]float64, len(x))
		for j := range v {
			v[j] = min(max(s, lo), hi) * float64(x[j])
		}
		return v
	} else if ok {
		v := references[t.Kind()].scalar(r, t, x, y)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return []float64{min(max(v, ball.Centre-ball.Radius), ball.Centre+ball.Radius)}
	}
	centre := centreOf(t)
	v := plus(references[t.Kind()].vector(l.(loss.General), t, x, y), -1, centre)
	n := euclid(v)
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return nil
	}
	return plus(centre, min(1, ball.Radius/max(n, 1e-300)), v)
}

// slowly returns the answer to a query without noise, computed from the definition: the public centre
// for every declared record, plus the contribution minus the centre for each record in the table.
func slowly(l loss.Loss, q query.Question, records []record) []float64 {
	facts := q.Facts()
	if q.Sampled() {
		l = asWritten(l)
	}
	dim := q.SumDim()
	centre, _ := centreOfAll(q, 1)
	sum := make([]float64, dim)
	for _, r := range records {
		whole, ok := make([]float64, dim), r.ok
		for _, t := range q.Terms() {
			v := clipped(l, t, r.x, r.y)
			if ok = ok && v != nil; ok {
				whole = plus(whole, t.Weight(), v)
			}
		}
		if !ok {
			clear(whole)
			for _, t := range q.Terms() {
				if b := t.Ball(); facts.Number {
					whole[0] += t.Weight() * min(max(0, b.Centre-b.Radius), b.Centre+b.Radius)
				}
			}
		}
		sum = plus(sum, 1, plus(whole, -1, centre))
	}
	mean := plus(centre, 1/q.Cohort().Size(), sum)
	if facts.Normed {
		if s := q.Terms()[0].Shift(); s != nil {
			mean = plus(mean, 1, s)
		}
		return []float64{euclid(mean)}
	}
	return mean
}

// TestKindsAgainstReferences tests that the answer to every kind of query, in each of its forms and
// next to the other kinds, equals the slow reference up to the rounding to the grid. The losses are
// rank-one and general, within their declared constants and beyond them. Both relations are tested,
// with some faulty records.
func TestKindsAgainstReferences(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 7))
	const n, d = 40, 4
	logistic := parse(t, "logistic")
	for name, l := range inOrder(map[string]loss.Loss{
		"logistic": logistic, "tanh": parse(t, "tanh"), "steep": steep{logistic.(loss.RankOne)},
		"spring": spring{logistic}, "mild": mild{logistic}, "wild": wild{logistic},
		"softmax": threefold{parse(t, "softmax(3)").(loss.Margins)}, "lever": lever{2}, "pair": pair{logistic},
		"ordered":         parse(t, "ordered(4)"),
		"capped-absolute": parse(t, "capped-absolute(0.5)"),
	}) {
		k := l.Constants()
		bounds := querytest.Bounds{Lipschitz: k.Lipschitz, InitialGap: k.InitialGap, Lo: k.Curvature.Lo, Hi: k.Curvature.Hi,
			Features: d}
		if math.IsInf(bounds.Hi-bounds.Lo, 0) { // the loss's slope jumps
			bounds.Lo, bounds.Hi, bounds.Smoothing = -1, 2, query.Smoothing{Radius: .4}
		}
		if query.Margins(l, 0) == query.Scored {
			bounds.Beside = loss.Parameters(l, d) - d
		}
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			records := randomRecords(r, n, d)
			records[3].ok, records[17].y, records[29].y = false, math.NaN(), math.Inf(1)
			s := open(t, records, l, budget(t, 50, .1, relation), func(c *Config) {
				if noiseless(c); relation == account.AddOrRemove {
					c.Declared = n + 9
				}
			})
			w, prev := point(r, loss.Parameters(l, d), 2), point(r, loss.Parameters(l, d), 2)
			mixed := map[bool][]query.Term{}
			check := func(form string, terms []query.Term) {
				t.Helper()
				q := question(t, 1e-3, terms...)
				g, _, err := s.law(q)
				if err != nil {
					t.Fatal(err)
				}
				charged := s.Ledger().Len()
				got, err := s.Ask(context.Background(), q)
				if engine.Answers(l, q) != nil {
					if err == nil || s.Ledger().Len() > charged {
						t.Fatalf("%s: %s: asked of a loss of another form: %v", name, form, err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				want := slowly(l, q, records)
				// The rounding is half a step for a contribution and half a step for its centre. A
				// norm has these roundings in each coordinate, and a rounding of its own.
				steps := (n*rounding(q) + 2) / g.scale / s.declared
				if q.Facts().Pairs && !q.Facts().Weighted {
					steps += 0x1p-21 * q.Clip() // centred rows are rounded to float32
				}
				if q.Facts().Metric {
					steps += 0x1p-22 * (q.Clip() + 1e-12) // lengths are rounded up to float32
				}
				for j := range want {
					if !(math.Abs(got.Mean[j]-want[j]) <= steps+1e-11*(1+math.Abs(want[j]))) {
						t.Errorf("%s, %v: %s: coordinate %d is %v, by its definition %v, up to %v", name, relation, form, j, got.Mean[j],
							want[j], steps)
					}
				}
			}
			for _, kind := range query.Kinds() {
				facts := kind.Facts()
				if ref, ok := references[kind]; !ok || (ref.features != nil) != (facts.Losses == query.NoLoss) ||
					(ref.scalar == nil) != (facts.Losses == query.NoLoss) ||
					(ref.vector == nil) != (facts.Losses == query.NoLoss || facts.Weighted || !facts.Suits(0, true, false) &&
						!facts.Suits(query.Scored, true, false)) {
					t.Fatalf("%v: has no slow reference", kind)
				}
				for _, form := range querytest.Forms(kind) {
					terms := form.Ask(s.All(), w, prev, bounds)
					check(form.Name, terms)
					check(form.Name+", doubled", []query.Term{terms[0].Weighted(2)})
					if kind.May(query.Mixed) {
						mixed[kind.Facts().Number] = append(mixed[kind.Facts().Number], terms[0].Weighted(.1+r.Float64()))
					}
				}
			}
			for _, terms := range inOrder(map[string][]query.Term{"numbers": mixed[true], "vectors": mixed[false]}) {
				check("mix", terms)
			}
		}
	}
}

// TestUsesAreTheTables tests that a session accepts a kind in an item of a prefix sum, and in a query
// about a sample, exactly if package query's table of kinds allows it.
func TestUsesAreTheTables(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 8))
	l := parse(t, "logistic")
	b := budget(t, 50, .1, account.ReplaceOne)
	schedule, err := account.CalibrateSchedule(context.Background(), b, 0,
		account.SampledSteps{NoiseMultiplier: 1, Sampling: .5, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range query.Kinds() {
		ask := func(c query.Cohort) []query.Term {
			return querytest.Forms(k)[0].Ask(c, []float64{1, 2}, []float64{0, 1},
				querytest.Bounds{Lipschitz: 1, InitialGap: 1, Hi: .25, Features: 2})
		}
		s := open(t, randomRecords(r, 20, 2), l, b, nil)
		p := openPrefix(t, s, query.Prefix{Factorization: query.Tree, Items: 2, Sensitivity: 10, Charge: .1})
		c, err := s.Draw(5)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Add(context.Background(), ask(c)...); (err == nil) != k.May(query.Item) {
			t.Errorf("%v as an item: %v", k, err)
		}
		s = open(t, randomRecords(r, 20, 2), l, b, nil)
		if err := s.Follow(schedule); err != nil {
			t.Fatal(err)
		}
		if c, err = s.Sample(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Ask(context.Background(), question(t, 1, ask(c)...)); (err == nil) != k.May(query.Sampled) {
			t.Errorf("%v of a sample: %v", k, err)
		}
	}
}
