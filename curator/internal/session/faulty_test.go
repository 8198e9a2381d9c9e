package session

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// marked is the target of the records on which the loss fickle misbehaves.
const marked = 7

// vice is what a loss does on a record instead of answering. It receives the destination of the
// answer and an argument of the loss.
type vice func(dst, w []float64)

var vices = map[string]vice{
	"panics":                    func(_, _ []float64) { panic("row 17 holds 42") },
	"panics with nil":           func(_, _ []float64) { panic(nil) },
	"panics after writing":      func(dst, _ []float64) { clear(dst); panic(fmt.Errorf("%v", dst)) },
	"runs out of bounds":        func(dst, _ []float64) { dst[len(dst)] = 0 },
	"reaches beyond its slice":  func(dst, _ []float64) { clear(dst[:cap(dst)]); dst = dst[:cap(dst)+1]; dst[0] = 0 },
	"ends its goroutine":        func(_, _ []float64) { runtime.Goexit() },
	"writes nothing":            func(_, _ []float64) {},
	"writes all but the last":   func(dst, _ []float64) { clear(dst[:len(dst)-1]) },
	"writes NaN":                func(dst, _ []float64) { clear(dst); dst[0] = math.NaN() },
	"writes infinity":           func(dst, _ []float64) { clear(dst); dst[len(dst)-1] = math.Inf(-1) },
	"writes to what it is told": func(dst, w []float64) { clear(w); panic(dst) },
}

// fickle is a rank-one loss that misbehaves (its vice) on records with the target marked.
type fickle struct {
	loss.RankOne
	vice vice
}

func (f fickle) Slopes(dst, z, y []float64)     { f.each(dst, z, y, f.RankOne.Slopes) }
func (f fickle) Values(dst, z, y []float64)     { f.each(dst, z, y, f.RankOne.Values) }
func (f fickle) Curvatures(dst, z, y []float64) { f.each(dst, z, y, f.RankOne.Curvatures) }

func (f fickle) each(dst, z, y []float64, own func(dst, z, y []float64)) {
	for i := range y {
		if y[i] == marked {
			f.vice(dst[i:i+1:i+1], z[:i+1])
			continue
		}
		own(dst[i:i+1], z[i:i+1], y[i:i+1])
	}
}

// moody is a general loss that misbehaves (its vice) on records with the target marked.
type moody struct {
	spring
	vice vice
}

func (m moody) Value(w []float64, x []float32, y float64) float64 {
	v := []float64{math.NaN()}
	if y == marked {
		m.vice(v, w)
		return v[0]
	}
	return m.spring.Value(w, x, y)
}

func (m moody) Gradient(dst, w []float64, x []float32, y float64) {
	if y == marked {
		m.vice(dst, w)
		return
	}
	m.spring.Gradient(dst, w, x, y)
}

// TestAFailingRecordIsFaulty tests that, whatever a loss does on a record, the sums equal the sums
// of a table in which this record is malformed. This must hold for every kind of query, any number
// of goroutines and any blocks, over all records and over a cohort, for few such records and for
// all records.
func TestAFailingRecordIsFaulty(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 1))
	const n, d = 200, 3
	logistic := parse(t, "logistic")
	w, prev := point(r, d, 3), point(r, d, 3)
	cohort := make([]int32, 0, n)
	for _, i := range r.Perm(n)[:150] {
		cohort = append(cohort, int32(i))
	}
	questions := questionsAt(t, query.NewCohort(account.Everyone, n), w, prev, logistic)
	for name, v := range inOrder(vices) {
		for form, l := range inOrder(map[string][2]loss.Loss{
			"rank-one": {fickle{logistic.(loss.RankOne), v}, logistic},
			"general":  {moody{spring{logistic}, v}, spring{logistic}},
		}) {
			for _, most := range []int{0, 3, n} {
				bad, malformed := randomRecords(r, n, d), []record(nil)
				malformed = slices.Clone(bad)
				for _, i := range r.Perm(n)[:max(most, 1)] {
					bad[i].y, malformed[i].ok = marked, false
				}
				clean, err := engine.New(tableOf(t, malformed, 0), l[1], 1)
				if err != nil {
					t.Fatal(err)
				}
				var engines []engine.Engine
				for _, workers := range []int{1, 3} {
					e, err := engine.New(tableOf(t, bad, 70*workers), l[0], workers)
					if err != nil {
						t.Fatal(err)
					}
					engines = append(engines, e)
				}
				for kind, q := range inOrder(questions) {
					if q.Facts().Losses == query.NoLoss || q.Terms()[0].Kind() == query.WeightedMoment ||
						engine.Answers(l[0], q) != nil {
						continue
					}
					g, err := newGrid(q, account.ReplaceOne, n)
					if err != nil {
						t.Fatal(err)
					}
					for _, members := range [][]int32{nil, cohort} {
						want := integers(t, clean, q, g, members)
						for _, e := range engines {
							if got := integers(t, e, q, g, members); !slices.Equal(got, want) {
								t.Errorf("%s loss that %s on %d records: %s: sum %v, want %v", form, name, most, kind, got, want)
							}
						}
					}
				}
			}
		}
	}
}

// sparse writes its gradient only at the coordinates where the row is not zero.
type sparse struct{ spring }

func (sparse) Gradient(dst, w []float64, x []float32, y float64) {
	for j := range x {
		if x[j] != 0 {
			dst[j] = y * float64(x[j])
		}
	}
}

// TestNothingIsHandedOn tests that an entry that a loss leaves unwritten does not keep the previous
// record's value. Sums move by at most the charged sensitivity if the loss writes only some
// coordinates. The loss's changes to its arguments do not reach the next record.
func TestNothingIsHandedOn(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 2))
	const n, d = 130, 4
	logistic := parse(t, "logistic")
	w, prev := point(r, d, 3), point(r, d, 3)
	records := randomRecords(r, n, d)
	for i := range records {
		records[i].x = make([]float32, d)
		records[i].x[i%d] = 1
	}
	loud := slices.Clone(records)
	loud[3].x = []float32{.5, .5, .5, .5}
	for kind, q := range inOrder(questionsAt(t, query.NewCohort(account.Everyone, n), w, prev, logistic)) {
		g, err := newGrid(q, account.ReplaceOne, n)
		if err != nil {
			t.Fatal(err)
		}
		if skips := (sparse{spring{logistic}}); engine.Answers(skips, q) == nil {
			if moved := distance(residual(t, records, skips, q, g),
				residual(t, loud, skips, q, g)) / g.scale; !(moved <= g.sensitivity) {
				t.Errorf("%s: one record moves the sum by %v, charged for %v", kind, moved, g.sensitivity)
			}
		}
		for form, l := range inOrder(map[string][2]loss.Loss{
			"rank-one": {untidy{logistic.(loss.RankOne)}, logistic}, "general": {messy{spring{logistic}}, spring{logistic}},
		}) {
			if engine.Answers(l[0], q) != nil {
				continue
			}
			if got, want := residual(t, loud, l[0], q, g), residual(t, loud, l[1], q, g); !slices.Equal(got, want) {
				t.Errorf("%s: %s loss that writes into what it reads: %v, want %v", kind, form, got, want)
			}
		}
	}
}

// untidy and messy are losses that overwrite their arguments.
type untidy struct{ loss.RankOne }

func (u untidy) Slopes(dst, z, y []float64) { u.RankOne.Slopes(dst, z, y); clear(z); clear(y) }
func (u untidy) Values(dst, z, y []float64) { u.RankOne.Values(dst, z, y); clear(z); clear(y) }
func (u untidy) Curvatures(dst, z, y []float64) {
	u.RankOne.Curvatures(dst, z, y)
	clear(z)
	clear(y)
}

type messy struct{ spring }

func (m messy) Value(w []float64, x []float32, y float64) float64 {
	v := m.spring.Value(w, x, y)
	clear(w[:cap(w)])
	clear(x[:cap(x)])
	return v
}

func (m messy) Gradient(dst, w []float64, x []float32, y float64) {
	m.spring.Gradient(dst, w, x, y)
	clear(w[:cap(w)])
	clear(x[:cap(x)])
}

// TestFaultyRecordsContributeZero tests that a faulty record contributes zero in total, including
// the public centre, in every kind of query. The interval of a value may not contain zero. To a
// value, a faulty record contributes the point of the interval that is nearest to zero.
func TestFaultyRecordsContributeZero(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 3))
	const n, d, healthy = 60, 5, 45
	for form, l := range inOrder(map[string]loss.Loss{"rank-one": parse(t, "logistic"),
		"general": spring{parse(t, "logistic")}}) {
		w, prev := point(r, d, 3), point(r, d, 3)
		some := randomRecords(r, healthy, d)
		all := slices.Clone(some)
		for i := range n - healthy {
			all = append(all, []record{{unit(r, d), math.NaN(), true}, {unit(r, d), math.Inf(1), true},
				{unit(r, d), 1, false}}[i%3])
		}
		r.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
		b := budget(t, 50, .1, account.ReplaceOne)
		whole, part := open(t, all, l, b, noiseless), open(t, some, l, b, noiseless)
		questions := questionsAt(t, whole.All(), w, prev, l)
		for centre, far := range map[string]float64{"value near": 3, "value above": .25, "value below": -3} {
			questions[centre] = question(t, 1e-3, query.ValueAt(whole.All(), w, far, math.Abs(far)+1))
		}
		questions["value far"] = question(t, 1e-3, query.ValueAt(whole.All(), w, 3, .5))
		for kind, q := range inOrder(questions) {
			terms := q.Terms()
			elsewhere := 0.
			if b := terms[0].Ball(); terms[0].Kind().Facts().Number {
				elsewhere = terms[0].Weight() * min(max(0, b.Centre-b.Radius), b.Centre+b.Radius)
			}
			got := answer(t, whole, question(t, q.Charge(), terms...))
			want := answer(t, part, question(t, q.Charge(), over(part.All(), terms)...))
			for j, v := range want.Mean {
				v = v*healthy/n + elsewhere*(n-healthy)/n
				if !(math.Abs(got.Mean[j]-v) <= 1e-7) {
					t.Errorf("%s, %s: coordinate %d = %v, want %v: the mean of healthy records times their share", form, kind, j,
						got.Mean[j], v)
				}
			}
		}
	}
}

// over returns the terms about another cohort.
func over(c query.Cohort, terms []query.Term) []query.Term {
	list := slices.Clone(terms)
	for i, t := range list {
		list[i] = t.Over(c)
	}
	return list
}

// TestFaultyItemsAreZero tests that a faulty record contributes zero in total to an item of a prefix
// sum, although the public centres of items add up.
func TestFaultyItemsAreZero(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 4))
	const d = 3
	records := randomRecords(r, 30, d)
	for i := range records {
		records[i].ok = false
	}
	for _, m := range mechanisms {
		s := open(t, records, parse(t, "logistic"), budget(t, 8, .01, account.ReplaceOne), noiseless)
		p := openPrefix(t, s, query.Prefix{Factorization: m, Items: 3, Sensitivity: 10, Charge: .1})
		for range 3 {
			c, err := s.Draw(10)
			if err != nil {
				t.Fatal(err)
			}
			a, err := p.Add(context.Background(), query.DifferenceByCurvature(c, point(r, d, 3), point(r, d, 3), 0, .25))
			if err != nil {
				t.Fatal(err)
			}
			for j, v := range a.Mean {
				if !(math.Abs(v) <= 1e-7) {
					t.Errorf("%v: coordinate %d = %v, want 0", m, j, v)
				}
			}
		}
	}
}

// TestNormRoundingIsCharged tests that, in every dimension and under both relations, the
// sensitivity of a norm includes one step more than the sensitivity of the sum, because the norm is
// rounded down once after the sum.
func TestNormRoundingIsCharged(t *testing.T) {
	all := query.NewCohort(account.Everyone, 10)
	for _, d := range []int{2, 3, 30, 5000} { // with one coordinate the norm is an integer
		w := make([]float64, d)
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			for _, charge := range []float64{1e-8, 1e-3, 2} {
				for term, extra := range map[*query.Term]float64{ptr(query.NormAt(all, w, .7, nil)): 1,
					ptr(query.GradientAt(all, w, .7)): 0} {
					g, err := newGrid(question(t, charge, *term), relation, 10)
					if err != nil {
						t.Fatal(err)
					}
					steps := (g.sensitivity - clips(relation)*.7*(1+slack(d))) * g.scale
					// The subtraction loses up to 2^-50 of the sensitivity.
					if want := math.Sqrt(float64(d)) + extra; !(math.Abs(steps-want) <= 1e-3+g.sensitivity*g.scale*0x1p-49) {
						t.Errorf("%v, d=%d, %v, charge %v: rounding is charged %v steps, want %v", term.Kind(), d, relation, charge,
							steps, want)
					}
				}
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }
