package train

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

var errBroken = errors.New("broken")

// broken is an oracle, one call of which fails: the one with the number at, from 1.
type broken struct {
	optimize.Oracle
	at, calls int
}

func (b *broken) next() error {
	if b.calls++; b.calls == b.at {
		return errBroken
	}
	return nil
}

func call[T any](b *broken, f func() (T, error)) (T, error) {
	if err := b.next(); err != nil {
		var zero T
		return zero, err
	}
	return f()
}

func (b *broken) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	return call(b, func() (query.Release, error) { return b.Oracle.Ask(ctx, q) })
}

func (b *broken) Draw(size int) (query.Cohort, error) {
	return call(b, func() (query.Cohort, error) { return b.Oracle.Draw(size) })
}

func (b *broken) DrawEach(p float64) (query.Cohort, error) {
	return call(b, func() (query.Cohort, error) { return b.Oracle.DrawEach(p) })
}

func (b *broken) Sample() (query.Cohort, error) { return call(b, b.Oracle.Sample) }

func (b *broken) OpenPrefix(p query.Prefix) (query.PrefixSum, error) {
	return call(b, func() (query.PrefixSum, error) {
		s, err := b.Oracle.OpenPrefix(p)
		return brokenPrefix{s, b}, err
	})
}

func (b *broken) Select(ctx context.Context, s query.Selection) (int, error) {
	return call(b, func() (int, error) { return b.Oracle.Select(ctx, s) })
}

func (b *broken) Stable(ctx context.Context, q query.Stable) (query.Release, error) {
	return call(b, func() (query.Release, error) { return b.Oracle.Stable(ctx, q) })
}

type brokenPrefix struct {
	query.PrefixSum
	b *broken
}

func (p brokenPrefix) Add(ctx context.Context, terms ...query.Term) (query.Release, error) {
	return call(p.b, func() (query.Release, error) { return p.PrefixSum.Add(ctx, terms...) })
}

// TestEveryFaultOfAnOracleIsTold runs each algorithm, by itself and with each of its settings changed, on an oracle of
// which one call fails: the run returns the error of this call, makes no further call and is not complete.
func TestEveryFaultOfAnOracleIsTold(t *testing.T) {
	fillOther(t)
	b, err := account.NewBudget(4, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	const dim, records = 3, 160
	r := rand.New(rand.NewPCG(1, 1))
	table := simulate.Config{Budget: b, Seed: 7, Workers: 1, BlockRows: 64}
	for range records {
		x := make([]float32, dim)
		for j := range x {
			x[j] = float32((2*r.Float64() - 1) / math.Sqrt(dim))
		}
		table.Rows = append(table.Rows, x)
		table.Targets = append(table.Targets, math.Copysign(1, float64(x[0])+.5*r.NormFloat64()))
	}
	runs := 0
	for _, a := range algorithms {
		name := "tanh"
		if a.name == "smoothed" || a.name == "o2nc" {
			name = "hinge"
		}
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		table.Loss = l
		p, err := optimize.NewProblem(l, b, optimize.Stated(dim, records))
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range append([]string{""}, slices.Sorted(maps.Keys(other))...) {
			c := Train{Algorithm: a.name, Settings: Settings{}}
			if key != "" {
				takes := false
				if _, c, takes = changed(a.name, key); !takes {
					continue
				}
			}
			if samples(a.name) {
				c.Settings["steps"] = 4
			}
			plan, _, err := c.Plan(t.Context(), p)
			if err != nil || plan.Summary().Passes > 60 || plan.Summary().Steps > 200 {
				continue
			}
			run := func(at int) (*broken, optimize.Result, error) {
				session, err := simulate.Open(table)
				if err != nil {
					t.Fatal(err)
				}
				if s := plan.Needs().Schedule; s != nil {
					if err := session.Follow(s); err != nil {
						t.Fatal(err)
					}
				}
				o := &broken{Oracle: session, at: at}
				result, err := plan.Run(t.Context(), o, func(optimize.Step) {})
				return o, result, err
			}
			whole, result, err := run(0)
			if err != nil || whole.calls == 0 {
				t.Errorf("%s %v: %d calls, %v", a.name, c.Settings, whole.calls, err)
				continue
			}
			places := []int{1, 2, whole.calls / 2, whole.calls - 1, whole.calls}
			if key == "" {
				for i := range min(whole.calls, 12) {
					places = append(places, i+1)
				}
			}
			slices.Sort(places)
			for _, at := range slices.Compact(places) {
				if at < 1 || at > whole.calls {
					continue
				}
				runs++
				o, stopped, err := run(at)
				if !errors.Is(err, errBroken) || o.calls != at || stopped.Complete && result.Complete {
					t.Errorf("%s %v: call %d of %d fails: %v after %d calls, complete %v", a.name, c.Settings, at, whole.calls, err,
						o.calls, stopped.Complete)
				}
			}
		}
	}
	if runs < 500 {
		t.Errorf("%d runs: the test shows nothing", runs)
	}
}
