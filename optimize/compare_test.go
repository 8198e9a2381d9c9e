package optimize_test

import (
	"context"
	"math"
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
	base := optimize.Base{Margins: []float64{math.Log(.25)}}
	better, squares, sigma := 0, 0., 0.
	for seed := range uint64(runs) {
		compare, p, o := c.problem(t, n, .02, seed, false)
		p.Base = &base
		got, err := compare.Ask(context.Background(), o, p, constant, nil)
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
	p.Base = &optimize.Base{Margins: []float64{math.Ln2}}
	for verdict, w := range map[optimize.Verdict][]float64{optimize.Better: {16, 4}, optimize.Worse: {-16, 0}} {
		got, err := compare.Ask(context.Background(), o, p, w, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Verdict() != verdict {
			t.Errorf("w = %v: %v (%+v): must be %v", w, got.Verdict(), got, verdict)
		}
		keep, _, again := c.problem(t, 30000, .02, 3, false)
		keep.Keep = true
		if kept, err := keep.Ask(context.Background(), again, p, w, nil); err != nil || kept.Shrunk != 0 ||
			(got.Shrunk == 1) != (verdict == optimize.Worse) {
			t.Errorf("%v: shrunk by %v, and by %v where the fit is to be kept: %v", verdict, got.Shrunk, kept.Shrunk, err)
		}
		if verdict == optimize.Better {
			// The margins are -2, 2 and 6 for the targets -1, 1 and 1.
			best := -(math.Log(1./3) + 2*math.Log(2./3)) / 3
			model := (2*math.Log1p(math.Exp(-2)) + math.Log1p(math.Exp(-6))) / 3
			share, sigma, ok := got.Explained()
			if want := 1 - model/best; !ok || math.Abs(share-want) > 6*sigma+.3 || sigma <= 0 {
				t.Errorf("saves %v +- %v, %v: must be near %v", share, sigma, ok, want)
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
	got, err := compare.Ask(context.Background(), o, p, []float64{1, 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Margins) != 1 || got.Margins[0] != 0 || math.Abs(got.Constant-math.Ln2) > 1e-12 || len(o.Asked) != 2 {
		t.Errorf("%+v after %d questions", got, len(o.Asked))
	}
	if k := o.Asked[1].Question.Terms()[0].Kind(); k != query.ValueChange {
		t.Errorf("the second question is a %v", k)
	}
}

// TestCompareClipsByTheRows: if the second moment was released, the clip of differences must be 2 L0 times
// the root mean square of the difference of margins. It must never be above L0 ||v||, which bounds all
// differences, or above F0, and never below F0/8. The noise must be proportional to the clip. The test
// fails if one of these bounds is left out, or if the query has another clip.
func TestCompareClipsByTheRows(t *testing.T) {
	c := comparing{"logistic", []float64{1, -1, -1, -1}}
	const f0 = math.Ln2
	for name, test := range map[string]struct {
		w      []float64
		square func([]float64) float64
		want   float64
	}{
		"nothing released":  {[]float64{9, 0}, nil, f0},
		"by the rows":       {[]float64{9, 0}, func(v []float64) float64 { return .15 * .15 * v[0] * v[0] / 81 }, .3},
		"many differences":  {[]float64{9, 0}, func([]float64) float64 { return 25 }, f0},
		"rows unseen":       {[]float64{9, 0}, func([]float64) float64 { return 0 }, f0},
		"near the constant": {[]float64{.3, math.Log(1./3) / comparingIntercept}, nil, .3},
		"no closer":         {[]float64{9, 0}, func([]float64) float64 { return 1e-9 }, f0 / 8},
	} {
		compare, p, o := c.problem(t, 400_000, .02, 1, true)
		p.Base = &optimize.Base{Margins: []float64{math.Log(1. / 3)}}
		got, err := compare.Ask(context.Background(), o, p, test.w, test.square)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.Clip-test.want) > .02*test.want {
			t.Errorf("%s: clip %v: must be %v", name, got.Clip, test.want)
		}
		if want := 2 * got.Clip / (400_000 * math.Sqrt(.02*.9)); math.Abs(got.Sigma/want-1) > .01 {
			t.Errorf("%s: noise %v: must be %v", name, got.Sigma, want)
		}
	}
}
