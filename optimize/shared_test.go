package optimize_test

import (
	"context"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// method is an algorithm as its users configure it.
type method struct {
	name string
	plan func(p optimize.Problem, s optimize.Size) (optimize.Plan, error)
}

// settings are what all methods have in common.
type settings struct {
	steps  int
	scale  float64
	output optimize.Output
}

// methods lists every algorithm of the package with the given settings.
func methods(c settings) []method {
	return []method{
		{"gd", func(p optimize.Problem, s optimize.Size) (optimize.Plan, error) {
			return optimize.GD{Steps: c.steps, StepScale: c.scale, Output: c.output}.Plan(p, s)
		}},
		{"spiderboost", func(p optimize.Problem, s optimize.Size) (optimize.Plan, error) {
			return optimize.SpiderBoost{Steps: c.steps, StepScale: c.scale, Output: c.output}.Plan(p, s)
		}},
		{"storm", func(p optimize.Problem, s optimize.Size) (optimize.Plan, error) {
			return optimize.STORM{Steps: c.steps, StepScale: c.scale, Output: &c.output}.Plan(p, s)
		}},
	}
}

func budget(t testing.TB) account.Budget {
	t.Helper()
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func run(t testing.TB, p optimize.Plan, o optimize.Oracle) optimize.Result {
	t.Helper()
	r, err := p.Run(context.Background(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// resolve returns a plan, or fails.
func resolve(t testing.TB, p optimize.Plan, err error) optimize.Plan {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// stepSize is eta = h/L1 written out once more: L1 is that of data and
// regularizer together, and the regularizer alone must stay stable.
func stepSize(p optimize.Problem, h float64) float64 {
	c := p.Constants.Curvature
	data := max(math.Abs(min(c.Lo, 0)), max(c.Hi, 0))
	if p.Regularizer == nil {
		return h / data
	}
	s := p.Regularizer.Smoothness()
	if h/(data+s) > 1/s {
		return 1 / s
	}
	return h / (data + s)
}

// descend returns Proj(w - eta (g + grad reg(w))).
func descend(p optimize.Problem, w, g []float64, eta float64) []float64 {
	full := add(g, 1, make([]float64, len(g)))
	if p.Regularizer != nil {
		p.Regularizer.AddGradient(full, w)
	}
	next := add(w, -eta, full)
	if p.Set != nil {
		p.Set.Project(next)
	}
	return next
}

// add returns a + c b.
func add(a []float64, c float64, b []float64) []float64 {
	sum := make([]float64, len(a))
	for j := range a {
		sum[j] = a[j] + c*b[j]
	}
	return sum
}

func length(v []float64) float64 {
	var s float64
	for _, x := range v {
		s += x * x
	}
	return math.Sqrt(s)
}

// same allows for another order of float operations.
func same(a, b []float64) bool {
	return len(a) == len(b) && length(add(a, -1, b)) <= 1e-9*(1e-3+length(a))
}

func close(a, b, relative float64) bool { return math.Abs(a-b) <= relative*math.Abs(b) }

// onEverybody fails unless the term is over all records and has weight want.
func onEverybody(t *testing.T, k int, term query.Term, want float64) {
	t.Helper()
	if !term.Cohort().Everyone() || !close(term.Weight(), want, 1e-9) {
		t.Fatalf("question %d: weight %v, everyone %t: want %v, true", k, term.Weight(), term.Cohort().Everyone(), want)
	}
}

// charges returns what each question was offered and charged.
func charges(asked []optimizetest.Asked) (offered, charged []float64) {
	for _, a := range asked {
		offered, charged = append(offered, a.Question.Charge()), append(charged, a.Answer.Charge)
	}
	return offered, charged
}

// withinBudget fails unless the charges, each sum rounded up, stay within mu^2
// and leave no more than a billionth of it.
func withinBudget(t *testing.T, mu float64, charges []float64) {
	t.Helper()
	limit := mu * mu
	if math.FMA(mu, mu, -limit) < 0 {
		limit = math.Nextafter(limit, 0)
	}
	var sum float64
	for _, m := range charges {
		sum = addUp(sum, m)
	}
	if !(sum <= limit && sum >= limit*(1-4e-9)) {
		t.Fatalf("%d charges sum to mu^2 (1 %+.3g): want just below mu^2", len(charges), sum/limit-1)
	}
}

// addUp is a + b rounded up: the rounding error of an addition is exact by
// Dekker's two-sum for |a| >= |b|.
func addUp(a, b float64) float64 {
	if math.Abs(a) < math.Abs(b) {
		a, b = b, a
	}
	s := a + b
	if b-(s-a) > 0 {
		return math.Nextafter(s, math.Inf(1))
	}
	return s
}

// deviation bounds, but for one case in a million, how far the mean of s draws
// of sum_j v_j (Z_j + m_j)^2 is from its expectation, relative to it, with v a
// nonnegative vector and Z standard normal: 2 sqrt(x/s) + 2x/s with
// x = ln(2e6), by Birgé's (2001) bound 2 sqrt(sum (v^2 + 2 v^2 m^2) x) + 2 max(v) x
// and sum (v^2 + 2 v^2 m^2) <= (sum v (1 + m^2))^2.
func deviation(s float64) float64 {
	x := math.Log(2e6)
	return 2*math.Sqrt(x/s) + 2*x/s
}

func l2(t testing.TB, lambda float64) loss.Regularizer {
	t.Helper()
	r, err := loss.L2(lambda)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
