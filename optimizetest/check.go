package optimizetest

import (
	"context"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Size has the parameters of a problem that tests vary: the number of records, the budget mu, and Neighbours, the
// number of clip norms by which a sum of clipped contributions differs at most between neighbouring tables. Neighbours
// is 1 under add-or-remove and 2 under replace-one. 0 also means replace-one.
type Size struct{ Records, Mu, Neighbours float64 }

// Size returns the oracle's number of records, its budget mu, and Neighbours for its relation.
func (o *Oracle) Size() Size {
	return Size{Records: o.All().Size(), Mu: o.config.Budget.Mu(), Neighbours: o.neighbours()}
}

// With returns the problem p with the records, the budget mu and the relation of the size s. If a budget b
// is given, it becomes the Budget of p. Its relation is changed to the relation of s.
func With(p optimize.Problem, s Size, b ...account.Budget) optimize.Problem {
	p.Records, p.Mu = s.Records, s.Mu
	switch s.Neighbours {
	case 0, 2:
		p.Relation = account.ReplaceOne
	case 1:
		p.Relation = account.AddOrRemove
	default:
		p.Relation = 3 // no valid relation
	}
	for _, b := range b {
		if p.Budget = b; b != (account.Budget{}) && b.Relation() != p.Relation {
			p.Budget, _ = account.NewBudget(b.Epsilon(), b.Delta(), p.Relation)
		}
	}
	return p
}

// Budget returns the budget (epsilon, delta) = (1, 1e-6) under replace-one.
func Budget(t testing.TB) account.Budget {
	t.Helper()
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// RunPlan runs a plan and fails the test if the run returns an error.
func RunPlan(t testing.TB, p optimize.Plan, o optimize.Oracle) optimize.Result {
	t.Helper()
	r, err := p.Run(context.Background(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Resolve takes the two results of a call of Plan. It fails the test if err is not nil, and otherwise
// returns the plan p.
func Resolve(t testing.TB, p optimize.Plan, err error) optimize.Plan {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// StepSize computes the step size eta = h/L1. It does not use package optimize, whose step sizes tests
// compare with it. L1 is the smoothness of loss and regularizer together. If the problem has a regularizer
// of smoothness s, the result is at most 1/s.
func StepSize(p optimize.Problem, h float64) float64 {
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

// Descend returns the result of one descent step with the estimate g, Proj(w - eta (g + grad
// reg(w))), where reg is the regularizer.
func Descend(p optimize.Problem, w, g []float64, eta float64) []float64 {
	full := Add(g, 1, make([]float64, len(g)))
	if p.Regularizer != nil {
		p.Regularizer.AddGradient(full, w)
	}
	next := Add(w, -eta, full)
	if p.Set != nil {
		p.Set.Project(next)
	}
	return next
}

// Add returns the vector a + c b.
func Add(a []float64, c float64, b []float64) []float64 {
	sum := make([]float64, len(a))
	for j := range a {
		sum[j] = a[j] + c*b[j]
	}
	return sum
}

// Same reports whether two vectors are equal up to the rounding of float operations in another order.
func Same(a, b []float64) bool {
	return len(a) == len(b) && length(Add(a, -1, b)) <= 1e-9*(1e-3+length(a))
}

// Close reports whether a and b differ by at most relative times |b|.
func Close(a, b, relative float64) bool { return math.Abs(a-b) <= relative*math.Abs(b) }

// OnEverybody fails the test unless the term of query number k is about all records and has the
// weight want.
func OnEverybody(t *testing.T, k int, term query.Term, want float64) {
	t.Helper()
	if !term.Cohort().Everyone() || !Close(term.Weight(), want, 1e-9) {
		t.Fatalf("question %d: weight %v, everyone %t: want %v, true", k, term.Weight(), term.Cohort().Everyone(), want)
	}
}

// Charges returns two lists with an element for each query in asked: the charge that the query offered, and
// the charge of its answer.
func Charges(asked []Asked) (offered, charged []float64) {
	for _, a := range asked {
		offered, charged = append(offered, a.Question.Charge()), append(charged, a.Answer.Charge)
	}
	return offered, charged
}

// WithinBudget fails the test unless the sum of the charges, rounded up at each addition, is at
// most mu^2 and at least mu^2 (1 - 4e-9).
func WithinBudget(t *testing.T, mu float64, charges []float64) {
	t.Helper()
	limit := mu * mu
	if math.FMA(mu, mu, -limit) < 0 {
		limit = math.Nextafter(limit, 0)
	}
	var sum float64
	for _, m := range charges {
		sum = AddUp(sum, m)
	}
	if !(sum <= limit && sum >= limit*(1-4e-9)) {
		t.Fatalf("%d charges sum to mu^2 (1 %+.3g): want just below mu^2", len(charges), sum/limit-1)
	}
}

// AddUp returns a number that is at least the exact sum a + b, and at most the next float64 after the
// rounded sum. For |a| >= |b|, b-(s-a) is the exact rounding error of s = a+b (Dekker's two-sum).
func AddUp(a, b float64) float64 {
	if math.Abs(a) < math.Abs(b) {
		a, b = b, a
	}
	s := a + b
	if b-(s-a) > 0 {
		return math.Nextafter(s, math.Inf(1))
	}
	return s
}

// Deviation returns a bound on the relative distance between a mean and its expectation. The bound fails with
// probability at most 1e-6. The mean is over s independent draws of sum_j v_j (Z_j + m_j)^2, where v is nonnegative, m
// arbitrary and Z standard normal. The bound is 2 sqrt(x/s) + 2x/s with x = ln(2e6). It follows from Birgé's (2001)
// bound 2 sqrt(sum (v^2 + 2 v^2 m^2) x) + 2 max(v) x and from sum (v^2 + 2 v^2 m^2) <= (sum v (1 + m^2))^2.
func Deviation(s float64) float64 {
	x := math.Log(2e6)
	return 2*math.Sqrt(x/s) + 2*x/s
}

// L2 returns the regularizer (lambda/2) ||w||^2.
func L2(t testing.TB, lambda float64) loss.Regularizer {
	t.Helper()
	r, err := loss.L2(lambda)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
