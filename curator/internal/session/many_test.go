package session

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/query"
)

// alike is an engine of n records, all of which contribute a clip norm, in whole grid steps, along the first
// coordinate. It holds no rows, and answers queries about all records alone.
type alike struct {
	engine.Engine
	n    int
	mean *float64 // the mean of the records' contributions to the latest query
}

func (a alike) Len() int { return a.n }

func (a alike) Sum(_ context.Context, q query.Question, scale float64, members []int32) (engine.Sum, error) {
	if members != nil {
		panic("members")
	}
	sum, steps := make([]int64, q.SumDim()), math.Floor(q.Clip()*scale)
	*a.mean = steps / scale
	sum[0] = int64(a.n) * int64(steps)
	return engine.Sum{Residual: sum}, nil
}

// TestMoreRecordsThanNumbers: a table of which the number of rows is public may have more rows than members
// have numbers, up to 2^40. Sums of all records must stay within int64, so that their mean is released with
// the noise that is charged. Cohorts and samples must be refused. One row more than 2^40 must be refused,
// and so must 2^31 rows if the number of rows is secret. The engine only claims to have so many rows.
func TestMoreRecordsThanNumbers(t *testing.T) {
	one := []record{{x: []float32{1, 0}, y: 1, ok: true}}
	var mean float64
	opened := func(relation account.Relation, n int) (*Session, error) {
		c := Config{Engine: alike{engineOver(t, tableOf(t, one, 0), parse(t, "logistic")), n, &mean},
			Budget: budget(t, 8, 1e-6, relation), Workers: 1, Coins: coin.Simulated([32]byte{1})}
		if relation == account.AddOrRemove {
			c.Declared = math.MaxInt32
		}
		return New(c)
	}
	for _, n := range []int{math.MaxInt32, math.MaxInt32 + 1, 3 << 31, mostTable} {
		s, err := opened(account.ReplaceOne, n)
		if err != nil {
			t.Fatalf("%d records: %v", n, err)
		}
		if got := s.All().Size(); got != float64(n) {
			t.Errorf("%v records: must be %d", got, n)
		}
		q := question(t, s.Ledger().Budget().Charge()/2, query.GradientAt(s.All(), []float64{0, 0}, .5))
		r, err := s.Ask(t.Context(), q)
		if err != nil || !(math.Abs(r.Mean[0]-mean) < 10*r.Sigma) || !(r.Sigma < 10/float64(n)) || !(mean > .49) {
			t.Errorf("%d records: %v, %v: must be near %v, close to .5", n, r, err, mean)
		}
		if n == math.MaxInt32 {
			continue
		}
		// If a cohort is drawn, the test ends at once, since each of the many other draws would take
		// minutes.
		if _, err := s.Draw(1); err == nil || !strings.Contains(err.Error(), "more than 2147483647 rows") {
			t.Fatalf("%d records: a cohort by number: %v", n, err)
		}
		if _, err := s.DrawEach(.5); err == nil || !strings.Contains(err.Error(), "more than 2147483647 rows") {
			t.Fatalf("%d records: a cohort by coins: %v", n, err)
		}
	}
	s, err := opened(account.ReplaceOne, 3<<31)
	if err != nil {
		t.Fatal(err)
	}
	steps := schedule(t, s.Ledger().Budget(), account.SampledSteps{NoiseMultiplier: 9, Sampling: .1, Count: 2})
	if err := s.Follow(steps); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sample(); err == nil || !strings.Contains(err.Error(), "more than 2147483647 rows") {
		t.Errorf("a sample: %v", err)
	}
	for relation, most := range map[account.Relation]int{account.ReplaceOne: mostTable, account.AddOrRemove: math.MaxInt32} {
		if _, err := opened(relation, most); err != nil {
			t.Errorf("%v: %v", relation, err)
		}
		if _, err := opened(relation, most+1); err == nil {
			t.Errorf("%v: %d rows: must be refused", relation, most+1)
		}
	}
}

// TestSumsOfManyRecordsFit: for 10^9 records and for the most that a table may have, the sum of records that all contribute
// the longest vector in the same direction, and its product with a metric, must be what it is in integers without bounds,
// and leave room for 12 standard deviations of noise.
func TestSumsOfManyRecordsFit(t *testing.T) {
	l := parse(t, "logistic")
	for _, d := range []int{2, 40} {
		r := rand.New(rand.NewPCG(9, uint64(d)))
		for _, n := range []float64{1e9, 1 << 31, manyInMetric, mostTable} {
			for _, charge := range []float64{1e-4, 1e-8} {
				for name, of := range inOrder(questionsAt(t, query.NewCohort(account.Everyone, n), point(r, d, 3), point(r, d, 3), l)) {
					q, err := query.New(charge, of.Terms()...)
					if err != nil {
						t.Fatal(err)
					}
					g, err := newGrid(q, account.ReplaceOne, n)
					if err != nil && q.Facts().Lifted && n > manyInMetric {
						continue // refused before anything is charged
					}
					if err != nil {
						t.Fatalf("%s, %v records, %d features, a charge of %v: %v", name, n, d, charge, err)
					}
					fits(t, name, q, g, n, d)
				}
			}
		}
	}
}

// manyInMetric is a number of records up to which metrics whose entries span three decades have an exact grid.
const manyInMetric = 1 << 34

// fits fails the test if the sum of n records' longest contributions along one axis overflows.
func fits(t *testing.T, name string, q query.Question, g grid, n float64, d int) {
	t.Helper()
	scale, room := sumScale(q, g), big.NewInt(math.MaxInt64)
	room.Sub(room, new(big.Int).Lsh(big.NewInt(12), uint(g.bits)))
	for axis := range d {
		steps := math.Ceil(reach(q)*scale) + 1
		if m := q.First().Metric(); q.Facts().Lifted {
			along := make([]float64, d)
			along[axis] = 1
			steps = math.Ceil(min(q.First().Slope(), q.First().Ball().Radius/euclid(m.Times(along)))*q.First().Weight()*scale) + 1
		}
		want := new(big.Int).Mul(big.NewInt(int64(steps)), big.NewInt(int64(n)))
		if want.Cmp(room) > 0 {
			t.Fatalf("%s, %v records: a sum of %v steps does not fit beside noise of 2^%d", name, n, want, g.bits)
		}
		sum := make([]int64, q.SumDim())
		sum[axis%len(sum)] = int64(steps) * int64(n)
		if lift := lifting(q); lift != nil {
			row := make([]int64, d)
			q.First().Metric().Row(row, axis)
			for j, got := range lift(sum)[:d] {
				exact := new(big.Int).Mul(want, big.NewInt(row[j]))
				if exact.Cmp(big.NewInt(got)) != 0 || new(big.Int).Abs(exact).Cmp(room) > 0 {
					t.Fatalf("%s, %v records: coordinate %d is %d: is %v, with room for %v", name, n, j, got, exact, room)
				}
			}
		}
	}
}
