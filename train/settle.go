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
)

// Planned is what will run, before any record has been asked about.
type Planned struct {
	// Records is the public number of records; Dim the number of features.
	Records float64
	Dim     int
	Budget  account.Budget
	// Filter says which rows are records; the zero Filter for all of them.
	Filter  certificate.Filter
	Outline optimize.Outline
	// LowerBound is the scale below which no private algorithm can promise to
	// come on every such problem (optimize.LowerBound).
	LowerBound float64
	// Candidates are all algorithms that auto compared, the chosen one first;
	// nil when the configuration names its algorithm.
	Candidates []optimize.Candidate
	// Plan is what will run.
	Plan optimize.Plan
	// Goal is what auto compared them by, and Why says why it chose the first.
	Goal optimize.Goal
	Why  string
}

// Ranked returns the candidates, or the named algorithm's plan alone.
func (p Planned) Ranked() []optimize.Candidate {
	if p.Candidates != nil {
		return p.Candidates
	}
	return []optimize.Candidate{{Plan: p.Plan, Outline: p.Outline, Predicted: p.Outline.Predicted}}
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
		if n, err = curator.Count(ctx, c.DataPath(), c.Schema); err != nil {
			return Planned{}, err
		}
		if n == 0 {
			return Planned{}, fmt.Errorf("%s: no row is left after the public filter", c.DataPath())
		}
	}
	_, planned, _, err := c.settle(budget, float64(n))
	if err != nil || planned.Candidates == nil || c.Train.Measure > 0 {
		return planned, err
	}
	// The list also holds what Fit need not plan, since it would not choose it.
	problem, _, err := c.Problem()
	if err != nil {
		return Planned{}, err
	}
	goal := planned.Goal
	goal.Budget = budget
	planned.Candidates, err = optimize.Auto(problem, c.size(budget, float64(n)), goal)
	return planned, err
}

// size is what plans may know of the table.
func (c *Config) size(b account.Budget, records float64) optimize.Size {
	s := optimize.Size{Records: records, Mu: b.Mu() * math.Sqrt(1-c.Train.Measure), Neighbours: 2}
	if b.Relation() == account.AddOrRemove {
		s.Neighbours = 1
	}
	return s
}

// settle makes the plan for a public number of records.
func (c *Config) settle(budget account.Budget, records float64) (optimize.Plan, Planned, loss.Loss, error) {
	problem, l, err := c.Problem()
	if err != nil {
		return nil, Planned{}, nil, err
	}
	if m := c.Train.Measure; !(m >= 0 && m < 1) {
		return nil, Planned{}, nil, fmt.Errorf("train.measure = %v: must be a share of the budget, >= 0 and < 1", m)
	}
	if c.Train.Inner == optimize.PhasedSGD.String() {
		if err := curator.TakesStable(l); err != nil {
			return nil, Planned{}, nil, fmt.Errorf("train.inner = %s: %w", c.Train.Inner, err)
		}
	}
	plan, candidates, err := c.Train.Plan(problem, c.size(budget, records), budget)
	if err != nil {
		return nil, Planned{}, nil, err
	}
	o := plan.Outline()
	for _, x := range []float64{o.StepSize, o.Effective, o.Floor, o.Predicted} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, Planned{}, nil, fmt.Errorf("privacy: epsilon = %v, delta = %v: too extreme: the plan's figures leave the range of float64", budget.Epsilon(), budget.Delta())
		}
	}
	planned := Planned{
		LowerBound: optimize.LowerBound(problem, records, budget.Epsilon(), budget.Delta()),
		Records:    records, Dim: problem.Dim, Budget: budget, Outline: o, Candidates: candidates, Plan: plan,
		Filter: certificate.Filter(c.Schema.Filter()),
	}
	if candidates != nil {
		if planned.Goal, err = c.Train.goal(budget); err != nil {
			return nil, Planned{}, nil, err
		}
		planned.Why = optimize.Why(candidates, planned.Goal)
	}
	return plan, planned, l, nil
}
