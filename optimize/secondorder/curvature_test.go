package secondorder_test

import (
	"context"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize/secondorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestReleasedCurvature: the curvature in a run's result must be the smallest released at the result's
// point, plus the regularizer's curvature .1. The stated noise must be the noise of that release.
// Without a selection the result must state no curvature. The test fails if the curvature was released
// at another candidate.
func TestReleasedCurvature(t *testing.T) {
	oracle, p := spikes(t, 6000, account.ReplaceOne)
	plan, err := secondorder.Spider{Gap: .5}.Plan(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	o := &witness{Oracle: oracle}
	result, err := plan.Run(context.Background(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	least, sigma, directions, elsewhere := math.Inf(1), 0., 0, 0
	for _, r := range o.seen {
		switch {
		case r.term.Kind() != query.CurvatureAlong:
		case optimizetest.Same(r.term.Point(), result.W):
			least, sigma, directions = min(least, r.answer.Mean[0]+.1), r.answer.Sigma, directions+1
		default:
			elsewhere++
		}
	}
	c := result.Curvature
	if c == nil || directions == 0 || elsewhere == 0 {
		t.Fatalf("%+v: released along %d directions there and %d elsewhere", c, directions, elsewhere)
	}
	if !(math.Abs(c.Curvature-least) <= 1e-6) || c.Sigma != sigma || c.Directions != directions {
		t.Errorf("%+v: want the least of %d, %v, with noise of %v", c, directions, least, sigma)
	}
	flat, err := secondorder.Spider{Gap: .5, WithoutSelection: true}.Plan(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	fresh, _ := spikes(t, 6000, account.ReplaceOne)
	if r := optimizetest.RunPlan(t, flat, fresh); r.Curvature != nil {
		t.Errorf("nothing was asked about curvature: %+v", r.Curvature)
	}
}
