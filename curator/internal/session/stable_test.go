package session

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

func stableQuestion(t testing.TB, charge float64, c query.Cohort, p query.Pass) query.Stable {
	t.Helper()
	q, err := query.NewStable(charge, c, p)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// passesAt returns passes of every kind for a loss of the given smoothness.
func passesAt(r *rand.Rand, d int, smoothness float64) map[string]query.Pass {
	long := make([]float64, d)
	long[0] = 30
	return map[string]query.Pass{
		"plain":      {Start: point(r, d, 2), Step: .1 / smoothness, Clip: 1},
		"from zero":  {Start: make([]float64, d), Step: .1 / smoothness, Clip: 1},
		"from afar":  {Start: long, Step: .1 / smoothness, Clip: 1},
		"tight clip": {Start: point(r, d, 2), Step: .1 / smoothness, Clip: .01},
		"longest":    {Start: point(r, d, 2), Step: 2 / smoothness, Clip: 1},
		"regularized": {Start: point(r, d, 2), Step: .2 / smoothness, Clip: 1, Lambda: .4 * smoothness,
			Linear: point(r, d, 1)},
		"overshoot": {Start: point(r, d, 2), Step: 2 / (1.7 * smoothness), Clip: 1, Lambda: .7 * smoothness},
		"ball": {Start: make([]float64, d), Step: .1 / smoothness, Clip: 1, Lambda: .2, Radius: 1.5,
			Centre: point(r, d, 1)},
		"small ball": {Start: make([]float64, d), Step: .02 / smoothness, Clip: 1, Radius: .2},
	}
}

// TestReplacingARecordOfAPass replaces records of a pass, at every position, and compares the integers
// without noise with the charged sensitivity. Replacements are random, worst, extreme and faulty records.
// The other rows are chosen such that the two runs stay at a distance from each other, or by hill climbing.
// The change must never exceed the bound, and must nearly reach it for every kind of pass whose steps do
// not overshoot.
func TestReplacingARecordOfAPass(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	closest := map[string]float64{}
	climbs := 30
	if testing.Short() {
		climbs = 8
	}
	for _, name := range []string{"logistic", "huber(3)", "smoothed-hinge(0.5)", "squared(1)"} {
		l := parse(t, name)
		for _, d := range []int{1, 3, 20} {
			kinds := passesAt(r, d, l.Constants().Curvature.Hi)
			for _, kind := range slices.Sorted(maps.Keys(kinds)) {
				const n = 12
				p := kinds[kind]
				q := stableQuestion(t, 1e-2, query.NewCohort(1, n), p)
				g, err := newStableGrid(q, l.Constants(), n)
				if err != nil {
					t.Fatal(err)
				}
				order := rand.New(rand.NewPCG(1, 1)).Perm(n)
				members := make([]int32, n)
				for i, m := range order {
					members[i] = int32(m)
				}
				try := func(records []record, at int, x record) float64 {
					after := append([]record(nil), records...)
					after[members[at]] = x
					moved := distance(passOf(t, records, l, p, g, members), passOf(t, after, l, p, g, members)) / g.scale
					if !(moved <= g.sensitivity) {
						t.Fatalf("%s d=%d %s: a replacement moves the average by %v, charged for %v", name, d, kind, moved, g.sensitivity)
					}
					closest[kind] = max(closest[kind], moved/g.sensitivity)
					return moved
				}
				// The other records have slope 0, so that only the regularizer brings the two runs
				// together.
				still := make([]record, n)
				for i := range still {
					still[i] = record{make([]float32, d), 1, true}
				}
				axis := make([]float32, d)
				axis[d-1] = 1 + 0x1p-24
				minus := make([]float32, d)
				minus[d-1] = -1 - 0x1p-24
				for _, y := range []float64{1, -1} {
					still[members[0]] = record{axis, y, true}
					for _, x := range [][]float32{axis, minus} {
						try(still, 0, record{x, -y, true})
						try(still, 0, record{x, y, true})
					}
				}
				records := randomRecords(r, n, d)
				for _, x := range replacements(r, d, p.Start, make([]float64, d)) {
					try(records, 0, x)
					try(records, r.IntN(n), x)
				}
				// The search is hill climbing: it changes one row, and keeps the change if the
				// average moves more.
				best, with := 0., record{unit(r, d), -records[members[0]].y, true}
				for range climbs {
					next, x := append([]record(nil), records...), with
					switch i := r.IntN(n); i {
					case 0:
						x = record{unit(r, d), float64(2*r.IntN(2) - 1), true}
					default:
						next[i] = record{unit(r, d), float64(2*r.IntN(2) - 1), true}
					}
					if moved := try(next, 0, x); moved > best {
						best, records, with = moved, next, x
					}
				}
			}
		}
	}
	for kind, ratio := range closest {
		t.Logf("%s: largest ratio %.4f", kind, ratio)
		want := .9
		switch kind {
		case "overshoot": // each step changes the sign of the difference between the two runs
			want = .1
		}
		if ratio < want {
			t.Errorf("%s: the worst replacement reaches only %.3f of the charged sensitivity", kind, ratio)
		}
	}
}

// passOf returns the integers of a pass without noise.
func passOf(t testing.TB, records []record, l loss.Loss, p query.Pass, g grid, members []int32) []int64 {
	t.Helper()
	e, err := engine.New(tableOf(t, records, 5), l, 1)
	if err != nil {
		t.Fatal(err)
	}
	v, err := e.Average(context.Background(), p, g.scale, members)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestLongerStepsTakePointsApart shows why longer steps are refused. Two runs, mirror images of
// each other, use rows on which both have margins of size 1, where huber(1) bends. Each row also
// has a component in a new direction. With a step of 3/L1, for the loss's curvature L1, the runs
// move further apart than the charged sensitivity. With a step of 2/L1 they do not.
func TestLongerStepsTakePointsApart(t *testing.T) {
	const n = 40
	l := parse(t, "huber(1)")
	for step, apart := range map[float64]bool{2: false, 3: true} {
		first := make([]float32, n)
		first[0] = 1
		records, members := []record{{first, -1, true}}, []int32{0}
		w := make([]float64, n)
		w[0] = step
		for i := 1; i < n; i++ {
			var square float64
			for _, v := range w {
				square += v * v
			}
			x := scaled(w, 1/square)
			x[i] = float32(math.Sqrt(1 - 1/square))
			for j := range w {
				w[j] -= step * float64(x[j])
			}
			records, members = append(records, record{x, 0, true}), append(members, int32(i))
		}
		after := append([]record(nil), records...)
		after[0].y = 1
		p := query.Pass{Start: make([]float64, n), Step: step, Clip: 1}
		g := grid{scale: 0x1p20}
		moved := distance(passOf(t, records, l, p, g, members), passOf(t, after, l, p, g, members)) / g.scale
		ratio := moved / (2 * step * (n - 1) / n)
		t.Logf("step %v: %.3f of what would be charged", step, ratio)
		if (ratio > 1) != apart {
			t.Errorf("step %v: runs come apart by %v of what would be charged", step, ratio)
		}
	}
}

// TestPassNoiseHasTheChargedLaw compares the variance of the noise of many passes with the event in
// the ledger. With 4e4 normals the variance divided by the stated one is within 4.9 sqrt(2/4e4) =
// 3.5% of 1 except with probability 1e-6.
func TestPassNoiseHasTheChargedLaw(t *testing.T) {
	const d, asks, n = 400, 100, 20
	r := rand.New(rand.NewPCG(2, 2))
	records := randomRecords(r, 2*n, d)
	l := parse(t, "logistic")
	s := open(t, records, l, budget(t, 8, .01, account.ReplaceOne), nil)
	silent := open(t, records, l, budget(t, 8, .01, account.ReplaceOne), func(c *Config) { c.Noiseless = true })
	cohort, err := s.Draw(n)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := silent.Draw(n); err != nil {
		t.Fatal(err)
	}
	var total float64
	for i := range asks {
		p := query.Pass{Start: point(r, d, 2), Step: r.Float64(), Clip: 1, Lambda: .1, Linear: point(r, d, .1)}
		charge := s.Ledger().Budget().Charge() / (asks + 1) * (.5 + r.Float64())
		q := stableQuestion(t, charge, cohort, p)
		noisy, err := s.Stable(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		exact, err := silent.Stable(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		e := s.Ledger().Events()[i]
		if want := p.Sensitivity(n, .25); !(math.Abs(e.Sensitivity/want-1) <= 0x1p-5) {
			t.Fatalf("event %d: sensitivity %v, predicted %v", i, e.Sensitivity, want)
		}
		if e.Charge > charge || e.Charge < charge*(1-1e-6) || noisy.Charge != e.Charge {
			t.Fatalf("event %d: charge %v for %v offered, release says %v", i, e.Charge, charge, noisy.Charge)
		}
		if e.Basis != account.Stability || e.Loss != "logistic" || e.Cohort != cohort.ID() || !e.Simulated {
			t.Fatalf("event %d: %+v", i, e)
		}
		if !(math.Abs(noisy.Sigma/e.Sigma-1) <= 1e-12) {
			t.Fatalf("event %d: release has sigma %v, ledger %v", i, noisy.Sigma, e.Sigma)
		}
		for j := range noisy.Mean {
			z := (noisy.Mean[j] - exact.Mean[j]) / e.Sigma
			total += z * z
		}
	}
	if v := total / (d * asks); !(math.Abs(v-1) <= .035) {
		t.Errorf("noise has variance %v of the ledger's: want 1", v)
	}
}

// TestPassByTheBook tests that without noise the answer equals a direct implementation of the pass,
// over the drawn records in the drawn order.
func TestPassByTheBook(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	const n, d = 200, 5
	records := randomRecords(r, n, d)
	records[7].ok, records[11].y, records[13].y = false, math.NaN(), 3
	l := parse(t, "logistic").(loss.RankOne)
	s := open(t, records, l, budget(t, 50, .1, account.ReplaceOne), func(c *Config) { c.Noiseless = true })
	if _, err := s.Draw(20); err != nil {
		t.Fatal(err)
	}
	cohort, err := s.Draw(150)
	if err != nil {
		t.Fatal(err)
	}
	members, err := s.rowsOf(cohort)
	if err != nil {
		t.Fatal(err)
	}
	p := query.Pass{Start: point(r, d, 1), Step: .7, Clip: .6, Lambda: .3, Linear: point(r, d, .3), Radius: .8,
		Centre: point(r, d, .2)}
	got, err := s.Stable(context.Background(), stableQuestion(t, 1, cohort, p))
	if err != nil {
		t.Fatal(err)
	}
	w, want := append([]float64(nil), p.Start...), make([]float64, d)
	projected := 0
	for _, m := range members {
		rec := records[m]
		z, slope := 0., 0.
		for j := range w {
			want[j] += w[j] / 150
			z += w[j] * float64(rec.x[j])
		}
		if rec.ok && math.Abs(rec.y) == 1 {
			slope = max(-.6, min(.6, -rec.y/(1+math.Exp(rec.y*z))))
		}
		norm := 0.
		for j := range w {
			w[j] -= .7 * (slope*float64(rec.x[j]) + .3*w[j] - p.Linear[j])
			norm = math.Hypot(norm, w[j]-p.Centre[j])
		}
		if norm > .8 {
			projected++
			for j := range w {
				w[j] = p.Centre[j] + (w[j]-p.Centre[j])*.8/norm
			}
		}
	}
	if projected == 0 || projected == 150 {
		t.Fatalf("%d projections: the test wants some", projected)
	}
	for j := range want {
		// A step is shorter than in the direct implementation by 2^-20 of itself.
		if !(math.Abs(got.Mean[j]-want[j]) <= 1e-5) {
			t.Errorf("coordinate %d = %v, want %v", j, got.Mean[j], want[j])
		}
	}
}

// TestSamePass tests that the answer to a query about a pass of SGD does not depend on the number of
// goroutines or the block size.
func TestSamePass(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const n, d = 500, 13
	records := randomRecords(r, n, d)
	var first []float64
	for _, workers := range []int{1, 2, 7} {
		for _, block := range []int{1, 64, 1000} {
			e, err := engine.New(tableOf(t, records, block), parse(t, "logistic"), workers)
			if err != nil {
				t.Fatal(err)
			}
			s, err := New(Config{
				Engine: e, Budget: budget(t, 5, .01, account.ReplaceOne),
				Workers: workers, Coins: coin.Simulated([32]byte{4}),
			})
			if err != nil {
				t.Fatal(err)
			}
			c, err := s.Draw(400)
			if err != nil {
				t.Fatal(err)
			}
			a, err := s.Stable(context.Background(),
				stableQuestion(t, .1, c, query.Pass{Start: make([]float64, d), Step: 1, Clip: 1, Radius: 2}))
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = a.Mean
			}
			for j := range first {
				if a.Mean[j] != first[j] {
					t.Fatalf("%d workers, blocks of %d: coordinate %d = %v, was %v", workers, block, j, a.Mean[j], first[j])
				}
			}
		}
	}
}

// TestPassRoundingIsCharged tests a coarse grid in high dimension, on which rounding alone moves
// the average by more than its steps do. The charged sensitivity must cover this.
func TestPassRoundingIsCharged(t *testing.T) {
	const d, n = 10000, 64
	x, minus := make([]float32, d), make([]float32, d)
	for j := range x {
		x[j], minus[j] = .01, -.01
	}
	x[0], minus[0] = 0, 0
	l := parse(t, "huber(1)")
	start := make([]float64, d)
	start[0] = 6e6 // iterates are so long that the grid is coarse
	worst := 0.
	records, members := make([]record, n), make([]int32, n)
	for i := range records {
		records[i], members[i] = record{x, 0, false}, int32(i)
	}
	records[0] = record{x, -1, true}
	replaced := append([]record{{minus, -1, true}}, records[1:]...)
	p := query.Pass{Start: start, Step: 1e-4, Clip: .5}
	clean, dirt := engine.Bound(p, l.Constants(), n).Moved()
	for i := range 20 {
		q := stableQuestion(t, 1e-5*(1+float64(i)/100), query.NewCohort(1, n), p)
		g, err := newStableGrid(q, l.Constants(), n)
		if err != nil {
			t.Fatal(err)
		}
		before, after := passOf(t, records, l, p, g, members), passOf(t, replaced, l, p, g, members)
		moved := distance(before, after) / g.scale
		if !(moved <= g.sensitivity) {
			t.Errorf("charge %v: moved %v, charged for %v", q.Charge(), moved, g.sensitivity)
		}
		worst = max(worst, moved/(clean+dirt))
	}
	t.Logf("rounding moved the average by %.4f of what steps do", worst)
	if worst < 1.005 {
		t.Error("the grid is too fine: the test shows nothing")
	}
}
