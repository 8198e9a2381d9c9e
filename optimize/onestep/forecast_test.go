package onestep_test

import (
	"context"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/onestep"
)

// known sets what is known of the target.
func known(c onestep.Intervals, curvature, square, events float64) onestep.Intervals {
	c.Known.Curvature, c.Known.Square, c.Known.Events = curvature, square, events
	return c
}

// TestSizeByHand compares the size on which the share of the coefficients with an interval depends with n mu/4^1.5 = 625
// times the share of the curvature's bound that each kind of loss is expected to have, over .48, and at most 1.
func TestSizeByHand(t *testing.T) {
	of := func(c onestep.Curvature) onestep.Intervals {
		return onestep.Intervals{Curvature: c, Columns: make([]inference.Column, 4), Rows: make([]inference.Corners, 4)}
	}
	unweighted := of(onestep.Logistic)
	unweighted.Unweighted = true
	narrow := unweighted
	narrow.Rows = unweighted.Rows[:2]
	for name, c := range map[string]struct {
		of        onestep.Intervals
		lipschitz float64
		bound     float64
		base      float64
		want      float64
	}{
		"a square":                  {of(onestep.Flat), 2, 1, 0, 1},
		"classes":                   {of(onestep.Logistic), 1, .25, 0, 1},
		"a rare class that is told": {known(of(onestep.Logistic), .05, 0, 0), 1, .25, 0, .8 * .05 / .25 / .48},
		"a released base rate":      {known(of(onestep.Logistic), .05, 0, 0), 1, .25, .03, .8 * .03 / .25 / .48},
		"common classes":            {known(of(onestep.Logistic), .2, 0, 0), 1, .25, 0, 1},
		"counts":                    {of(onestep.Exponential), 1, 4, 0, .25 / .48},
		"counts of a known mean":    {known(of(onestep.Exponential), .2, 0, 0), 1, 4, 0, .2 / .48},
		"counts of a large mean":    {known(of(onestep.Exponential), .5, 0, 0), 1, 4, 0, .25 / .48},
		"relative residuals":        {of(onestep.Relative), 1, 5, 0, .2 / .48},
		"ordered classes":           {of(onestep.Ordered), 1, 1, 0, 1},
		"rare events":               {known(of(onestep.Exponential), .3, 0, .02), .25, 4, 0, .02 / .25 / .48},
		"common events":             {known(of(onestep.Exponential), .3, 0, .2), .25, 4, 0, .25 / .48},
		"unweighted rows":           {unweighted, 1, .25, 0, 4 * 4. / 28},
		"short unweighted rows":     {narrow, 1, .25, 0, 1},
	} {
		p := optimize.Problem{Shape: optimize.Vector(4), Constants: loss.Constants{Lipschitz: c.lipschitz,
			Curvature: loss.CurvatureInterval{Hi: c.bound}}}
		if c.base > 0 {
			p.Base = &optimize.Base{Curvature: c.base}
		}
		if got := c.of.Size(p, 1e4, .5); !(math.Abs(got-625*c.want) <= 1e-9) {
			t.Errorf("%s: size %v: must be %v", name, got, 625*c.want)
		}
	}
}

// TestSizeOfClassesByHand works out the size and the foreseen errors of three classes: the curvature is 1/3 of equally common
// ones, and .25 of shares .5, .25 and .25, along the difference of the two rarer. Noise is in two coordinates for each
// column.
func TestSizeOfClassesByHand(t *testing.T) {
	c := onestep.Intervals{Curvature: onestep.Softmax, Columns: make([]inference.Column, 4), Rows: make([]inference.Corners, 4)}
	p := optimize.Problem{Shape: optimize.Shape{Margins: 3, Features: 4}, Relation: account.ReplaceOne, Constants: loss.Constants{Lipschitz: 1,
		Curvature: loss.CurvatureInterval{Hi: .75}}}
	near := func(name string, got, want float64) {
		if !(math.Abs(got/want-1) <= 1e-9) {
			t.Errorf("%s: %v: must be %v", name, got, want)
		}
	}
	near("equal shares", c.Size(p, 1e4, .5), 625/math.Sqrt2*.8/3/.75/.48)
	p.Base = &optimize.Base{Margins: []float64{math.Log(.5) + 7, math.Log(.25) + 7, math.Log(.25) + 7}}
	near("other shares", c.Size(p, 1e4, .5), 625/math.Sqrt2*.8*.25/.75/.48)
	p.Base.Margins = []float64{0, math.Log(.01), math.Log(.01)}
	near("rare classes", c.Size(p, 1e4, .5), 625/math.Sqrt2*.8*(.01/1.02)/.75/.48)
	// The variance of a difference of log shares is 1/p_k + 1/p_1 over n. Noise is multiplied by the length of e_k/p_k - e_1/p_1
	// less its mean.
	noise := 2 * math.Sqrt(10) / (1e4 * .5 * .6)
	for _, first := range []float64{1. / 3, 1 / 1.02} {
		rest := (1 - first) / 2
		p.Base.Margins = []float64{math.Log(first) - 3, math.Log(rest) - 3, math.Log(rest) - 3}
		mean, square := (1/rest-1/first)/3, 0.
		for _, v := range []float64{-1 / first, 1 / rest, 0} {
			square += (v - mean) * (v - mean)
		}
		total, sampling := c.Foresee(p, 1e4, .5)
		near("error", total, math.Sqrt((1/rest+1/first)/1e4+noise*noise*square))
		near("sampling error", sampling, math.Sqrt((1/rest+1/first)/1e4))
	}
	p.Base, c.Known.Shares = nil, []float64{.5, .25, .25}
	near("known shares", c.Size(p, 1e4, .5), 625/math.Sqrt2*.8*.25/.75/.48)
}

// TestForeseenErrorsByHand compares foreseen standard errors with the formula: the root of the mean squared slope over n
// plus the square of the noise in the last gradient, over the mean curvature. The noise is that of rows as long as the
// reach, whose square is 2.5 for each column, and 4 where it is small compared with sampling.
func TestForeseenErrorsByHand(t *testing.T) {
	of := func(c onestep.Curvature) onestep.Intervals {
		return onestep.Intervals{Curvature: c, Columns: make([]inference.Column, 4), Rows: make([]inference.Corners, 4)}
	}
	unweighted := of(onestep.Flat)
	unweighted.Unweighted = true
	for name, c := range map[string]struct {
		of                   onestep.Intervals
		relation             account.Relation
		n, mu                float64
		reach, square, curve float64 // of L0 = .5 and a bound of .25 on the curvature
	}{
		"a square":                {of(onestep.Flat), account.ReplaceOne, 1e4, .5, 10, .15 * .25, .25},
		"a record added":          {of(onestep.Flat), account.AddOrRemove, 1e4, .5, 16, .15 * .25, .25},
		"many records":            {of(onestep.Flat), account.ReplaceOne, 1e6, .5, 16, .15 * .25, .25},
		"classes":                 {of(onestep.Logistic), account.ReplaceOne, 1e4, .5, 10, .15 * .25, .48 * .25},
		"a rare class":            {known(of(onestep.Logistic), .05, .01, 0), account.ReplaceOne, 1e4, .5, 10, .01, .16 * .25},
		"a common square":         {known(of(onestep.Logistic), .2, .9, 0), account.ReplaceOne, 1e4, .5, 10, .15 * .25, .48 * .25},
		"counts":                  {of(onestep.Exponential), account.ReplaceOne, 1e4, .5, 10, .15 * .25, .5 / 3},
		"counts of a known mean":  {known(of(onestep.Exponential), .1, 0, 0), account.ReplaceOne, 1e4, .5, 10, .15 * .25, .1},
		"relative residuals":      {of(onestep.Relative), account.ReplaceOne, 1e4, .5, 10, .15 * .25, 4 * .25},
		"ordered classes":         {of(onestep.Ordered), account.ReplaceOne, 1e4, .5, 10, .3, .3},
		"events":                  {known(of(onestep.Exponential), .1, 0, .02), account.ReplaceOne, 1e4, .5, 10, .02, .02},
		"unweighted rows":         {unweighted, account.ReplaceOne, 1e4, .5, 28, .15 * .25, .25},
		"a moment hidden by much": {of(onestep.Flat), account.ReplaceOne, 100, .5, 50 * math.Sqrt(.1) / math.Sqrt2 / math.Sqrt(8), .15 * .25, .25},
	} {
		p := optimize.Problem{Shape: optimize.Vector(4), Constants: loss.Constants{Lipschitz: .5,
			Curvature: loss.CurvatureInterval{Hi: .25}}, Relation: c.relation}
		neighbours := 2.
		if c.relation == account.AddOrRemove {
			neighbours = 1
		}
		noise := neighbours * .5 * math.Sqrt(c.reach) / (c.n * c.mu * .6)
		square := c.square / c.n
		total, sampling := c.of.Foresee(p, c.n, c.mu)
		if want := math.Sqrt(square+noise*noise) / c.curve; !(math.Abs(total/want-1) <= 1e-12) {
			t.Errorf("%s: error %v: must be %v", name, total, want)
		}
		if want := math.Sqrt(square) / c.curve; !(math.Abs(sampling/want-1) <= 1e-12) {
			t.Errorf("%s: sampling error %v: must be %v", name, sampling, want)
		}
	}
}

// TestPlanOfIntervals compares what a plan says of itself with its steps: of the fit, two Newton steps and the moments.
func TestPlanOfIntervals(t *testing.T) {
	for name, steps := range map[string]int{"logistic": 8, "poisson(1)": 24} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := optimize.NewProblem(l, budget(t, 2, account.ReplaceOne), optimize.Stated(3, 1e5))
		if err != nil {
			t.Fatal(err)
		}
		c := intervals()
		if steps == 24 {
			c.Curvature = onestep.Exponential
		}
		plan, err := c.Plan(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		s := plan.Summary()
		if s.Steps != steps+2 || s.Passes != float64(steps)+2 || s.PairPasses != 5 || plan.Properties() != (optimize.Properties{Convex: true}) {
			t.Errorf("%s: %d steps, %v passes, %v of pairs, %+v", name, s.Steps, s.Passes, s.PairPasses, plan.Properties())
		}
		const charges = "0.1 of the budget to the second moment of the rows, 0.08 to the fit, 0.14 and 0.09 to gradient and curvature " +
			"of the first Newton step, 0.36, 0.17 and 0.05 to gradient, curvature and variance of the second, 0.01 to the second moment " +
			"of the weighted rows"
		if s.Charges != charges {
			t.Errorf("%s: %s", name, s.Charges)
		}
		// The noise in the last gradient, of three columns with a reach of 2.5 each.
		noise := 2 * p.Constants.Lipschitz / (1e5 * p.Mu * .6)
		if !(math.Abs(s.Predicted/(noise*math.Sqrt(7.5))-1) <= 1e-9) || s.Population != s.Predicted ||
			!(math.Abs(s.Excess/(noise*noise*7.5/p.DataSmoothness())-1) <= 1e-9) {
			t.Errorf("%s: forecast %v, %v, %v: noise %v", name, s.Predicted, s.Population, s.Excess, noise)
		}
	}
}
