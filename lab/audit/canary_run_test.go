package audit_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/lab/audit"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/query"
)

// canaryDelta is the delta of the budgets in these audits. It is far below 1e-6 divided by the
// number of canaries, because the failure rate of the bound on epsilon includes up to twice the
// product of delta and that number.
const canaryDelta = 1e-10

func canaryBudget(t testing.TB, epsilon float64) account.Budget {
	t.Helper()
	b, err := account.NewBudget(epsilon, canaryDelta, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// crowd opens a simulated session over m canaries, records that coins decide. Record i is the i-th unit
// vector, with target 1 or -1 as its coin decides. The other outcome of a coin replaces one record.
func crowd(t testing.TB, m int, b account.Budget, seed uint64) (s *simulate.Session, coins []bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	rows, targets := make([][]float32, m), make([]float64, m)
	coins = make([]bool, m)
	for i := range rows {
		rows[i] = make([]float32, m)
		rows[i][i], targets[i] = 1, -1
		if coins[i] = r.IntN(2) == 1; coins[i] {
			targets[i] = 1
		}
	}
	s, err := simulate.Open(simulate.Config{Rows: rows, Targets: targets, Loss: linear{}, Budget: b, Seed: seed,
		Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s, coins
}

// guessed guesses the coins of the canaries with the most extreme scores, made of them, half true
// and half false. It returns the guesses and the lower bound on epsilon.
func guessed(t testing.TB, scores []float64, coins []bool, made int, confidence float64) (audit.Guesses, float64) {
	t.Helper()
	g, err := audit.Guess(scores, coins, made/2, made/2)
	if err != nil {
		t.Fatal(err)
	}
	e, err := g.LowerEpsilon(canaryDelta, confidence)
	if err != nil {
		t.Fatal(err)
	}
	return g, e
}

// TestCanaryBoundsOfOneRun computes lower bounds on epsilon from one release, and from one run of gradient
// descent, on a table of 1000 canaries at epsilon 8. The bounds must be below 8 and above 1.
func TestCanaryBoundsOfOneRun(t *testing.T) {
	const epsilon, m, made = 8, 1000, 300
	b := canaryBudget(t, epsilon)
	for _, name := range []string{"one release", "gd"} {
		s, coins := crowd(t, m, b, 5)
		scores := make([]float64, m)
		if name == "gd" {
			plan, err := firstorder.GD{Steps: 4}.Plan(context.Background(), optimize.Problem{Shape: optimize.Vector(m),
				Constants: linear{}.Constants(), Records: m, Mu: b.Mu(), Relation: b.Relation()})
			if err != nil {
				t.Fatal(err)
			}
			o := &tally{Session: s, sums: scores}
			if _, err := plan.Run(context.Background(), o, nil); err != nil {
				t.Fatal(err)
			}
		} else {
			q, err := query.New(b.Charge(), query.GradientAt(s.All(), make([]float64, m), 1))
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Ask(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			copy(scores, r.Mean)
		}
		g, e := guessed(t, scores, coins, made, certain)
		_, usual := guessed(t, scores, coins, made, .95)
		t.Logf("%s: epsilon %v, %+v, bound %.2f, at confidence .95 %.2f", name, epsilon, g, e, usual)
		if e > epsilon || e < epsilon/8. {
			t.Errorf("%s: bound %v: want between an eighth of the claim and the claim, %v", name, e, epsilon)
		}
	}
}

// tally is a session that adds up its answers, each divided by the variance of its noise: the
// statistic from which the test guesses the canaries' coins.
type tally struct {
	*simulate.Session
	sums []float64
}

func (o *tally) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	r, err := o.Session.Ask(ctx, q)
	for j, v := range r.Mean {
		o.sums[j] += v / (r.Sigma * r.Sigma)
	}
	return r, err
}

// TestCanaryBoundsCatchTooLittleNoise tests that one run on 10,000 canaries detects noise of a
// quarter of the standard deviation needed for epsilon 1.
func TestCanaryBoundsCatchTooLittleNoise(t *testing.T) {
	const epsilon, m, made = 1, 10000, 500
	mu := canaryBudget(t, epsilon).Mu()
	r := rand.New(rand.NewPCG(3, 3))
	scores, coins := make([]float64, m), make([]bool, m)
	for i := range scores {
		scores[i] = r.NormFloat64()
		if coins[i] = r.IntN(2) == 1; coins[i] {
			scores[i] += 4 * mu
		}
	}
	g, e := guessed(t, scores, coins, made, certain)
	t.Logf("%+v, bound %.2f", g, e)
	if e <= epsilon {
		t.Errorf("bound %v: want above the claim, %v", e, epsilon)
	}
}
