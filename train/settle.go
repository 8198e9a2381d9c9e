package train

import (
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
	"github.com/stillpoint-dp/stillpoint/optimize/recursive"
)

// Planned describes the planned fit, before any release.
type Planned struct {
	// Records is the public number of records, Dim the number of the model's weights, Features the
	// number of a row's features.
	Records  float64
	Dim      int
	Features int
	Budget   account.Budget
	// Filter is the row filter, which says which rows are records; the zero Filter means all rows.
	Filter certificate.Filter
	// Unit says whose rows form one record; the zero Unit means that each row is one.
	Unit    certificate.Unit
	Summary optimize.Summary
	// Seed is the seed of the public random bits that the plan draws; 0 for plans that are not run.
	Seed uint64
	// LowerBound is the scale of gradient norms below which no private algorithm can guarantee to come
	// on every such problem (optimize.Problem.LowerBound).
	LowerBound float64
	// Candidates are all algorithms that auto compared, the chosen one first; nil if the configuration
	// names its algorithm.
	Candidates []choose.Candidate
	// Plan is the plan that will run.
	Plan optimize.Plan
	// Criterion is the quantity by which auto compared the candidates. Why says why it chose the first.
	Criterion choose.Criterion
	Why       string
	// Estimate is the approximate cost in time and memory.
	Estimate Estimate
	// Compare is the planned comparison of the result with the best constant; nil for none.
	Compare *optimize.Compare
	// NotCompared says why there is no comparison, unless the configuration turned it off.
	NotCompared string

	// chosen says that the configuration states the number of steps.
	chosen bool
}

// Useless returns an error if the plan would return its start whatever is released, unless the
// configuration states the number of steps. Fit does not spend a budget on such a plan.
func (p Planned) Useless() error {
	if p.chosen || !p.Plan.Properties().Unmoved {
		return nil
	}
	return fmt.Errorf("train: %s would return its start, since no step is worth its noise with %.0f records, epsilon %v and %d weights: about %.0f times as many records would help, or a larger epsilon, or fewer columns; an algorithm with a number of steps, such as {algorithm: gd, steps: 8}, runs all the same",
		p.Summary.Algorithm, p.Records, p.Budget.Epsilon(), p.Dim, math.Ceil(optimize.SmallSize/p.Summary.Effective))
}

// Ranked returns the candidates of auto, or else the plan of the named algorithm alone.
func (p Planned) Ranked() []choose.Candidate {
	if p.Candidates != nil {
		return p.Candidates
	}
	return []choose.Candidate{{Plan: p.Plan, Summary: p.Summary, Predicted: p.Summary.Predicted}}
}

// Plan returns the plan that Fit would run, without a query about records. It opens the table only to
// count its rows, and not at all if the configuration states privacy.records.
func (c *Config) Plan(ctx context.Context) (Planned, error) {
	budget, err := c.budget()
	if err != nil {
		return Planned{}, err
	}
	n := c.Privacy.Records
	if n == 0 {
		if _, err := c.declared(budget.Relation()); err != nil {
			return Planned{}, err
		}
		paths, err := c.DataPaths()
		if err != nil {
			return Planned{}, err
		}
		if n, err = curator.Count(ctx, curator.Config{Paths: paths, Rows: c.Rows, Reader: c.Reader, CSV: c.CSV, Schema: c.Schema}); err != nil {
			return Planned{}, err
		}
		if n == 0 {
			return Planned{}, fmt.Errorf("%s: no row is left after the public filter", c.DataPath())
		}
	}
	_, planned, _, err := c.settle(ctx, budget, float64(n), 0)
	if err != nil || planned.Candidates == nil || c.Train.Measure > 0 {
		return planned, err
	}
	// The list also contains plans that Fit need not make, since it would not choose them.
	problem, _, err := c.Problem(budget, float64(n))
	if err != nil {
		return Planned{}, err
	}
	a, err := c.Train.settle()
	if err != nil {
		return Planned{}, err
	}
	if planned.Compare != nil {
		problem = c.without(problem, planned.Compare.Charge)
	}
	auto := a.(choose.Auto)
	auto.WithoutSamples = false
	if planned.Candidates, err = auto.Candidates(ctx, problem); err != nil {
		return planned, err
	}
	planned.Why = auto.Why(planned.Candidates)
	return planned, nil
}

// settle makes the plan for a public number of records.
func (c *Config) settle(ctx context.Context, budget account.Budget, records float64, seed uint64) (optimize.Plan, Planned, loss.Loss, error) {
	problem, l, err := c.Problem(budget, records)
	if err != nil {
		return nil, Planned{}, nil, err
	}
	problem.Seed = seed
	compare, left, err := c.comparison(problem, l)
	if err != nil {
		return nil, Planned{}, nil, err
	}
	why := ""
	if compare == nil && c.Train.Compare == 0 {
		why = "at this budget the noise of a comparison would be as large as what it compares"
	}
	whole := problem
	problem = left
	if inner := c.Train.Settings["inner"]; inner == recursive.PhasedSGD.String() {
		if err := curator.TakesStable(l); err != nil {
			return nil, Planned{}, nil, fmt.Errorf("train.inner = %s: %w", inner, err)
		}
	}
	plan, candidates, err := c.Train.Plan(ctx, problem)
	if err != nil {
		return nil, Planned{}, nil, err
	}
	if compare != nil && plan.Needs().Schedule != nil { // samples take the whole budget
		if c.Train.Compare > 0 {
			return nil, Planned{}, nil, fmt.Errorf("train.compare: is not possible with %s, whose whole budget is its schedule's", plan.Summary().Algorithm)
		}
		compare, problem, why = nil, whole, "the whole budget is its schedule's"
		if plan, candidates, err = c.Train.Plan(ctx, problem); err != nil {
			return nil, Planned{}, nil, err
		}
	}
	o := plan.Summary()
	for _, x := range []float64{o.StepSize, o.Effective, o.Floor, o.Predicted} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, Planned{}, nil, fmt.Errorf("privacy: epsilon = %v, delta = %v: too extreme: the plan's figures leave the range of float64", budget.Epsilon(), budget.Delta())
		}
	}
	features, err := c.features(l)
	if err != nil {
		return nil, Planned{}, nil, err
	}
	planned := Planned{
		LowerBound: problem.LowerBound(), Seed: seed,
		Records: records, Dim: problem.Dim(), Features: features, Budget: budget, Summary: o, Candidates: candidates, Plan: plan,
		Compare: compare, NotCompared: why,
		Filter:   certificate.Filter(c.Schema.Filter()),
		Unit:     unitOf(c.Schema, l),
		chosen:   c.Train.Settings["steps"] != nil,
		Estimate: estimate(rowsOf(problem, c.Schema), o, len(c.Schema.Columns())+1, rowBytes(c.Schema, problem.Shape.Features), float64(c.Memory.bytes())),
	}
	if candidates != nil {
		a, err := c.Train.settle()
		if err != nil {
			return nil, Planned{}, nil, err
		}
		auto := a.(choose.Auto)
		planned.Criterion, planned.Why = auto.Goal, auto.Why(candidates)
	}
	return plan, planned, l, nil
}
