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

// Planned is what will run, before any record has been asked about.
type Planned struct {
	// Records is the public number of records, Dim that of the model's weights,
	// Features that of a row's features.
	Records  float64
	Dim      int
	Features int
	Budget   account.Budget
	// Filter says which rows are records; the zero Filter for all of them.
	Filter certificate.Filter
	// Unit says whose rows make up one record; the zero Unit if each is one.
	Unit    certificate.Unit
	Summary optimize.Summary
	// Seed is that of the public coins the plan draws; 0 of plans that are not run.
	Seed uint64
	// LowerBound is the scale below which no private algorithm can promise to
	// come on every such problem (optimize.Problem.LowerBound).
	LowerBound float64
	// Candidates are all algorithms that auto compared, the chosen one first;
	// nil when the configuration names its algorithm.
	Candidates []choose.Candidate
	// Plan is what will run.
	Plan optimize.Plan
	// Criterion is what auto compared them by, and Why says why it chose the first.
	Criterion choose.Criterion
	Why       string
	// Estimate is about what it takes.
	Estimate Estimate
	// Compare is how the result will be compared with the best constant; nil if it will
	// not be.
	Compare *optimize.Compare
	// NotCompared says why it will not be, where the configuration does not.
	NotCompared string

	// chosen says that the configuration states the number of steps.
	chosen bool
}

// Useless returns an error if the plan would return its start, whatever is released,
// and the number of steps is not the configuration's own: Fit refuses to spend a
// budget on that.
func (p Planned) Useless() error {
	if p.chosen || !p.Plan.Properties().Unmoved {
		return nil
	}
	return fmt.Errorf("train: %s would return its start, since no step is worth its noise with %.0f records, epsilon %v and %d weights: about %.0f times as many records would help, or a larger epsilon, or fewer columns; an algorithm with a number of steps, such as {algorithm: gd, steps: 8}, runs all the same",
		p.Summary.Algorithm, p.Records, p.Budget.Epsilon(), p.Dim, math.Ceil(optimize.SmallSize/p.Summary.Effective))
}

// Ranked returns the candidates, or the named algorithm's plan alone.
func (p Planned) Ranked() []choose.Candidate {
	if p.Candidates != nil {
		return p.Candidates
	}
	return []choose.Candidate{{Plan: p.Plan, Summary: p.Summary, Predicted: p.Summary.Predicted}}
}

// Plan settles what Fit would run, without asking anything about records. The
// table is opened only to count its rows, and not even that when the
// configuration states privacy.records.
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
	// The list also holds what Fit need not plan, since it would not choose it.
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
