package session

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// targets is a loss whose value at each record is the record's target.
type targets struct{ loss.RankOne }

func (targets) Values(dst, _, y []float64) { copy(dst, y) }

// TestValueFarFromZero tests a value whose centre exceeds its clip radius by a factor of 2^51 to
// 2^52, so that the ends of the interval are not float64 numbers. The sum still moves by at most
// the charged sensitivity.
func TestValueFarFromZero(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	l := targets{parse(t, "logistic").(loss.RankOne)}
	all := query.NewCohort(account.Everyone, 1)
	asked := 0
	for range 20000 {
		centre := 1 + r.Float64()
		z := (1 + 2*r.Float64()) * 0x1p-20
		q := question(t, z*z, query.ValueAt(all, []float64{0}, centre, centre*math.Ldexp(1+r.Float64(), -52)))
		g, err := newGrid(q, account.ReplaceOne, 1)
		if err != nil {
			continue
		}
		asked++
		one := func(y float64) []record { return []record{{[]float32{1}, y, true}} }
		moved := distance(residual(t, one(-9), l, q, g), residual(t, one(9), l, q, g)) / g.scale
		if !(moved <= g.sensitivity) {
			t.Fatalf("centre %v, clip %v: moved %v, charged for %v", centre, q.Clip(), moved, g.sensitivity)
		}
	}
	if asked < 1000 {
		t.Errorf("%d questions had a grid: the test shows nothing", asked)
	}
}

// TestGridWithoutBoundIsRefused tests that a query is refused if its sum could overflow int64.
func TestGridWithoutBoundIsRefused(t *testing.T) {
	all := query.NewCohort(account.Everyone, 1)
	far := []float64{1e308, 1e308, 1e308, 1e308} // of infinite norm
	q := question(t, 0x1p62, query.DifferenceWithin(all, far, make([]float64, 4), 1))
	if g, err := newGrid(q, account.ReplaceOne, 1e9); err == nil {
		t.Errorf("2^%.0f steps a record were allowed", math.Log2(g.scale))
	}
}

// TestNobody tests that under add-or-remove a table of zero records is answered like any other
// table.
func TestNobody(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	l := parse(t, "logistic")
	b := budget(t, 1, 1e-6, account.AddOrRemove)
	nobody, err := row.NewTable(3, 0)
	if err != nil {
		t.Fatal(err)
	}
	some := open(t, randomRecords(r, 1, 3), l, b, nil)
	empty := open(t, randomRecords(r, 1, 3), l, b, func(c *Config) { c.Engine = engineOver(t, nobody, l) })
	for _, s := range []*Session{some, empty} {
		if _, err := s.Ask(context.Background(),
			question(t, 1e-3, query.GradientAt(s.All(), []float64{1, 2, 3}, 1))); err != nil {
			t.Error(err)
		}
	}
}
