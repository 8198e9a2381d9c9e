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

// comparing is a table of two features, the second the intercept 1/2, whose targets are
// taken in turn.
type comparing struct {
	loss    string
	targets []float64
}

const comparingIntercept = .5

func (c comparing) problem(t *testing.T, n int, charge float64, seed uint64, noiseless bool) (optimize.Compare, optimize.Problem, *optimizetest.Oracle) {
	t.Helper()
	l, err := loss.Parse(c.loss)
	if err != nil {
		t.Fatal(err)
	}
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	config := optimizetest.Config{Loss: l, Budget: b, Repeat: n / len(c.targets), Noiseless: noiseless, Seed: seed, Targets: c.targets}
	for i := range c.targets {
		config.Rows = append(config.Rows, []float32{float32(i%3-1) / 4, comparingIntercept})
	}
	p, err := optimize.NewProblem(l, b, optimize.Stated(2, float64(n)))
	if err != nil {
		t.Fatal(err)
	}
	return optimize.Compare{Charge: charge, Loss: l, Features: 2, Intercept: comparingIntercept}, p, optimizetest.New(config)
}

// TestCompareFindsTheBestConstant: without noise the constant's margins are the minimiser
// over constants worked out by hand, to the width at which the search ends. Fails for a
// search that turns the wrong way, an intercept that is not divided out, and classes in
// another order.
func TestCompareFindsTheBestConstant(t *testing.T) {
	log := math.Log
	for name, c := range map[string]struct {
		comparing
		want []float64
		off  float64
	}{
		"log-odds":          {comparing{"logistic", []float64{1, -1, -1, -1}}, []float64{log(1. / 3)}, 16. / 4096},
		"weighted log-odds": {comparing{"weighted(logistic,1,3)", []float64{1, -1, -1, -1}}, []float64{0}, 16. / 4096},
		"median":            {comparing{"huber(0.01)", []float64{-.9, -.3, .1, .2, .9}}, []float64{.1}, .012},
		"quantile":          {comparing{"pinball(0.9)", []float64{-.9, -.3, .1, .2, .3, .4, .5, .6, .7, .8, .9}}, []float64{.8}, 2. / 4096},
		"mean count":        {comparing{"poisson(3)", []float64{-1, -1, -.5, 0}}, []float64{log(.1875)}, 18. / 4096},
		"shares":            {comparing{"softmax(3)", []float64{0, 0, 0, 1, 1, 2}}, []float64{log(3) - log(6)/3, log(2) - log(6)/3, -log(6) / 3}, 1e-9},
		"a network":         {comparing{"network(3,tanh,logistic)", []float64{1, -1, -1, -1}}, []float64{log(1. / 3)}, 16. / 4096},
		"a network's shares": {comparing{"network(2-3,tanh,softmax(3))", []float64{0, 0, 0, 1, 1, 2}},
			[]float64{log(3) - log(6)/3, log(2) - log(6)/3, -log(6) / 3}, 1e-9},
	} {
		n := 1000 * len(c.targets)
		compare, p, o := c.problem(t, n, .02*1, 1, true)
		w := make([]float64, p.Dim())
		got, err := compare.Ask(context.Background(), o, p, w)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got.Margins) != len(c.want) {
			t.Fatalf("%s: margins %v: must be %v", name, got.Margins, c.want)
		}
		for k, z := range got.Margins {
			if !(math.Abs(z-c.want[k]) <= c.off) {
				t.Errorf("%s: margins %v: must be %v", name, got.Margins, c.want)
			}
		}
		charged := 0.
		for _, a := range o.Asked {
			charged += a.Question.Charge()
		}
		if !(charged <= compare.Charge && charged > .98*compare.Charge) {
			t.Errorf("%s: charged %v of %v", name, charged, compare.Charge)
		}
	}
}

// TestCompareOfConstants: the best constant as a model is called better in at most its
// share of comparisons and a model of the classes' signs is; the stated noise is that of
// the differences. Of 400 comparisons a share of 1/44 gives 9; more than 35 have a
// probability below 1e-9, and a deviation off by a quarter one below 1e-9, too.
func TestCompareOfConstants(t *testing.T) {
	c := comparing{"logistic", []float64{1, -1, -1, -1, -1, -1, -1, 1, -1, -1}}
	const n, runs = 2000, 400
	constant := []float64{0, math.Log(.25) / comparingIntercept}
	better, squares, sigma := 0, 0., 0.
	for seed := range uint64(runs) {
		compare, p, o := c.problem(t, n, .02, seed, false)
		got, err := compare.Ask(context.Background(), o, p, constant)
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

// TestCompareTellsModelsApart: a model that is better is called so, a bad one worse, and
// what is saved of the constant's loss is the share worked out here.
func TestCompareTellsModelsApart(t *testing.T) {
	c := comparing{"logistic", []float64{-1, 1, 1}}
	compare, p, o := c.problem(t, 30000, .02, 3, false)
	for verdict, w := range map[optimize.Verdict][]float64{optimize.Better: {16, 4}, optimize.Worse: {-16, 0}} {
		got, err := compare.Ask(context.Background(), o, p, w)
		if err != nil {
			t.Fatal(err)
		}
		if got.Verdict() != verdict {
			t.Errorf("w = %v: %v (%+v): must be %v", w, got.Verdict(), got, verdict)
		}
		if verdict == optimize.Better {
			// Margins are -2, 2 and 6 for targets -1, 1 and 1.
			best := -(math.Log(1./3) + 2*math.Log(2./3)) / 3
			model := (2*math.Log1p(math.Exp(-2)) + math.Log1p(math.Exp(-6))) / 3
			share, sigma, ok := got.Explained()
			if want := 1 - model/best; !ok || math.Abs(share-want) > 6*sigma+.3 || sigma <= 0 {
				t.Errorf("saves %v +- %v, %v: must be near %v", share, sigma, ok, want)
			}
		}
	}
}

// TestCompareWithoutIntercept: where rows have none the model is compared with the model
// of no weights, whose loss is public.
func TestCompareWithoutIntercept(t *testing.T) {
	c := comparing{"logistic", []float64{1, -1, -1, -1}}
	compare, p, o := c.problem(t, 4000, .02, 1, true)
	compare.Intercept = 0
	got, err := compare.Ask(context.Background(), o, p, []float64{1, 1})
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
