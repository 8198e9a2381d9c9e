package session

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestCentredMomentsOfAnyPoint tests that sums about a public point move by no more than is charged,
// and that nothing is rounded that is not finite. This must hold for every point (near the rows, far
// from them, or so large that its square overflows), for every radius, and for every replacement of a
// record. The test fails if rows are not shortened, or are shortened by the length that they have
// before they are rounded to float32.
func TestCentredMomentsOfAnyPoint(t *testing.T) {
	r := rand.New(rand.NewPCG(62, 1))
	engine.Unrounded = func(p float64) { t.Errorf("%v is rounded", p) }
	defer func() { engine.Unrounded = nil }()
	l := parse(t, "logistic")
	closest := 0.
	for range 40 {
		d := 1 + r.IntN(9)
		records := randomRecords(r, 5, d)
		m := scaledTo(math.Exp2(-60+120*r.Float64()), point(r, d, 1))
		switch r.IntN(6) {
		case 0:
			m = scaledTo(1e300, scaledTo(1, m))
		case 1:
			clear(m)
		case 2:
			for j := range m { // the point is a record's row
				m[j] = float64(records[3].x[j])
			}
		}
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			s := open(t, records, l, budget(t, 50, .1, relation), nil)
			for _, q := range []query.Question{
				question(t, 1e-3, query.CentredMomentOf(s.All(), m, math.Exp2(-20+40*r.Float64()))),
				question(t, 1e-3, query.CentredMomentOf(s.All(), m, .1+r.Float64())),
				question(t, 1e-3, query.SquaredDistanceFrom(s.All(), m, math.Exp2(-20+40*r.Float64()))),
			} {
				g, err := newGrid(q, relation, s.mostRecords(q))
				if err != nil {
					t.Fatal(err)
				}
				before := residual(t, records, l, q, g)
				for i, x := range replacements(r, d, point(r, d, 1), m) {
					after := append([]record(nil), records...)
					if after[3] = x; relation == account.AddOrRemove {
						after = append(records[:len(records):len(records)], x)
					}
					moved := distance(before, residual(t, after, l, q, g)) / g.scale / g.sensitivity
					if !(moved <= 1) {
						t.Fatalf("%s, %v, d = %d, point of length %v: replacement %d moves the sum by %v of what is charged", q.Name(),
							relation, d, euclid(m), i, moved)
					}
					if q.Facts().Pairs {
						closest = max(closest, moved)
					}
				}
			}
		}
	}
	if closest < .999 {
		t.Errorf("no record comes closer than %v to what is charged: the test shows nothing", closest)
	}
}

// TestCentredMomentIsOfTheRowsLessThePoint tests that the answer is the second moment about the
// point, whatever the radius, if all rows are within the radius. If all rows are at the point, the
// answer is zero.
func TestCentredMomentIsOfTheRowsLessThePoint(t *testing.T) {
	r := rand.New(rand.NewPCG(62, 2))
	const n, d = 30, 4
	records := randomRecords(r, n, d)
	var mean [d]float64
	for _, x := range records {
		for j := range mean {
			mean[j] += float64(x.x[j]) / n
		}
	}
	s := open(t, records, parse(t, "logistic"), budget(t, 50, .1, account.ReplaceOne), noiseless)
	got := answer(t, s, question(t, .1, query.CentredMomentOf(s.All(), mean[:], 3))).Mean
	whole := answer(t, s, question(t, .1, query.SecondMomentOf(s.All(), d))).Mean
	of := svec(1, mean[:])
	for i := range got {
		if !(math.Abs(got[i]-(whole[i]-of[i])) <= 1e-6) {
			t.Errorf("coordinate %d is %v, want %v", i, got[i], whole[i]-of[i])
		}
	}
	first := answer(t, s, question(t, .1, query.RowMeanOf(s.All(), d))).Mean
	for j, v := range first {
		if !(math.Abs(v-mean[j]) <= 1e-9) {
			t.Errorf("the mean row has coordinate %d = %v, want %v", j, v, mean[j])
		}
	}
	for i := range records {
		records[i].x = records[0].x
	}
	at := make([]float64, d)
	for j, v := range records[0].x {
		at[j] = float64(v)
	}
	s = open(t, records, parse(t, "logistic"), budget(t, 50, .1, account.ReplaceOne), noiseless)
	for _, term := range []query.Term{query.CentredMomentOf(s.All(), at, .1), query.SquaredDistanceFrom(s.All(), at, 1)} {
		for i, v := range answer(t, s, question(t, .1, term)).Mean {
			if !(math.Abs(v) <= 1e-9) {
				t.Errorf("%v of rows at the point: coordinate %d is %v", term.Kind(), i, v)
			}
		}
	}
}
