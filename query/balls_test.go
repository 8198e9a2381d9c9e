package query_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestBallsByHand works out the ball to which each kind of term clips a record's contribution, from which its sensitivity follows.
func TestBallsByHand(t *testing.T) {
	c := query.NewCohort(7, 100)
	w, prev, v := []float64{1, 2}, []float64{1, -1}, []float64{.3, .4} // 3 apart, of the length .5
	m, err := query.Identity(2)
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		term           query.Term
		radius, centre float64
	}{
		"gradient":                     {query.GradientAt(c, w, .7), .7, 0},
		"value":                        {query.ValueAt(c, w, .2, .7), .7, .2},
		"value change":                 {query.ValueChangeAt(c, w, prev, .7), .7, 0},
		"value change within":          {query.ValueChangeWithin(c, w, prev, -.2, .7), .7, -.2},
		"norm":                         {query.NormAt(c, w, .7, v), .7, 0},
		"difference":                   {query.DifferenceWithin(c, w, prev, .7), .7, 0},
		"difference by curvature":      {query.DifferenceByCurvature(c, w, prev, -.25, 1), .625 * 3, .375},
		"product":                      {query.ProductAt(c, w, v, -.25, 1), .625 * .5, .375},
		"product change, far":          {query.ProductChangeAt(c, w, prev, v, -.25, 1, 9), 1.25 * .5, 0},
		"product change, near":         {query.ProductChangeAt(c, w, prev, v, -.25, 1, .25), .25 * 3 * .5, 0},
		"product change, at one point": {query.ProductChangeAt(c, w, w, v, -.25, 1, .25), 0, 0},
		"curvature along":              {query.CurvatureAlongAt(c, w, v, -.25, 1), .625, .375},
		"curvature":                    {query.CurvatureAt(c, w, .7), .7, 0},
		"gradient in a metric":         {query.GradientInMetric(c, w, .7, 3, m), .7, 0},
		"squared slope":                {query.SquaredSlopeAt(c, w, .7, m), .35, .35},
		"second moment":                {query.SecondMomentOf(c, 2), 1, 0},
		"row mean":                     {query.RowMeanOf(c, 2), 1, 0},
		"squared distance":             {query.SquaredDistanceFrom(c, w, .7), .35, .35},
		"centred moment":               {query.CentredMomentOf(c, w, 1.5), 2.25, 0},
		"weighted gradient":            {query.WeightedGradientAt(c, w, .4, 1.5, m), .6, 0},
		"weighted curvature":           {query.WeightedCurvatureAt(c, w, .4, 1.5, m), .9, 0},
		"score moment":                 {query.ScoreMomentAt(c, w, .4, 1.5, m), .36, 0},
		"weighted moment":              {query.WeightedMomentOf(c, 1.5, m), 2.25, 0},
	} {
		ball := x.term.Ball()
		if !(math.Abs(ball.Radius-x.radius) <= 1e-12*x.radius) || !(math.Abs(ball.Centre-x.centre) <= 1e-12) || x.term.Weight() != 1 || x.term.Cohort() != c {
			t.Errorf("%s: radius %v, centre %v, weight %v: must be %v, %v, 1", name, ball.Radius, ball.Centre, x.term.Weight(), x.radius, x.centre)
		}
		twice := x.term.Weighted(.5).Weighted(.25)
		if twice.Weight() != .125 || twice.Ball() != ball {
			t.Errorf("%s: a weight of %v of %v", name, twice.Weight(), twice.Ball())
		}
		if x.radius == 0 {
			continue
		}
		if q, err := query.New(.1, twice); err == nil && q.Clip() != .125*ball.Radius {
			t.Errorf("%s: a clip of %v", name, q.Clip())
		}
	}
	for size, want := range map[float64]bool{0: false, 1: true} {
		if query.NewCohort(account.Everyone, size).Everyone() != want || query.NewCohort(account.Everyone+1, size).Everyone() {
			t.Errorf("a cohort of %v records", size)
		}
	}
}
