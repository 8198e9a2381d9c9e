package firstorder

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestDensityIsPlannedByHand tests for which problems the curvature of a quantile's loss is released: a quarter of the
// records must be 2.5 deviations of the noise of each of six questions, which share .03 of the steps' charges. That is
// from 20 sqrt(6/.03) records on if a record is replaced, and from half as many if it is added. Each change below is of one
// condition alone.
func TestDensityIsPlannedByHand(t *testing.T) {
	for name, c := range map[string]struct {
		tau    float64
		change func(*optimize.Problem)
		want   bool
	}{
		"enough":               {.5, func(p *optimize.Problem) { p.Records = 283 }, true},
		"one too few":          {.5, func(p *optimize.Problem) { p.Records = 282 }, false},
		"one added":            {.5, func(p *optimize.Problem) { p.Records, p.Relation = 142, account.AddOrRemove }, true},
		"one added too few":    {.5, func(p *optimize.Problem) { p.Records, p.Relation = 141, account.AddOrRemove }, false},
		"a low quantile":       {.21, func(*optimize.Problem) {}, true},
		"a lower quantile":     {.19, func(*optimize.Problem) {}, false},
		"a high quantile":      {.79, func(*optimize.Problem) {}, true},
		"a higher quantile":    {.81, func(*optimize.Problem) {}, false},
		"no noise is stated":   {.5, func(p *optimize.Problem) { p.Explained = false }, false},
		"no kink":              {.5, func(p *optimize.Problem) { p.Kinked = nil }, false},
		"radii that stay":      {.5, func(p *optimize.Problem) { p.Smoothing.Radius = 2.65 }, false}, // sqrt(5+2) is 2.646
		"radii that just fall": {.5, func(p *optimize.Problem) { p.Smoothing.Radius = 2.64 }, true},
		"not convex":           {.5, func(p *optimize.Problem) { p.Constants.Curvature.Lo = -1e-9 }, false},
		"wide rows":            {.5, func(p *optimize.Problem) { p.Shape.Features, p.Records = 2001, 1e5 }, false},
		"as wide as pairs are": {.5, func(p *optimize.Problem) { p.Shape.Features, p.Records = 2000, 1e5 }, true},
	} {
		l, err := loss.Pinball(c.tau)
		if err != nil {
			t.Fatal(err)
		}
		p := optimize.Problem{Shape: optimize.Vector(5), Constants: l.Constants(), RankOne: true, Kinked: l, Explained: true, Records: 1000,
			Mu: 1, Relation: account.ReplaceOne, Smoothing: query.Smoothing{Radius: .01, By: query.Ball}}
		p.Constants.Curvature.Hi = 1
		c.change(&p)
		steps := 1.
		d := newDensity(p, &steps)
		switch {
		case (d != nil) != c.want:
			t.Errorf("%s: released: %v", name, d != nil)
		case d == nil && steps != 1:
			t.Errorf("%s: %v of the charges are left without a release", name, steps)
		case d != nil && (math.Abs(d.charge-.03) > 1e-15 || math.Abs(steps-.97) > 1e-15):
			t.Errorf("%s: a charge of %v, %v is left", name, d.charge, steps)
		}
	}
}

// TestLeastBatchSolvesItsEquation tests that the least share of a batch makes the variance exactly as many times that with
// all records as is allowed, by the formula of the comment; that it is one record where that is less, and all where there
// is no release.
func TestLeastBatchSolvesItsEquation(t *testing.T) {
	for _, c := range []struct {
		relation                      account.Relation
		records, charge, most, single float64
	}{
		{account.ReplaceOne, 1000, .3, 1.5, 0}, {account.AddOrRemove, 1000, .3, 1.5, 0}, {account.ReplaceOne, 1e6, 1e-4, 1.1, 0},
		{account.AddOrRemove, 1e6, 1e-4, 1.1, 0}, {account.ReplaceOne, 4, 1e-9, 3, .25}, {account.AddOrRemove, 50, 1e-9, 3, .02},
		{account.ReplaceOne, 1000, 0, 1.5, 1}, {account.ReplaceOne, .5, 1, 5, 1},
	} {
		p := optimize.Problem{Shape: optimize.Vector(7), Records: c.records, Relation: c.relation}
		b := leastBatch(p, c.charge, c.most)
		if c.single > 0 {
			if !(math.Abs(b-c.single) <= 1e-12) {
				t.Errorf("%+v: %v", c, b)
			}
			continue
		}
		v, price := 2., func(u float64) float64 { return u / math.Asinh(u) }
		if c.relation == account.AddOrRemove {
			v, price = 1, func(u float64) float64 { return u / math.Log(1+u) }
		}
		if ratio := price(c.charge/(v*v*b*b)) + (1/b-1)*c.records*c.charge/(v*v*7); !(math.Abs(ratio-c.most) <= 1e-6) || !(b > 0 && b < 1) {
			t.Errorf("%+v: share %v: the variance is %v times that of all records", c, b, ratio)
		}
	}
}

// TestRulesOfCountsByHand tests the curvature of counts at their base rate, and their slopes.
func TestRulesOfCountsByHand(t *testing.T) {
	for _, c := range []struct{ margin, curvature, steep, slope float64 }{
		{-1, .04, 1 / math.E, 2.5 * math.Sqrt(.16)}, {0, .25, 1, 2.5}, {5, .9, 3.5, 2.5},
	} {
		p := optimize.Problem{Shape: optimize.Vector(3), Counts: true, Constants: loss.Constants{Lipschitz: 2.5},
			Base: &optimize.Base{Margins: []float64{c.margin}, Curvature: c.curvature}}
		if got := steepest(p); !(math.Abs(got-c.steep) <= 1e-12) {
			t.Errorf("margin %v: curvature %v: must be %v", c.margin, got, c.steep)
		}
		if got := usualSlope(p); !(math.Abs(got-c.slope) <= 1e-12) {
			t.Errorf("mean %v: slope %v: must be %v", c.curvature, got, c.slope)
		}
		if p.Counts = false; usualSlope(p) != 2.5 {
			t.Errorf("slope %v of a loss that is not of counts", usualSlope(p))
		}
	}
}

// TestOwnStepScaleCounts tests that the number of steps follows a step scale that is set, before the usual one.
func TestOwnStepScaleCounts(t *testing.T) {
	p := optimize.Problem{Shape: optimize.Vector(4), RankOne: true, Constants: loss.Logistic().Constants(), Records: 5000, Mu: 1,
		Relation: account.ReplaceOne}
	usual, own := p.GradientSteps(4, p.StepScale()), p.GradientSteps(4, .5)
	if usual == own {
		t.Fatalf("%d steps of any scale: the test shows nothing", own)
	}
	for _, c := range []struct {
		rule interface{ StepRule(optimize.Problem) int }
		want int
	}{{SGD{}, usual}, {SGD{StepScale: .5}, own}} {
		if got := c.rule.StepRule(p); got != c.want {
			t.Errorf("%+v: %d steps: must be %d", c.rule, got, c.want)
		}
	}
}

// TestPreconditionedRefusesToTheLetter compares the reasons for which the algorithm refuses a problem.
func TestPreconditionedRefusesToTheLetter(t *testing.T) {
	ball, err := convex.NewBall(make([]float64, 3), 1)
	if err != nil {
		t.Fatal(err)
	}
	for want, p := range map[string]optimize.Problem{
		"": {Shape: optimize.Vector(2000), RankOne: true},
		"loss: must be that of a generalised linear model, or of ordered classes, with one row a record": {Shape: optimize.Vector(3)},
		"1997 features: must be at most 1996 for ordered classes":                                        {Shape: optimize.Vector(2001), Beside: 4},
		"a set of parameters: must be none, since points are projected on it in the metric of space":     {Shape: optimize.Vector(3), RankOne: true, Set: ball},
		"2345 features, of which up to 67 are not zero in a row: must be at most 2000, or at most 64 that are not zero": {Shape: optimize.Vector(2345),
			RankOne: true, Filled: 67},
	} {
		if want != "" {
			want = "optimize: preconditioned: " + want
		}
		got := ""
		if err := (Preconditioned{}).Serves(p); err != nil {
			got = fmt.Sprint(err)
		}
		if got != want {
			t.Errorf("%q: must be %q", got, want)
		}
	}
	if err := (Preconditioned{}).Serves(optimize.Problem{Shape: optimize.Vector(2345), RankOne: true, Filled: 64}); err != nil {
		t.Error(err)
	}
}

// atBase returns a problem with the effective size M at a base rate of mean curvature v: of counts, or of two classes.
func atBase(M, v float64, counts bool) optimize.Problem {
	p := optimize.Problem{Shape: optimize.Vector(16), RankOne: true, Constants: loss.Logistic().Constants(), Mu: .5, Relation: account.ReplaceOne,
		Counts: counts, Base: &optimize.Base{Margins: []float64{-3}, Curvature: v}}
	ratio := 4 * v // of the curvature to its bound of 1/4
	p.Records = M / ratio * 4 / .5
	return p
}

// TestClipsOfCountsAtTheBaseByHand tests the two ratios of the clip norm of counts: 3 and 1.1 sqrt(M/400) over the mean count, at
// most 1.1, each times (M/1500)^.22 from M = 1500 on.
func TestClipsOfCountsAtTheBaseByHand(t *testing.T) {
	more := math.Pow(2, .22)
	for M, want := range map[float64][2]float64{100: {3, 1.1 * .5 / .04}, 400: {3, 1.1 / .04}, 1200: {3, 1.1 / .04}, 3000: {3 * more, 1.1 * more / .04}} {
		if scale, rare := clipsOfCounts(atBase(M, .04, true)); !(math.Abs(scale-want[0]) <= 1e-9) || !(math.Abs(rare-want[1]) <= 1e-9) {
			t.Errorf("M = %v: %v and %v: must be %v", M, scale, rare, want)
		}
	}
}

// TestStepsAtTheBaseByHand tests how many steps reach the optimum: 24 of counts, and of classes 16 sqrt(b/(2 v)), at most 150.
func TestStepsAtTheBaseByHand(t *testing.T) {
	if got := enoughAtBase(atBase(100, .04, true)); got != 24 {
		t.Errorf("counts: %v", got)
	}
	for v, want := range map[float64]float64{.25: 16, .125: 16, .05: 16 * math.Sqrt(2.5), .00125: 150, .0016: 16 * math.Sqrt(.25/.0032)} {
		if got := enoughAtBase(atBase(100, v, false)); !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("v = %v: %v steps: must be %v", v, got, want)
		}
	}
}

// TestLongestAtTheBaseByHand tests the least clip norm of a rare class, over L0 sqrt(d_eff): from 0 at v = .18 to 1 at .05, times
// (M/(40 sqrt d))^.4 between .35 and 1. The square root of d is 4.
func TestLongestAtTheBaseByHand(t *testing.T) {
	for _, c := range []struct{ M, v, want float64 }{
		{160, .05, 1}, {640, .05, 1}, {640, .02, 1}, {640, .115, .5}, {640, .18, 0}, {640, .25, 0}, {40, .05, math.Pow(.25, .4)},
		{40, .115, math.Pow(.25, .4) / 2}, {2, .05, .35}, {640, .24 * .76, 0}, {640, .23 * .77, (.18 - .1771) / .13}, // plans say 24%
	} {
		if got := longest(atBase(c.M, c.v, false)); !(math.Abs(got-c.want) <= 1e-9) {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if got := longest(atBase(640, .05, true)); got != 0 {
		t.Errorf("of counts: %v", got)
	}
	none := atBase(640, .05, false)
	if none.Base = nil; longest(none) != 0 {
		t.Errorf("without a base rate: %v", longest(none))
	}
}

// TestGuardByHand tests the steps of counts: 1/c for the curvature c, which grows to that of the last move less two deviations
// of the noise in the difference of its gradients, at most the bound, and no move longer than 1.
func TestGuardByHand(t *testing.T) {
	for _, c := range []struct {
		most, sigma, seen float64 // the curvature after the second gradient
	}{
		{50, 0, 7}, {50, .1, 7 - 2*math.Sqrt2*.1/.5}, {50, 2, 4}, {6, 0, 6},
	} {
		g := &guard{curvature: 4, most: c.most}
		if got := g.next([]float64{1, 2}, []float64{.3, .4}, c.sigma); got != .25 {
			t.Errorf("%+v: the first step is %v", c, got)
		}
		// The point moves by (.3, -.4) and the gradient by seven times that, and by a part across.
		y, slope := []float64{1.3, 1.6}, []float64{.3 + 2.1 + .8, .4 - 2.8 + .6}
		want := min(1/c.seen, 1/math.Hypot(slope[0], slope[1]))
		if got := g.next(y, slope, c.sigma); !(math.Abs(got-want) <= 1e-12) || !(math.Abs(g.curvature-c.seen) <= 1e-12) {
			t.Errorf("%+v: a step of %v at the curvature %v: must be %v at %v", c, got, g.curvature, want, c.seen)
		}
		if got := g.next(y, []float64{.03, .04}, c.sigma); !(math.Abs(got-1/c.seen) <= 1e-12) { // without a move nothing is seen
			t.Errorf("%+v: then a step of %v: must be %v", c, got, 1/c.seen)
		}
	}
	g := &guard{curvature: 4, most: 9}
	if got := g.next([]float64{0}, []float64{8}, 0); got != .125 {
		t.Errorf("a step of %v along a gradient of 8: must move by 1", got)
	}
}

// TestLongestLevelByHand tests the longest gradient that the clip norm holds: L0 sqrt(d_eff + 1/s), for the least released share
// s of a level that is at least .015, and for 1/6 without levels. Of counts the slope is half again as large. What noise
// allows grows with .4 mu sqrt(n/d), for d features.
func TestLongestLevelByHand(t *testing.T) {
	p := atBase(2000, .05, false)
	p.Shape, p.Explained, p.Groups = optimize.Vector(6), true, [][2]int{{1, 3}}
	plan, err := Preconditioned{}.Plan(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	g := plan.(*preconditionedPlan)
	if want := .4 * p.Effective() / math.Sqrt(p.Records); !(math.Abs(g.reach-want) <= 1e-9) {
		t.Errorf("reach %v: must be %v", g.reach, want)
	}
	classes := p
	classes.Shape = optimize.Shape{Margins: 3, Features: 2}
	if plan, err = (Preconditioned{}).Plan(t.Context(), classes); err != nil {
		t.Fatal(err)
	}
	if got, want := plan.(*preconditionedPlan).reach, .4*p.Mu*math.Sqrt(p.Records/2); !(math.Abs(got-want) <= 1e-9) {
		t.Errorf("reach %v for three margins of two features: must be %v", got, want)
	}
	at := func(shares ...float64) released {
		mean := []float64{.2}
		for _, s := range shares {
			mean = append(mean, .7*s)
		}
		mean = append(mean, .1, .7)
		return released{spectrum: &spectrum{values: make([]float64, 6), vectors: *mat.NewDense(6, 6, nil)}, mean: mean, about: []float64{.49}}
	}
	l0 := p.Constants.Lipschitz
	for _, c := range []struct {
		of    released
		least float64
	}{{at(.05, .8, .04), .04}, {at(.016, .8, .04), .016}, {at(.0149, .8, .04), .04}, {at(.2, .8, .3), 1. / 6}, {at(-.02, .8, .14), .14}} {
		if got, want := g.long(c.of, 2.5), l0*math.Sqrt(2.5+1/c.least); !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("shares %v: %v: must be %v", c.of.mean, got, want)
		}
	}
	g.reach = 0
	if got := g.long(at(.05, .8, .04), 2.5); got != 0 {
		t.Errorf("without a reach: %v", got)
	}
	counts := atBase(2000, .05, true)
	counts.Shape, counts.Explained, counts.Constants.Lipschitz = optimize.Vector(6), true, 2
	if plan, err = (Preconditioned{}).Plan(t.Context(), counts); err != nil {
		t.Fatal(err)
	}
	if got, want := plan.(*preconditionedPlan).long(at(.05, .8, .04), 2.5), 1.5*2*math.Sqrt(.2)*math.Sqrt(2.5+6); !(math.Abs(got-want) <= 1e-9) {
		t.Errorf("counts: %v: must be %v", got, want)
	}
}
