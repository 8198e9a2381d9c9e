package nonsmooth_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/nonsmooth"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// turning is an oracle whose gradients lead away from the start for some steps, and then back.
type turning struct{ *optimizetest.Oracle }

func (o turning) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	a, err := o.Oracle.Ask(ctx, q)
	k := len(o.Asked) - 1
	a.Mean = []float64{.6 + .05*float64(k%3), -.3}
	if k%12 > 6 {
		a.Mean = []float64{-.9, .4 + .1*float64(k%2)}
	}
	o.Asked[k].Answer = a
	return a, err
}

// TestStepsGrowWithTheLargestDistance works out each step of smoothed in plain space from its questions and answers: its
// size is (1 - t/T)^2 times the first one, or times the largest distance from the start so far over the root of the sum of
// the squared gradients, if that is more. The run goes away from the start and comes back, so that the last distance is
// often not the largest.
func TestStepsGrowWithTheLargestDistance(t *testing.T) {
	const T = 60
	c := quantile(.7, 1)
	c.Budget = budget(t)
	o := turning{optimizetest.New(c)}
	plan, err := nonsmooth.Smoothed{Radius: .3, Space: nonsmooth.Plain, Steps: T}.Plan(ctx, problem(t, o.Oracle, c.Loss))
	if err != nil {
		t.Fatal(err)
	}
	r, err := plan.Run(ctx, o, nil)
	if err != nil || r.Steps != T || len(o.Asked) != T {
		t.Fatalf("%d steps, %d questions, %v", r.Steps, len(o.Asked), err)
	}
	points := [][]float64{}
	for _, a := range o.Asked {
		points = append(points, a.Question.First().Point())
	}
	points = append(points, r.W)
	var far, squares float64
	grown, back := 0, 0
	for s := range T {
		away := optimize.Apart(points[s], points[0])
		if far = max(far, away); away < far {
			back++
		}
		g := o.Asked[s].Answer.Mean
		squares += g[0]*g[0] + g[1]*g[1]
		fade := math.Pow(1-float64(s)/T, 2)
		eta := fade * plan.Summary().StepSize
		if by := fade * far / math.Sqrt(squares); by > eta {
			eta = by
			if away < far {
				grown++
			}
		}
		next := []float64{points[s][0] - eta*g[0], points[s][1] - eta*g[1]}
		for j, v := range next {
			if !(math.Abs(points[s+1][j]-v) <= 1e-12*(1+math.Abs(v))) {
				t.Fatalf("step %d leads to %v: must lead to %v", s, points[s+1], next)
			}
		}
	}
	if grown < 5 || back < 10 || slices.Equal(points[T], points[0]) {
		t.Errorf("%d of the steps grew, %d were on the way back: tries nothing", grown, back)
	}
}
