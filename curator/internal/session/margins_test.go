package session

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// threefold is a loss of three classes for targets of -1 and 1.
type threefold struct{ loss.Margins }

func (l threefold) Values(dst, z, y []float64) { l.Margins.Values(dst, z, plus(y, 1, ones(len(y)))) }
func (l threefold) Slopes(dst, z, y []float64) { l.Margins.Slopes(dst, z, plus(y, 1, ones(len(y)))) }

func (l threefold) CurvaturesAlong(dst, z, u, y []float64) {
	l.Margins.CurvaturesAlong(dst, z, u, plus(y, 1, ones(len(y))))
}

func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }

// lever is a loss of k margins with slopes 1000 y z in each margin z that exceed its declared
// constants, so that only clipping limits the sum.
type lever struct{ k int }

func (lever) Name() string        { return "lever" }
func (l lever) K() int            { return l.k }
func (lever) Target() loss.Target { return loss.Real }
func (lever) Constants() loss.Constants {
	return loss.Constants{Lipschitz: 1, Curvature: loss.CurvatureInterval{Lo: -.25, Hi: .75}, InitialGap: 1}
}

func (l lever) Values(dst, z, y []float64) {
	for i := range dst {
		dst[i] = 500 * y[i] * z[i*l.k]
	}
}

func (l lever) Slopes(dst, z, y []float64) {
	for i := range dst {
		dst[i] = 1000 * y[i/l.k] * z[i]
	}
}

// CurvaturesAlong exceeds the declared curvature, in the direction given by the sign of a margin.
func (l lever) CurvaturesAlong(dst, z, u, y []float64) {
	for i := range dst {
		dst[i] = math.Copysign(1000, z[i]) * y[i/l.k] * u[i]
	}
}

// pair is a general loss of two parameters for each feature. Its value is the sum of two losses (y/2)
// ||w - x||^2, one for each half w of the parameters.
type pair struct{ loss.Loss }

func (p pair) Parameters(features int) int { return 2 * features }

func (p pair) Value(w []float64, x []float32, y float64) float64 {
	return spring{p}.Value(w[:len(x)], x, y) + spring{p}.Value(w[len(x):], x, y)
}

func (p pair) Gradient(dst, w []float64, x []float32, y float64) {
	spring{p}.Gradient(dst[:len(x)], w[:len(x)], x, y)
	spring{p}.Gradient(dst[len(x):], w[len(x):], x, y)
}

// HessianVector exceeds the declared constants.
func (p pair) HessianVector(dst, w, v []float64, x []float32, y float64) {
	for j := range dst {
		dst[j] = 1000 * y * v[j] * math.Copysign(1, w[j])
	}
}

// slopeReferences has, for each kind of query, a function that computes it from its definition for a
// loss of several margins: the vector by which the row is multiplied, before clip and weight.
var slopeReferences = map[query.Kind]func(l loss.Margins, t query.Term, x []float32, y float64) []float64{
	query.Gradient: slopesOf,
	query.Norm:     slopesOf,

	query.MetricGradient: slopesOf,
	query.Difference: func(l loss.Margins, t query.Term, x []float32, y float64) []float64 {
		return plus(slopesAt(l, t.Point(), x, y), -1, slopesAt(l, t.Previous(), x, y))
	},
	query.Product: func(l loss.Margins, t query.Term, x []float32, y float64) []float64 {
		return bendsAt(l, t.Point(), t.Step(), x, y)
	},
	query.ProductChange: func(l loss.Margins, t query.Term, x []float32, y float64) []float64 {
		return plus(bendsAt(l, t.Point(), t.Along(), x, y), -1, bendsAt(l, t.Previous(), t.Along(), x, y))
	},
}

func bendsAt(l loss.Margins, w, v []float64, x []float32, y float64) []float64 {
	b := make([]float64, l.K())
	l.CurvaturesAlong(b, loss.MarginsAt(w, x), loss.MarginsAt(v, x), []float64{y})
	return b
}

func slopesOf(l loss.Margins, t query.Term, x []float32, y float64) []float64 {
	return slopesAt(l, t.Point(), x, y)
}

func slopesAt(l loss.Margins, w []float64, x []float32, y float64) []float64 {
	s := make([]float64, l.K())
	l.Slopes(s, loss.MarginsAt(w, x), []float64{y})
	return s
}

// clippedProduct returns a record's term for a loss of several margins: clipped slopes times the
// row. It returns nil for a faulty record.
func clippedProduct(l loss.Margins, t query.Term, x []float32, y float64) []float64 {
	s, radius, centre := slopeReferences[t.Kind()](l, t, x, y), t.Ball().Radius, make([]float64, l.K())
	if lo, hi, ok := t.Curvature(); ok {
		move := loss.MarginsAt(t.Step(), x)
		centre, radius = plus(centre, (lo+hi)/2, move), (hi-lo)/2*euclid(move)
	}
	off := plus(s, -1, centre)
	n := euclid(off)
	along := make([]float64, len(x))
	for j, a := range x {
		along[j] = float64(a)
	}
	if t.Kind().Facts().Lifted {
		along = times(t.Metric(), x)
		radius = min(radius/max(euclid(along), 1e-300), t.Slope())
	}
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return nil
	}
	var v []float64
	for _, c := range plus(centre, min(1, radius/max(n, 1e-300)), off) {
		for _, a := range along {
			v = append(v, c*a)
		}
	}
	return v
}

// outer returns the outer product a b', row after row.
func outer(a, b []float64) (v []float64) {
	for _, x := range a {
		for _, y := range b {
			v = append(v, x*y)
		}
	}
	return v
}

// TestReplacingARecordOfSeveralMargins tests that replacing a record changes the sums by at most the
// charged sensitivity, for losses of several margins and for a general loss with more parameters than
// features.
func TestReplacingARecordOfSeveralMargins(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	closest := map[string]float64{}
	for name, l := range inOrder(map[string]loss.Loss{
		"softmax": threefold{parse(t, "softmax(3)").(loss.Margins)}, "lever": lever{2}, "wide lever": lever{5},
		"springs": pair{parse(t, "logistic")},
	}) {
		for _, d := range []int{1, 7, 20} {
			if testing.Short() && d == 20 {
				continue
			}
			records := randomRecords(r, 8, d)
			k := loss.Parameters(l, 1)
			// The rows of W are along one direction, along which a record can also lie, or
			// arbitrary.
			along, sizes := point(r, d, 1), point(r, k, 2)
			for way, w := range [][]float64{outer(sizes, along), point(r, k*d, 3)} {
				prev := plus(make([]float64, len(w)), -.5, w)
				if way > 0 {
					prev = point(r, k*d, 3)
				}
				for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
					s, own := open(t, records, l, budget(t, 50, .1, relation), nil), engineOf(t, records, l)
					some := replacements(r, d, w[:d], prev[:d])
					for i, n := 1, len(some); i < n; i += 8 {
						some = append(some, record{some[i].x, -some[i].y, true})
					}
					neighbours := neighboursOf(t, records, some, l, relation)
					for kind, q := range inOrder(questionsAt(t, s.All(), w, prev, l)) {
						g, err := newGrid(q, relation, s.mostRecords(q))
						if err != nil {
							t.Fatal(err)
						}
						before, sums := integers(t, own, q, g, nil), make([][]int64, len(neighbours))
						for i, n := range neighbours {
							sums[i] = integers(t, n, q, g, nil)
						}
						for i, after := range sums {
							others := [][]int64{before}
							if relation == account.ReplaceOne { // the replaced record is of this kind too
								others = sums[:i]
							}
							moved := 0.
							for _, o := range others {
								moved = max(moved, distance(o, after)/g.scale)
							}
							if !(moved <= g.sensitivity) {
								t.Errorf("%s d=%d %v %s: replacement %d moves the sum by %v, charged for %v", name, d, relation, kind, i, moved,
									g.sensitivity)
							}
							if _, several := l.(loss.Margins); several {
								key := fmt.Sprint(kind, " ", relation)
								closest[key] = max(closest[key], moved/g.sensitivity)
							}
						}
					}
				}
			}
		}
	}
	for key, ratio := range inOrder(closest) {
		if ratio < .9 {
			t.Errorf("%s: the worst replacement reaches only %.3f of the charged sensitivity", key, ratio)
		}
	}
}

// linear has the slopes z - y in each of its margins, which are exact in big floats.
type linear struct{ lever }

func (l linear) Slopes(dst, z, y []float64) {
	for i := range dst {
		dst[i] = z[i] - y[i/l.k]
	}
}

// TestProductsAgainstBigFloats compares each record's rounded contribution with its definition in big
// floats, for a loss of several margins. Gradients are clipped and unclipped. The slopes of a
// difference change by as much as the margins. These changes lie in the ball of a curvature in [0,
// 1], and for a declared curvature in [0, 1/2] they are projected to the surface of the smaller ball.
func TestProductsAgainstBigFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	all := query.NewCohort(account.Everyone, 1)
	for range 150 {
		d, k := 1+r.IntN(20), 2+r.IntN(4)
		l := linear{lever{k}}
		records := randomRecords(r, 1, d)
		w, prev := point(r, k*d, 5), point(r, k*d, 5)
		clip := .05 + 5*r.Float64()
		whole, half := query.DifferenceByCurvature(all, w, prev, 0, 1), query.DifferenceByCurvature(all, w, prev, 0, .5)
		slopes, moves := make([]*big.Float, k), make([]*big.Float, k)
		for i := range k {
			slopes[i], moves[i] = bigSlope(w[i*d:(i+1)*d], records[0]), bigDot(whole.Step()[i*d:(i+1)*d], records[0].x)
		}
		for _, c := range []struct {
			term query.Term
			want []*big.Float
		}{
			{query.GradientAt(all, w, clip), bigClip(slopes, clip)},
			{whole, moves},
			{half, bigScaled(.5, copied(moves))},
		} {
			q := question(t, .01, c.term)
			g, err := newGrid(q, account.ReplaceOne, 1)
			if err != nil {
				t.Fatal(err)
			}
			got := residual(t, records, l, q, g)
			_, centre := centreOfAll(q, g.scale)
			for i, slope := range c.want {
				for j, want := range bigRow(records[0].x, slope) {
					at := i*d + j
					if off := offBy(want, g.scale, got[at]+centre[at]); off > .5+slack(k*d)*q.Clip()*g.scale {
						t.Fatalf("%s d=%d k=%d: coordinate %d is off by %v steps", q.Name(), d, k, at, off)
					}
				}
			}
		}
	}
}

func copied(v []*big.Float) []*big.Float {
	out := make([]*big.Float, len(v))
	for i := range v {
		out[i] = new(big.Float).Copy(v[i])
	}
	return out
}

// capricious is a loss of several margins that misbehaves on some records (its vice), for instance by
// a panic.
type capricious struct {
	loss.Margins
	vice vice
}

func (c capricious) Slopes(dst, z, y []float64) { c.each(dst, z, y, c.K(), c.Margins.Slopes) }
func (c capricious) Values(dst, z, y []float64) { c.each(dst, z, y, 1, c.Margins.Values) }

func (c capricious) CurvaturesAlong(dst, z, u, y []float64) {
	k := c.K()
	for i := range y {
		own := u[i*k : (i+1)*k]
		c.each(dst[i*k:(i+1)*k], z[i*k:(i+1)*k], y[i:i+1], k,
			func(dst, z, y []float64) { c.Margins.CurvaturesAlong(dst, z, own, y) })
	}
}

func (c capricious) each(dst, z, y []float64, width int, own func(dst, z, y []float64)) {
	k := c.K()
	for i := range y {
		if y[i] == marked {
			c.vice(dst[i*width:(i+1)*width:(i+1)*width], z[:(i+1)*k])
			continue
		}
		own(dst[i*width:(i+1)*width], z[i*k:(i+1)*k], y[i:i+1])
	}
}

// TestAFailingRecordOfSeveralMarginsIsFaulty tests that a record on which a loss of several margins
// fails is treated as malformed. A record that fails in one margin contributes nothing to any margin.
func TestAFailingRecordOfSeveralMarginsIsFaulty(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 3))
	const n, d, k = 200, 3, 3
	own := threefold{parse(t, "softmax(3)").(loss.Margins)}
	questions := questionsAt(t, query.NewCohort(account.Everyone, n), point(r, k*d, 3), point(r, k*d, 3), own)
	for name, v := range inOrder(vices) {
		for _, most := range []int{1, 3, n} {
			bad := randomRecords(r, n, d)
			malformed := slices.Clone(bad)
			for _, i := range r.Perm(n)[:most] {
				bad[i].y, malformed[i].ok = marked, false
			}
			for kind, q := range inOrder(questions) {
				if q.Facts().Losses == query.NoLoss || q.Terms()[0].Kind() == query.WeightedMoment {
					continue // does not use the loss
				}
				g, err := newGrid(q, account.ReplaceOne, n)
				if err != nil {
					t.Fatal(err)
				}
				want := residual(t, malformed, own, q, g)
				for _, workers := range []int{1, 3} {
					e, err := engine.New(tableOf(t, bad, 70*workers), capricious{own, v}, workers)
					if err != nil {
						t.Fatal(err)
					}
					if got := integers(t, e, q, g, nil); !slices.Equal(got, want) {
						t.Errorf("loss that %s on %d records: %s: sum %v, want %v", name, most, kind, got, want)
					}
				}
			}
		}
	}
}

// ending returns no slopes for records whose first margin is above 1/10.
type ending struct{ threefold }

func (e ending) Slopes(dst, z, y []float64) {
	e.threefold.Slopes(dst, z, y)
	for i := 0; i < len(z); i += 3 {
		if z[i] > .1 {
			dst[i+2] = math.NaN()
		}
	}
}

// TestALaterTermOfSeveralMarginsFails tests that a record contributes nothing to any margin's sum
// if a later term fails on it.
func TestALaterTermOfSeveralMarginsFails(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 4))
	const n, d, k = 90, 3, 3
	own := threefold{parse(t, "softmax(3)").(loss.Margins)}
	records := randomRecords(r, n, d)
	malformed := slices.Clone(records)
	w, failed := make([]float64, k*d), 0
	w[0] = 1
	for i, x := range records {
		if x.x[0] > .1 {
			malformed[i].ok = false
			failed++
		}
	}
	all := query.NewCohort(account.Everyone, n)
	q := question(t, 1e-3, query.GradientAt(all, make([]float64, k*d), 1), query.GradientAt(all, w, 1))
	g, err := newGrid(q, account.ReplaceOne, n)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := residual(t, records, ending{own}, q, g),
		residual(t, malformed, own, q, g); !slices.Equal(got, want) || failed < 10 || failed > n-10 {
		t.Errorf("sum %v with %d records that fail, want %v", got, failed, want)
	}
}

// TestPointsHaveTheLossesParameters tests that a session accepts points with as many coordinates as
// its loss has parameters, and refuses a loss without a known number of parameters.
func TestPointsHaveTheLossesParameters(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	const d = 4
	records := randomRecords(r, 10, d)
	for name, c := range inOrder(map[string]struct {
		l    loss.Loss
		want int
	}{
		"logistic": {parse(t, "logistic"), d}, "softmax": {parse(t, "softmax(5)"), 5 * d},
		"pair": {pair{parse(t, "logistic")}, 2 * d},
	}) {
		for _, have := range []int{1, d - 1, d, d + 1, 2 * d, 5*d - 1, 5 * d, 6 * d} {
			s := open(t, records, c.l, budget(t, 50, .1, account.ReplaceOne), nil)
			_, err := s.Ask(t.Context(), question(t, .01, query.GradientAt(s.All(), make([]float64, have), 1)))
			_, unselected := s.Select(t.Context(), selection(t, query.ValueAt(s.All(), make([]float64, have), 1, 1)))
			if (err == nil) != (have == c.want) || (unselected == nil) != (have == c.want) {
				t.Errorf("%s: a point of %d coordinates for %d features: %v, %v", name, have, d, err, unselected)
			}
		}
	}
	for _, l := range []loss.Loss{lever{1}, lever{-3}, lever{1 << 13}, shapeless{pair{parse(t, "logistic")}, 0},
		shapeless{pair{parse(t, "logistic")}, -1}, shapeless{pair{parse(t, "logistic")}, 1 << 25}} {
		if e, err := engine.New(tableOf(t, records, 0), l, 1); err == nil {
			t.Errorf("%+v: has %d parameters", l, e.Parameters())
		}
	}
}

// TestPrefixOfSeveralMargins tests that the items of a prefix sum contain all margins, and that the
// sensitivity includes the rounding of all margins.
func TestPrefixOfSeveralMargins(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n, d, k = 30, 5, 3
	l := threefold{parse(t, "softmax(3)").(loss.Margins)}
	records := randomRecords(r, n, d)
	s := open(t, records, l, budget(t, 50, .1, account.ReplaceOne), noiseless)
	spec := query.Prefix{Factorization: query.Toeplitz, Items: 2, Sensitivity: 1, Charge: 1e-3}
	p := openPrefix(t, s, spec)
	one, err := newPrefixGrid(spec, newToeplitz(2), account.ReplaceOne, d, n)
	if err != nil || !(p.grid.sensitivity > one.sensitivity) {
		t.Errorf("sensitivity %v with %d margins, %v with one: %v", p.grid.sensitivity, k, one.sensitivity, err)
	}
	c, err := s.Draw(n)
	if err != nil {
		t.Fatal(err)
	}
	w, prev := point(r, k*d, 2), point(r, k*d, 2)
	terms := []query.Term{query.GradientAt(c, w, 1), query.DifferenceByCurvature(c, w, prev, 0, .5).Weighted(.3)}
	got, want := add(t, p, terms...).Mean, slowly(l, question(t, 1, terms...), records)
	for j := range want {
		if !(math.Abs(got[j]-want[j]) <= 1e-5) {
			t.Errorf("coordinate %d: %v, want %v", j, got[j], want[j])
		}
	}
}

func selection(t *testing.T, score query.Term) query.Selection {
	t.Helper()
	s, err := query.NewSelection(.01, score, score)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shapeless is a general loss that has the given number of parameters for any number of features.
type shapeless struct {
	pair
	parameters int
}

func (s shapeless) Parameters(int) int { return s.parameters }
