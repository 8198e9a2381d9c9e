package optimize

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestCurvatureChargeByHand compares the charge of the curvature at the result with a tenth of mu^2, changes one condition
// of the release at a time, and tests the number of records from which a row of length 1 has 75 deviations of the noise:
// 75 sqrt(2/.1)/mu if a record is replaced, since curvatures have an angle of at most a right angle, and 75 sqrt(10)/mu if
// it is added.
func TestCurvatureChargeByHand(t *testing.T) {
	ball, err := convex.NewBall(make([]float64, 5), 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Problem)
		want   float64 // the share of mu^2 = .25
	}{
		"as it is":           {func(*Problem) {}, .1},
		"a larger budget":    {func(p *Problem) { p.Mu, p.Records = 2, 168 }, 1.6},
		"too few":            {func(p *Problem) { p.Mu, p.Records = 2, 167 }, 0},
		"enough":             {func(p *Problem) { p.Records = 671 }, .1},
		"one too few":        {func(p *Problem) { p.Records = 670 }, 0},
		"one added":          {func(p *Problem) { p.Relation, p.Records = account.AddOrRemove, 475 }, .1},
		"one added too few":  {func(p *Problem) { p.Relation, p.Records = account.AddOrRemove, 474 }, 0},
		"no noise is stated": {func(p *Problem) { p.Explained = false }, 0},
		"records of one row": {func(p *Problem) { p.Grouped = false }, 0},
		"a jump":             {func(p *Problem) { p.Jumps = true }, 0},
		"smoothed":           {func(p *Problem) { p.Smoothing = query.Smoothing{Radius: .1} }, 0},
		"a set":              {func(p *Problem) { p.Set = ball }, 0},
		"not convex":         {func(p *Problem) { p.Constants.Curvature.Lo = -1e-9 }, 0},
		"no bound":           {func(p *Problem) { p.Constants.Curvature.Hi = math.Inf(1) }, 0},
		"most features":      {func(p *Problem) { p.Shape.Features = 300 }, .1},
		"more features":      {func(p *Problem) { p.Shape.Features = 301 }, 0},
	} {
		p := Problem{Shape: Vector(5), Constants: loss.Logistic().Constants(), Explained: true, Grouped: true, Records: 1000, Mu: .5,
			Relation: account.ReplaceOne}
		c.change(&p)
		if got := p.CurvatureCharge(); !(math.Abs(got-.25*c.want) <= 1e-8) {
			t.Errorf("%s: %v: must be %v", name, got, .25*c.want)
		}
	}
}
