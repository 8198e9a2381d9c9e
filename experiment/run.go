package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Setting is a family at a size and a budget.
type Setting struct {
	Family *Family
	// Repeat is how many records each distinct row stands for.
	Repeat int
	Budget account.Budget
}

// NewSetting chooses the number of records so that the effective size n
// mu/sqrt(d), at the given epsilon and delta = n^-1.5, is close to effective.
func NewSetting(f *Family, effective, epsilon float64) (Setting, error) {
	rows, d := float64(len(f.Sample.Rows)), float64(len(f.Sample.Rows[0]))
	repeat := 1.
	var b account.Budget
	for range 30 {
		n := rows * repeat
		var err error
		if b, err = account.NewBudget(epsilon, math.Pow(n, -1.5), account.ReplaceOne); err != nil {
			return Setting{}, err
		}
		next := max(math.Round(effective*math.Sqrt(d)/b.Mu()/rows), 1)
		if next == repeat {
			break
		}
		repeat = next
	}
	return Setting{Family: f, Repeat: int(repeat), Budget: b}, nil
}

// Size returns the public size.
func (s Setting) Size() optimize.Size {
	return optimize.Size{Records: float64(len(s.Family.Sample.Rows) * s.Repeat), Mu: s.Budget.Mu()}
}

// Outcome is a measured run.
type Outcome struct {
	// GradientNorm is the true one at the output, Floor is r.
	GradientNorm, Floor, Predicted float64
	Steps                          int
}

// Ratio is the gradient norm in units of the floor.
func (o Outcome) Ratio() float64 { return o.GradientNorm / o.Floor }

// Run runs a plan with simulated coins of the given seed and measures its
// output on all rows.
func (s Setting) Run(ctx context.Context, plan optimize.Plan, seed uint64) (Outcome, error) {
	session, err := simulate.Open(simulate.Config{
		Rows: s.Family.Sample.Rows, Targets: s.Family.Sample.Targets, Repeat: s.Repeat,
		Loss: s.Family.Loss, Budget: s.Budget, Seed: seed, Workers: 1,
	})
	if err != nil {
		return Outcome{}, err
	}
	result, err := plan.Run(ctx, session, nil)
	if err != nil {
		return Outcome{}, err
	}
	g, err := s.Family.GradientNorm(result.W)
	o := plan.Outline()
	return Outcome{GradientNorm: g, Floor: o.Floor, Predicted: o.Predicted, Steps: o.Steps}, err
}

// Median returns the median of at least one number.
func Median(v []float64) float64 {
	if len(v) == 0 {
		panic(fmt.Sprintf("experiment: median of %d numbers", len(v)))
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
