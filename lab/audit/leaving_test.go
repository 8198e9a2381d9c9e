package audit

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/onestep"
)

// TestRowsThatLeaveAreReplayed: in a fit with intervals whose metric has a long entry for a level that noise hides, no record
// moves an answer by more than its charge allows, be it a record of that level or of another, of weighted or unweighted rows.
// The audit must find records that move each kind of answer: near the base rate the slope of a row is half of its bound, so
// that the second moment of the gradients moves by a quarter of the charged sensitivity.
func TestRowsThatLeaveAreReplayed(t *testing.T) {
	const n, v = 400, .577
	r := rand.New(rand.NewPCG(5, 5))
	var table Table
	for i := range n { // a number, the levels a, b and c of one column and the intercept
		x := []float32{float32(v * (2*r.Float64() - 1)), 0, 0, 0, v}
		switch {
		case i < 12:
			x[3] = v
		case i%2 == 0:
			x[2] = v
		default:
			x[1] = v
		}
		table = table.And(Record{x, float64(2*r.IntN(2) - 1)})
	}
	one := func(j int, to float64) []inference.Entry { return []inference.Entry{{Feature: j, Value: to * v}} }
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		for _, unweighted := range []bool{false, true} {
			budget, err := account.NewBudget(4, 1e-6, relation)
			if err != nil {
				t.Fatal(err)
			}
			of := onestep.Intervals{Level: .95, Curvature: onestep.Logistic, Intercept: v, Features: 5, Unweighted: unweighted,
				Columns: []inference.Column{{Feature: 0}, {Feature: 2, Level: true, Reference: 2}, {Feature: 3, Level: true, Reference: 2},
					{Feature: 4, Kept: true}},
				Rows: []inference.Corners{{one(0, -1), one(0, 1)}, {one(1, 1), one(2, 1), one(3, 1)}, {one(4, 1)}}}
			gone := 0
			s := Subject{Name: "rows that leave", Loss: loss.Logistic(), Budget: budget, Table: table, Seed: 3,
				Run: func(ctx context.Context, o Oracle, observe func(optimize.Step)) (any, error) {
					problem, err := optimize.NewProblem(loss.Logistic(), budget, optimize.Stated(5, n))
					if err != nil {
						return nil, err
					}
					plan, err := of.Plan(ctx, problem)
					if err != nil {
						return nil, err
					}
					res, err := plan.Run(ctx, o, observe)
					if err == nil && len(res.Inference.Gone) == 1 && res.Inference.Gone[0].Feature == 3 {
						gone++
					}
					return slices.Clone(res.W), err
				}}
			report, err := Run(t.Context(), s, Effort{Positions: 3, Records: 24, Climbs: 2, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Violations) > 0 || gone != report.Replays+1 || report.Ended != "" {
				t.Errorf("%v, unweighted %v: %v: the level left in %d of %d runs %s", relation, unweighted, report.Violations, gone, report.Replays+1, report.Ended)
			}
			for _, f := range report.Findings {
				if !(f.Ratio <= 1 && f.Ratio > .2) {
					t.Errorf("%v, unweighted %v: %s moves by %v of the charged sensitivity", relation, unweighted, f.Kind, f.Ratio)
				}
			}
		}
	}
}
