package optimize_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// comparing is a table of two features with the given targets in turn. The second feature is the
// intercept 1/2.
type comparing struct {
	loss    string
	targets []float64
}

const comparingIntercept = .5

func (c comparing) problem(t *testing.T, n int, charge float64, seed uint64, noiseless bool) (optimize.Compare,
	optimize.Problem, *optimizetest.Oracle) {
	t.Helper()
	l, err := loss.Parse(c.loss)
	if err != nil {
		t.Fatal(err)
	}
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	config := optimizetest.Config{Loss: l, Budget: b, Repeat: n / len(c.targets), Noiseless: noiseless, Seed: seed,
		Targets: c.targets}
	for i := range c.targets {
		config.Rows = append(config.Rows, []float32{float32(i%3-1) / 4, comparingIntercept})
	}
	p, err := optimize.NewProblem(l, b, optimize.Stated(2, float64(n)))
	if err != nil {
		t.Fatal(err)
	}
	return optimize.Compare{Charge: charge, Loss: l, Features: 2, Intercept: comparingIntercept}, p,
		optimizetest.New(config)
}

// TestCompareOfConstants compares a model equal to the best constant with the constant found, 400 times.
// The verdict may be Better in at most about 1/44 of the comparisons, and the stated noise must be the
// noise of the differences. The expected number of such verdicts is 9. More than 35 of them have a
// probability below 1e-9. A measured standard deviation that differs from the stated one by a quarter also
// has a probability below 1e-9.
func TestCompareOfConstants(t *testing.T) {
	c := comparing{"logistic", []float64{1, -1, -1, -1, -1, -1, -1, 1, -1, -1}}
	const n, runs = 2000, 400
	constant := []float64{0, math.Log(.25) / comparingIntercept}
	base := optimize.Base{Margins: []float64{math.Log(.25)}, Resolved: true}
	better, squares, sigma := 0, 0., 0.
	for seed := range uint64(runs) {
		compare, p, o := c.problem(t, n, .02, seed, false)
		p.Base = &base
		got, err := compare.Ask(context.Background(), o, p, constant, optimize.Found{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Verdict() == optimize.Better {
			better++
		}
		exact := o.Asked[len(o.Asked)-1].Exact[0]
		squares += math.Pow((got.Difference-exact)/got.Sigma, 2) / runs
		sigma = got.Sigma
		if exact > 0 {
			t.Fatalf("the best constant is worse than another by %v", exact)
		}
	}
	if better > 35 || !(squares > .75*.75 && squares < 1.25*1.25) {
		t.Errorf("called better %d times of %d; deviation %v times the stated %v", better, runs, math.Sqrt(squares), sigma)
	}
}

// TestCompareTellsModelsApart: a model better than the constant must have the verdict Better, and a model
// worse than the constant the verdict Worse. The released saving, as a share of the constant's loss, must
// be near the share computed here.
func TestCompareTellsModelsApart(t *testing.T) {
	c := comparing{"logistic", []float64{-1, 1, 1}}
	compare, p, o := c.problem(t, 30000, .02, 3, false)
	p.Base = &optimize.Base{Margins: []float64{math.Ln2}, Resolved: true, Loss: math.Log(3) - 2*math.Ln2/3, LossSigma: .001}
	for verdict, w := range map[optimize.Verdict][]float64{optimize.Better: {16, 4}, optimize.Worse: {-16, 0}} {
		got, err := compare.Ask(context.Background(), o, p, w, optimize.Found{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Verdict() != verdict {
			t.Errorf("w = %v: %v (%+v): must be %v", w, got.Verdict(), got, verdict)
		}
		keep, _, again := c.problem(t, 30000, .02, 3, false)
		keep.Keep = true
		if kept, err := keep.Ask(context.Background(), again, p, w, optimize.Found{}); err != nil || kept.Shrunk != 0 ||
			(got.Shrunk == 1) != (verdict == optimize.Worse) {
			t.Errorf("%v: shrunk by %v, and by %v where the fit is to be kept: %v", verdict, got.Shrunk, kept.Shrunk, err)
		}
		if verdict == optimize.Better {
			// The margins are -2, 2 and 6 for the targets -1, 1 and 1.
			best := -(math.Log(1./3) + 2*math.Log(2./3)) / 3
			model := (2*math.Log1p(math.Exp(-2)) + math.Log1p(math.Exp(-6))) / 3
			share, low, high, ok := got.Explained()
			if want := 1 - model/best; !ok || !(low < want+.02 && want-.02 < high && low < share && share < high) {
				t.Errorf("saves %v, from %v to %v, %v: must be near %v", share, low, high, ok, want)
			}
		}
	}
}

// TestCompareWithoutIntercept: if rows have no intercept, the model must be compared with the model
// whose weights are zero, whose loss is public.
func TestCompareWithoutIntercept(t *testing.T) {
	c := comparing{"logistic", []float64{1, -1, -1, -1}}
	compare, p, o := c.problem(t, 4000, .02, 1, true)
	compare.Intercept = 0
	got, err := compare.Ask(context.Background(), o, p, []float64{1, 1}, optimize.Found{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Margins) != 1 || got.Margins[0] != 0 || !(math.Abs(got.Constant-math.Ln2) <= 1e-12) || len(o.Asked) != 1 {
		t.Errorf("%+v after %d questions", got, len(o.Asked))
	}
	if k := o.Asked[0].Question.Terms()[0].Kind(); k != query.ValueChange {
		t.Errorf("the question is a %v", k)
	}
}

// TestCompareCountsTheConstantsNoise tests the stated difference and its noise against a hand calculation: the noise w
// of the constant adds w/2 to the difference and 1.05 w to its noise, and w_k = sigma^2/p_k for each of several
// classes.
func TestCompareCountsTheConstantsNoise(t *testing.T) {
	for name, test := range map[string]struct {
		comparing
		base         optimize.Base
		half, spread float64
	}{
		"two classes": {comparing{"logistic", []float64{1, -1, -1, -1}},
			optimize.Base{Margins: []float64{-1}, Excess: .04, Resolved: true}, .02, .042},
		"three classes": {comparing{"softmax(3)", []float64{0, 1, 2, 2}}, optimize.Base{Margins: []float64{0, 0, .7},
			Sums: []float64{.25, .25, .5}, Sigma: .1, Excess: .1, Resolved: true}, .05, 1.05 * math.Hypot(.02, math.Hypot(.04, .04))},
	} {
		compare, p, o := test.problem(t, 400_000, .02, 1, true)
		p.Base = &test.base
		w := make([]float64, p.Dim())
		w[0] = 1
		got, err := compare.Ask(context.Background(), o, p, w, optimize.Found{})
		if err != nil {
			t.Fatal(err)
		}
		asked := o.Asked[len(o.Asked)-1]
		if !(math.Abs(got.Difference-asked.Exact[0]-test.half) <= 1e-9) ||
			!(math.Abs(got.Sigma-math.Hypot(asked.Answer.Sigma, test.spread)) <= 1e-9) {
			t.Errorf("%s: difference %v with noise %v: must be %v and %v", name, got.Difference, got.Sigma,
				asked.Exact[0]+test.half, math.Hypot(asked.Answer.Sigma, test.spread))
		}
	}
}

// TestResidualIsPredictionLessOutcome: without noise the residual is the mean over the records of the prediction minus the
// outcome, up to .2% of the prediction. Predictions above a half count as a half for records without the rare class.
func TestResidualIsPredictionLessOutcome(t *testing.T) {
	c := comparing{"logistic", []float64{1, -1, -1, -1, -1, -1}}
	for _, w := range [][]float64{{4, -4}, {-3, -1}, {0, -2}, {1, 1}} {
		compare, p, o := c.problem(t, 6000, .02, 1, true)
		compare.Calibrate = .01
		p.Base = &optimize.Base{Margins: []float64{-1.6}, Resolved: true}
		got, err := compare.Ask(t.Context(), o, p, w, optimize.Found{})
		if err != nil {
			t.Fatal(err)
		}
		want := 0.
		for i, y := range c.targets {
			predicted := 1 / (1 + math.Exp(-w[0]*float64(float32(i%3-1)/4)-w[1]/2))
			if y > 0 {
				predicted--
			}
			want += min(predicted, .5) / 6
		}
		if !(math.Abs(got.Residual-want) <= .002) {
			t.Errorf("w = %v: the residual is %v: must be %v", w, got.Residual, want)
		}
	}
}

// TestCompareOfADeclaredNumber tests that, under add-or-remove, records that are missing from the declared number count
// as records without a difference. The interval of differences must be around 0.
func TestCompareOfADeclaredNumber(t *testing.T) {
	c := comparing{"logistic", []float64{1, -1, -1, -1}}
	_, p, _ := c.problem(t, 4000, .02, 1, true)
	b, err := account.NewBudget(1, 1e-6, account.AddOrRemove)
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.Parse(c.loss)
	if err != nil {
		t.Fatal(err)
	}
	o := optimizetest.New(optimizetest.Config{Loss: l, Budget: b, Repeat: 1000, Declared: 5000, Noiseless: true,
		Rows: [][]float32{{-.25, .5}, {0, .5}, {.25, .5}, {-.25, .5}}, Targets: c.targets})
	p.Relation, p.Budget, p.Records = account.AddOrRemove, b, 5000
	p.Base = &optimize.Base{Margins: []float64{-3}, Resolved: true}
	compare := optimize.Compare{Charge: .02, Loss: l, Features: 2, Intercept: comparingIntercept}
	w := []float64{4, 3}
	got, err := compare.Ask(context.Background(), o, p, w, optimize.Found{})
	if err != nil {
		t.Fatal(err)
	}
	want, value := 0., []float64{0, 0}
	for i, y := range c.targets {
		l.(loss.RankOne).Values(value, []float64{w[0]*float64(float32(i%3-1)/4) + 1.5, -3}, []float64{y, y})
		want += (value[0] - value[1]) * 1000 / 5000
	}
	if got.Least != -got.Most || !(math.Abs(got.Difference-want) <= 1e-6) {
		t.Errorf("%+v: the difference must be %v", got, want)
	}
}

// TestCompareWithAStatedConstant tests that a fit is never called better than the best constant if the configuration
// states the constant, which another may beat.
func TestCompareWithAStatedConstant(t *testing.T) {
	c := comparing{"logistic", []float64{-1, 1, 1}}
	for _, public := range []bool{false, true} {
		compare, p, o := c.problem(t, 30000, .02, 3, false)
		p.Base = &optimize.Base{Margins: []float64{-2}, Resolved: true, Public: public}
		got, err := compare.Ask(context.Background(), o, p, []float64{0, 0}, optimize.Found{})
		if err != nil {
			t.Fatal(err)
		}
		if better := got.Verdict() == optimize.Better; better == public || got.LowerBound != public {
			t.Errorf("public %v: %+v", public, got)
		}
	}
}

// TestCompareCutsFarNumbers tests that differences under a cap of 50 are cut on both sides at a tenth of their range, that
// of a cap of 5, and that a cap of 5 cuts none. One of eight numbers is 100 times the constant's mean.
func TestCompareCutsFarNumbers(t *testing.T) {
	targets := []float64{-1, -1, -1, -1, -.98, 1, -.96, -.98} // of 0 to 1000
	for name, cut := range map[string]bool{"tweedie(1.5,50,10,1000)": true, "tweedie(1.5,5,10,1000)": false,
		"gamma(50,0.001)": true} {
		c := comparing{name, targets}
		compare, p, o := c.problem(t, 80_000, .04, 1, true)
		at := math.Log(.01)
		p.Base = &optimize.Base{Margins: []float64{at}, Resolved: true}
		w := []float64{2, at / comparingIntercept}
		got, err := compare.Ask(context.Background(), o, p, w, optimize.Found{})
		if err != nil {
			t.Fatal(err)
		}
		far := 2 * math.Sqrt(1-comparingIntercept*comparingIntercept)
		least, most, ok := loss.ChangeRange(compare.Loss, w, []float64{at}, func([]float64) (low, high float64) { return at - far, at + far })
		if !ok || got.Cut != cut {
			t.Fatalf("%s: %+v: cut must be %v", name, got, cut)
		}
		if cut {
			most = max(-least, most) / 10
			least = -most
		}
		if !(math.Abs(got.Most-most) <= 1e-6*most) || !(math.Abs(got.Least-least) <= 1e-6*most) {
			t.Errorf("%s: from %v to %v: must be from %v to %v", name, got.Least, got.Most, least, most)
		}
		want, whole, value := 0., 0., []float64{0, 0}
		for i, y := range targets {
			compare.Loss.(loss.RankOne).Values(value, []float64{at + w[0]*float64(i%3-1)/4, at}, []float64{y, y})
			whole += (value[0] - value[1]) / 8
			want += min(max(value[0]-value[1], least), most) / 8
		}
		if !(math.Abs(got.Difference-want) <= 1e-6) || cut && math.Abs(whole-want) < 1e-3 {
			t.Errorf("%s: difference %v: must be %v, and %v without a cut", name, got.Difference, want, whole)
		}
		if _, _, _, ok := got.Explained(); ok && cut || strings.Contains(got.Text(), "difference is capped") != cut ||
			strings.Contains(got.Counted(), "far above") != cut {
			t.Errorf("%s: %s; %s", name, got.Text(), got.Counted())
		}
	}
}

// TestBaseRateOfLargeCaps tests that slopes of a loss with a cap of 50 are clipped so that their noise is a tenth, at a
// cap of 5 at least, and that the constant is that of the cap.
func TestBaseRateOfLargeCaps(t *testing.T) {
	targets := []float64{-1, -1, -.98, -.96, -.94, -.9}
	for records, want := range map[int]float64{6_000: 5, 30_000: 0, 60_000_000: 50} {
		c := comparing{"tweedie(1.5,50,10,1000)", targets}
		compare, p, o := c.problem(t, records, .5, 1, true)
		b := baseOf(compare)
		b.Charge = .002
		base, err := b.Ask(context.Background(), o, p)
		if err != nil {
			t.Fatal(err)
		}
		apart := -math.Log(1e-6*.01) / 4096
		clip := o.Asked[0].Question.Terms()[0].Ball().Radius / apart
		if want == 0 {
			if sigma := o.Asked[0].Answer.Sigma / apart; !(math.Abs(sigma-.1) <= .001) {
				t.Errorf("%d records: noise %v of a slope: must be .1", records, sigma)
			}
		} else if !(math.Abs(clip/want-1) <= .001) {
			t.Errorf("%d records: slopes are clipped at %v: must be at %v", records, clip, want)
		}
		if mean := 1000 * math.Exp(base.Margins[0]); !(math.Abs(mean/18.333-1) <= .05) || !(base.Excess < .2) {
			t.Errorf("%d records: mean %v, excess %v: the mean of the numbers is 18.33", records, mean, base.Excess)
		}
	}
}
