package session

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// randomMetric returns a symmetric matrix with entries of about the given size.
func randomMetric(t testing.TB, r *rand.Rand, d int, size float64) query.Metric {
	t.Helper()
	p := make([]float64, d*d)
	for j := range d {
		for k := range j + 1 {
			p[j*d+k] = size * r.NormFloat64()
			p[k*d+j] = p[j*d+k]
		}
	}
	m, err := query.NewMetric(d, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// bigLift returns the metric's integer matrix times a sum, in unbounded integers.
func bigLift(m query.Metric, sum []int64) []*big.Int {
	out, row := make([]*big.Int, len(sum)), make([]int64, len(sum))
	for j := range out {
		m.Row(row, j)
		out[j] = new(big.Int)
		for k, v := range row {
			out[j].Add(out[j], new(big.Int).Mul(big.NewInt(v), big.NewInt(sum[k])))
		}
	}
	return out
}

// TestLiftIsExact tests that the product of a metric's integer matrix and a sum (lift) equals the
// product in unbounded integers modulo 2^64. If the exact product fits in int64, lift returns it,
// even if products of single entries do not fit.
func TestLiftIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 1))
	within, wrapped := 0, 0
	for range 2000 {
		d := 1 + r.IntN(9)
		m := randomMetric(t, r, d, 1)
		if r.IntN(3) == 0 {
			m = diagonalOf(t, point(r, d, 1))
		}
		sum := make([]int64, d)
		size := uint(r.IntN(63))
		for k := range sum {
			sum[k] = int64(r.Uint64()) >> size
		}
		before := slices.Clone(sum)
		got := lift(m, sum)
		for j, want := range bigLift(m, sum) {
			if want.IsInt64() {
				within++
			} else {
				wrapped++
			}
			low := new(big.Int).Sub(want, big.NewInt(got[j]))
			if low.And(low, new(big.Int).SetUint64(math.MaxUint64)); low.Sign() != 0 ||
				want.IsInt64() && want.Int64() != got[j] {
				t.Fatalf("coordinate %d is %d, want %v modulo 2^64", j, got[j], want)
			}
		}
		if !slices.Equal(sum, before) {
			t.Fatal("the sum was written into")
		}
	}
	if within < 1000 || wrapped < 1000 {
		t.Errorf("%d within int64, %d not: the test shows nothing", within, wrapped)
	}
}

// TestLiftedRoundingIsCharged tests a coarse grid, on which the rounding of contributions,
// multiplied by the metric, moves the answer visibly beyond twice the clip norm. The charged
// sensitivity must cover this for either of the metric's two norm bounds.
func TestLiftedRoundingIsCharged(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 2))
	const clip = .25
	l := steep{parse(t, "logistic").(loss.RankOne)}
	all := query.NewCohort(account.Everyone, 1)
	worst := 0.
	for _, d := range []int{1, 2, 30} {
		for _, ones := range []bool{true, false} {
			p := make([]float64, d*d)
			x, minus := make([]float32, d), make([]float32, d)
			for j := range x {
				x[j], minus[j] = .7/float32(math.Sqrt(float64(d))), -.7/float32(math.Sqrt(float64(d)))
				for k := range x {
					if ones || j == k {
						p[j*d+k] = 1
					}
				}
			}
			m, err := query.NewMetric(d, p)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 60 {
				q := question(t, 1e-3*(1+float64(i)/500), query.GradientInMetric(all, make([]float64, d), clip, 1e4, m))
				// With so many rows, the grid is coarse.
				g, err := newGrid(q, account.ReplaceOne, 0x1p33*(1+r.Float64()))
				if err != nil {
					t.Fatal(err)
				}
				before := residual(t, []record{{x, 1, true}}, l, q, g)
				after := residual(t, []record{{minus, 1, true}}, l, q, g)
				moved := distance(before, after) / g.scale
				if !(moved <= g.sensitivity) {
					t.Errorf("d = %d, charge %v: moved %v, charged for %v", d, q.Charge(), moved, g.sensitivity)
				}
				worst = max(worst, moved/(2*clip))
				if steps := (g.sensitivity - 2*clip*(1+slack(d))) * g.scale; !(steps >= m.Norm()*math.Sqrt(float64(d)) &&
					steps <= m.Norm()*(math.Sqrt(float64(d))+1)+2*g.sensitivity*g.scale*0x1p-49+1) {
					t.Errorf("d = %d: rounding is charged %v steps, the metric has norm %v", d, steps, m.Norm())
				}
			}
		}
	}
	if worst < 1.01 {
		t.Errorf("rounding moved the answer by %v of twice the clip norm only: the test shows nothing", worst)
	}
}

// TestPairsRoundingIsCharged tests that the sensitivity includes half a step for each pair of
// features, for each of two records.
func TestPairsRoundingIsCharged(t *testing.T) {
	all := query.NewCohort(account.Everyone, 10)
	for _, d := range []int{1, 3, 60} {
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			q := question(t, 1e-4, query.SecondMomentOf(all, d))
			g, err := newGrid(q, relation, 10)
			if err != nil {
				t.Fatal(err)
			}
			steps := (g.sensitivity - q.Facts().Moves(relation)*(1+slack(d))) * g.scale
			if want := math.Sqrt(float64(d*(d+1)) / 2); !(math.Abs(steps-want) <= 1e-3+g.sensitivity*g.scale*0x1p-49) {
				t.Errorf("d = %d, %v: rounding is charged %v steps, want %v", d, relation, steps, want)
			}
		}
	}
}

// TestMetricGridsKeepIntegersInRange tests that on every grid returned, contributions have at most
// 2^50 steps, and both their sum and the metric times their sum have at most 2^61 steps.
func TestMetricGridsKeepIntegersInRange(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 3))
	between := func(lo, hi float64) float64 { return math.Exp2(lo + (hi-lo)*r.Float64()) }
	given, refused := 0, 0
	for range 20000 {
		relation := []account.Relation{account.ReplaceOne, account.AddOrRemove}[r.IntN(2)]
		rows := math.Ceil(between(0, 34))
		d := 1 + r.IntN(6)
		m := randomMetric(t, r, d, between(-20, 20))
		clip, slope, weight := between(-20, 20), between(-20, 20), between(-5, 5)
		q := question(t, between(-60, 60), query.GradientInMetric(query.NewCohort(account.Everyone, rows), make([]float64, d),
			clip, slope, m).Weighted(weight))
		g, err := newGrid(q, relation, rows)
		if err != nil {
			refused++
			continue
		}
		given++
		if c := sumScale(q, g); !stays(50, slope*weight, c) || !stays(61, slope*weight, c, rows) {
			t.Fatalf("contributions of 2^%.1f steps, 2^%.1f rows", math.Log2(slope*weight*c), math.Log2(rows))
		}
		if lifted := clip*weight*g.scale + m.Norm()*math.Sqrt(float64(d))/2; !stays(61, lifted, rows) {
			t.Fatalf("lifted, contributions of 2^%.1f steps, 2^%.1f rows", math.Log2(lifted), math.Log2(rows))
		}
		if g.bits < minBits || g.bits > maxBits || !(g.sigma*g.scale <= math.Ldexp(1, g.bits)) {
			t.Fatalf("%d bits, noise of %v steps charged as %v", g.bits, math.Ldexp(1, g.bits), g.sigma*g.scale)
		}
	}
	if given < 2000 || refused < 2000 {
		t.Errorf("%d grids given, %d refused: the test shows nothing", given, refused)
	}
}

// TestLiftedSumsHaveRoom tests that sums that are multiplied by a metric's matrix do not overflow for
// up to eight times the declared number of records, and other sums not for any number of records, if
// the number of records is secret.
func TestLiftedSumsHaveRoom(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 4))
	m := randomMetric(t, r, 2, 1)
	for _, declared := range []float64{40, 1 << 30} {
		s := open(t, randomRecords(r, 40, 2), parse(t, "logistic"), budget(t, 8, .01, account.AddOrRemove),
			func(c *Config) { c.Declared = declared })
		for term, want := range map[*query.Term]float64{
			ptr(query.GradientInMetric(s.All(), []float64{0, 0}, 1, 1, m)): min(8*declared, math.MaxInt32),
			ptr(query.GradientAt(s.All(), []float64{0, 0}, 1)):             math.MaxInt32,
			ptr(query.SecondMomentOf(s.All(), 2)):                          math.MaxInt32,
		} {
			if got := s.mostRecords(question(t, 1, *term)); got != want {
				t.Errorf("%v, %v declared: room for %v, want %v", term.Kind(), declared, got, want)
			}
		}
	}
}

// TestMetricAnswersAreLifted tests that a session's answer is the metric's matrix times the mean of
// clipped gradients, with noise of the stated size, also over a cohort and for repeated rows.
func TestMetricAnswersAreLifted(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 5))
	const n, d, times = 30, 3, 4
	records := randomRecords(r, n, d)
	l := parse(t, "logistic")
	m, w := randomMetric(t, r, d, 2), point(r, d, 1)
	for _, repeat := range []int{1, times} {
		s := open(t, records, l, budget(t, 50, .1, account.ReplaceOne),
			func(c *Config) { c.Noiseless, c.Repeat = true, repeat })
		q := question(t, .01, query.GradientInMetric(s.All(), w, .5, 1, m))
		got, want := answer(t, s, q), slowly(l,
			question(t, .01, query.GradientInMetric(query.NewCohort(account.Everyone, n), w, .5, 1, m)), records)
		for j := range want {
			if !(math.Abs(got.Mean[j]-want[j]) <= 1e-6) {
				t.Errorf("%d times: coordinate %d = %v, want %v", repeat, j, got.Mean[j], want[j])
			}
		}
		if sigma := 2 * .5 / (n * float64(repeat) * .1); !(math.Abs(got.Sigma/sigma-1) <= 1e-5) {
			t.Errorf("%d times: noise of %v, want %v", repeat, got.Sigma, sigma)
		}
	}
}

// TestMomentsHaveTheStatedNoise tests that all coordinates of an answer that is a symmetric matrix as
// a vector (svec) have the same noise, and that entries of the matrix off the diagonal have this
// noise divided by sqrt 2. The estimate of a variance from k normals has a standard deviation of
// sqrt(2/k). The tolerance of 6 deviations, for two estimates, is exceeded by chance with probability
// 4e-9 (below 1e-6 including the skewness of sums of 400).
func TestMomentsHaveTheStatedNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 6))
	const n, d = 50, 40
	records := randomRecords(r, n, d)
	b := budget(t, 8, .01, account.ReplaceOne)
	s, silent := open(t, records, parse(t, "logistic"), b, func(c *Config) { c.Coins = coin.Simulated([32]byte{6}) }),
		open(t, records, parse(t, "logistic"), b, noiseless)
	var on, off []float64
	for range 10 {
		noisy, exact := answer(t, s, question(t, .01, query.SecondMomentOf(s.All(), d))),
			answer(t, silent, question(t, .01, query.SecondMomentOf(silent.All(), d)))
		if want := math.Sqrt2 / (n * .1); !(math.Abs(noisy.Sigma/want-1) <= 1e-5) {
			t.Fatalf("noise of %v, want %v", noisy.Sigma, want)
		}
		x, _, err := query.Symmetric(noisy.Mean)
		if err != nil {
			t.Fatal(err)
		}
		y, _, _ := query.Symmetric(exact.Mean)
		for j := range d {
			for k := range j + 1 {
				z := (x[j*d+k] - y[j*d+k]) / noisy.Sigma
				if j == k {
					on = append(on, z)
				} else {
					off = append(off, z*math.Sqrt2)
				}
			}
		}
	}
	for name, z := range map[string][]float64{"on": on, "off": off} {
		var variance float64
		for _, v := range z {
			variance += v * v / float64(len(z))
		}
		if allowed := 6 * math.Sqrt(2/float64(len(z))); !(math.Abs(variance-1) <= allowed) {
			t.Errorf("%s the diagonal: variance %v of what is stated, allowed to be off by %v", name, variance, allowed)
		}
	}
}

// TestKindsOfAnotherLoss tests that queries that need a loss phi(<w,x>, y) are refused for other
// losses, and that a point is refused if its number of coordinates is not the number of features. A
// refused query is not charged.
func TestKindsOfAnotherLoss(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 7))
	s := open(t, randomRecords(r, 10, 3), spring{parse(t, "logistic")}, budget(t, 8, .01, account.ReplaceOne), nil)
	m := randomMetric(t, r, 3, 1)
	w := make([]float64, 3)
	for want, terms := range map[string][]query.Term{
		"must be of the form": {query.CurvatureAt(s.All(), w, 1), query.GradientInMetric(s.All(), w, 1, 1, m),
			query.SquaredSlopeAt(s.All(), w, 1, m)},
		"must have 3": {query.SecondMomentOf(s.All(), 2), query.SecondMomentOf(s.All(), 4),
			query.CurvatureAt(s.All(), w[:2], 1)},
	} {
		for _, term := range terms {
			if _, err := s.Ask(t.Context(), question(t, .1, term)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v", term.Kind(), err)
			}
		}
	}
	if s.Ledger().Len() != 0 {
		t.Errorf("%d events of what was refused", s.Ledger().Len())
	}
	if _, err := s.Ask(t.Context(), question(t, .1, query.SecondMomentOf(s.All(), 3))); err != nil {
		t.Errorf("second moment: %v", err)
	}
}

// TestMetricsHaveTheFeaturesDimension tests that for a loss of several margins, too, a metric must
// have one dimension for each feature. Another dimension, such as the number of the point's
// coordinates or a divisor of it, is refused, and nothing is charged.
func TestMetricsHaveTheFeaturesDimension(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 8))
	const d, k = 4, 3
	for _, dim := range []int{1, 2, 3, d, 6, k * d} {
		s := open(t, randomRecords(r, 10, d), threefold{parse(t, "softmax(3)").(loss.Margins)},
			budget(t, 8, .01, account.ReplaceOne), nil)
		m := randomMetric(t, r, dim, 1)
		for _, term := range []query.Term{query.GradientInMetric(s.All(), make([]float64, k*d), 1, 1, m),
			query.SquaredSlopeAt(s.All(), make([]float64, k*d), 1, m)} {
			before := s.Ledger().Len()
			_, err := s.Ask(t.Context(), question(t, .1, term))
			if (err == nil) != (dim == d) || (s.Ledger().Len() > before) != (dim == d) {
				t.Errorf("%v in a metric of dimension %d for %d features: %v", term.Kind(), dim, d, err)
			}
		}
	}
}
